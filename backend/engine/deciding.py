"""What the loop needs of a decision core: one contract for selections and pipelined filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from backend.engine.control import Registry
from backend.engine.execution import BatchResult
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from storage.vocabulary.records import (
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Json,
    Matrix,
    PlanVersion,
    Sample,
)

SnapshotT_co = TypeVar("SnapshotT_co", covariant=True)
ResultT_contra = TypeVar("ResultT_contra", bound=BatchResult, contravariant=True)


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What a run executes: a stream, its queries, and facts about source and sink to show.

    functions: those its queries may call. progress: told (n, total) as queries are registered.
    """

    stream: str
    schema: Schema
    queries: tuple[ContinuousQuery, ...]
    source: Mapping[str, Json]
    sink: Mapping[str, Json]
    functions: Functions | None = None
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the core came to, as the store records it."""

    plans: tuple[PlanVersion, ...] = ()
    decisions: tuple[Decision, ...] = ()
    outcomes: tuple[DecisionOutcome, ...] = ()
    events: tuple[Event, ...] = ()

    def then(self, later: Recorded) -> Recorded:
        """Both, in order."""
        return Recorded(
            (*self.plans, *later.plans),
            (*self.decisions, *later.decisions),
            (*self.outcomes, *later.outcomes),
            (*self.events, *later.events),
        )


class Deciding(Protocol[SnapshotT_co, ResultT_contra]):
    """A decision core with what is published about it.

    ``snapshot`` fixes what a batch runs; ``executed`` is given what became of the last snapshot.
    """

    #: Name of the system, and what its unit is called.
    system: str
    title: str

    @property
    def plan_version(self) -> int:
        """The plan in force, or adopted for the next batch."""

    def start(self) -> Recorded:
        """The first plan."""

    def snapshot(self, batch_id: int, settings: KnobSettings) -> SnapshotT_co:
        """What the batch runs."""

    def executed(self, result: ResultT_contra) -> Recorded:
        """Decide on a batch."""

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        """Take in what operators changed. Raises Refused, QueryError for queries that cannot be."""

    def entities(self, job: StreamJob, registry: Registry) -> Sequence[Entity]:
        """Everything that has properties, queries included; of unchanged ones the same objects."""

    def samples(self, result: ResultT_contra) -> list[Sample]:
        """Of operators, queues and the monitor, for the batch."""

    def watched(self, result: ResultT_contra) -> dict[str, tuple[float | None, str]]:
        """Further properties of the system: value, unit."""

    def matrices(self) -> tuple[Matrix, ...]:
        """What there is to see now."""
