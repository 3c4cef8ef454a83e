"""How many operators a network spares, counted from the graph of its plan."""

from __future__ import annotations

from typing import Any

from dashboard.views.sharing import Sharing, sharing_of


def graph(edges: str, **roles: str) -> dict[str, Any]:
    """edges: ``a>b b>c``; nodes are operators unless ``roles`` says otherwise."""
    pairs = [edge.split(">") for edge in edges.split()]
    ids = dict.fromkeys(id for pair in pairs for id in pair)
    nodes = [{"id": id, "role": roles.get(id, "select"), "name": id} for id in ids]
    return {"nodes": nodes, "edges": [{"source": a, "target": b} for a, b in pairs]}


def test_what_two_queries_need_counts_twice_if_each_had_its_own() -> None:
    both = graph("s>a a>b b>q a>c c>r", s="source", q="output", r="output")
    assert sharing_of([both]) == Sharing(3, 4, 2)


def test_state_is_no_operator_and_what_answers_nobody_does_not_count() -> None:
    kept = graph("s>a m>a a>q a>x", s="source", m="synopsis", q="output")
    assert sharing_of([kept]) == Sharing(1, 1, 1)


def test_plans_of_several_units_add_up() -> None:
    one, other = graph("a>q", q="output"), graph("b>r b>p", r="output", p="output")
    assert sharing_of([one, other]) == Sharing(2, 3, 3)
    assert sharing_of([]) == Sharing(0, 0, 0)
