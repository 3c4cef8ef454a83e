"""Case and Cast: read, typed, written back, and refused in words."""

from __future__ import annotations

import pytest

from backend.cql import CqlError, parse_query
from backend.cql.parser import plan_of
from backend.cql.printer import format_plan
from backend.cql.scope import Catalog
from backend.model.schema import Schema

T = Schema.parse("a int, b double, s string, d date, ts timestamp, end int, case int")
CATALOG = Catalog({"T": T})


@pytest.mark.parametrize(
    ("text", "canonical", "type_name"),
    [
        (
            "case when a > 1 then 'x' else 'y' end",
            "Case When a > 1 Then 'x' Else 'y' End",
            "string",
        ),
        (
            "case a when 1 then 2 when 3 then b end",
            "Case When a = 1 Then 2 When a = 3 Then b Else null End",
            "double",
        ),
        ("case when a > 1 then d else ts end", "Case When a > 1 Then d Else ts End", "timestamp"),
        ("cast(a as DOUBLE)", "Cast(a As double)", "double"),
        ("cast(s as date)", "Cast(s As date)", "date"),
        ("cast(d as date)", "d", "date"),
        ("sum(case when a > 1 then 1 else 0 end)", None, "bigint"),
        ("case when case when b > 2 then a > 1 end then 1 else -1 end", None, "bigint"),
    ],
)
def test_what_is_read_is_written_back(text: str, canonical: str | None, type_name: str) -> None:
    plan = plan_of(f"Select {text} As x From T [Rows 3]", CATALOG)
    assert plan.fields[0].type == type_name
    written = format_plan(plan)
    assert canonical is None or written == f"Select {canonical} As x From T [Rows 3]"
    assert plan_of(written, CATALOG) == plan


def test_words_of_case_are_names_elsewhere() -> None:
    text = "Select end, `case`, a As when, b then, T.end From T Where end > 3"
    names = [field.name for field in plan_of(text, CATALOG).fields]
    assert names == ["end", "case", "when", "then", "end"]
    assert [field.name for field in plan_of("Select case From T", CATALOG).fields] == ["case"]


def test_comments_of_several_lines() -> None:
    text = "Select a /* first\n -- */ From T /**/ Where /* 'x */ a > 1 -- /* rest"
    assert format_plan(plan_of(text, CATALOG)) == "Select a From T Where a > 1"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("word", ["inner", "left outer", "natural"])
def test_many_comments_are_read_in_time_that_grows_with_them(word: str) -> None:
    """Each has one reading: with two, forty of them took days."""
    with pytest.raises(CqlError):
        parse_query("q", f"Select a From T {word} {'/**/ /* * */' * 500} x y", {"T": T})


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("Select case when a then 1 end From T", 18, "'a' alone is no condition"),
        ("Select case when a > 1 then 'x' else 3 end From T", 29, "a Case has values of one type"),
        ("Select case when a > 1 then null end From T", 8, "a column of NULL alone has no type"),
        ("Select cast(a as date) From T", 8, "no cast makes a date of an int"),
        ("Select cast(a as decimal) From T", 8, "types are bigint, boolean, date,"),
        ("Select cost(a as int) From T", 8, "a cast is Cast(value As type)"),
        ("Select a From T Where exists (Select * From T)", 23, "Exists is not in CQL; look for"),
        ("Select a From T Limit 5", 17, "are a window, as in S [Rows 5]"),
        ("Select a From T Offset 5", 17, "answers are not cut in CQL"),
        ("Select Top 5 a From T", 8, "answers are not cut in CQL"),
        ("Select s || s From T", 10, "strings are not joined in CQL"),
        ("Select a From T Where ts > interval '5' day", 28, "lengths are written without Interval"),
        ("Select a From T Where a is not distinct from b", 25, "write a <> b or a is null"),
        ("Select count(*) From T [Rows 5] Group By 1", 42, "Group By 1 is no place in the list"),
        ("Select a::int From T", 9, "a cast is written Cast(value As type)"),
        ("with x as (Select a From T) Select a From x", 1, "With is not in CQL; register"),
        ("Select rank() over (partition by a) From T", 15, "Over is not in CQL; windows belong"),
        ("Select s From T Where s ilike 'a'", 25, "patterns are written a like 'b%'"),
        ("Select a /* open From T", 10, "a comment that never ends; close it with */"),
    ],
)
def test_what_sql_has_and_cql_has_not_is_said(text: str, column: int, message: str) -> None:
    with pytest.raises(CqlError) as caught:
        parse_query("q", text, {"T": T})
    assert (caught.value.line, caught.value.column) == (1, column)
    assert message in caught.value.message
