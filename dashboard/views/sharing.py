"""Operators that several queries share, as the graphs of plans have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from storage.vocabulary.graph import NO_OPERATORS


class Sharing(NamedTuple):
    """n_operators: that run; n_alone: that would if each query had its own; n_queries: answered."""

    n_operators: int
    n_alone: int
    n_queries: int


def sharing_of(graphs: Iterable[Mapping[str, Any]]) -> Sharing:
    """Of all plans together. graphs: as plan versions have them."""
    operators, n_alone, n_queries = set[str](), 0, 0
    for graph in graphs:
        roles = {str(node["id"]): str(node["role"]) for node in graph.get("nodes", ())}
        feeding: dict[str, list[str]] = {id: [] for id in roles}
        for edge in graph.get("edges", ()):
            feeding[str(edge["target"])].append(str(edge["source"]))
        for output in (id for id, role in roles.items() if role == "output"):
            own = {id for id in _behind(output, feeding) if roles[id] not in NO_OPERATORS}
            operators |= own
            n_alone, n_queries = n_alone + len(own), n_queries + 1
    return Sharing(len(operators), n_alone, n_queries)


def _behind(output: str, feeding: Mapping[str, list[str]]) -> set[str]:
    """All that a node is made of."""
    seen, ahead = set[str](), [output]
    while ahead:
        for id in feeding[ahead.pop()]:
            if id not in seen:
                seen.add(id)
                ahead.append(id)
    return seen
