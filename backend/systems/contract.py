"""What a system and its units are to the engine. One paper is one system; a run has many units.

A unit is pure: no clock, no input or output, no global random numbers. The engine tells it what
happened and writes down what it answers; a host runs its operators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings, KnobSpec
from backend.model.schema import Schema
from backend.operators.contract import Operator, UnitResult
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.workloads.relations import SlidingRelation
from backend.workloads.stored import StoredRelation
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.properties import Vocabulary
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
from storage.vocabulary.taps import TapSample

#: Of what a unit keeps when a batch is over; of one that has more, nothing is kept.
MOST_STATE_BYTES: Final = 1 << 20


class Refused(Exception):
    """Something that cannot be done; the message is the answer, in one sentence."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A query that a system can run. group: queries with one group go to one unit; it is the part
    of the unit's id behind the system's name."""

    group: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a system cannot run a query, in one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class UnitJob:
    """What a unit is made for. id: qualifies its entities. inputs: the streams its queries read.
    schemas: of all streams of the run, which later queries may read; times: how their tuples are
    put in time. functions: those its queries may call; relations: what windows in filters look
    into; stored: relations by name. batch: the first one it runs. clock: seconds since any moment,
    for what its own work takes and nothing else. progress: told (n, total) as queries are
    registered. learned: looks of an autopilot of the same unit of another run, oldest first."""

    id: str
    inputs: tuple[str, ...]
    schemas: Mapping[str, Schema]
    queries: tuple[ContinuousQuery, ...]
    functions: Functions | None = None
    relations: Mapping[WindowMember, SlidingRelation] = field(default_factory=dict)
    times: Mapping[str, StreamTime] = field(default_factory=dict)
    stored: Mapping[str, StoredRelation] = field(default_factory=dict)
    batch: int = 0
    clock: Callable[[], float] = time.perf_counter
    progress: Callable[[int, int], None] | None = None
    learned: Sequence[Json] = ()

    @property
    def input(self) -> str:
        """The one stream of a unit that reads one."""
        (only,) = self.inputs
        return only

    @property
    def schema(self) -> Schema:
        """That of the one stream."""
        return self.schemas[self.input]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a unit came to, as the store records it; the engine adds the unit's id."""

    plans: tuple[PlanVersion, ...] = ()
    decisions: tuple[Decision, ...] = ()
    outcomes: tuple[DecisionOutcome, ...] = ()
    events: tuple[Event, ...] = ()
    logged: tuple[LoggedEvaluation, ...] = ()

    def then(self, later: Recorded) -> Recorded:
        """Both, in order."""
        return Recorded(
            (*self.plans, *later.plans),
            (*self.decisions, *later.decisions),
            (*self.outcomes, *later.outcomes),
            (*self.events, *later.events),
            (*self.logged, *later.logged),
        )


@dataclass(frozen=True, slots=True)
class BatchRan:
    """A batch is over. ms: where the unit's clock stands, milliseconds since any moment. backlog:
    stream -> tuples that wait for a batch; absent: unknown."""

    batch_id: int
    result: UnitResult
    ms: float
    backlog: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """What there is to see of a unit, each thing once: samples of the last batch, and matrices as
    of the last decision; the engine adds the unit's id to these."""

    samples: tuple[Sample, ...] = ()
    matrices: tuple[Matrix, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitState:
    """What a unit takes up again after a killed run: the plan in force, the number of decisions.

    facts: what it gave when its last batch was over (``KeepsState``), {} = nothing is known.
    first: the plan it began with, None = not known. totals: entity -> property -> value, of what it
    has counted since the run began. looks: what the newest evaluations of each of its plan logs
    wrote down, of each oldest first.
    """

    plan: PlanVersion
    n_decisions: int
    facts: Mapping[str, Json] = field(default_factory=dict)
    first: PlanVersion | None = None
    totals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    looks: tuple[Json, ...] = ()

    def total(self, entity: str, name: str) -> float:
        """A total as it was published last, 0 before."""
        return self.totals.get(entity, {}).get(name, 0)


class SystemUnit(Protocol):
    """One adaptive part of a run: an instance of a system over some inputs."""

    @property
    def plan_version(self) -> int:
        """The plan in force, or adopted for the next batch."""

    @property
    def inexact(self) -> str:
        """Why answers of the last batch may differ from those of the queries' text, in a phrase; ''
        while they are exact, whatever plan is in force."""

    @property
    def inexact_queries(self) -> frozenset[str]:
        """Those whose answers that is, by name."""

    def start(self, state: UnitState | None) -> Recorded:
        """The first plan, or the one it goes on with."""

    def operator(self, batch_id: int) -> Operator | NetworkJob:
        """What the batch runs: an operator over its one input, or a network that keeps state over
        several; the same object as before while nothing has changed."""

    def executed(self, event: BatchRan) -> Recorded:
        """Decide on a batch."""

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        """Take in what operators changed. Raises Refused or QueryError for what cannot be."""

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        """Operators, queues, monitors and queries; of unchanged ones the same objects. paused:
        queries of the unit that are registered and do not run."""

    def observe(self) -> Observation:
        """Samples of the last batch and matrices of the last decision, unless they were given."""


@runtime_checkable
class HasParts(Protocol):
    """A unit some of whose entities have knobs of their own."""

    def parts(self) -> Mapping[str, tuple[KnobSpec, ...]]:
        """Those entities, by id, with their knobs."""

    def part_turned(self, part: str, settings: KnobSettings) -> None:
        """Other values of the knobs of one of them are in force."""


@runtime_checkable
class WantsMemory(Protocol):
    """A unit that can use memory of the run's pool."""

    def bids(self) -> Mapping[str, Bid]:
        """What its consumers want, by names of its own."""

    def grant(self, grants: Mapping[str, Grant]) -> None:
        """What they have from the next batch on, of each that bids."""

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        """What they did with it in the last batch."""


@runtime_checkable
class KeepsState(Protocol):
    """A unit that learns something between plans."""

    def facts(self) -> Mapping[str, Json]:
        """What a run that is resumed needs to go on as if it had not been killed, besides plans and
        totals: as JSON text at most MOST_STATE_BYTES."""


@runtime_checkable
class MayWait(Protocol):
    """A unit that cannot take more tuples at times."""

    @property
    def waits(self) -> str:
        """Why no batch may begin before something is changed; '' while batches may."""


@runtime_checkable
class ShowsDecisions(Protocol):
    """A unit whose scheduling decisions can be looked at one by one."""

    def decided(self, operator: str, waiting: Mapping[str, int]) -> tuple[str, str]:
        """A decision in words: what ran, and what waits then. operator, waiting (queue -> elements
        that it holds): by the ids of the network."""


@runtime_checkable
class CanBeTapped(Protocol):
    """A unit that runs as a network, whose elements can be looked at."""

    def tapped(self, entity: str) -> Mapping[str, str]:
        """The operators whose elements go through an entity, and those behind them, nearest first:
        by id, with the entities they are shown as; none where it is no entity of the network."""


@runtime_checkable
class TellsPassed(Protocol):
    """A unit whose sampled tuples can be told of, operator by operator."""

    def has_on_the_way(self, entity: str) -> bool:
        """Whether an entity is an edge or an operator that its tuples pass, all in one order."""

    def passed(self) -> Sequence[TapSample]:
        """Some tuples of the last batch, at the source and behind each operator."""


class UnitKind(Protocol):
    """What a unit has from its system, and from each kind of core in it."""

    @property
    def name(self) -> str:
        """Short, as in ids: 'asc'."""

    @property
    def title(self) -> str:
        """For people."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of its own in what is published."""

    @property
    def knobs(self) -> tuple[KnobSpec, ...]:
        """What may be turned, of each unit that has it."""


class System(UnitKind, Protocol):
    """One paper's way of running and adapting a part of a run."""

    @property
    def leaves_when_empty(self) -> bool:
        """Whether a unit goes with its last query."""

    @property
    def is_default(self) -> bool:
        """Whether it is offered queries that name no system."""

    def claim(self, query: ContinuousQuery) -> Claim | Refusal:
        """Whether it can run a query, and in which unit."""

    def unit(self, job: UnitJob, settings: KnobSettings) -> SystemUnit:
        """A unit for some queries. Raises Refused or QueryError."""
