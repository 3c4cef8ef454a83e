"""Where batches take their time: their phases, and in the slowest one the operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import show
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


class PhasesView(NamedTuple):
    """Batches, oldest first; operators: (name, share) of the batch's work in the last one."""

    batches: list[BatchPhases]
    operators: list[tuple[str, float]]

    @property
    def slowest(self) -> list[BatchPhases]:
        """The slowest first."""
        return sorted(self.batches, key=lambda one: -one.total)[:MOST_SLOW]


def build_phases(
    batches: Sequence[Batch], commits: SeriesData | None, operators: Sequence[tuple[str, float]]
) -> PhasesView:
    """commits: milliseconds that the record of the batch before took."""
    recorded: dict[int, float] = {}
    if commits is not None:
        pairs = zip(commits.batch.tolist(), commits.value.tolist(), strict=True)
        recorded = {batch - 1: value for batch, value in pairs}
    shown = [_phases(one.id, one, recorded) for one in batches if one.id is not None]
    return PhasesView(shown, list(operators))


def _phases(id: int, batch: Batch, recorded: Mapping[int, float]) -> BatchPhases:
    known = [max(0.0, float(batch.timings_ms.get(name, 0.0))) for name in PHASES]
    rest = max(0.0, batch.duration_ms - sum(known))
    return BatchPhases(id, (*known, rest, recorded.get(id, 0.0)), batch.n_tuples)
