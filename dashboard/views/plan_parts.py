"""A part of a plan: what leads to one of its outputs, and what several of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dashboard.base.face import NodeKind, told
from dashboard.components.kinds import node_kind
from storage.vocabulary.records import Entity, PlanVersion


class OutputChoice(NamedTuple):
    """An output of a plan. id: of its node; chosen: the plan is narrowed to what leads to it."""

    id: str
    name: str
    chosen: bool


def outputs_of(plan: PlanVersion | None, chosen: str | None) -> list[OutputChoice]:
    """The outputs one can choose from, by name, and where that is the same by what they are of; []
    for a plan with one only."""
    nodes = [] if plan is None else plan.graph.get("nodes", [])
    outputs = [node for node in nodes if node_kind(str(node["role"])).card == "output"]
    if plan is None or len(outputs) < 2:
        return []
    n_called = Counter(str(node["name"]) for node in outputs)
    choices = []
    for id, name in ((str(node["id"]), str(node["name"])) for node in outputs):
        sources = _sources(plan, id) if n_called[name] > 1 else ""
        choices.append(OutputChoice(id, f"{name} of {sources}" if sources else name, id == chosen))
    return sorted(choices, key=lambda choice: choice.name)


def _sources(plan: PlanVersion, output: str) -> str:
    """Names of the sources that an output's tuples come from."""
    behind = _behind(_feeding(plan), output)
    nodes = (node for node in plan.graph["nodes"] if node["id"] in behind)
    return ", ".join(
        sorted(str(n["name"]) for n in nodes if node_kind(str(n["role"])).card == "source")
    )


def has_node(plan: PlanVersion, id: str) -> bool:
    """Whether a node is in a plan."""
    return any(node["id"] == id for node in plan.graph.get("nodes", []))


def leading_to(plan: PlanVersion, output: str) -> PlanVersion:
    """The part of a plan that an output's tuples pass, with the state that is read there; all of it
    where it has no such node."""
    if not has_node(plan, output):
        return plan
    kept = {output} | _behind(_feeding(plan), output)
    nodes = [node for node in plan.graph["nodes"] if node["id"] in kept]
    edges = [e for e in plan.graph["edges"] if e["source"] in kept and e["target"] in kept]
    order = tuple(entity for entity in plan.order if entity in kept)
    graph = {"nodes": nodes, "edges": edges}
    return replace(plan, order=order, graph=graph, hash=f"{plan.hash}>{output}")


def shared_by(plan: PlanVersion) -> dict[str, list[str]]:
    """Node -> names of the outputs it leads to, for what leads to several, sources left out."""
    nodes: Sequence[Mapping[str, Any]] = plan.graph.get("nodes", [])
    cards = {str(node["id"]): node_kind(str(node["role"])).card for node in nodes}
    names = {str(node["id"]): str(node["name"]) for node in nodes}
    feeding, outputs = _feeding(plan), dict[str, list[str]]()
    for output in sorted(
        (id for id, card in cards.items() if card == "output"), key=names.__getitem__
    ):
        for id in _behind(feeding, output):
            outputs.setdefault(id, []).append(names[output])
    return {id: to for id, to in outputs.items() if len(to) > 1 and cards.get(id) != "source"}


def _feeding(plan: PlanVersion) -> dict[str, list[str]]:
    """Node -> those it takes from or looks into."""
    sources: dict[str, list[str]] = {}
    for edge in plan.graph.get("edges", []):
        sources.setdefault(edge["target"], []).append(edge["source"])
    return sources


def marks_of(entities: Mapping[str, Entity]) -> dict[str, list[tuple[str, ...]]]:
    """Node -> what is on its card, of its monitors or its own: each entity, name, property, word,
    what stands for no value, form, and the port of the node that it is about, '' = all of it."""
    marks: dict[str, list[tuple[str, ...]]] = {}
    for entity in sorted(entities.values(), key=lambda entity: entity.name):
        mark, node = told("marks").get(entity.role), entity.properties.get("node") or entity.id
        if mark is not None:
            marks.setdefault(str(node), []).append(
                (entity.id, entity.name, *mark, str(entity.properties.get("port", "")))
            )
    return marks


def sent_edge(
    edge: Mapping[str, Any],
    limits: Mapping[str, float],
    marks: Mapping[str, Sequence[tuple[str, ...]]],
) -> dict[str, Any]:
    """The edge, with what its queue may hold where it has a limit, and with the marks of its target
    that are about it."""
    queue, sent = edge.get("queue") or "", dict(edge)
    if limit := limits.get(queue):
        sent["capacity"] = limit
    about = [
        mark for mark in marks.get(edge["target"], ()) if mark[-1] == str(edge.get("port") or 0)
    ]
    if queue and about:
        sent["marks"] = about
    return sent


def cells_of(facts: Mapping[str, Any], kind: NodeKind) -> tuple[tuple[str, int], ...] | None:
    """What the strip on the card of a node is made of, and how many cells each has."""
    names, counts = (facts.get(name) or () for name in kind.cells or ("", ""))
    return tuple(zip(names, counts, strict=False)) or None


def _behind(feeding: Mapping[str, Sequence[str]], node: str) -> set[str]:
    """All that a node takes from or looks into, however far away."""
    upstream: set[str] = set()
    open_ends = [node]
    while open_ends:
        for other in feeding.get(open_ends.pop(), ()):
            if other not in upstream:
                upstream.add(other)
                open_ends.append(other)
    return upstream
