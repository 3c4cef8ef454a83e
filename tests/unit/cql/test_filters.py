"""Calls of functions and memberships in windows: what they become, and what is refused where."""

from __future__ import annotations

import pytest

from backend.cql import CqlError, parse_query
from backend.cql.printer import format_filter
from backend.model.conditions import (
    TRUE,
    ContinuousQuery,
    Fixed,
    FunctionPredicate,
    Reference,
    TableName,
    WindowMember,
)
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.systems.agreedy.pipeline import pipeline_of

STREAMS = {
    "Packets": Schema.parse("dest string, size int, ok boolean, lat double, seq bigint"),
    "Bad": Schema.parse("address string"),
    "Log": Schema.parse("dest string, at int"),
    "Wide": Schema.parse("x float"),
}


def function(name: str, **parameters: str) -> Function:
    return Function(name, tuple(Parameter(n, t) for n, t in parameters.items()), lambda *a: True)


FUNCTIONS = Functions(
    {
        "lookup": function("lookup", address="string", table="table"),
        "Near": function("Near", x="double", limit="double"),
        "small": function("small", n="int", most="tinyint"),
        "odd": function("odd", what="any"),
        "now": function("now"),
    },
    {"homes": object()},
)


def parsed(where: str) -> ContinuousQuery:
    return parse_query("q", f"Select * From Packets P Where {where}", STREAMS, FUNCTIONS)


def refused(where: str) -> CqlError:
    with pytest.raises(CqlError) as caught:
        parse_query("q", f"Select * From Packets P\nWhere {where}", STREAMS, FUNCTIONS)
    return caught.value


@pytest.mark.parametrize(
    ("where", "native", "filters"),
    [
        ("lookup(dest, homes)", [], ["lookup(dest, homes)"]),
        ("size > 3 and LOOKUP(P.dest, HOMES)", ["size > 3"], ["lookup(dest, homes)"]),
        ("lookup(dest, homes) = true", [], ["lookup(dest, homes)"]),
        ("false = lookup(dest, homes)", [], ["not lookup(dest, homes)"]),
        ("not lookup(dest, homes) <> false", [], ["not lookup(dest, homes)"]),
        ("not (size < 3 or not near(size, 2))", ["size >= 3"], ["Near(size, 2.0)"]),
        ("(ok and (now() and odd(ok)))", ["ok = true"], ["now()", "odd(ok)"]),
        ("odd('x') and odd(1.5) and odd(-3)", [], ["odd('x')", "odd(1.5)", "odd(-3)"]),
        (
            "dest in (Select * From Bad [Rows 10,000])",
            [],
            ["dest in (Select address From Bad [Rows 10000])"],
        ),
        (
            "dest not in (Select * From Log [Rows 5]) and size in (Select at From Log [Rows 7])",
            [],
            [
                "dest not in (Select dest From Log [Rows 5])",
                "size in (Select at From Log [Rows 7])",
            ],
        ),
    ],
)
def test_filters_are_set_apart_from_the_native_condition(
    where: str, native: list[str], filters: list[str]
) -> None:
    query = parsed(where)
    assert [format_filter(f) for f in query.filters] == filters
    pipeline = pipeline_of(query)
    assert [f.text for f in pipeline] == [*native, *filters]
    again = parsed(" and ".join(f.text for f in pipeline))
    assert (again.condition, again.filters) == (query.condition, query.filters)


def test_a_call_is_typed() -> None:
    (call,) = parsed("lookup(dest, homes)").filters
    assert call == FunctionPredicate("lookup", (Reference("dest"), TableName("homes")))
    (near,) = parsed("near(seq, 3)").filters
    assert near == FunctionPredicate("Near", (Reference("seq"), Fixed(3.0)))
    (member,) = parsed("dest in (Select address As x From Bad [Rows 2])").filters
    assert member == WindowMember("dest", "Bad", "address", 2)


def test_filters_have_names_of_their_own() -> None:
    where = "size > 1 and now() and size < 9 and (ok or size = 5) and now()"
    where += " and dest in (Select * From Bad [Rows 2])"
    found = [(f.name, f.kind) for f in pipeline_of(parsed(where))]
    assert found == [
        ("size", "native"),
        ("ok_or_size", "native"),
        ("now", "function"),
        ("now_2", "function"),
        ("dest_in_Bad", "window"),
    ]
    assert pipeline_of(parsed("false and now()"))[0].name == "never"


@pytest.mark.parametrize(
    ("where", "column", "message"),
    [
        ("lokup(dest, homes)", 7, "unknown function 'lokup'; did you mean 'lookup'?"),
        ("zzz(dest)", 7, "unknown function 'zzz'; registered are lookup, Near, small, odd and now"),
        ("lookup(dest)", 7, "lookup(address string, table table) takes 2 arguments, not 1"),
        ("now(1)", 7, "now() takes no arguments, not 1"),
        (
            "lookup(size, homes)",
            14,
            "size is an int attribute and lookup wants a string as address",
        ),
        ("lookup(dst, homes)", 14, "unknown attribute 'dst'; did you mean 'dest'?"),
        ("lookup(dest, home)", 20, "and 'home' is none; did you mean 'homes'?"),
        ("lookup(dest, 'x')", 20, "lookup wants a table as table"),
        ("lookup(5, homes)", 14, "address is a string parameter and 5 is a number; expected a str"),
        ("small(size, 1.5)", 19, "most takes whole numbers, not 1.5"),
        ("small(seq, 1)", 13, "seq is a bigint attribute and small wants an int as n"),
        ("near(NULL, 1)", 12, "never true; use IS NULL"),
        ("odd(size) > 5", 7, "odd(…) must be a condition by itself"),
        ("size > odd(size)", 14, "odd(…) must be a condition by itself"),
        ("odd(*)", 7, "the function odd(…) is not run by any system"),
        ("dest in (Select * From Bad [Rows 5]) or ok", 7, "membership in a relation is allowed in"),
        ("dest in (Select * From Bad [Rows 0])", 34, "a window of 0 rows; allowed are 1 to"),
        ("dest in (Select * From Bda [Rows 5])", 30, "unknown stream 'Bda'; did you mean 'Bad'?"),
        ("dest in (Select x From Bad [Rows 5])", 23, "unknown attribute 'x'; Bad has address"),
        ("dest in (Select at From Log [Rows 5])", 23, "Log.at is an int one; they are never equal"),
        ("size in (Select * From Log [Rows 5])", 16, "name one attribute of Log to look in"),
        ("dest in (Select * From Bad [Rows 5], Log)", 16, "name one attribute of Bad to look in"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(where: str, column: int, message: str) -> None:
    error = refused(where)
    assert message in error.message
    assert (error.line, error.column) == (2, column)


def test_without_registered_functions_none_can_be_called() -> None:
    with pytest.raises(CqlError) as caught:
        parse_query("q", "Select * From Packets Where now()", STREAMS)
    assert caught.value.message == "the function now(…) is not run by any system"


@pytest.mark.parametrize(
    "where",
    [
        "size > 1 or now()",
        "odd(now())",
        "dest in (Select * From Bad)",
        "dest in (Select * From Bad [Range 5])",
        "dest in (Select * From Bad [Rows 5] Where address = 'x')",
        "dest in (Select * From Bad [Rows 5] Union Select * From Bad)",
    ],
)
def test_other_forms_are_no_selections_and_keep_their_plan(where: str) -> None:
    query = parsed(where)
    assert (query.stream, query.condition, query.filters) == ("Packets", TRUE, ())
    assert query.plan is not None
    assert query.streams[0] == "Packets"
