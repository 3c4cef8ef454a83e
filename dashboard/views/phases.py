"""Where batches take their time: their phases, and in the slowest one the operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.base.face import prices
from dashboard.components.formats import show
from dashboard.views.book import Book
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Batch

#: Phase -> word, in their order. What none of them has is ``REST``.
PHASES: Final[Mapping[str, str]] = {
    "plan_ms": "plan",
    "job_ms": "run",
    "publish_ms": "publish",
}
REST, RECORD = "decide", "record"
WORDS: Final = (*PHASES.values(), REST, RECORD)
#: The slowest batches are listed.
MOST_SLOW: Final = 20
#: How many tuples came to an operator.
_REACHED: Final = "reached_tuples"


class BatchPhases(NamedTuple):
    """A batch. ms: of each of WORDS; tuples: it took."""

    batch: int
    ms: tuple[float, ...]
    tuples: int

    @property
    def total(self) -> float:
        """Milliseconds."""
        return sum(self.ms)

    @property
    def words(self) -> str:
        """'batch 862 took 1.13 s: publish 97 %'."""
        ranked = sorted(zip(self.ms, WORDS, strict=True), reverse=True)
        shares = [(part / self.total, word) for part, word in ranked if self.total and part]
        named = [f"{word} {show(share, 'pct')}" for share, word in shares[:2] if share >= 0.05]
        took = show(self.total, "ms")
        return f"batch {show(self.batch, 'int')} took {took}: {', '.join(named)}"


class WorkLine(NamedTuple):
    """What an operator did in a batch. ms: it worked, in all shards; share: of what all did."""

    entity: str
    name: str
    ms: float
    share: float


class PhasesView(NamedTuple):
    """Batches, oldest first; operators: of the last one, widest first."""

    batches: list[BatchPhases]
    operators: list[WorkLine]

    @property
    def work_words(self) -> str:
        """'Operators of batch 862 worked 31 ms; it took 1.13 s'."""
        last, worked = self.batches[-1], sum(operator.ms for operator in self.operators)
        at, took = show(last.batch, "int"), show(last.total, "ms")
        return f"Operators of batch {at} worked {show(worked, 'ms')}; it took {took}"

    @property
    def slowest(self) -> list[BatchPhases]:
        """The slowest first."""
        return sorted(self.batches, key=lambda batch: -batch.total)[:MOST_SLOW]


def operator_work(book: Book, values: Mapping[str, Mapping[str, float | None]]) -> list[WorkLine]:
    """Of those whose time was measured in the batch of ``values``, the widest first."""
    times = {
        id: price * reached / 1e3
        for id, own in values.items()
        for name in prices()
        if (price := own.get(name)) and (reached := own.get(_REACHED))
    }
    total = sum(times.values())
    ranked = sorted(times.items(), key=lambda pair: -pair[1])
    return [WorkLine(id, book.name(id), ms, ms / total) for id, ms in ranked]


def build_phases(
    batches: Sequence[Batch], commits: SeriesData | None, operators: Sequence[WorkLine]
) -> PhasesView:
    """commits: milliseconds that the record of the batch before took."""
    recorded: dict[int, float] = {}
    if commits is not None:
        pairs = zip(commits.batch.tolist(), commits.value.tolist(), strict=True)
        recorded = {batch - 1: value for batch, value in pairs}
    shown = [_phases(batch.id, batch, recorded) for batch in batches if batch.id is not None]
    return PhasesView(shown, list(operators))


def _phases(id: int, batch: Batch, recorded: Mapping[int, float]) -> BatchPhases:
    known = [max(0.0, float(batch.timings_ms.get(name, 0.0))) for name in PHASES]
    rest = max(0.0, batch.duration_ms - sum(known))
    return BatchPhases(id, (*known, rest, recorded.get(id, 0.0)), batch.n_tuples)
