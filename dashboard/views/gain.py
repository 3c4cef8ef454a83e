"""What adapting came to, in one figure and one curve: the headline of the Plan page.

Constructs have a ledger of what was saved since the run began, with its error; ordered filters an
estimate of what their order saves now against the first one; caches what they save now. All are
estimates on sampled tuples, and are called so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from dashboard.components.formats import THIN, show
from dashboard.views.numbers import known, thinned
from dashboard.views.regret import ERROR, TOTAL, Z_95
from storage.rows import SeriesData

Tone: TypeAlias = Literal["gain", "loss", "quiet"]
#: batch, value, and its 95 % band where there is one
CurvePoint: TypeAlias = tuple[int, float, float | None, float | None]
#: Values by batch, oldest first, by property.
Columns: TypeAlias = Mapping[str, Mapping[int, float]]

FIRST: Final = "regret_first"
TUPLES: Final = "tuples_total"
LEDGER: Final = (TOTAL, ERROR, FIRST, TUPLES)


class Ratio(NamedTuple):
    """Two costs of which the first, in force, saves or loses against the second. saves, loses:
    words in front of the share; nothing: where there is none; against: what it is a share of."""

    now: str
    before: str
    saves: str
    loses: str
    nothing: str
    against: str


RATIOS: Final = (
    Ratio(
        "expected_cost_us",
        "first_cost_us",
        "This order saves",
        "This order loses",
        "This order saves nothing now",
        "of the cost of the first order",
    ),
    Ratio(
        "cached_cost",
        "plain_cost",
        "Caches save",
        "Caches lose",
        "Caches save nothing now",
        "of what the join would cost without them",
    ),
)


class Gain(NamedTuple):
    """lead and figure: 'Adapting saved', '36 %'; figure is '' when there is nothing to boast of.

    basis: of what, with its interval. what, form: of the curve, for its caption and its numbers.
    """

    lead: str
    figure: str
    basis: str
    tone: Tone
    what: str
    form: Literal["pct", "si"]
    curve: list[CurvePoint]


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


def ratio_gain(ratio: Ratio, columns: Columns) -> Gain | None:
    """What is saved at the moment; None without both costs."""
    costs, others = columns.get(ratio.now, {}), columns.get(ratio.before, {})
    curve: list[CurvePoint] = [
        (batch, 1 - cost / others[batch], None, None)
        for batch, cost in costs.items()
        if others.get(batch)
    ]
    if not curve:
        return None
    share = curve[-1][1]
    lead = ratio.saves if share > 0 else ratio.loses
    tone: Tone = "gain" if share > 0 else "loss"
    basis = f"{ratio.against}, estimated on the profile"
    figure = _percent(abs(share))
    if round(share, 3) == 0:
        lead, figure, basis, tone = ratio.nothing, "", f"0{THIN}% {basis}", "quiet"
    return Gain(lead, figure, basis, tone, "share saved", "pct", curve)


def _amount(value: float, spread: float | None, whole: float) -> tuple[str, str]:
    """The figure and what it is of: a share where the whole is known, else visits."""
    since = "since the run began, estimated on sampled tuples"
    if whole <= 0:
        band = "" if spread is None else f"± {show(spread, 'si')} "
        return show(value, "si"), f"{band}visits against the first order, {since}"
    least = 0.1  # what the band rounds to where it is narrower: it is never none
    band = "" if spread is None else f", ± {show(max(least, 100 * spread / whole), 'si')}{THIN}%"
    return _percent(value / whole), f"of the visits of the first order{band}, {since}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{THIN}%" if share >= 0.1 else show(share, "pct")


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


def column(data: SeriesData, batch: int | None, now: float | None) -> dict[int, float]:
    """The known values of a series by batch; the newest, ``now`` at ``batch``, is exact also where
    points are means of several."""
    pairs = zip(data.batch.tolist(), data.value.tolist(), strict=True)
    found = {int(at): float(value) for at, value in pairs if known(float(value))}
    if batch is not None and now is not None and known(now):
        found.pop(batch, None)
        found[batch] = now
    return found


def turning_points(curve: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """The points at which the curve turns, at most so many, the newest among them."""
    turns = [
        point
        for place, point in enumerate(curve)
        if not 0 < place < len(curve) - 1
        or not curve[place - 1][1] == point[1] == curve[place + 1][1]
    ]
    return thinned(turns, most)
