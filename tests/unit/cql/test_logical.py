"""Logical plans: what texts become, what they mean, and that printing gives them back."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import CqlError
from backend.cql.answers import Implicit, answer_fields, answers_a_stream, streams_of
from backend.cql.logical import (
    Aggregate,
    Distinct,
    Join,
    Project,
    Range,
    Rows,
    Scan,
    Select,
    ToStream,
    Unbounded,
    Window,
    children,
    walk,
)
from backend.cql.nodes import Between, ColumnReference, Literal
from backend.cql.parser import plan_of
from backend.cql.printer import format_plan
from backend.cql.scope import Catalog
from backend.model.schema import Attribute, Schema
from tests.oracles.cql_semantics import Elements, relation_at, stream_until
from tests.unit.cql.catalogs import plan
from tests.unit.cql.queries import CATALOG, COLUMNS, queries

# ---------------------------------------------------------------------- the form of plans


def test_a_windowed_join_of_the_thesis() -> None:
    found = plan(
        "Select * From S1 [Rows 1000], S2 [Range 2 Minutes]\nWhere S1.A = S2.A and S1.A > 10"
    )
    assert isinstance(found, Select)
    assert isinstance(found.input, Join)
    assert found.input.aliases == ("S1", "S2")
    first, second = found.input.inputs
    assert isinstance(first, Window)
    assert isinstance(second, Window)
    assert (first.kind, second.kind) == (Rows(1000), Range(120))
    assert isinstance(first.input, Scan)
    assert first.input.kind == "stream"
    assert [field.name for field in found.fields] == ["A", "B", "A", "B"]
    places = [(p.at.line, p.at.column) for p in (found.input, first, second, found)]
    assert places == [(1, 31), (1, 18), (1, 34), (2, 7)]


def test_groups_and_aggregates_have_types() -> None:
    found = plan(
        "Select A, Max(B) As most, avg(C), count(*) From S [Rows 200] Group By A Having count(*)>1"
    )
    assert isinstance(found, Project)
    aggregate = found.input
    assert isinstance(aggregate, Aggregate)
    assert [call.function for call in aggregate.calls] == ["max", "avg", "count"]
    assert found.fields == (
        Attribute("A", "int"),
        Attribute("most", "int"),
        Attribute("avg(C)", "double"),
        Attribute("count(*)", "bigint"),
    )


def test_a_stream_of_distinct_columns_is_written_in_two_ways() -> None:
    inside = plan("Select Istream(Distinct S.A) From S [Range Unbounded]")
    around = plan("Istream(Select Distinct a From s [rows unbounded])")
    assert inside == around
    column = ColumnReference(inside.at, "", "A", "int")
    project = inside.input.input
    assert (type(inside), type(inside.input)) == (ToStream, Distinct)
    assert project.outputs[0].expression == column
    assert project.input.kind == Unbounded()


def test_constants_take_the_type_of_what_they_are_compared_with() -> None:
    found = plan("Select * From Tolls Where toll > 5 and seg + 1 < 2.5")
    first, second = found.condition.parts
    assert first.right == Literal(first.at, 5.0)
    assert second.right.value == 2.5
    assert found.input.kind == "relation"


def test_a_string_beside_an_aggregate_of_times_is_a_time() -> None:
    days = Catalog({"Days": Schema.parse("day date, n int")})
    text = "Select n From Days Group By n Having max(day) between '2020-01-02' and '2020-01-31'"
    found = next(part for part in walk(plan_of(text, days)) if isinstance(part, Aggregate))
    assert isinstance(found.having, Between)
    assert isinstance(found.having.low, Literal)
    assert found.having.low.value == date(2020, 1, 2)
    with pytest.raises(CqlError, match="'soon' is not a date; write YYYY-MM-DD"):
        plan_of(text.replace("2020-01-31", "soon"), days)


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("Select * From S Where A > 10", True),
        ("Select A From S1, S2 Where S1.A = S2.A", True),
        ("Select Distinct A From S", True),
        ("Select * From S [Rows Unbounded] Where A > 10", False),
        ("Select * From S1 [Rows 1000], S2 [Range 2 Minutes]", False),
        ("Select max(A) From S", False),
        ("Select A From S1 Except Select A From S2", False),
        ("Select * From S1, Tolls", False),
        ("Select * From Tolls", False),
        ("Rstream(Select * From Tolls)", True),
        ("Select A From S Where A in (Select A From S1 [Rows 5])", False),
        ("Select A From S Where A in (Select A From S1)", True),
        ("Select A From S Where A not in (Select A From S1)", False),
        ("Select A From S Where not A in (Select A From S1)", False),
        ("Select A From S Where A > (Select A From S1)", False),
        ("Select A From S1 Intersect Select A From S2", True),
        ("Select * From (Dstream(Select A From S1 [Rows 5]))", True),
        ("Select * From Slow", True),
        ("Select A + 1 From Slow", True),
        ("Select * From Last", False),
        ("Select A + 1 From Last", False),
        ("Select A + 1 From Gone", True),
        ("Select A + 1 From Gone [Now]", False),
    ],
)
def test_a_query_answers_a_stream_or_a_relation(text: str, stream: bool) -> None:
    assert answers_a_stream(plan(text)) is stream


@pytest.mark.parametrize(
    ("text", "monotonic", "never"),
    [
        ("Select * From S Where A > 10", True, False),
        ("Select * From S", True, False),
        ("Select * From S [Rows Unbounded] Where A > 10", True, False),
        ("Select * From S [Rows 5]", False, False),
        ("Select * From (Select * From S [Rows Unbounded])", True, False),
        ("Istream(Select * From S)", True, True),
        ("Select max(A) From S", False, False),
        ("Select * From S1, Tolls", False, False),
    ],
)
def test_the_implicit_stream_can_be_asked_for_otherwise(
    text: str, monotonic: bool, never: bool
) -> None:
    options: dict[Implicit, bool] = {"monotonic": monotonic, "never": never}
    found = plan(text)
    assert {name: answers_a_stream(found, name) for name in options} == options


def test_a_plan_names_the_streams_it_reads_through_others() -> None:
    found = plan(
        "Select * From S2, Slow, Tolls Where S2.A in (Select A From Last Union Select A From S)"
    )
    assert streams_of(found) == ("S2", "S1", "S")


def test_walking_meets_every_operator_once() -> None:
    found = plan("Select max(A) From (Select * From S1 Union Select * From S2 [Now]) Where A > 1")
    kinds = [type(part).__name__ for part in walk(found)]
    assert kinds == [
        *("Project", "Aggregate", "Select", "Derived", "SetOperation", "Scan", "Window", "Scan")
    ]
    assert [type(part).__name__ for part in children(found)] == ["Aggregate"]


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("Select S.A From S Left Join S1 On S.A = S1.A", 19, "Left Join is not run by any system"),
        ("Select S.A From S full  outer -- x\nJoin S1 On S.A = S1.A", 19, "full outer Join is not"),
        ("Select S.A From S Cross Join S1", 19, "joins are A Join B On …, or A, B Where …"),
        ("Select S.A From S Join S1", 26, "found the end of the query, expected 'On'"),
        ("Select * From S1, Tols", 19, "unknown stream 'Tols'; did you mean 'Tolls'?"),
        ("Select D From S [Rows 5]", 8, "unknown attribute 'D'; S has A, B and C"),
        ("Select A From S1, S2", 8, "'A' is an attribute of S1 and S2; write S1.A or its like"),
        ("Select S3.A From S1, S2", 8, "unknown stream 'S3'; this query reads S1 and S2"),
        ("Select * From S1, S1", 19, "two sources are called 'S1'; give one of them another name"),
        ("Select A, max(B) From S", 8, "'A' is neither in Group By nor within an aggregate"),
        ("Select max(B) From S Group By A Having C > 1", 40, "'C' is neither in Group By nor"),
        ("Select * From S Group By A", 17, "name the columns of an answer with groups"),
        ("Select * From S Having A > 1", 17, "name the columns of an answer with groups"),
        ("Select A From S Where max(B) > 1", 23, "max(…) is allowed in a select list or in Having"),
        ("Select max(min(B)) From S", 12, "min(…) is allowed in a select list or in Having only"),
        ("Select sum(A, B) From S", 8, "sum takes one argument, not 2"),
        ("Select A + 'x' From S", 12, "+ takes numbers, and this is a string"),
        ("Select -true From S", 9, "- takes numbers, and this is a boolean"),
        ("Select A From S Where A + 1 > 'x'", 31, "a bigint and a string cannot be compared"),
        ("Select A From S Where A like 'x'", 30, "A is an int attribute and 'x' is a string"),
        ("Select A From S Where A + B", 23, "'A' alone is no condition"),
        ("Select * From S [Foo 5]", 17, "[Foo 5] is no window; expected [Rows n], [Range n Sec"),
        ("Select * From S [Rows 1.5]", 17, "[Rows 1.5] is no window"),
        ("Select * From S [Range 5 Parsecs]", 17, "[Range 5 Parsecs] is no window"),
        ("Select * From S [Partition By Rows 5]", 17, "is no window"),
        ("Select * From S [Partition By D Rows 5]", 17, "unknown attribute 'D'; it has A, B and C"),
        ("Select * From Tolls [Rows 5]", 21, "a window follows a stream, and this is a rel"),
        ("Select A From S Union Select A, B From S", 17, "Union of 1 and 2 columns"),
        ("Select A From S Except Select true From S", 17, "Except of A (int) and true (boolean)"),
        (
            "Select *, 1 As k From (Select A From S), (Select A From S1)",
            8,
            "two queries without a name have an attribute 'A'; name them: (…) As q",
        ),
        ("Select * From S Where A > (Select * From S1)", 28, "a subquery used as a value"),
    ],
)
def test_what_is_no_cql_is_refused_at_its_place(text: str, column: int, message: str) -> None:
    with pytest.raises(CqlError) as caught:
        plan(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)


# ---------------------------------------------------------------------- printing


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            "select max( b )m from s1 [ROWS 1,000] as q group by a having max(b)>1;",
            "Select max(B) As m From S1 [Rows 1000] Group By A Having max(B) > 1",
        ),
        (
            "Select x.A From (S1 [Now]) x, (Select * From S2) y Where not (x.A=1 or (y.B)=2)",
            "Select x.A From S1 [Now] As x, (Select * From S2) As y Where not (x.A = 1 or y.B = 2)",
        ),
        (
            "Select S.A From S [range 8 SLIDE 2], S1 [Range 1 Minute Slide 90] T",
            "Select S.A From S [Range 8 Seconds Slide 2 Seconds],"
            " S1 [Range 1 Minute Slide 90 Seconds] As T",
        ),
        (
            "Select S.A From S inner Join S1 left On S.A = left.A Inner join S2 As right On true",
            "Select S.A From S Join S1 As left On S.A = left.A Join S2 As right On true",
        ),
        (
            "Select (A-(B-1))*-C/2 From S [Range 86400 Seconds]",
            "Select (A - (B - 1)) * -C / 2 From S [Range 1 Day]",
        ),
    ],
)
def test_the_printed_text_is_canonical(text: str, printed: str) -> None:
    assert format_plan(plan(text)) == printed


@settings(deadline=None, max_examples=400)
@given(queries())
def test_printing_and_parsing_give_the_plan_back(text: str) -> None:
    found = plan_of(text, CATALOG)
    printed = format_plan(found)
    assert plan_of(printed, CATALOG) == found
    assert format_plan(plan_of(printed, CATALOG)) == printed


# ---------------------------------------------------------------------- meaning

EXAMPLE = [
    ((11, 5, 50), 1),
    ((3, 5, 50), 1),
    ((12, 19, 41), 2),
    ((11, 5, 50), 4),
    ((11, 25, 60), 6),
]


@pytest.mark.parametrize(
    "text",
    [
        "Select Istream(*) From S [Rows Unbounded] Where S.A>10 and S.B<20 and S.C>40",
        "Select * From S Where A > 10 and B < 20 and C > 40",
        "Rstream(Select * From S [Now] Where A > 10 and B < 20 and C > 40)",
    ],
)
def test_the_filter_of_the_thesis(text: str) -> None:
    found = stream_until(plan(text), {"S": EXAMPLE}, 6)
    assert found == [((11, 5, 50), 1), ((12, 19, 41), 2), ((11, 5, 50), 4)]


def test_the_windowed_join_of_the_thesis_changes_when_it_should() -> None:
    found = plan(
        "Select * From S1 [Rows 3], S2 [Range 2 Minutes] Where S1.A=S2.A and S1.A>10 and S1.B<20"
    )
    inputs: dict[str, Elements] = {
        "S1": [((11, 5), 1), ((12, 25), 2), ((13, 7), 3), ((9, 1), 4), ((11, 8), 5)],
        "S2": [((13, 1), 1), ((11, 2), 2)],
    }
    changes = []
    before: Counter[Any] = Counter()
    for now in range(125):
        bag = Counter(relation_at(found, inputs, now))
        changes += [("+", row, now) for row in (bag - before).elements()]
        changes += [("-", row, now) for row in (before - bag).elements()]
        before = bag
    assert changes == [
        ("+", (11, 5, 11, 2), 2),
        ("+", (13, 7, 13, 1), 3),
        ("-", (11, 5, 11, 2), 4),
        ("+", (11, 8, 11, 2), 5),
        ("-", (13, 7, 13, 1), 122),
        ("-", (11, 8, 11, 2), 123),
    ]


def test_istream_nets_equal_tuples_of_one_instant() -> None:
    found = plan("Select Istream(A) From S1 [Rows 1]")
    assert stream_until(found, {"S1": [((7, 0), 1), ((7, 0), 2), ((8, 0), 3)]}, 4) == [
        ((7,), 1),
        ((8,), 3),
    ]


def test_stopped_cars_of_linear_road() -> None:
    found = plan(
        "Select Distinct seg From (Select car, seg, x, count(*) As n "
        "From CarLoc [Partition By car Rows 4] Group By car, seg, x) Where n = 4"
    )
    reports: Elements = [((7, 3, 100), time) for time in (0, 10, 20, 30)] + [((7, 4, 150), 40)]
    answers = [relation_at(found, {"CarLoc": reports}, now) for now in (20, 30, 39, 40)]
    assert answers == [[], [(3,)], [(3,)], []]


def test_columns_called_as_what_answers_have_beside_them_are_numbered() -> None:
    """Else the tick and the sign would stand in their place."""
    known = Catalog({"T": Schema.parse("v int")})
    found = plan_of("Select v As Tau, v As sign, v As _tau, v As _sign From T [Rows 2]", known)
    names = [field.name for field in answer_fields(found)]
    assert names == ["Tau_2", "sign_2", "_tau_2", "_sign_2"]


VALUES = {"int": st.none() | st.integers(-2, 4), "string": st.none() | st.sampled_from(["", "x"])}
ROWS = st.fixed_dictionaries(
    {
        name: st.lists(st.tuples(*(VALUES[kind] for _, kind in columns)), max_size=4)
        for name, columns in COLUMNS.items()
    }
)


@settings(deadline=None, max_examples=300)
@given(queries(full=False), ROWS)
def test_sqlite_answers_the_same(text: str, rows: dict[str, list[Any]]) -> None:
    found = plan_of(text, CATALOG)
    inputs = {name: [(row, 0) for row in of_one] for name, of_one in rows.items()}
    connection = sqlite3.connect(":memory:")
    try:
        for name, columns in COLUMNS.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(c for c, _ in columns)})")
            marks = ", ".join("?" for _ in columns)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
        expected = connection.execute(format_plan(found).replace(" Union ", " Union All "))
        assert Counter(relation_at(found, inputs, 0)) == Counter(expected.fetchall())
    finally:
        connection.close()
