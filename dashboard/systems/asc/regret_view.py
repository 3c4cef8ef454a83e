"""The regret ledger: what adapting saved or lost, and the lines that say how it came about.

All costs are estimates on the sampled tuples of each stretch; the total against the first order
travels with a 95 % band of 1.96 standard errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.components.formats import show
from dashboard.views.numbers import Z_95
from dashboard.views.saved import WHOLE
from storage.tables.rows import SeriesData

TOTAL: Final = "regret_saved_total"
ERROR: Final = "regret_saved_se"
#: property -> words of its line
LINES: Final = {
    "regret_running": "running order",
    "regret_previous": "previous order",
    "regret_best": "best fixed order in hindsight",
    "regret_first": "first order",
}
PROPERTIES: Final = (*LINES, TOTAL, ERROR)


class RegretRow(NamedTuple):
    """One batch of the ledger: costs in visits per tuple by property of LINES, None = unknown.

    saved, low, high: visits saved since the run began and their 95 % band.
    """

    batch: int
    time: float
    costs: dict[str, float | None]
    saved: float | None
    low: float | None
    high: float | None


class RegretView(NamedTuple):
    """rows: oldest first. verdict: the running total in a sentence; tone: ok | warning | quiet.

    gap: by how much the running order is dearer than the best one, 0.1 = 10 %; None = unknown.
    """

    rows: list[RegretRow]
    verdict: str
    tone: str
    gap: float | None

    @property
    def entries(self) -> list[RegretRow]:
        """One row for each entry of the ledger: those that differ from the one before."""
        return [
            row
            for place, row in enumerate(self.rows)
            if place == 0 or self.rows[place - 1][2:] != row[2:]
        ]


def build_regret(series: Mapping[str, SeriesData]) -> RegretView:
    """The ledger from the series of `system` by property; empty when none is known."""
    columns = {name: _by_batch(series[name]) for name in PROPERTIES if name in series}
    times = {
        int(batch): float(time)
        for name in columns
        for batch, time in zip(series[name].batch, series[name].time, strict=True)
    }
    rows = [_row(batch, times[batch], columns) for batch in sorted(times)]
    known = [row for row in rows if _is_known(row)]
    verdict, tone = _verdict(known[-1]) if known else ("", "quiet")
    return RegretView(known, verdict, tone, _gap(known[-1]) if known else None)


def _by_batch(data: SeriesData) -> dict[int, float | None]:
    """Batch -> value, None where it is unknown."""
    values = (None if value != value else float(value) for value in data.value.tolist())
    return dict(zip(data.batch.tolist(), values, strict=True))


def _row(batch: int, time: float, columns: Mapping[str, dict[int, float | None]]) -> RegretRow:
    def at(name: str) -> float | None:
        return columns.get(name, {}).get(batch)

    saved, error = at(TOTAL), at(ERROR)
    spread = None if saved is None or error is None else Z_95 * error
    low = None if saved is None or spread is None else saved - spread
    high = None if saved is None or spread is None else saved + spread
    return RegretRow(batch, time, {name: at(name) for name in LINES}, saved, low, high)


def _is_known(row: RegretRow) -> bool:
    return row.saved is not None or any(cost is not None for cost in row.costs.values())


def _gap(row: RegretRow) -> float | None:
    running, best = row.costs["regret_running"], row.costs["regret_best"]
    return None if running is None or not best else running / best - 1


def _verdict(row: RegretRow) -> tuple[str, str]:
    if row.saved is None or row.low is None or row.high is None:
        return "what adapting saved is not known yet", "quiet"
    spread = show(row.high - row.saved, "si")
    if row.low <= 0 <= row.high:
        amount = f"{show(row.saved, 'si')} ± {spread}"
        words = f"neither saved nor lost: {amount} visits against the first order {WHOLE}"
        return words, "quiet"
    verb, tone = ("saved", "ok") if row.saved > 0 else ("lost", "warning")
    amount = show(abs(row.saved), "si")
    return f"{verb} {amount} ± {spread} visits against the first order {WHOLE}", tone
