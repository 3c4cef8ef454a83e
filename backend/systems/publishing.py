"""A unit as introspection records: what all systems publish in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from backend.model.conditions import ContinuousQuery
from backend.model.ids import (
    entity_id,
    output_id,
    output_queue,
    profile_id,
    source_id,
    source_queue,
    unit_entity,
)
from backend.operators.contract import UnitResult
from backend.systems.contract import Observation, Recorded, UnitJob
from storage.vocabulary.graph import PlanGraph, PlanNode, chain
from storage.vocabulary.kinds import EntityKind
from storage.vocabulary.planlog import LoggedEvaluation
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

AdoptedT = TypeVar("AdoptedT")
#: Property -> value, unit.
Values = Mapping[str, tuple[float | None, str]]


class PublishedUnit(ABC, Generic[AdoptedT]):
    """What is the same of all units: a core's instructions become records, and what there is to
    see is given once. AdoptedT: the core's instruction to run another plan."""

    def __init__(self, job: UnitJob) -> None:
        self._job = job
        self._result: UnitResult | None = None
        self._decided = False

    def observe(self) -> Observation:
        """Samples of the last batch and matrices of the last decision, unless they were given."""
        result, decided = self._result, self._decided
        self._result, self._decided = None, False
        samples = self._samples(result) if result is not None else ()
        return Observation(tuple(samples), self._matrices() if decided else ())

    @property
    def inexact(self) -> str:
        return ""

    @property
    def inexact_queries(self) -> frozenset[str]:
        return frozenset()

    @abstractmethod
    def _plan_record(self, adopted: AdoptedT) -> PlanVersion:
        """The record of a plan that is adopted."""

    @abstractmethod
    def _samples(self, result: UnitResult) -> Iterable[Sample]:
        """Of a batch."""

    @abstractmethod
    def _matrices(self) -> tuple[Matrix, ...]:
        """As of now."""

    def _recorded(
        self,
        instructions: Iterable[AdoptedT | Decision | DecisionOutcome | Event | LoggedEvaluation],
    ) -> Recorded:
        """Plans, decisions, outcomes, events and evaluations of a core's instructions."""
        plans, decisions, outcomes, events, logged = [], [], [], [], []
        for instruction in instructions:
            if isinstance(instruction, Decision):
                decisions.append(instruction)
                events += _marks(instruction)
            elif isinstance(instruction, DecisionOutcome):
                outcomes.append(instruction)
            elif isinstance(instruction, Event):
                events.append(instruction)
            elif isinstance(instruction, LoggedEvaluation):
                logged.append(instruction)
            else:
                plans.append(self._plan_record(instruction))
        self._decided |= bool(plans or decisions)
        records = tuple(plans), tuple(decisions), tuple(outcomes), tuple(events)
        return Recorded(*records, tuple(logged))


def _marks(d: Decision) -> list[Event]:
    """The mark of an evaluation that came to something, or was held back."""
    if d.verdict == "switched":
        return [Event("rearrangement", "plan changed", d.explanation, ref={"decision": d.seq})]
    if d.verdict in ("kept", "cooldown"):
        return [Event("held back", d.verdict, d.explanation, ref={"decision": d.seq})]
    return []


def pipeline(
    unit_id: str, input: str, role: str, operators: Mapping[str, Mapping[str, Json]]
) -> PlanGraph:
    """The plan of operators one behind the other, from the source of an input to its output.

    operators: name -> what belongs to this version of the plan. In front of each is its queue; the
    first takes from the source's.
    """
    source = PlanNode(source_id(input), "source", input)
    output = PlanNode(output_id(input), "output", "Output")
    nodes = [PlanNode(entity_id(unit_id, role, n), role, n, p) for n, p in operators.items()]
    queues = [source_queue(input), *(entity_id(unit_id, "queue", n) for n in operators)]
    if operators:
        queues = [queues[0], *queues[2:], output_queue(unit_id)]
    return chain([source, *nodes, output], queues)


def order_of(plan: PlanVersion) -> tuple[str, ...]:
    """The operators of a stored plan in order, by name."""
    graph = PlanGraph.from_json(plan.graph)
    return tuple(graph.node(id).name for id in graph.order)


def unit_entities(unit_id: str, title: str) -> list[Entity]:
    """What every unit has: itself, its profile window and the queue to the output."""
    parts: tuple[tuple[str, EntityKind, str, str], ...] = (
        (unit_entity(unit_id), "system", title, "system"),
        (profile_id(unit_id), "monitor", "Profile window", "profile"),
        (output_queue(unit_id), "queue", "Handed to the output", "queue"),
    )
    return [Entity(id, kind, name, unit_id=unit_id, role=role) for id, kind, name, role in parts]


def operator_entities(
    unit_id: str, role: str, name: str, properties: Mapping[str, Json], query: str = ""
) -> list[Entity]:
    """An operator and the queue in front of it."""
    id, queue = entity_id(unit_id, role, name), entity_id(unit_id, "queue", name)
    return [
        Entity(id, "operator", name, dict(properties), query, unit_id=unit_id, role=role),
        Entity(queue, "queue", f"Handed to {name}", unit_id=unit_id, role="queue"),
    ]


def query_entity(unit_id: str, query: ContinuousQuery, state: str, **facts: Json) -> Entity:
    """A registered query. state: active, paused or contradictory."""
    asked = {"system": query.system} if query.system else {}
    properties = {"text": query.text, "stream": query.stream, "state": state, **asked, **facts}
    id = entity_id(unit_id, "query", query.name)
    return Entity(id, "query", query.name, properties, query.name, unit_id=unit_id, role="query")


def samples_of(entity: str, values: Values) -> list[Sample]:
    """Samples of one entity."""
    return [Sample(entity, name, value, unit) for name, (value, unit) in values.items()]


def tuples_so_far(unit_id: str, n_tuples: int) -> Sample:
    """Tuples of input of a unit since the run began."""
    return Sample(unit_entity(unit_id), "tuples_total", n_tuples, "tuples")


def unit_samples(
    unit_id: str, result: UnitResult, visits: int, n_sampled: int, more: Values
) -> list[Sample]:
    """What concerns all of a unit. visits: operators visited, summed over tuples."""
    n = result.n_tuples
    shares: dict[str, Any] = {
        "dropping_ratio": (1 - result.n_matched / n if n else None, "prob"),
        "visits_per_tuple": (visits / n if n else None, "visits/tuple"),
        "profile_share": (n_sampled / n if n else None, "prob"),
    }
    return samples_of(unit_entity(unit_id), {**shares, **more})
