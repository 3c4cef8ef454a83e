"""Types of CQL expressions: those of Spark SQL, 'null' for NULL, '' where only a run can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import reduce
from typing import Any, Final

from backend.cql.nodes import (
    Aggregated,
    Arithmetic,
    At,
    Call,
    Case,
    ColumnReference,
    ColumnSpan,
    Converted,
    ElementTime,
    Length,
    Literal,
    Located,
    Logic,
    Negative,
    Node,
    Not,
    Subquery,
    Table,
    ValidLength,
    Widened,
    part_names,
)
from backend.model.functions import ANY
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES

#: Integer types by the values they hold, least first.
_WIDTHS: Final = ("tinyint", "smallint", "int", "bigint")
NUMERIC: Final = INTEGER_TYPES | FLOAT_TYPES
_BY_VALUE: Final[dict[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    datetime: "timestamp",
    date: "date",
}


def type_of(node: Node) -> str:
    """The type of an expression that was looked up."""
    if isinstance(node, ColumnReference | At | Widened | Converted | ElementTime):
        return node.type
    if isinstance(node, Case):
        return reduce(common_type, map(type_of, node.values))
    if isinstance(node, Literal):
        return _BY_VALUE[type(node.value)]
    if isinstance(node, Arithmetic):
        return _arithmetic_type({type_of(node.left), type_of(node.right)}, node.op == "/")
    if isinstance(node, Negative):
        return _arithmetic_type({type_of(node.operand)}, False)
    if isinstance(node, Aggregated):
        return _aggregate_type(node)
    if isinstance(node, Subquery):
        return str(node.relation.fields[0].type)
    if isinstance(node, Call) and not node.registered:
        return ""
    if isinstance(node, ColumnSpan) or (isinstance(node, ValidLength) and node.unit):
        return "bigint"
    if isinstance(node, Length | ValidLength):
        return "interval"
    return "table" if isinstance(node, Table) else "boolean"


def _arithmetic_type(operands: set[str], division: bool) -> str:
    if "" in operands:
        return ""
    return "double" if division or operands & FLOAT_TYPES else "bigint"


def common_type(left: str, right: str) -> str:
    """The type that values of both become where they stand in one column; '' where only a run can
    tell. The types are comparable."""
    if left == right or right == "null":
        return left
    if left == "null" or "" in (left, right):
        return right if left == "null" else ""
    if family(left) == "time":
        return "timestamp"
    both = {left, right}
    return "double" if both & FLOAT_TYPES else max(both, key=_WIDTHS.index)


def _aggregate_type(node: Aggregated) -> str:
    if node.function == "count":
        return "bigint"
    argument = type_of(node.arguments[0]) if node.arguments else ""
    if node.function == "avg":
        return "double"
    if node.function == "sum" and argument:
        return "bigint" if argument in INTEGER_TYPES else "double"
    return argument


def family(type_name: str) -> str:
    """Types of one family are compared with each other: numbers, times, strings, booleans."""
    if type_name in NUMERIC:
        return "number"
    return "time" if type_name in ("date", "timestamp") else type_name


def comparable(left: str, right: str) -> bool:
    """Whether values of the two types can be compared; unknown types may be."""
    known = {family(left), family(right)} - {"", "null"}
    return len(known) < 2


def convertible(given: str, wanted: str) -> bool:
    """Whether ``Cast`` makes values of one type such of the other."""
    kinds = {family(kind) for kind in (given, wanted)}
    alike = len(kinds) == 1 or kinds == {"number", "boolean"}
    return given != "" and (alike or not kinds.isdisjoint({"string", "null"}))


def fits(given: str, wanted: str) -> bool:
    """Whether every value of one type is one of the other."""
    if wanted in (ANY, given) or given == "":
        return True
    if given in _WIDTHS and wanted in _WIDTHS:
        return _WIDTHS.index(given) <= _WIDTHS.index(wanted)
    return (given in _WIDTHS or given == "float") and wanted == "double"


def with_article(type_name: str) -> str:
    """``an int``, ``a string``."""
    return f"{'an' if type_name in ('int', 'any', 'interval') else 'a'} {type_name}"


def has_more_bits(node: Node) -> bool:
    """Whether it is a constant integer that 64 bits do not hold."""
    value = node.value if isinstance(node, Literal) else None
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def described(node: Node) -> str:
    """``a is an int attribute``, or of what has no name ``this is an int``."""
    kind = with_article(type_of(node))
    return (
        f"{node.name} is {kind} attribute"
        if isinstance(node, ColumnReference)
        else f"this is {kind}"
    )


def parts_of(node: Node) -> Iterator[Node]:
    """The expressions directly within an expression; subqueries are not entered."""
    for name in part_names(node):
        value: Any = getattr(node, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Located) and name != "relation":
                yield inner  # type: ignore[misc]  # what is located in an expression is one


def rebuilt(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The expression with some of its parts exchanged; subqueries are not entered.

    change: what stands for a part; None: the part, its own parts exchanged.
    """
    replacement = change(node)
    if replacement is not None:
        return replacement
    inside: dict[str, Any] = {}
    for name in part_names(node):
        value: Any = getattr(node, name)
        if name == "relation":
            continue
        if isinstance(value, Located):
            inside[name] = rebuilt(value, change)  # type: ignore[arg-type]  # as parts_of
        elif isinstance(value, tuple) and value and isinstance(value[0], Located):
            inside[name] = tuple(rebuilt(part, change) for part in value)
    return replace(node, **inside) if inside else node


def expressions_in(node: Node) -> Iterator[Node]:
    """The expression and those within it, each before its parts."""
    yield node
    for part in parts_of(node):
        yield from expressions_in(part)


def all_hold(conditions: Sequence[Node]) -> Node:
    """One condition in place of several."""
    first = conditions[0]
    return first if len(conditions) == 1 else Logic(first.at, "and", tuple(conditions))


def each_of(condition: Node) -> tuple[Node, ...]:
    """The conditions that ``all_hold`` put together."""
    return (
        condition.parts
        if isinstance(condition, Logic) and condition.word == "and"
        else (condition,)
    )


def conjuncts(node: Node, negate: bool = False) -> Iterator[tuple[Node, bool]]:
    """The conditions that all hold exactly when the given one does, or NOT of it; each with whether
    it is negated itself."""
    if isinstance(node, Not):
        yield from conjuncts(node.part, not negate)
    elif isinstance(node, Logic) and (node.word == "and") != negate:
        for part in node.parts:
            yield from conjuncts(part, negate)
    else:
        yield node, negate
