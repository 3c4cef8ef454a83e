"""What caching came to, join by join: saved against no caches, lost against hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.base.face import VerdictSource
from dashboard.components.formats import show
from dashboard.systems.joins.caches_view import POOL
from dashboard.views.book import Book
from dashboard.views.gain import percent
from dashboard.views.saved import NOISE, WHOLE, Effect, saved
from storage.tables.rows import SeriesData

ELEMENTS: Final = "caching_elements_total"
SPENT: Final = "caching_spent_total"
PLAIN: Final = "caching_plain_total"
BEST: Final = "caching_best_total"
PROPERTIES: Final = (ELEMENTS, SPENT, PLAIN, BEST)
#: Below this share of the cost without caches a difference of totals is that of rounded sums.
_ROUNDING: Final = 1e-9
_TONES: Final[Mapping[Effect, str]] = {"saved": "ok", "nothing": "quiet", "cost": "warning"}


class CachingRow(NamedTuple):
    """Up to a batch, since the run began. elements: of the join; costs in the unit of its knobs.
    saved: against no caches; regret: against the best caches in hindsight, never below 0: what was
    in force is known in hindsight, too."""

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
        words, tone = caching_words(last.spent, plain)
        if not words:
            return "nothing came so far", "quiet"
        above = last.regret / plain
        regret = f"{show(above, 'pct')} above" if above >= NOISE else "no dearer than"
        return f"{words}; {regret} the best caches in hindsight", tone

    @property
    def is_blank(self) -> bool:
        """Whether both lines stay at nothing."""
        return not any(row.saved or row.regret for row in self.rows)


def caching_words(spent: float, plain: float) -> tuple[str, str]:
    """What totals come to, and its tone: ('saved 62 % of the cost without caches since the run
    began', 'ok'); ('', 'quiet') where nothing was to spend."""
    saving = saved([spent], [plain], WHOLE)
    if saving is None:
        return "", "quiet"
    tone, share = _TONES[saving.effect], percent(abs(saving.share))
    if saving.effect == "nothing":
        return f"neither saved nor lost {saving.stretch}", tone
    verb = "saved" if saving.effect == "saved" else "lost"
    return f"{verb} {share} of the cost without caches {saving.stretch}", tone


def caching_verdict(series: Mapping[str, SeriesData]) -> str:
    """Of the caches of a join over the run, '' where nothing is known."""
    spent, plain = (_by_batch(series.get(name)) for name in (SPENT, PLAIN))
    last = max(set(spent) & set(plain), default=None)
    return "" if last is None else caching_words(spent[last][1], plain[last][1])[0]


#: In the headline of a post-mortem.
VERDICT: Final = VerdictSource(
    (SPENT, PLAIN), caching_verdict, POOL, "by the estimates of each batch", apart=True
)


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
    least = _ROUNDING * abs(plain)
    won, regret = (0.0 if abs(apart) < least else apart for apart in (plain - spent, spent - best))
    return CachingRow(batch, time, elements, spent, won, max(0.0, regret))
