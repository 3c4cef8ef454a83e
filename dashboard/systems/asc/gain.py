"""What rearranging came to since the run began, as the headline of the Plan page says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.components.formats import THIN, show
from dashboard.systems.asc.regret_view import ERROR, TOTAL
from dashboard.views.gain import Columns, CurvePoint, Gain, GainSource, Tone, percent
from dashboard.views.numbers import Z_95

FIRST: Final = "regret_first"
TUPLES: Final = "tuples_total"
LEDGER: Final = (TOTAL, ERROR, FIRST, TUPLES)


def ledger_gain(columns: Columns) -> Gain | None:
    """The ledger's total as a share of what the first order would have cost; None without entries.

    columns: of :data:`LEDGER`, over the run until the moment.
    """
    saved, errors = columns.get(TOTAL, {}), columns.get(ERROR, {})
    curve = [_banded(batch, value, errors.get(batch)) for batch, value in saved.items()]
    if not curve:
        return None
    _, value, low, high = curve[-1]
    whole = _first_cost(columns.get(FIRST, {}), columns.get(TUPLES, {}))
    spread = None if high is None else high - value
    unsure = low is not None and high is not None and low <= 0 <= high
    lead = "Adapting saved" if value >= 0 else "Adapting lost"
    tone: Tone = "gain" if value >= 0 else "loss"
    figure, basis = _amount(abs(value), spread, whole)
    if unsure:
        words = f"{show(value, 'si')} ± {show(spread, 'si')} visits against the first order"
        words = words if spread or value else "no other order was measured against the first one"
        lead, figure, basis, tone = "Adapting saved nothing yet", "", words, "quiet"
    return Gain(lead, figure, basis, tone, "visits saved", "si", curve)


def _amount(value: float, spread: float | None, whole: float) -> tuple[str, str]:
    """The figure and what it is of: a share where the whole is known, else visits."""
    since = "since the run began, estimated on sampled tuples"
    if whole <= 0:
        band = "" if spread is None else f"± {show(spread, 'si')} "
        return show(value, "si"), f"{band}visits against the first order, {since}"
    least = 0.1  # what the band rounds to where it is narrower: it is never none
    band = "" if spread is None else f", ± {show(max(least, 100 * spread / whole), 'si')}{THIN}%"
    return percent(value / whole), f"of the visits of the first order{band}, {since}"


def _first_cost(costs: Mapping[int, float], totals: Mapping[int, float]) -> float:
    """Visits of the first order over the stream: what it costs at each entry, times the tuples
    since the one before."""
    done, whole = 0.0, 0.0
    for batch, total in totals.items():
        if batch in costs:
            whole, done = whole + costs[batch] * (total - done), total
    return whole


def _banded(batch: int, value: float, error: float | None) -> CurvePoint:
    if error is None:
        return batch, value, None, None
    return batch, value, value - Z_95 * error, value + Z_95 * error


SOURCE: Final = GainSource(LEDGER, ledger_gain, (TOTAL,), together=True)
