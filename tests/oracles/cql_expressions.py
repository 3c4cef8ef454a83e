"""The value of an expression of CQL for one tuple, by SQL's definitions, in Python's own numbers.

Values: int of 64 bits, float, str, bool, date, datetime, None for NULL.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from backend.cql import nodes
from backend.cql.types import type_of
from backend.workloads.text_values import read_text
from tests.oracles.cql_reference import compare, conjunction, disjunction, invert

#: What is known of an expression before it is taken apart: its value, or raises KeyError.
Lookup = Callable[[nodes.Node], Any]


def value_of(
    node: nodes.Node, lookup: Lookup, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Any:
    """lookup: values of columns, and of whatever else has one already. functions: by name."""
    try:
        return lookup(node)
    except KeyError:
        pass

    def value(part: nodes.Node) -> Any:
        return value_of(part, lookup, functions)

    match node:
        case nodes.Literal():
            return node.value
        case nodes.Widened():
            return widened(value(node.operand), node.type)
        case nodes.Converted():
            return converted(value(node.operand), node.type)
        case nodes.Case():
            pairs = zip(node.conditions, node.values, strict=False)
            return value(next((v for c, v in pairs if value(c) is True), node.values[-1]))
        case nodes.Arithmetic():
            left, right = value(node.left), value(node.right)
            return _arithmetic(node.op, left, right, type_of(node) == "double")
        case nodes.Length():
            return node.number * nodes.LENGTH_UNITS.get(node.unit, 1)
        case nodes.ValidLength():
            length = value(node.end) - value(node.start)
            if isinstance(length, timedelta):
                length //= timedelta(microseconds=1)
            return length // nodes.LENGTH_UNITS.get(node.unit, 1)
        case nodes.Negative():
            return _arithmetic("-", 0, value(node.operand), type_of(node) == "double")
    return _truth_of(node, value, functions or {})


def _truth_of(
    node: nodes.Node, value: Callable[[nodes.Node], Any], functions: Mapping[str, Any]
) -> bool | None:
    match node:
        case nodes.Compare():
            return compared(value(node.left), node.op, value(node.right))
        case nodes.Between():
            subject = value(node.subject)
            low, high = value(node.low), value(node.high)
            inside = conjunction([compared(subject, ">=", low), compared(subject, "<=", high)])
            return invert(inside) if node.negated else inside
        case nodes.Member():
            found = member(value(node.subject), [value(item) for item in node.items])
            return invert(found) if node.negated else found
        case nodes.IsNull():
            return (_known(value(node.subject)) is None) != node.negated
        case nodes.Like():
            subject, pattern = value(node.subject), value(node.pattern)
            found = None if subject is None or pattern is None else _like(subject, pattern)
            return invert(found) if node.negated else found
        case nodes.Not():
            return invert(value(node.part))
        case nodes.Logic():
            joined = conjunction if node.word == "and" else disjunction
            return joined([value(part) for part in node.parts])
        case nodes.Call():
            given = [value(part) for part in node.arguments]
            return None if None in given else _answer(functions[node.name], given)
    raise AssertionError(node)


def compared(left: Any, op: str, right: Any) -> bool | None:
    """A comparison; NaN compares like NULL, a date like its first microsecond."""
    left, right = _known(left), _known(right)
    if isinstance(left, datetime) != isinstance(right, datetime):
        left, right = widened(left, "timestamp"), widened(right, "timestamp")
    return compare(left, op, right)


def member(subject: Any, values: list[Any]) -> bool | None:
    """``subject IN (values)``."""
    return disjunction([compared(subject, "=", value) for value in values])


def widened(value: Any, type_name: str) -> Any:
    """An integer as a double, a date as a timestamp; others as they are."""
    if type_name == "double" and isinstance(value, int):
        return float(value)
    if type_name == "timestamp" and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


def converted(value: Any, type_name: str) -> Any:
    """``Cast(value As type)``; no double becomes a string here."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return value if type_name == "string" else _held(read_text(value, type_name))
        except ValueError:
            return None
    match type_name:
        case "string":
            return _written(value)
        case "boolean":
            return None if _known(value) is None else value != 0
        case "double" | "float":
            return _as_float(float(value), type_name)
        case "date":
            return value.date() if isinstance(value, datetime) else value
        case "timestamp":
            return widened(value, "timestamp")
    whole = math.trunc(value) if math.isfinite(value) else 2**64
    bits = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[type_name]
    return whole if -(2**bits) <= whole < 2**bits else None


def _held(value: Any) -> Any:
    """A moment as tuples have it: in UTC, without a zone."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _as_float(value: float, type_name: str) -> float:
    if type_name == "double" or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _answer(function: Callable[..., Any], given: list[Any]) -> bool | None:
    try:
        said = function(*given)
    except Exception:
        return None
    return said if isinstance(said, bool) else None


def _arithmetic(op: str, left: Any, right: Any, double: bool) -> Any:
    if left is None or right is None:
        return None
    if double:
        left, right = float(left), float(right)
    if op in "/%" and right == 0:
        return None
    if op == "%":
        if double:
            return math.fmod(left, right) if math.isfinite(left) else math.nan
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    found = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[op]()
    return None if isinstance(found, int) and not -(2**63) <= found < 2**63 else found


def _like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    head, rest = pattern[0], pattern[1:]
    if head == "%":
        return any(_like(text[n:], rest) for n in range(len(text) + 1))
    if head == "\\" and rest[:1] in ("%", "_", "\\") and rest:
        return text[:1] == rest[0] and _like(text[1:], rest[1:])
    return bool(text) and head in ("_", text[0]) and _like(text[1:], rest)
