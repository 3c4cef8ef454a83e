"""Random expressions over columns of every type, and tuples for them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from lark import Token

from backend.cql import nodes
from backend.cql.types import convertible, type_of
from backend.model.schema import FLOAT_TYPES, Schema
from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.core.strings import Strings

HERE = Token("NAME", "here")
FIELDS = Schema.parse(
    "i int, n bigint, x double, f float, s string, t string, b boolean, d date, m timestamp"
).attributes
_EDGES = [0, 1, -1, 3, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
_DOUBLES = [0.0, -0.0, 0.5, -2.5, 1e300, 2.0**53, 2.0**63, -(2.0**63), float("inf"), float("nan")]
_LARGE = [2**63, 2**64 + 1, -(2**63) - 1, 10**30, 10**400, -(10**400)]
_TOLD = ("1", " -2.5 ", "1e3", "true", "1970-01-02", "1970-01-01 12:00:00")
_TEXTS = st.sampled_from(["", "a", "ab", "b", "%", "a%", "_", "A", "\\", "é", "a\nb", *_TOLD])
_DAYS = st.integers(-3, 3).map(lambda n: date(1970, 1, 1) + timedelta(days=n))
_MOMENTS = st.integers(-5, 5).map(lambda n: datetime(1970, 1, 1) + timedelta(hours=12 * n))
_INTS = st.integers(-4, 4) | st.sampled_from(_EDGES)
_OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-4, 4) | st.sampled_from([2**31 - 1, -(2**31)]),
    "bigint": _INTS,
    "double": st.sampled_from(_DOUBLES) | st.integers(-3, 3).map(float),
    "float": st.sampled_from([0.0, -0.0, 0.5, 2.0, float("nan")]),
    "string": _TEXTS,
    "boolean": st.booleans(),
    "date": _DAYS,
    "timestamp": _MOMENTS,
}
ROWS = st.lists(st.tuples(*(st.none() | VALUES[field.type] for field in FIELDS)), max_size=8)
#: Doubles as text are tried elsewhere: there are several for one number.
_ROUNDED = {("string", "double"), ("string", "float")}
_FAMILIES = {
    "number": ("int", "bigint", "double", "float"),
    "string": ("string",),
    "boolean": ("boolean",),
    "time": ("date", "timestamp"),
}


def columns(family: str) -> st.SearchStrategy[nodes.Node]:
    """Columns of a family of types."""
    found = [
        nodes.At(HERE, place, field.type)
        for place, field in enumerate(FIELDS)
        if field.type in _FAMILIES[family]
    ]
    return st.sampled_from(found)


def literals(family: str) -> st.SearchStrategy[nodes.Node]:
    """Constants of a family of types; numbers that may stand in arithmetic, too."""
    values: dict[str, st.SearchStrategy[Any]] = {
        "number": _INTS | st.sampled_from(_DOUBLES[:5]),
        "time": _DAYS | _MOMENTS,
    }
    known = {"string": _TEXTS, "boolean": st.booleans(), **values}[family]
    return known.map(lambda value: nodes.Literal(HERE, value))


def operands(family: str, depth: int) -> st.SearchStrategy[nodes.Node]:
    """What may stand beside an operator."""
    plain = columns(family) | literals(family) | st.just(nodes.Literal(HERE, None))
    if not depth:
        return plain
    plain |= cases(family, depth - 1) | casts(family, depth - 1)
    if family == "boolean":
        return plain | conditions(depth - 1)
    if family != "number":
        return plain
    inner = st.deferred(lambda: operands("number", depth - 1))
    return st.one_of(
        plain,
        st.builds(nodes.Arithmetic, st.just(HERE), st.sampled_from("+-*/%"), inner, inner),
        st.builds(nodes.Negative, st.just(HERE), inner),
        st.builds(nodes.Widened, st.just(HERE), inner, st.just("double")),
    )


@st.composite
def cases(draw: Any, family: str, depth: int) -> nodes.Node:
    """Values of one type by conditions."""
    n, kind = draw(st.integers(1, 2)), draw(st.sampled_from(_FAMILIES[family]))
    found = tuple(draw(conditions(depth)) for _ in range(n))
    own = [operands(family, depth).map(lambda node: _as_type(node, kind)) for _ in range(n + 1)]
    return nodes.Case(HERE, found, tuple(map(draw, own)))


def _as_type(node: nodes.Node, kind: str) -> nodes.Node:
    return node if type_of(node) == kind else nodes.Converted(HERE, node, kind)


@st.composite
def casts(draw: Any, family: str, depth: int) -> nodes.Node:
    """Casts to a type of a family, of what there is one of."""
    wanted = draw(st.sampled_from(_FAMILIES[family]))
    given = draw(st.sampled_from(list(_FAMILIES)))
    operand = draw(operands(given, depth))
    kind = type_of(operand)
    is_one = wanted != kind and convertible(kind, wanted) and (wanted, kind) not in _ROUNDED
    column: nodes.Node = draw(columns(family))
    return nodes.Converted(HERE, operand, wanted) if is_one else column


@st.composite
def conditions(draw: Any, depth: int = 2) -> nodes.Node:
    """Conditions of every form."""
    form = draw(st.integers(0, 9 if depth else 5))
    family = draw(st.sampled_from(list(_FAMILIES)))
    one, other, third = (draw(operands(family, depth)) for _ in range(3))
    negated = draw(st.booleans())
    if family == "number" and draw(st.integers(0, 3)) == 0:
        other = nodes.Literal(HERE, draw(st.sampled_from(_LARGE)))
        one, other = (one, other) if negated else (other, one)
    match form:
        case 0 | 1 | 2:
            return nodes.Compare(HERE, draw(_OPS), one, other)
        case 3:
            return nodes.Member(HERE, draw(operands(family, 0)), (third, third), negated)
        case 4:
            return nodes.IsNull(HERE, third, negated)
        case 5:
            subject, pattern = draw(columns("string")), draw(operands("string", 0))
            return nodes.Like(HERE, subject, pattern, negated)
        case 6:
            return nodes.Between(HERE, third, draw(operands(family, 0)), third, negated)
        case 7:
            return nodes.Not(HERE, draw(conditions(depth - 1)))
        case 8:
            called = tuple(
                draw(st.lists(st.sampled_from([columns(f) for f in _FAMILIES]), max_size=3))
            )
            return nodes.Call(HERE, "odd", tuple(draw(one) for one in called), True)
    parts = draw(st.lists(conditions(depth - 1), min_size=2, max_size=3))
    return nodes.Logic(HERE, draw(st.sampled_from(["and", "or"])), tuple(parts))


def expressions() -> st.SearchStrategy[nodes.Node]:
    """Any expression."""
    return conditions() | st.sampled_from(list(_FAMILIES)).flatmap(lambda f: operands(f, 3))


# ---------------------------------------------------------------------- tuples in blocks


def stored(value: Any) -> int | float:
    """A value as a column holds it, strings aside."""
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return value + 0.0 if isinstance(value, float) else int(value)


def column_of(values: list[Any], type_name: str, strings: Strings) -> Column64:
    """Python values, None for NULL, as a column."""
    valid = np.array([value is not None for value in values], np.bool_)
    mask = None if valid.all() else valid
    if type_name == "string":
        return Column64(strings.encode(pa.array(values, pa.string()))[0], mask)
    dtype = np.float64 if type_name in FLOAT_TYPES else np.int64
    numbers = [0 if value is None else stored(value) for value in values]
    return Column64(np.array(numbers, dtype), mask)


def block_of(rows: list[tuple[Any, ...]], strings: Strings, types: list[str]) -> Block:
    """Rows as elements of tick 0."""
    found = [column_of([row[k] for row in rows], kind, strings) for k, kind in enumerate(types)]
    return Block(np.zeros(len(rows), np.int64), np.ones(len(rows), np.int8), tuple(found))


def python_of(column: Column64, node: nodes.Node, strings: Strings) -> list[Any]:
    """The values of an expression as Python has them."""
    kind = type_of(node)
    found: list[Any] = []
    for value, valid in zip(column.values.tolist(), column.is_valid.tolist(), strict=True):
        if not valid:
            found.append(None)
        elif kind == "string":
            found.append(strings.text(value))
        elif kind == "boolean":
            found.append(bool(value))
        elif kind == "date":
            found.append(date(1970, 1, 1) + timedelta(days=value))
        elif kind == "timestamp":
            found.append(datetime(1970, 1, 1) + timedelta(microseconds=value))
        else:
            found.append(value)
    return found
