"""What caching came to, join by join: saved against no caches, lost against hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.components.formats import show
from dashboard.systems.joins.caches_view import POOL
from dashboard.views.book import Book
from storage.tables.rows import SeriesData

ELEMENTS: Final = "caching_elements_total"
SPENT: Final = "caching_spent_total"
PLAIN: Final = "caching_plain_total"
BEST: Final = "caching_best_total"
PROPERTIES: Final = (ELEMENTS, SPENT, PLAIN, BEST)


class CachingRow(NamedTuple):
    """Up to a batch, since the run began. elements: of the join; costs in the unit of its knobs.
    saved: against no caches; regret: against the best caches in hindsight."""

    batch: int
    time: float
    elements: float
    spent: float
    saved: float
    regret: float


class CachingView(NamedTuple):
    """A join. name: of its queries. rows: oldest first, at least one."""

    pool: str
    name: str
    cost: str
    rows: tuple[CachingRow, ...]

    @property
    def verdict(self) -> tuple[str, str]:
        """What it came to in a sentence, and its tone: ok, warning or quiet."""
        last = self.rows[-1]
        plain = last.saved + last.spent
        if not plain:
            return "nothing came so far", "quiet"
        share = f"{show(abs(last.saved) / plain, 'pct')} of the cost without caches"
        regret = f"{show(last.regret / plain, 'pct')} above the best caches in hindsight"
        if abs(last.saved) < 0.0005 * plain:
            return f"neither saved nor lost; {regret}", "quiet"
        verb, tone = ("saved", "ok") if last.saved > 0 else ("lost", "warning")
        return f"{verb} {share}; {regret}", tone


def build_caching(
    book: Book,
    titles: Mapping[str, tuple[str, str]],
    series: Mapping[tuple[str, str], SeriesData],
) -> list[CachingView]:
    """Joins that something is known of, by name. titles: pool -> its name, the unit of costs.
    series: (pool, property) -> its course."""
    joins = []
    for pool in book.of(POOL):
        columns = {name: _by_batch(series.get((pool.id, name))) for name in PROPERTIES}
        batches = set.intersection(*(set(column) for column in columns.values()))
        rows = tuple(_row(batch, columns) for batch in sorted(batches))
        if rows:
            joins.append(CachingView(pool.id, *titles[pool.id], rows))
    return sorted(joins, key=lambda join: join.name)


def _by_batch(data: SeriesData | None) -> dict[int, tuple[float, float]]:
    """Batch -> time, value."""
    if data is None:
        return {}
    points = zip(data.batch.tolist(), data.time.tolist(), data.value.tolist(), strict=True)
    return {batch: (time, value) for batch, time, value in points if value == value}


def _row(batch: int, columns: Mapping[str, Mapping[int, tuple[float, float]]]) -> CachingRow:
    elements, spent, plain, best = (columns[name][batch][1] for name in PROPERTIES)
    time = columns[ELEMENTS][batch][0]
    return CachingRow(batch, time, elements, spent, plain - spent, spent - best)
