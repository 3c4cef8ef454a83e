"""What a core is to the operator network that it adapts: what it is told, may say, and must not.

A unit of operator networks has some cores, each for operators of its own. A core is pure: no clock,
no input or output, no global random numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from backend.adaptive.core import Evaluations
from backend.adaptive.planlog.logged import Ran, Weighed
from backend.adaptive.planlog.pilots import Pilots
from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree
from backend.systems.contract import Refusal, UnitKind, UnitState
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.records import (
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Json,
    Matrix,
    Sample,
)


class LaidOutNetwork(Protocol):
    """An operator network as its cores see it: the plan, and what its parts are called."""

    @property
    def unit_id(self) -> str:
        """Of the unit that runs it."""

    @property
    def plan(self) -> NetworkPlan:
        """Its operators."""

    @property
    def names(self) -> Mapping[str, str]:
        """What people call each operator, by id."""

    @property
    def queries(self) -> Mapping[str, ContinuousQuery]:
        """Those it answers, by name."""

    def node(self, id: str) -> str:
        """The entity of an operator."""


@dataclass(frozen=True, slots=True)
class NetworkRan:
    """A network has run a batch. n_tuples: that came into it. ms: where the clock of the unit
    stands, milliseconds since any moment. backlog: stream it reads -> tuples that wait for a batch;
    absent: unknown."""

    batch_id: int
    n_tuples: int
    report: NetworkReport
    ms: float = 0.0
    backlog: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoreNews:
    """What a batch led to in a core. is_new: the network is executed otherwise from the next batch
    on, with or without a decision. ran, weighed: for the plan log (``PlanLogger``)."""

    records: tuple[Decision | DecisionOutcome | Event, ...] = ()
    is_new: bool = False
    ran: Ran = field(default_factory=dict)
    weighed: tuple[Weighed, ...] = ()

    def about(self, name: str) -> CoreNews:
        """As of one operator of several that a core has."""
        ran = {f"{name}: {subject}": of for subject, of in self.ran.items()}
        named = (each._replace(subject=f"{name}: {each.subject}") for each in self.weighed)
        return replace(self, ran=ran, weighed=tuple(named))

    @classmethod
    def of(cls, parts: Sequence[CoreNews], is_new: bool) -> CoreNews:
        """Of several operators."""
        return cls(
            tuple(record for part in parts for record in part.records),
            is_new,
            {subject: of for part in parts for subject, of in part.ran.items()},
            tuple(each for part in parts for each in part.weighed),
        )


class OperatorCore(ABC):
    """Adapts some operators of a network. What a core has no need of stays as it is here."""

    @property
    def inexact(self) -> Mapping[str, str]:
        """Operator -> why what it gave in the last batch may differ from what the text asks for."""
        return {}

    @abstractmethod
    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan, or other knobs, are in force: keep what is known of operators that stay.
        Why the plan is another now, as far as it is up to this core; '' where it is not."""

    @abstractmethod
    def tuned(self, job: NetworkJob) -> NetworkJob:
        """The job, to be executed as this core has decided: with tunings and limits of operators
        that its kind claims."""

    @abstractmethod
    def observe(self, ran: NetworkRan) -> CoreNews:
        """A batch is over."""

    def pilots(self) -> Pilots:
        """Its autopilots, whoever decides at the moment; they have the begins of the evaluations.
        Their looks are among the records of ``observe``, as of version 0 of the plan."""
        return {}

    def parts(self) -> Mapping[str, tuple[KnobSpec, ...]]:
        """Entities of its own that have knobs, by id."""
        return {}

    def part_turned(self, part: str, settings: KnobSettings) -> None:
        """Other values of the knobs of one of them are in force; the job is asked for again."""
        raise KeyError(part)

    def bids(self) -> Mapping[str, Bid]:
        """What its operators want of the memory of the run, by operator; none where they need
        none."""
        return {}

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        """What they have of it from the next batch on, of each that bids; whether the network is
        executed otherwise then."""
        return False

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        """What they did with it in the last batch, of each that bids."""
        return {}

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        """The plan with what this core adds to it."""
        return graph

    def entities(self) -> Sequence[Entity]:
        """Its own, of the plan in force."""
        return ()

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        """Of a batch."""
        return ()

    def matrices(self) -> Sequence[Matrix]:
        """As of the last decision."""
        return ()

    def state(self) -> Mapping[str, Json]:
        """What a run that is resumed at the next batch needs, by names that no other core uses;
        none where what it publishes as totals is all there is to know. It is kept every batch, so
        it is small: all cores of a unit have MOST_STATE_BYTES."""
        return {}

    @property
    def refills(self) -> bool:
        """Whether it samples anew after a kill, as what it had sampled is too much for a state."""
        return False

    def restore(self, state: UnitState) -> None:
        """Take up ``state``, whose facts have what ``state()`` gave; or lack it, where nothing was
        kept."""
        return


@runtime_checkable
class ChecksKnobs(Protocol):
    """A core some of whose knobs do not go together, or with a plan."""

    def check(self, network: LaidOutNetwork, settings: KnobSettings) -> None:
        """Raises Refused, before anything is changed."""


class CoreKind(UnitKind, Protocol):
    """A kind of core, of which every network of some systems has one."""

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        """The operators it adapts, by id, which no other core of a unit may claim; or why it adapts
        none."""

    def core(self, evaluations: Evaluations) -> OperatorCore:
        """A core, laid out by its first ``lay_out``. evaluations: the count of decisions, shared by
        all cores of a unit."""

    def rehearsals(self, plan: NetworkPlan) -> Sequence[Mapping[str, Tuning]]:
        """Tunings of the plan's operators that together call every kernel of this core's."""


@runtime_checkable
class BringsOperators(Protocol):
    """A kind of core with operators of its own."""

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        """The tree of a query with these in it; or why it has none of them."""
