"""Expressions over blocks: as SQL defines them, tuple by tuple."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import nodes
from backend.model.functions import Function, Functions, Parameter
from backend.operators.network.core.blocks import empty
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions.expressions import compile_expression
from tests.oracles.cql_expressions import value_of
from tests.unit.network.expression_trees import (
    FIELDS,
    HERE,
    ROWS,
    block_of,
    expressions,
    python_of,
)

TYPES = [field.type for field in FIELDS]


def odd(*values: Any) -> Any:
    """True, false, None, no truth at all, or an exception."""
    text = "".join(map(str, values))
    if len(text) % 5 == 4:
        raise ValueError(text)
    return [True, False, None, text][len(text) % 5]


FUNCTIONS = Functions({"odd": Function("odd", (), odd)})


def shown(value: Any) -> Any:
    """Equal for equal values of one type: -0.0 is 0.0, NaN is NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value + 0.0)
    return repr(value)


def evaluated(node: nodes.Node, rows: list[tuple[Any, ...]]) -> list[Any]:
    strings = Strings(MemoryRegions())
    evaluate = compile_expression(node, FIELDS, strings, FUNCTIONS)
    block = block_of(rows, strings, TYPES)
    found = evaluate(block)
    assert len(found) == len(rows)
    assert found.valid is None or not found.values[~found.valid].any()
    assert not (np.signbit(found.values) & (found.values == 0)).any()
    return python_of(found, node, strings)


@settings(deadline=None, max_examples=600)
@given(expressions(), ROWS)
def test_an_expression_has_the_value_sql_defines(
    node: nodes.Node, rows: list[tuple[Any, ...]]
) -> None:
    expected = []
    for row in rows:
        known: dict[nodes.Node, Any] = {
            nodes.At(HERE, k, kind): row[k] for k, kind in enumerate(TYPES)
        }
        expected.append(value_of(node, known.__getitem__, {"odd": odd}))
    assert list(map(shown, evaluated(node, rows))) == list(map(shown, expected))


def at(name: str) -> nodes.At:
    place = [field.name for field in FIELDS].index(name)
    return nodes.At(HERE, place, FIELDS[place].type)


def row(**values: Any) -> tuple[Any, ...]:
    return tuple(values.get(field.name) for field in FIELDS)


def test_numbers_beyond_the_digits_of_doubles_compare_exactly() -> None:
    rows = [row(n=2**53 + 1, x=2.0**53), row(n=2**63 - 1, x=2.0**63), row(n=7, x=7.0)]
    more = nodes.Compare(HERE, ">", at("n"), at("x"))
    assert evaluated(more, rows) == [True, False, False]
    assert evaluated(nodes.Compare(HERE, "=", at("x"), at("n")), rows) == [False, False, True]
    less = nodes.Compare(HERE, "<", nodes.Literal(HERE, 2**64 + 1), at("x"))
    assert evaluated(less, [row(x=2.0**64), row(x=2.0**64 + 4096)]) == [False, True]


def test_every_integer_of_64_bits_lies_on_one_side_of_a_larger_one() -> None:
    rows = [row(n=2**63 - 1), row(n=-(2**63)), row()]
    for op, expected in {"<": True, "<=": True, "<>": True, "=": False, ">": False}.items():
        node = nodes.Compare(HERE, op, at("n"), nodes.Literal(HERE, 2**63))
        assert evaluated(node, rows) == [expected, expected, None]
    low = nodes.Compare(HERE, ">", at("n"), nodes.Literal(HERE, -(2**63) - 1))
    assert evaluated(low, rows) == [True, True, None]


@pytest.mark.parametrize("op", ["=", "<>", "<", ">="])
def test_nan_compares_like_null(op: str) -> None:
    nan, zero = nodes.At(HERE, 2, "double"), nodes.At(HERE, 3, "float")
    rows = [row(x=math.nan, f=0.0), row(x=math.nan, f=math.nan)]
    assert evaluated(nodes.Compare(HERE, op, nan, zero), rows) == [None, None]
    assert evaluated(nodes.Compare(HERE, op, zero, nan), rows) == [None, None]
    assert evaluated(nodes.IsNull(HERE, nan, False), rows) == [True, True]
    assert evaluated(nodes.IsNull(HERE, zero, True), rows) == [True, False]


@settings(deadline=None)
@given(st.text("ab\\%\n", max_size=8), st.text("ab\\%_", max_size=8))
def test_a_pattern_matches_as_its_characters_say(text: str, pattern: str) -> None:
    node = nodes.Like(HERE, at("s"), at("t"), False)
    known: dict[nodes.Node, Any] = {at("s"): text, at("t"): pattern}
    assert evaluated(node, [row(s=text, t=pattern)]) == [value_of(node, known.__getitem__)]


@pytest.mark.timeout(20)
def test_a_pattern_of_many_parts_does_not_try_all_places_of_each() -> None:
    node = nodes.Like(HERE, at("s"), nodes.Literal(HERE, "%a" * 30 + "%b"), False)
    assert evaluated(node, [row(s="a" * 300), row(s="a" * 300 + "b")]) == [False, True]


def test_a_date_compares_as_the_beginning_of_its_day() -> None:
    rows = [
        row(d=date(2013, 1, 31), m=datetime(2013, 1, 31)),
        row(d=date(2013, 1, 31), m=datetime(2013, 1, 31, 0, 0, 1)),
        row(d=date(1969, 12, 31), m=datetime(1969, 12, 30, 23)),
    ]
    assert evaluated(nodes.Compare(HERE, "<", at("d"), at("m")), rows) == [False, True, False]
    assert evaluated(nodes.Compare(HERE, "<=", at("m"), at("d")), rows) == [True, False, True]


def test_integers_beyond_64_bits_and_divisions_by_zero_are_null() -> None:
    def pair(op: str, left: Any, right: Any) -> nodes.Node:
        return nodes.Arithmetic(HERE, op, nodes.Literal(HERE, left), nodes.Literal(HERE, right))

    least = -(2**63)
    cases = [
        (pair("+", 2**63 - 1, 1), None),
        (pair("-", least, 1), None),
        (pair("*", 2**32, 2**31), None),
        (pair("*", 2**32, -(2**31)), least),
        (pair("*", 3037000500, 3037000500), None),
        (pair("/", 7, 2), 3.5),
        (pair("/", 7, 0), None),
        (pair("%", -7, 3), -1),
        (pair("%", 7, 0), None),
        (pair("%", least, -1), 0),
        (pair("%", 7.5, 2), 1.5),
        (nodes.Negative(HERE, nodes.Literal(HERE, least)), None),
    ]
    assert [evaluated(node, [row()])[0] for node, _ in cases] == [value for _, value in cases]


def test_a_string_that_comes_later_is_compared_with_what_was_compiled_before() -> None:
    strings = Strings(MemoryRegions())
    less = nodes.Compare(HERE, "<", at("s"), nodes.Literal(HERE, "m"))
    same = nodes.Compare(HERE, "=", at("s"), nodes.Literal(HERE, "z"))
    compiled = [compile_expression(node, FIELDS, strings) for node in (less, same)]
    assert not len(strings)
    for texts, before in ((["b", "z"], [1, 0]), (["a", "n", "l"], [1, 0, 1])):
        block = block_of([row(s=text) for text in texts], strings, TYPES)
        assert compiled[0](block).values.tolist() == before
        assert compiled[1](block).values.tolist() == [int(text == "z") for text in texts]


def test_a_function_of_whole_columns_is_asked_once() -> None:
    table, asked = {"x": 3}, list[int]()
    parameters = (Parameter("n", "bigint"), Parameter("t", "table"), Parameter("k", "int"))

    def within(n: Any, held: Any, k: int) -> Any:
        assert isinstance(n, np.ndarray)
        asked.append(len(n))
        if 9 in n:
            raise ValueError("nine")
        return n < held["x"] + k

    functions = Functions({"within": Function("within", parameters, within, True)}, {"T": table})
    call = nodes.Call(HERE, "within", (at("n"), nodes.Table(HERE, "T"), nodes.Literal(HERE, 1)))
    strings = Strings(MemoryRegions())
    evaluate = compile_expression(call, FIELDS, strings, functions)
    found = evaluate(block_of([row(n=3), row(n=4), row()], strings, TYPES))
    assert found.values.tolist() == [1, 0, 0]
    assert found.is_valid.tolist() == [True, True, False]
    assert asked == [2]
    found = evaluate(block_of([row(n=3), row(n=9)], strings, TYPES))
    assert (found.values.tolist(), found.is_valid.tolist()) == ([1, 0], [True, False])
    assert asked == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            nodes.ColumnReference(HERE, "", "a", "int"),
            "ColumnReference is not allowed in an operator network",
        ),
        (nodes.At(HERE, 9, "int"), "column 9 of 9"),
        (nodes.At(HERE, 2, "int"), "column 2 is double, not int"),
        (nodes.Literal(HERE, 2**63), "has more than 64 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused(node: nodes.Node, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_expression(node, FIELDS, Strings(MemoryRegions()))


def test_an_empty_block_has_empty_columns() -> None:
    node = nodes.Like(HERE, at("s"), nodes.Literal(HERE, "a%"), True)
    assert len(compile_expression(node, FIELDS, Strings(MemoryRegions()))(empty(FIELDS))) == 0
