"""Temporal queries as text: what they become, and one sentence about each that is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lark import Token

from backend.cql import CqlError
from backend.cql.logical import Coalesce, Project, Select, Window, WithValidTimes, walk
from backend.cql.nodes import ColumnReference, ColumnSpan, Compare, Literal
from backend.cql.parser import plan_of
from backend.cql.printer import format_expression, format_plan
from backend.cql.scope import Catalog
from backend.model.schema import Schema, ValidTimes

READINGS = ValidTimes("t", key="mote")
CATALOG = Catalog(
    {
        "Sensors": replace(Schema.parse("mote int, humidity int, t timestamp"), valid=READINGS),
        "Jobs": replace(
            Schema.parse("name string, dept string, hired date, left_on date"),
            valid=ValidTimes("hired", "left_on", type="date"),
        ),
        "Counts": replace(
            Schema.parse("a int, b int, since bigint, until bigint"),
            valid=ValidTimes("since", "until", type="bigint"),
        ),
        "Plain": Schema.parse("a int, minute int"),
    }
)


def test_conditions_on_values_come_before_coalescing_and_those_on_valid_times_behind() -> None:
    text = (
        "Select humidity, Valid(S) From Sensors (humidity) [Range 15 Minutes Slide 1 Minute] As S "
        "Where humidity > 75 and Valid(S) >= 3 Minutes and mote = 2"
    )
    plan = plan_of(text, CATALOG)
    kinds = [type(part) for part in walk(plan)][:-1]
    assert kinds == [Project, Select, Coalesce, Select, WithValidTimes, Window]
    assert [field.name for field in plan.fields] == ["humidity", "valid_from", "valid_to"]
    assert [field.type for field in plan.fields] == ["int", "timestamp", "timestamp"]


@pytest.mark.parametrize(
    "text",
    [
        "Select * From Sensors (humidity, mote)",
        "Select humidity, Valid(S) From Sensors (humidity) As S Where 3 Minutes <= Valid(S)",
        "Select humidity From Sensors (humidity) [Rows 9] Where not Valid(Sensors) = 1 Hour",
        "Select humidity From Sensors (humidity) Where humidity > 3 and Begin(Valid(Sensors)) > t0",
        "Select name, Valid(j) As v From Jobs (name) j Where Cast(Valid(j) As Interval Year) > 6",
        "Select a, End(Valid(Counts)) From Counts (a) Where Valid(Counts) not between 3 and 7",
        "Select dept, max(Cast(Valid(Jobs) As Interval Day)) As d From Jobs (dept) Group By dept",
        "Select a, Valid(c) From Counts (a) c Where (b > 1 or b is null) and (Valid(c) > 1 or "
        "End(Valid(c)) = 4)",
    ],
)
def test_printing_and_parsing_give_the_plan_back(text: str) -> None:
    plan = plan_of(text.replace("t0", "TIMESTAMP '2013-01-01 00:00:00'"), CATALOG)
    assert plan_of(format_plan(plan), CATALOG) == plan


@pytest.mark.parametrize("text", ["Select minute From Plain", "Select a day From Plain second"])
def test_units_are_names_elsewhere(text: str) -> None:
    assert plan_of(text, CATALOG).fields


def test_a_query_whose_answer_has_valid_times_can_be_coalesced_again() -> None:
    inner = plan_of("Select a, b, Valid(Counts) From Counts (a, b)", CATALOG)
    outer = plan_of("Select a, Valid(q) From q (a)", replace(CATALOG, queries={"q": inner}))
    assert [field.name for field in outer.fields] == ["a", "valid_from", "valid_to"]


S, C = "From Sensors (humidity) As S", "From Counts (a)"


@pytest.mark.parametrize(
    ("text", "place", "sentence"),
    [
        (
            f"Select a {C} Where Valid(Counts) > 3 Minutes",
            "3 M",
            "have no length in Minutes; write",
        ),
        (f"Select humidity {S} Where Valid(S) > 3", "3", "has a unit; write 3 Minutes or the like"),
        (f"Select humidity {S} Where Valid(S) > 'x'", "'x'", "with a length such as 3 Minutes"),
        (f"Select humidity {S} Where Valid(S) > 1.5 Hours", "1.5", "whole number from 0 to"),
        (f"Select humidity {S} Where humidity > 3 Days", "3 D", "compared with a valid time only"),
        (f"Select a {C} Where a = 1 or Valid(Counts) > 3", "a = 1", "joined by 'and' only"),
        (f"Select a {C} Where not (a = 1 and Valid(Counts) > 3)", "a = 1", "joined by 'and' only"),
        (f"Select count(*) {C}", "Counts", "names no valid time; count tuples without"),
        (f"Select a + Valid(Counts) {C}", "Valid", "+ takes numbers, and this is an interval"),
        (f"Select Cast(a As Interval Day) {C}", "Cast", "a cast is of a valid time only"),
        (f"Select Cast(Valid(Counts) As Interval Day) {C}", "Valid", "whole numbers, which are no"),
        (f"Select Valid(a) {C}", "a)", "unknown stream 'a'; this query reads Counts"),
        (f"Select Valid() {C}", "Valid", "takes the name of a coalesced source"),
        (f"Select Begin(a) {C}", "Begin", "takes a valid time; write Begin(Valid(S))"),
        ("Select a From Counts (a, A)", "A)", "'a' is named twice"),
        ("Select a From Counts (a, z)", "z", "unknown attribute 'z'; Counts has a, b, since"),
        ("Select a From Plain (a)", "Plain", "Plain has no valid times to coalesce by; give"),
        ("Select * From Counts (a), Plain", "Counts", "Valid of a join is not defined; coalesce"),
        (
            "Select Valid(Counts) From Counts",
            "Valid",
            "needs the attributes Counts is coalesced on",
        ),
    ],
)
def test_what_is_refused_is_told_with_its_place(text: str, place: str, sentence: str) -> None:
    with pytest.raises(CqlError) as refusal:
        plan_of(text, CATALOG)
    error = refusal.value
    assert sentence in error.message
    assert text[error.column - 1 :].startswith(place)


AT = Token("NUMBER", "1")


def span(type_name: str, over: int = 1) -> ColumnSpan:
    start, end = (ColumnReference(AT, "", name, type_name) for name in ("valid_from", "valid_to"))
    return ColumnSpan(AT, start, end, over=over)


@pytest.mark.parametrize(
    ("type_name", "number", "written"),
    [
        ("timestamp", 10_800_000_000, "3 Hours"),
        ("timestamp", 7, "7"),
        ("date", 3, "3 Days"),
        ("date", 14, "2 Weeks"),
        ("bigint", 600, "600"),
    ],
)
def test_a_length_of_columns_is_written_in_its_largest_unit(
    type_name: str, number: int, written: str
) -> None:
    compared = Compare(AT, ">=", span(type_name), Literal(AT, number))
    assert format_expression(compared) == f"valid_to - valid_from >= {written}"


def test_a_cast_of_columns_says_its_unit() -> None:
    compared = Compare(AT, ">", span("timestamp", 60_000_000), Literal(AT, 6))
    written = "Cast(valid_to - valid_from As Interval Minute) > 6"
    assert format_expression(compared) == written
