"""The thesis' queries and the edges of their meaning, from text to elements (cards A2-A6, B11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.cql.answers import Implicit
from backend.model.conditions import ContinuousQuery
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import Elements
from tests.unit.network.query_runs import run_plan

SCHEMAS = {
    "S": Schema.parse("A int, B int, C int"),
    "S1": Schema.parse("A int, B int"),
    "S2": Schema.parse("A int, B int"),
    "C": Schema.parse("pid int, size int"),
    "B": Schema.parse("pid int"),
    "O": Schema.parse("pid int"),
    "CarStr": Schema.parse("cid int, xpos int, sid int"),
}
TOLLS = {"Tolls": Schema.parse("seg int, toll double")}
EVEN = Functions(
    {"even": Function("even", (Parameter("n", "int"),), lambda n: n % 2 == 0)},
)
Change = tuple[str, tuple[Any, ...], int]


def read(text: str, known: Mapping[str, ContinuousQuery] | None = None) -> ContinuousQuery:
    return parse_query("q", text, SCHEMAS, EVEN, relations=TOLLS, queries=known)


def changes(
    text: str,
    inputs: Mapping[str, Elements],
    last: int,
    known: Mapping[str, str] | None = None,
    implicit: Implicit = "unwindowed",
    tick_us: int = 1_000_000,
) -> list[Change]:
    """What a query answers up to a tick: '+' or '-', the tuple, the tick; by tick, '+' first."""
    queries: dict[str, ContinuousQuery] = {}
    for name, one in (known or {}).items():
        queries[name] = parse_query(name, one, SCHEMAS, EVEN, relations=TOLLS, queries=queries)
    plan = compile_queries(
        [read(text, queries)], since={"q": 0}, tick_us=tick_us, implicit_istream=implicit
    )
    rows: dict[str, Elements] = {name: [] for name in [*SCHEMAS, *TOLLS]}
    found = run_plan(plan, {**rows, **inputs}, {**SCHEMAS, **TOLLS}, [last + 1], functions=EVEN)
    elements = sorted(found["q"].elements(), key=_in_order)
    return [("+" if sign > 0 else "-", row, tau) for row, tau, sign in elements]


def _in_order(element: tuple[tuple[Any, ...], int, int]) -> Any:
    row, tau, sign = element
    return tau, -sign, [(value is not None, value) for value in row]


FILTERED: Elements = [
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
        "Select A, B, C From S Where A > 10 and B < 20 and C > 40",
        "Rstream(Select * From S [Now] Where A > 10 and B < 20 and C > 40)",
    ],
)
def test_the_filter_of_example_2_1_1(text: str) -> None:
    assert changes(text, {"S": FILTERED}, 9) == [
        ("+", (11, 5, 50), 1),
        ("+", (12, 19, 41), 2),
        ("+", (11, 5, 50), 4),
    ]


JOINED: dict[str, Elements] = {
    "S1": [((11, 5), 1), ((12, 25), 2), ((13, 7), 3), ((9, 1), 4), ((11, 8), 5)],
    "S2": [((13, 1), 1), ((11, 2), 2)],
}
JOIN = "From S1 [Rows 3], S2 [Range 2 Minutes] Where S1.A=S2.A and S1.A>10 and S1.B<20"


def test_the_windowed_join_of_example_2_1_2() -> None:
    assert changes(f"Select * {JOIN}", JOINED, 124) == [
        ("+", (11, 5, 11, 2), 2),
        ("+", (13, 7, 13, 1), 3),
        ("-", (11, 5, 11, 2), 4),
        ("+", (11, 8, 11, 2), 5),
        ("-", (13, 7, 13, 1), 122),
        ("-", (11, 8, 11, 2), 123),
    ]
    came = changes(f"Select Istream(S1.A) {JOIN}", JOINED, 124)
    assert came == [("+", (11,), 2), ("+", (13,), 3), ("+", (11,), 5)]


def test_the_greatest_of_each_group() -> None:
    rows: Elements = [((1, 5), 0), ((2, 3), 1), ((1, 9), 1), ((3, 3), 2), ((2, 1), 3)]
    assert changes("Select A, Max(B) From S1 [Rows 3] Group By A", {"S1": rows}, 5) == [
        ("+", (1, 5), 0),
        ("+", (1, 9), 1),
        ("+", (2, 3), 1),
        ("-", (1, 5), 1),
        ("+", (3, 3), 2),
        ("+", (2, 1), 3),
        ("-", (2, 3), 3),
    ]


def test_the_sum_over_three_windows_of_packets() -> None:
    text = (
        "Select sum(C.size) From C [Range 10 minutes], B [Range 10 minutes], O [Range 10 minutes]"
        " Where C.pid=B.pid and B.pid=O.pid"
    )
    rows: dict[str, Elements] = {
        "C": [((1, 40), 0), ((2, 60), 5)],
        "B": [((1,), 1), ((2,), 6)],
        "O": [((1,), 2), ((2,), 7), ((1,), 8)],
    }
    assert changes(text, rows, 700) == [
        ("+", (None,), 0),
        ("+", (40,), 2),
        ("-", (None,), 2),
        ("+", (100,), 7),
        ("-", (40,), 7),
        ("+", (140,), 8),
        ("-", (100,), 8),
        ("+", (60,), 601),
        ("-", (140,), 601),
        ("+", (None,), 606),
        ("-", (60,), 606),
    ]


ROAD = {
    "LastRep": "Select * From CarStr [Partition By cid Rows 1]",
    "Active": "Select Distinct cid From CarStr [Range 30 seconds]",
    "CarSeg": "Select LastRep.cid, sid From LastRep, Active Where LastRep.cid = Active.cid",
    "AccCars": (
        "Select cid From CarStr [Partition By cid Rows 4] Group By cid "
        "Having count(*) = 4 and count(Distinct xpos) = 1"
    ),
}


def test_segments_with_accidents_of_linear_road() -> None:
    reports: Elements = [((7, 100, 3), time) for time in (0, 10, 20, 30)]
    reports += [((8, 50 + time, 2), time) for time in range(0, 60, 5)]
    text = "Select Distinct sid From CarSeg, AccCars Where CarSeg.cid = AccCars.cid"
    rows = {"CarStr": sorted(reports, key=lambda one: one[1])}
    assert changes(text, rows, 99, ROAD) == [("+", (3,), 30), ("-", (3,), 61)]


# ---------------------------------------------------------------------- edges


def test_istream_takes_equal_tuples_of_a_tick_off() -> None:
    rows: Elements = [((7, 0), 1), ((7, 0), 2), ((8, 0), 3)]
    found = changes("Select Istream(A) From S1 [Rows 1]", {"S1": rows}, 5)
    assert found == [("+", (7,), 1), ("+", (8,), 3)]


def test_istream_tells_a_tuple_as_often_as_there_are_more_of_it() -> None:
    rows: Elements = [((7, 0), 1), ((7, 0), 1), ((7, 0), 2)]
    found = changes("Select Istream(A) From S1 [Rows 2]", {"S1": rows}, 5)
    assert found == [("+", (7,), 1), ("+", (7,), 1)]


def test_dstream_of_a_range_tells_when_nothing_comes() -> None:
    found = changes("Select Dstream(A) From S1 [Range 5]", {"S1": [((7, 0), 3)]}, 20)
    assert found == [("+", (7,), 9)]


def test_an_aggregate_of_nothing_is_there_from_the_first_tick() -> None:
    text = "Select Istream(count(*) As n, max(A) As most) From S1 [Range 2]"
    found = changes(text, {"S1": [((7, 0), 3)]}, 9)
    assert found == [("+", (0, None), 0), ("+", (1, 7), 3), ("+", (0, None), 6)]
    assert changes("Select A, count(*) From S1 [Now] Group By A", {}, 9) == []


def test_rows_of_the_same_tick_count_in_the_order_they_came() -> None:
    rows: Elements = [((1, 0), 4), ((2, 0), 4), ((3, 0), 4)]
    assert changes("Select A From S1 [Rows 1]", {"S1": rows}, 9) == [("+", (3,), 4)]


def test_set_operations_are_of_bags() -> None:
    rows: dict[str, Elements] = {"S1": [((1, 0), 0)] * 3, "S2": [((1, 0), 0)] * 2}
    for word, n in (("Union", 5), ("Except", 1), ("Intersect", 2), ("Union All", 5)):
        text = f"Select A From S1 [Rows 9] {word} Select A From S2 [Rows 9]"
        assert changes(text, rows, 1) == [("+", (1,), 0)] * n


def test_conditions_above_a_rows_window_do_not_go_below_it() -> None:
    rows: Elements = [((1, 0), 0), ((9, 0), 1), ((9, 0), 2)]
    found = changes("Select A From S1 [Rows 2] Where A < 5", {"S1": rows}, 5)
    assert found == [("+", (1,), 0), ("-", (1,), 2)]
    within = changes("Select A From (Select * From S1 Where A < 5) [Rows 2]", {"S1": rows}, 5)
    assert within == [("+", (1,), 0)]


def test_a_name_of_two_sources_needs_no_qualifier_where_they_are_equal() -> None:
    found = changes("Select A From S1 [Now], S2 [Now] Where S1.A = S2.A", JOINED, 9)
    assert found == []
    rows: dict[str, Elements] = {"S1": [((5, 1), 2)], "S2": [((5, 2), 2)]}
    text = "Select A, S1.B, S2.B From S1 [Now], S2 [Now] Where S1.A = S2.A"
    assert changes(text, rows, 9) == [("+", (5, 1, 2), 2), ("-", (5, 1, 2), 3)]


def test_null_joins_nothing_and_not_in_knows_null() -> None:
    rows: dict[str, Elements] = {"S1": [((None, 1), 0), ((2, 1), 0)], "S2": [((None, 0), 1)]}
    assert changes("Select * From S1, S2 Where S1.A = S2.A", rows, 3) == []
    text = "Select A From S1 [Rows 5] Where A not in (Select A From S2 [Now])"
    assert changes(text, rows, 3) == [
        ("+", (None,), 0),
        ("+", (2,), 0),
        ("-", (None,), 1),
        ("-", (2,), 1),
        ("+", (None,), 2),
        ("+", (2,), 2),
    ]


def test_stored_relations_are_there_from_the_first_tick() -> None:
    rows: dict[str, Elements] = {"S1": [((1, 5), 3), ((2, 5), 4)], "Tolls": [((1, 2.5), 0)]}
    text = "Select A, toll * 2 As double From S1 [Now], Tolls Where A = seg"
    assert changes(text, rows, 9) == [("+", (1, 5.0), 3), ("-", (1, 5.0), 4)]


def test_functions_are_called_wherever_a_condition_stands() -> None:
    rows: Elements = [((1, 1), 0), ((2, 1), 1), ((None, 8), 1), ((3, 2), 2)]
    text = "Select A, B From S1 [Now] Where even(A) or (even(B) and A is not null)"
    found = changes(f"Istream({text})", {"S1": rows}, 5)
    assert found == [("+", (2, 1), 1), ("+", (3, 2), 2)]


def test_windows_in_seconds_are_in_whole_ticks() -> None:
    rows: Elements = [((1, 0), 0)]
    text = "Select A From S1 [Range 90 seconds]"
    assert changes(text, {"S1": rows}, 200)[-1] == ("-", (1,), 91)
    assert changes(text, {"S1": rows}, 9, tick_us=60_000_000)[-1] == ("-", (1,), 2)
    assert changes(text, {"S1": rows}, 999, tick_us=500_000)[-1] == ("-", (1,), 181)
    eternal = "Select A From S1 [Range 99999999999999 days]"
    assert changes(eternal, {"S1": rows}, 200) == [("+", (1,), 0)]


@pytest.mark.parametrize(
    ("text", "implicit", "is_stream"),
    [
        ("Select A From S1 Where B > 1", "unwindowed", True),
        ("Select A From S1 Where B > 1", "never", False),
        ("Select A From S1 [Rows Unbounded]", "unwindowed", False),
        ("Select A From S1 [Rows Unbounded]", "monotonic", True),
        ("Istream(Select A From S1)", "never", True),
        ("Select A From Recent", "unwindowed", False),
        ("Select A + 1 From Came", "unwindowed", True),
    ],
)
def test_which_queries_answer_a_stream(text: str, implicit: Implicit, is_stream: bool) -> None:
    known = {
        name: parse_query(name, one, SCHEMAS)
        for name, one in {
            "Recent": "Select A From S1 [Rows 5]",
            "Came": "Istream(Select A From S1 [Rows 5])",
        }.items()
    }
    query = read(text, known)
    plan = compile_queries([query], since={"q": 0}, tick_us=1, implicit_istream=implicit)
    assert plan.answers["q"].is_stream is is_stream


# ---------------------------------------------------------------------- identities

WINDOWS = st.sampled_from(
    ["Rows 2", "Range 2", "Now", "Partition By A Rows 1", "Range 4 Seconds Slide 3 Seconds"]
)
PAIRS = st.lists(st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 6)))


@settings(deadline=None, max_examples=40)
@given(WINDOWS, PAIRS)
def test_a_relation_is_what_came_and_has_not_gone(window: str, rows: Elements) -> None:
    inputs = {"S1": sorted(rows, key=lambda one: one[1])}
    came, gone, there, all_of = (
        Counter(changes(f"{word}Select A, B From S1 [{window}]{end}", inputs, 9))
        for word, end in (("Istream(", ")"), ("Dstream(", ")"), ("Rstream(", ")"), ("", ""))
    )
    assert all_of == came + Counter({("-", row, tau): n for (_, row, tau), n in gone.items()})
    bag: Counter[tuple[Any, ...]] = Counter()
    for now in range(10):
        bag.update({row: n for (_, row, tau), n in came.items() if tau == now})
        bag.subtract({row: n for (_, row, tau), n in gone.items() if tau == now})
        assert +bag == Counter({row: n for (_, row, tau), n in there.items() if tau == now})


@settings(deadline=None, max_examples=20)
@given(PAIRS)
def test_a_stream_is_what_comes_to_all_of_it_and_what_there_is_now(rows: Elements) -> None:
    inputs = {"S1": sorted(rows, key=lambda one: one[1])}
    expected = Counter(("+", row, tau) for row, tau in rows)
    for text in (
        "Rstream(Select * From S1 [Now])",
        "Istream(Select * From S1 [Rows Unbounded])",
        "Select A, B From S1",
    ):
        assert Counter(changes(text, inputs, 9)) == expected
