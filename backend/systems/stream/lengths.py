"""Lengths of valid times as columns hold them: microseconds, days, or whole numbers."""

from __future__ import annotations

from typing import Final

from backend.cql import nodes
from backend.cql.types import rebuilt, type_of
from backend.model.conditions import FLIPPED
from backend.operators.network.expressions.arithmetic import DAY_US

#: A length that no valid time has.
_NO_LENGTH: Final = -1


def time_unit(type_name: str, tick_us: int) -> tuple[int, int]:
    """(times, over): a tick is times / over in the unit of a type of valid times."""
    if type_name == "bigint":
        return 1, 1
    return (tick_us, DAY_US) if type_name == "date" else (tick_us, 1)


def measured(node: nodes.Node) -> nodes.Node:
    """An expression whose valid times and lengths are numbers in the unit of their columns."""
    return rebuilt(node, _change)


def _change(node: nodes.Node) -> nodes.Node | None:
    if isinstance(node, nodes.Compare):
        left, right, op = node.left, node.right, node.op
        if isinstance(left, nodes.Length):
            left, right, op = right, left, FLIPPED[op]
        if isinstance(left, nodes.ValidLength) and isinstance(right, nodes.Length):
            return _compared(op, left, right)
    if isinstance(node, nodes.ValidLength):
        return _span(node)
    return None


def _span(node: nodes.ValidLength) -> nodes.ColumnSpan:
    if not node.unit:
        return nodes.ColumnSpan(node.at, node.start, node.end)
    unit = DAY_US if type_of(node.start) == "date" else 1
    return nodes.ColumnSpan(node.at, node.start, node.end, unit, nodes.LENGTH_UNITS[node.unit])


def _compared(op: str, valid: nodes.ValidLength, length: nodes.Length) -> nodes.Compare:
    """With a whole number of the column's unit, exactly."""
    span = _span(valid)
    in_us = length.number * nodes.LENGTH_UNITS.get(length.unit, 1)
    unit = DAY_US if length.unit and type_of(valid.start) == "date" else 1
    number, rest = divmod(in_us, unit)
    if rest:
        if op in ("=", "<>"):
            number = _NO_LENGTH
        elif op in ("<", ">="):
            number += 1
    return nodes.Compare(valid.at, op, span, nodes.Literal(length.at, number))
