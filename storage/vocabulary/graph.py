"""Plan graphs: operators with their roles, and the queues between them, as plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

#: Roles of nodes that do not work on tuples.
NO_OPERATORS: Final = (
    *("source", "output", "synopsis", "stub", "store", "cache", "index", "components"),
)


@dataclass(frozen=True, slots=True)
class PlanNode:
    """An operator of a plan, or a source or an output. id: of its entity. role: of a Vocabulary.

    name: what people call it. properties: facts that belong to this version of the plan.
    """

    id: str
    role: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanEdge:
    """Tuples go from ``source`` to input number ``port`` of ``target`` through ``queue``; without a
    queue, ``target`` looks into ``source``, which is a synopsis or a store."""

    source: str
    target: str
    queue: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """A directed acyclic graph of operators. Raises ValueError for a cycle, an id that occurs
    twice, or an edge whose ends are no nodes."""

    nodes: tuple[PlanNode, ...] = ()
    edges: tuple[PlanEdge, ...] = ()

    def __post_init__(self) -> None:
        ids = {node.id for node in self.nodes}
        if len(ids) < len(self.nodes):
            raise ValueError("two nodes of a plan have one id")
        for edge in self.edges:
            if edge.source not in ids or edge.target not in ids:
                raise ValueError(f"no node at an end of {edge.source} -> {edge.target}")
        self.topological()

    def topological(self) -> tuple[str, ...]:
        """Ids of the nodes, each behind those that feed it; among equals as they stand."""
        feeding: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            feeding[edge.target].append(edge.source)
        try:
            return tuple(TopologicalSorter(feeding).static_order())
        except CycleError as error:
            raise ValueError(f"a plan has a cycle: {error.args[1]}") from error

    def node(self, id: str) -> PlanNode:
        """The node with the id. Raises KeyError."""
        for node in self.nodes:
            if node.id == id:
                return node
        raise KeyError(id)

    @property
    def order(self) -> tuple[str, ...]:
        """Ids of the operators in topological order; sources, outputs and state are left out."""
        others = {node.id for node in self.nodes if node.role in NO_OPERATORS}
        return tuple(id for id in self.topological() if id not in others)

    @property
    def digest(self) -> str:
        """12 hex digits that change exactly when nodes, roles, properties or edges change."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """Nodes and edges as JSON holds them; properties left out where there are none."""
        return {
            "nodes": [
                {"id": n.id, "role": n.role, "name": n.name}
                | ({"properties": dict(n.properties)} if n.properties else {})
                for n in self.nodes
            ],
            "edges": [
                {"source": e.source, "target": e.target, "queue": e.queue}
                | ({"port": e.port} if e.port else {})
                for e in self.edges
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlanGraph:
        """The graph of ``to_json``. Raises KeyError and ValueError for what is none."""
        nodes = (
            PlanNode(n["id"], n["role"], n["name"], n.get("properties", {})) for n in data["nodes"]
        )
        edges = (
            PlanEdge(e["source"], e["target"], e["queue"], e.get("port", 0)) for e in data["edges"]
        )
        return cls(tuple(nodes), tuple(edges))


def merged(graphs: Iterable[PlanGraph]) -> PlanGraph:
    """One graph of the fragments; nodes and edges they share stand once."""
    nodes: dict[str, PlanNode] = {}
    edges: dict[tuple[str, str, int, str], PlanEdge] = {}
    for graph in graphs:
        nodes |= {node.id: node for node in graph.nodes if node.id not in nodes}
        edges |= {(e.source, e.target, e.port, e.queue): e for e in graph.edges}
    return PlanGraph(tuple(nodes.values()), tuple(edges.values()))


def chain(nodes: Iterable[PlanNode], queues: Iterable[str]) -> PlanGraph:
    """Nodes one behind the other, and the queues between them, one fewer."""
    placed = tuple(nodes)
    pairs = zip(placed, placed[1:], tuple(queues), strict=False)
    return PlanGraph(placed, tuple(PlanEdge(a.id, b.id, queue) for a, b, queue in pairs))
