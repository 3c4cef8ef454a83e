"""What texts mean: examples for every form the language has."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from backend.cql import CqlError, format_condition, parse_condition, parse_query, plan_of
from backend.cql.logical import Scan, walk
from backend.cql.scope import Catalog
from backend.model.conditions import TRUE, And, Comparison, Condition, NullTest, Or
from backend.model.schema import Schema

FLIGHTS = Schema.parse(
    "dep_delay int, distance bigint, origin string, temp double, cancelled boolean, day date,"
    " sched_dep timestamp, group int, eté string"
)
STREAMS = {"Flights": FLIGHTS, "Planes": Schema.parse("seats int")}


def where(text: str) -> Condition:
    return parse_query("q", f"Select * From Flights Where {text}", STREAMS).condition


def test_a_query_keeps_its_name_and_text_and_spells_names_as_the_schema() -> None:
    text = "sElEcT * fRoM fLIGHTS wHeRe DEP_DELAY > 60 AND Origin = 'JFK';"
    query = parse_query("late", text, STREAMS)
    assert (query.name, query.stream, query.text) == ("late", "Flights", text)
    assert query.condition == And(
        (Comparison("dep_delay", ">", 60), Comparison("origin", "=", "JFK"))
    )


def test_without_where_every_tuple_is_selected() -> None:
    assert parse_query("all", "Select * From Planes", STREAMS).condition == TRUE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dep_delay <> 5", Comparison("dep_delay", "<>", 5)),
        ("dep_delay != 5", Comparison("dep_delay", "<>", 5)),
        ("5 < dep_delay", Comparison("dep_delay", ">", 5)),
        ("5 >= dep_delay", Comparison("dep_delay", "<=", 5)),
        ("5 = dep_delay", Comparison("dep_delay", "=", 5)),
        ("not dep_delay < 5", Comparison("dep_delay", ">=", 5)),
        ("not not dep_delay < 5", Comparison("dep_delay", "<", 5)),
        ("dep_delay is null", NullTest("dep_delay", False)),
        ("dep_delay is not null", NullTest("dep_delay", True)),
        ("not dep_delay is null", NullTest("dep_delay", True)),
        ("dep_delay in (7)", Comparison("dep_delay", "=", 7)),
        ("dep_delay in (7, 7.0)", Comparison("dep_delay", "=", 7)),
        ("cancelled", Comparison("cancelled", "=", True)),
        ("not cancelled", Comparison("cancelled", "<>", True)),
        ("cancelled = false", Comparison("cancelled", "=", False)),
        ("flights.dep_delay > -5", Comparison("dep_delay", ">", -5)),
        ("`group` = 1", Comparison("group", "=", 1)),
        ("`Flights`.`group` = 1", Comparison("group", "=", 1)),
        ("((dep_delay)) = (5)", Comparison("dep_delay", "=", 5)),
        ("eté = 'ü'", Comparison("eté", "=", "ü")),
        ("origin = 'O''Hare'", Comparison("origin", "=", "O'Hare")),
        ("origin = ''", Comparison("origin", "=", "")),
        ("origin = '-- no comment'", Comparison("origin", "=", "-- no comment")),
        ("true", TRUE),
        ("not false", TRUE),
        ("false", Or(())),
        ("dep_delay > 5 and true", Comparison("dep_delay", ">", 5)),
    ],
)
def test_atoms(text: str, expected: Condition) -> None:
    assert where(text) == expected


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("dep_delay in (1, 2)", "dep_delay = 1 or dep_delay = 2"),
        ("dep_delay not in (1, 2)", "dep_delay <> 1 and dep_delay <> 2"),
        ("not dep_delay not in (1, 2)", "dep_delay = 1 or dep_delay = 2"),
        ("dep_delay between 1 and 2", "dep_delay >= 1 and dep_delay <= 2"),
        ("dep_delay not between 1 and 2", "dep_delay < 1 or dep_delay > 2"),
        ("not (cancelled and dep_delay > 1)", "cancelled <> true or dep_delay <= 1"),
        ("not (cancelled or dep_delay > 1)", "cancelled <> true and dep_delay <= 1"),
        (
            "dep_delay between 1 and 2 and distance > 3 or cancelled",
            "(dep_delay >= 1 and dep_delay <= 2 and distance > 3) or cancelled = true",
        ),
        (
            "not dep_delay > 1 and (distance > 3 or origin = 'x')",
            "dep_delay <= 1 and (distance > 3 or origin = 'x')",
        ),
    ],
)
def test_not_in_and_between_are_gone(text: str, canonical: str) -> None:
    assert format_condition(where(text)) == canonical


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("dep_delay > 5.5", 5.5),
        ("dep_delay > 5.0", 5),
        ("dep_delay > 1e3", 1000),
        ("dep_delay > .5", 0.5),
        ("dep_delay > 5.", 5),
        ("dep_delay > +5", 5),
        ("dep_delay > - 5", -5),
        ("dep_delay > -(-5)", 5),
        ("distance > 9007199254740993", 9007199254740993),
        ("distance > 99999999999999999999", 99999999999999999999),
        ("temp > 5", 5.0),
        ("temp > -1.5E-3", -0.0015),
        ("temp > 9007199254740993", 9007199254740993),
        ("day >= DATE '2013-01-31'", date(2013, 1, 31)),
        ("day >= '2013-01-31'", date(2013, 1, 31)),
        ("day >= TIMESTAMP '2013-01-31 00:00:00'", date(2013, 1, 31)),
        ("sched_dep >= DATE '2013-01-31'", datetime(2013, 1, 31)),
        ("sched_dep >= timestamp'2013-01-31 18:30:00.5'", datetime(2013, 1, 31, 18, 30, 0, 500000)),
        ("sched_dep >= '2013-01-31T18:30'", datetime(2013, 1, 31, 18, 30)),
        ("sched_dep >= '2013-01-31 18:30:00+02:00'", datetime(2013, 1, 31, 16, 30)),
        ("sched_dep >= '2013-01-31 18:30:00Z'", datetime(2013, 1, 31, 18, 30)),
    ],
)
def test_constants_take_the_type_of_the_attribute_exactly(text: str, constant: object) -> None:
    condition = where(text)
    assert isinstance(condition, Comparison)
    assert condition.constant == constant
    assert type(condition.constant) is type(constant)


def test_an_alias_qualifies_and_replaces_the_name() -> None:
    query = parse_query("q", "Select * From Planes As p Where P.seats > 5", STREAMS)
    assert query.condition == Comparison("seats", ">", 5)
    bare = parse_query("q", "Select * From Planes p Where p.seats > 5", STREAMS)
    assert bare.condition == query.condition


def test_a_condition_alone_is_parsed_against_a_schema() -> None:
    assert parse_condition("seats >= 5", STREAMS["Planes"]) == Comparison("seats", ">=", 5)


def test_deep_but_reasonable_nesting_and_long_lists_are_fine() -> None:
    assert where("(" * 500 + "dep_delay > 1" + ")" * 500) == Comparison("dep_delay", ">", 1)
    many = where(" and ".join(f"dep_delay <> {i}" for i in range(3000)))
    assert isinstance(many, And)
    assert len(many.parts) == 3000
    some = where(f"dep_delay in ({', '.join(map(str, range(3000)))})")
    assert isinstance(some, Or)
    assert len(some.parts) == 3000


def test_names_that_need_backquotes_get_them_in_canonical_text() -> None:
    assert format_condition(Comparison("group", "=", 1)) == "`group` = 1"
    assert format_condition(Comparison("a b`c", "=", 1)) == "`a b``c` = 1"


def test_the_empty_conditions() -> None:
    assert format_condition(TRUE) == "true"
    assert format_condition(Or(())) == "false"


# ---------------------------------------------------------------------- queries with a plan

TOLLS = {"Tolls": Schema.parse("seg int, toll double")}


def test_a_query_that_is_no_selection_keeps_its_plan() -> None:
    text = "Select seats + 1 As n From Planes [Rows 5], Flights Where seats = distance"
    query = parse_query("q", text, STREAMS)
    assert (query.stream, query.condition, query.filters) == ("Planes", TRUE, ())
    assert query.streams == ("Planes", "Flights")
    assert query.plan == plan_of(text, Catalog(STREAMS))


def test_a_selection_has_no_plan() -> None:
    query = parse_query("q", "Select * From Planes Where seats > 5", STREAMS, relations=TOLLS)
    assert (query.plan, query.streams) == (None, ())


def test_queries_read_stored_relations_and_each_other() -> None:
    known = {"big": parse_query("big", "Select * From Planes Where seats > 5", STREAMS)}
    text = "Select B.seats As seats, toll From Big [Rows 9] B, tolls Where b.seats = seg"
    known["dear"] = parse_query("dear", text, STREAMS, relations=TOLLS, queries=known)
    assert known["dear"].streams == ("Planes",)
    last = parse_query("last", "Select max(toll) From Dear", STREAMS, queries=known)
    assert last.streams == ("Planes",)
    (scan,) = (part for part in walk(last.plan) if isinstance(part, Scan))
    assert (scan.kind, scan.name) == ("query", "dear")
    assert [f"{one.name} {one.type}" for one in scan.fields] == ["seats int", "toll double"]
    assert scan.plan == known["dear"].plan


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("Select * From Big [Rows 5]", None, ""),
        ("Select * From Top [Rows 5]", 19, "a window follows a stream, and this is a relat"),
        ("Select * From Tops", 15, "unknown stream 'Tops'; did you mean 'Top'?"),
        ("Select toll From Tolls", 18, "a query reads a stream, and Tolls is a stored relation"),
        ("Select n From Top Where m = 1", 25, "unknown attribute 'm'; Top has n"),
    ],
)
def test_what_is_read_is_checked(text: str, column: int | None, message: str) -> None:
    known = {
        "Big": parse_query("Big", "Select * From Planes Where seats > 5", STREAMS),
        "Top": parse_query("Top", "Select max(seats) As n From Planes", STREAMS),
    }
    if column is None:
        assert parse_query("q", text, STREAMS, queries=known).plan is not None
        return
    with pytest.raises(CqlError) as caught:
        parse_query("q", text, STREAMS, relations=TOLLS, queries=known)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)
