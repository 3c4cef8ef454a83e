"""What tells the plan of a network from the one before, in the words of what happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from dashboard.base.face import faces
from dashboard.components.kinds import node_kind
from storage.vocabulary.graph import NO_OPERATORS
from storage.vocabulary.records import PlanVersion

#: Id -> node, as a plan's graph has it on record.
Nodes: TypeAlias = Mapping[str, Mapping[str, Any]]
#: Told one by one; of more it is said how many.
_MOST: Final = 2
_UNKNOWN: Final = "the same parts, set otherwise"


def network_changes(old: PlanVersion, new: PlanVersion) -> str:
    """'R ⋈ S is cached now, 1 change more'; where nobody can tell, that it is set otherwise."""
    before, after = _nodes(old), _nodes(new)
    sentences = [*_queries(before, after), *_of_systems(before, after), *_kept(before, after)]
    changes = list(dict.fromkeys(sentences or _operators(before, after)))
    more = len(changes) - _MOST
    words = [*changes[:_MOST], *([f"{more} change{'s' * (more > 1)} more"] if more > 0 else [])]
    return ", ".join(words) or _UNKNOWN


def properties(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Facts of a node that belong to its version of the plan."""
    known = node.get("properties")
    return known if isinstance(known, Mapping) else {}


def came_and_gone(before: Nodes, after: Nodes, role: str, comes: str, goes: str) -> Iterator[str]:
    """Nodes of a role. comes, goes: what is said of one, with {} for its name."""
    for here, there, words in ((after, before, comes), (before, after, goes)):
        for id, node in here.items():
            if node.get("role") == role and id not in there:
                yield words.format(node["name"])


def _nodes(plan: PlanVersion) -> Nodes:
    return {str(node["id"]): node for node in plan.graph.get("nodes", ())}


def _queries(before: Nodes, after: Nodes) -> Iterator[str]:
    """By what they answer."""
    yield from came_and_gone(before, after, "output", "query {} runs now", "query {} runs no more")


def _of_systems(before: Nodes, after: Nodes) -> Iterator[str]:
    """What the systems say of their own parts."""
    for face in faces():
        for changes in face.changes:
            yield from changes(before, after)


def _operators(before: Nodes, after: Nodes) -> Iterator[str]:
    """Those that came and went, where nothing else tells why."""
    for here, there, word in ((after, before, "with"), (before, after, "without")):
        names = [str(n["name"]) for id, n in here.items() if id not in there and _works(n)]
        yield from (f"{word} {name}" for name in names)


def _works(node: Mapping[str, Any]) -> bool:
    return node.get("role") not in NO_OPERATORS


def _kept(before: Nodes, after: Nodes) -> Iterator[str]:
    """What is kept beside operators, of kinds of which no system says more."""
    spoken = {role for face in faces() for role in face.spoken}
    for here, there, words in ((after, before, "is new"), (before, after, "is gone")):
        for id, node in here.items():
            role = str(node.get("role"))
            if id not in there and role in NO_OPERATORS and role not in ("output", *spoken):
                yield f"{node_kind(role).word} {node['name']} {words}"
