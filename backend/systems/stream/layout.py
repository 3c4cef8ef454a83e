"""An operator network as the plan graph and the entities that introspection shows.

All that reads one stream, or one stored relation, is one node: the input manager's part for the
stream, and the relation. Every other operator is a node, what it keeps another beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from backend.model.conditions import ContinuousQuery
from backend.model.ids import entity_id, source_id, source_queue, unit_entity
from backend.operators.network.core.job import queue_id
from backend.operators.network.core.plan import NetworkPlan, Streams
from backend.operators.network.kinds.sampling import with_intervals
from backend.systems.publishing import query_entity
from backend.systems.stream.capacities import Capacities
from backend.systems.stream.describing import DescribedOperator, described
from backend.systems.stream.holdings import Holding, holdings
from backend.systems.stream.waiting import Wait
from backend.workloads.sysstream import SYS_STREAMS
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.kinds import EntityKind
from storage.vocabulary.records import Entity, Json


@dataclass(frozen=True)
class NetworkLayout:
    """A plan with its operators in words, and the ids of what belongs to them. words: of operators
    that are no inputs; streams, relations: name -> the operators that read it; holdings: what
    operators keep; queries: what it answers, by name; clocks: query -> the streams whose time it
    goes by."""

    unit_id: str
    plan: NetworkPlan
    words: Mapping[str, DescribedOperator]
    streams: Mapping[str, tuple[str, ...]]
    relations: Mapping[str, tuple[str, ...]]
    holdings: tuple[Holding, ...]
    queries: Mapping[str, ContinuousQuery] = field(default_factory=dict)
    clocks: Mapping[str, Streams] = field(default_factory=dict)

    @classmethod
    def of(
        cls, unit_id: str, plan: NetworkPlan, queries: Iterable[ContinuousQuery] = ()
    ) -> NetworkLayout:
        """The layout of a plan."""
        streams: dict[str, tuple[str, ...]] = {}
        relations: dict[str, tuple[str, ...]] = {}
        for operator in plan.operators:
            if name := operator.work.reads:
                read = relations if operator.work.is_stored else streams
                read[name] = (*read.get(name, ()), operator.id)
        words = described(plan)
        kept = holdings(unit_id, plan, words, _names(words, streams, relations))
        by_name = {query.name: query for query in queries}
        goes_by = {id: clock for clock, ids in plan.clocks.items() for id in ids}
        clocks = {query: goes_by[answer.operator] for query, answer in plan.answers.items()}
        return cls(unit_id, plan, words, streams, relations, kept, by_name, clocks)

    def node(self, id: str) -> str:
        """The entity of an operator, or of what it reads."""
        work = self.plan.operator(id).work
        if work.reads:
            return self.relation(work.reads) if work.is_stored else self.input(work.reads)
        return entity_id(self.unit_id, self.words[id].role, id)

    def input(self, stream: str) -> str:
        """What takes in a stream."""
        return entity_id(self.unit_id, "input", stream)

    def relation(self, name: str) -> str:
        """A stored relation."""
        return entity_id(self.unit_id, "source", name)

    def queue(self, id: str) -> str:
        """A queue, by ``queue_id``."""
        return entity_id(self.unit_id, "queue", id)

    def queue_name(self, id: str) -> str:
        """What people call a queue."""
        for operator in self.plan.operators:
            for port, input in enumerate(operator.inputs):
                if queue_id(input, operator.id, port) == id:
                    return f"{self.names[input]} → {self.names[operator.id]}"
        raise KeyError(id)

    def answer(self, query: str) -> str:
        """What a query answers."""
        return entity_id(self.unit_id, "output", query)

    def answer_queue(self, query: str) -> str:
        """The queue to it."""
        return entity_id(self.unit_id, "queue", f"answer of {query}")

    @property
    def names(self) -> dict[str, str]:
        """What people call each operator, inputs by what they read."""
        return _names(self.words, self.streams, self.relations)

    def graph(self) -> PlanGraph:
        """Sources, operators with what they keep, and the answers of queries."""
        nodes = [PlanNode(source_id(name), "source", name) for name in self.streams]
        nodes += [PlanNode(self.input(name), "input", name) for name in self.streams]
        stored = {"note": "a stored relation"}
        nodes += [PlanNode(self.relation(n), "source", n, stored) for n in self.relations]
        for id, word in self.words.items():
            nodes.append(PlanNode(self.node(id), word.role, word.name, dict(word.facts)))
        nodes += [PlanNode(holding.id, holding.role, holding.name) for holding in self.holdings]
        nodes += [
            PlanNode(self.answer(query), "output", query, {"note": _kind(answer.is_stream)})
            for query, answer in self.plan.answers.items()
        ]
        return PlanGraph(tuple(nodes), tuple(self._edges()))

    def _edges(self) -> list[PlanEdge]:
        edges = [PlanEdge(source_id(n), self.input(n), source_queue(n)) for n in self.streams]
        for id in self.words:
            for port, input in enumerate(self.plan.operator(id).inputs):
                queue = self.queue(queue_id(input, id, port))
                edges.append(PlanEdge(self.node(input), self.node(id), queue, port))
        for kept in self.holdings:
            if kept.role == "stub":
                edges.append(PlanEdge(str(kept.facts["store"]), kept.id, ""))
            if kept.role != "store":
                edges += [PlanEdge(kept.id, self.node(id), "") for id in kept.operators]
        edges += [
            PlanEdge(self.node(answer.operator), self.answer(query), self.answer_queue(query))
            for query, answer in self.plan.answers.items()
        ]
        return edges

    def entities(
        self, title: str, capacities: Capacities, facts: Mapping[str, Json]
    ) -> list[Entity]:
        """All but the queries. capacities: of queues; facts: of the unit."""
        entities = [self._entity(unit_entity(self.unit_id), "system", "system", title, facts)]
        for name in self.streams:
            entities.append(self._entity(self.input(name), "operator", "input", name))
            if name in SYS_STREAMS:
                entities.append(self._entity(source_id(name), "operator", "source", name))
        for name in self.relations:
            entities.append(self._entity(self.relation(name), "operator", "source", name))
        for id, word in self.words.items():
            entities.append(
                self._entity(self.node(id), "operator", word.role, word.name, word.facts)
            )
        for kept in self.holdings:
            own = {"owners": [self.node(id) for id in kept.operators], **kept.facts}
            kind: EntityKind = "store" if kept.role == "store" else "synopsis"
            entities.append(self._entity(kept.id, kind, kept.role, kept.name, own))
        entities += self._queues(capacities)
        for query, answer in self.plan.answers.items():
            answer_facts = {"answers": _kind(answer.is_stream)}
            entities.append(
                self._entity(self.answer(query), "operator", "output", query, answer_facts, query)
            )
            name = f"Answer of {query}"
            entities.append(
                self._entity(self.answer_queue(query), "queue", "queue", name, {}, query)
            )
        return entities

    def _queues(self, capacities: Capacities) -> list[Entity]:
        names, queues = self.names, []
        for id in self.words:
            for port, input in enumerate(self.plan.operator(id).inputs):
                queue, name = queue_id(input, id, port), f"{names[input]} → {names[id]}"
                facts: dict[str, Json] = {
                    "producer": self.node(input),
                    "consumer": self.node(id),
                    "capacity_tuples": capacities.of(queue) or None,
                }
                queues.append(self._entity(self.queue(queue), "queue", "queue", name, facts))
        return queues

    def _entity(
        self,
        id: str,
        kind: EntityKind,
        role: str,
        name: str,
        facts: Mapping[str, Json] | None = None,
        query: str = "",
    ) -> Entity:
        return Entity(id, kind, name, dict(facts or {}), query, unit_id=self.unit_id, role=role)

    def query(self, query: ContinuousQuery, since: int, wait: Wait | None = None) -> Entity:
        """A query that runs. since: the batch it was registered at; wait: what it waits for."""
        answer, words = self.plan.answers[query.name], self.words.items()
        estimated = with_intervals(self.plan, answer.operator)
        return query_entity(
            self.unit_id,
            query,
            "active",
            streams=list(query.reads),
            answers=_kind(answer.is_stream),
            registered_at=since,
            waits_for=[] if wait is None else list(wait.streams),
            waits_since=None if wait is None else wait.batch,
            operators=[self.node(id) for id, word in words if query.name in word.facts["queries"]],
            **({"intervals": estimated} if estimated else {}),
        )


def _names(
    words: Mapping[str, DescribedOperator], *read: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    names_by_id = {id: word.name for id, word in words.items()}
    for names in read:
        names_by_id |= {id: name for name, ids in names.items() for id in ids}
    return names_by_id


def _kind(is_stream: bool) -> str:
    return "a stream" if is_stream else "a relation"
