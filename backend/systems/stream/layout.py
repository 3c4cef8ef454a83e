"""An operator network as the plan graph and the entities that introspection shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backend.model.conditions import ContinuousQuery
from backend.model.ids import entity_id, source_id, source_queue, unit_entity
from backend.operators.network.job import queue_id
from backend.operators.network.plan import NetworkPlan, StreamInput
from backend.systems.publishing import query_entity
from backend.systems.stream.chaining import Chaining
from backend.systems.stream.describing import Described, described
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.records import Entity, Json


@dataclass(frozen=True)
class NetworkLayout:
    """A plan with its operators in words, and the ids of what belongs to them."""

    unit_id: str
    plan: NetworkPlan
    words: Mapping[str, Described]

    @classmethod
    def of(cls, unit_id: str, plan: NetworkPlan) -> NetworkLayout:
        """The layout of a plan."""
        return cls(unit_id, plan, described(plan))

    def operator(self, id: str) -> str:
        """The entity of an operator."""
        return entity_id(self.unit_id, self.words[id].role, id)

    def synopsis(self, id: str) -> str:
        """That of what an operator keeps."""
        return entity_id(self.unit_id, "synopsis", id)

    def queue(self, id: str) -> str:
        """That of a queue, by ``queue_id``."""
        return entity_id(self.unit_id, "queue", id)

    def answer(self, query: str) -> str:
        """That of what a query answers."""
        return entity_id(self.unit_id, "output", query)

    def answer_queue(self, query: str) -> str:
        """That of the queue to it."""
        return entity_id(self.unit_id, "queue", f"answer of {query}")

    @property
    def names(self) -> dict[str, str]:
        """What people call each operator."""
        return {id: one.name for id, one in self.words.items()}

    @property
    def stateful(self) -> list[str]:
        """Operators that keep something."""
        return [id for id, one in self.words.items() if one.keeps]

    def graph(self, chaining: Chaining) -> PlanGraph:
        """Sources, operators with what they keep, and the answers of queries."""
        nodes = [*self._sources(), *self._operators(chaining)]
        nodes += [
            PlanNode(self.synopsis(id), "synopsis", self.words[id].keeps) for id in self.stateful
        ]
        nodes += [
            PlanNode(self.answer(query), "output", query, {"note": _kind(answer.is_stream)})
            for query, answer in self.plan.answers.items()
        ]
        return PlanGraph(tuple(nodes), tuple(self._edges()))

    def _sources(self) -> list[PlanNode]:
        works = (one.work for one in self.plan.operators)
        streams = dict.fromkeys(work.stream for work in works if isinstance(work, StreamInput))
        return [PlanNode(source_id(name), "source", name) for name in streams]

    def _operators(self, chaining: Chaining) -> list[PlanNode]:
        found = []
        for id, one in self.words.items():
            facts = dict(one.facts)
            if id in chaining.slopes:
                slope, number = chaining.slopes[id]
                facts |= {"chain": number, "chain_slope": float(f"{slope:.4g}")}
            found.append(PlanNode(self.operator(id), one.role, one.name, facts))
        return found

    def _edges(self) -> list[PlanEdge]:
        found = []
        for one in self.plan.operators:
            own = self.operator(one.id)
            if isinstance(one.work, StreamInput):
                stream = one.work.stream
                found.append(PlanEdge(source_id(stream), own, source_queue(stream)))
            for port, input in enumerate(one.inputs):
                queue = self.queue(queue_id(input, one.id, port))
                found.append(PlanEdge(self.operator(input), own, queue, port))
            if self.words[one.id].keeps:
                found.append(PlanEdge(self.synopsis(one.id), own, ""))
        found += [
            PlanEdge(self.operator(answer.operator), self.answer(query), self.answer_queue(query))
            for query, answer in self.plan.answers.items()
        ]
        return found

    def entities(self, title: str, capacity: int, facts: Mapping[str, Json]) -> list[Entity]:
        """All but the queries. capacity: of each queue, 0: without limit; facts: of the unit."""
        id = self.unit_id
        found = [
            Entity(unit_entity(id), "system", title, dict(facts), unit_id=id, role="system"),
        ]
        for op, one in self.words.items():
            found.append(
                Entity(
                    self.operator(op),
                    "operator",
                    one.name,
                    dict(one.facts),
                    unit_id=id,
                    role=one.role,
                )
            )
        for op in self.stateful:
            one = self.words[op]
            own = {"owner": self.operator(op), "keeps": one.keeps}
            name = f"{one.keeps} of {one.name}"
            found.append(
                Entity(self.synopsis(op), "synopsis", name, own, unit_id=id, role="synopsis")
            )
        return [*found, *self._queue_entities(capacity), *self._answer_entities()]

    def _queue_entities(self, capacity: int) -> list[Entity]:
        names, found = self.names, []
        for one in self.plan.operators:
            for port, input in enumerate(one.inputs):
                facts: dict[str, Json] = {
                    "producer": self.operator(input),
                    "consumer": self.operator(one.id),
                    "capacity_tuples": capacity or None,
                }
                queue = self.queue(queue_id(input, one.id, port))
                name = f"{names[input]} → {names[one.id]}"
                found.append(
                    Entity(queue, "queue", name, facts, unit_id=self.unit_id, role="queue")
                )
        return found

    def _answer_entities(self) -> list[Entity]:
        found = []
        for query, answer in self.plan.answers.items():
            facts = {"answers": _kind(answer.is_stream)}
            found += [
                Entity(
                    self.answer(query),
                    "operator",
                    query,
                    facts,
                    query,
                    unit_id=self.unit_id,
                    role="output",
                ),
                Entity(
                    self.answer_queue(query),
                    "queue",
                    f"Answer of {query}",
                    query=query,
                    unit_id=self.unit_id,
                    role="queue",
                ),
            ]
        return found

    def query(self, query: ContinuousQuery, since: int) -> Entity:
        """A query that runs. since: the batch it was registered at."""
        answer = self.plan.answers[query.name]
        own = [
            self.operator(id) for id, w in self.words.items() if query.name in w.facts["queries"]
        ]
        return query_entity(
            self.unit_id,
            query,
            "active",
            streams=list(query.reads),
            answers=_kind(answer.is_stream),
            registered_at=since,
            operators=own,
        )


def _kind(is_stream: bool) -> str:
    return "a stream" if is_stream else "a relation"
