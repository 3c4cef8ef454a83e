"""Expressions over columns by place: put together, moved to other places, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from backend.cql.nodes import At, ColumnReference, Node, Widened
from backend.cql.printer import format_expression
from backend.cql.types import expressions_in, rebuilt

#: Expressions are put together up to so many parts.
_LARGEST: Final = 32


def places_in(node: Node) -> frozenset[int]:
    """The places of the columns that an expression names."""
    return frozenset(part.index for part in expressions_in(node) if isinstance(part, At))


def composed(outer: Node, inner: Sequence[Node]) -> Node | None:
    """An expression over a projection's columns, over those of its input; None where that would
    repeat too much of the projection's work."""
    if isinstance(outer, At):
        return inner[outer.index]
    columns = [inner[part.index] for part in expressions_in(outer) if isinstance(part, At)]
    worked = [column for column in columns if not isinstance(column, At)]
    n_nodes = sum(1 for column in worked for _ in expressions_in(column))
    if worked and n_nodes + sum(1 for _ in expressions_in(outer)) > _LARGEST:
        return None
    return rebuilt(outer, lambda part: inner[part.index] if isinstance(part, At) else None)


def moved(node: Node, to: Mapping[int, int]) -> Node:
    """An expression whose columns are at other places."""
    return rebuilt(
        node,
        lambda part: At(part.at, to[part.index], part.type) if isinstance(part, At) else None,
    )


def expression_text(node: Node, names: Sequence[str]) -> str:
    """An expression over columns by place as CQL, with their names as they are."""

    def named(part: Node) -> Node | None:
        if isinstance(part, At):
            return ColumnReference(part.at, "", names[part.index], part.type)
        return rebuilt(part.operand, named) if isinstance(part, Widened) else None

    return format_expression(rebuilt(node, named)).replace("`", "")
