"""Temporal queries in shards: at every tick what the definitions say. [AL11], card B1"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.schema import Schema, ValidTimes
from backend.operators.network.core.plan import NetworkPlan
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import Elements, answer
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import SECOND

GIVEN = ValidTimes("since", "until", type="bigint")
SCHEMAS = {
    "G": replace(Schema.parse("a int, c string, since bigint, until bigint"), valid=GIVEN),
    "C": replace(
        Schema.parse("a int, c string, since bigint, until bigint"),
        valid=replace(GIVEN, is_closed=True),
    ),
    "D": replace(
        Schema.parse("a int, c string, since date, until date"), valid=replace(GIVEN, type="date")
    ),
    "K": replace(
        Schema.parse("a int, c string, k int"), valid=ValidTimes("", key="k", type="bigint")
    ),
}
LAST = 12
DAY = date(2011, 4, 1)


def compiled(*texts: str) -> NetworkPlan:
    """Queries q0, q1… of one plan; each may read those before it."""
    queries: dict[str, Any] = {}
    for n, text in enumerate(texts):
        queries[f"q{n}"] = parse_query(f"q{n}", text, SCHEMAS, queries=queries)
    since = dict.fromkeys(queries, 0)
    return compile_queries(list(queries.values()), since=since, tick_us=SECOND)


def check(texts: list[str], inputs: dict[str, Elements], heartbeats: list[int], n: int = 1) -> None:
    """The answers of all queries are those of the definitions, tick by tick."""
    plan = compiled(*texts)
    given = {name: inputs.get(name, []) for name in SCHEMAS}
    found = run_plan(plan, given, SCHEMAS, heartbeats, n)
    queries: dict[str, Any] = {}
    for name, text in zip(found, texts, strict=True):
        queries[name] = parse_query(name, text, SCHEMAS, queries=queries)
        logical_plan = queries[name].plan
        assert logical_plan is not None
        expected = answer(logical_plan, given, heartbeats[-1] - 1)
        assert +found[name] == expected, text


@st.composite
def texts(draw: Any) -> tuple[str, str]:
    """A stream, and a query that coalesces it."""
    stream = draw(st.sampled_from(sorted(SCHEMAS)))
    n, slide = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    windows = ["", f" [Range {n}]", f" [Rows {n + 1}]", f" [Partition By a Rows {n % 2 + 1}]"]
    windows += [" [Now]", f" [Range {n} Seconds Slide {slide} Seconds]"]
    window = draw(st.sampled_from(windows))
    on = draw(st.sampled_from(["a", "c", "a, c"]))
    length = f"{draw(st.integers(0, 9))}{' Days' if stream == 'D' else ''}"
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    values = ["", "a > 0", "c = 'x' or a is null", "not a = 1"]
    valid = ["", f"Valid(x) {op} {length}", f"not (Valid(x) {op} {length} or {length} < Valid(x))"]
    valid += [f"Valid(x) between {length} and {length}"]
    valid += [] if stream == "D" else ["Begin(Valid(x)) >= 3", "End(Valid(x)) < Valid_to"]
    parts = [part for part in (draw(st.sampled_from(values)), draw(st.sampled_from(valid))) if part]
    where = f" Where {' and '.join(f'({part})' for part in parts)}" if parts else ""
    columns = draw(st.sampled_from([on, f"{on}, Valid(x)", f"{on}, End(Valid(x)) As e", "*"]))
    distinct = draw(st.sampled_from(["", "", "Distinct "]))
    return stream, f"Select {distinct}{columns} From {stream} ({on}){window} As x{where}"


@st.composite
def elements(draw: Any, stream: str) -> Elements:
    """Tuples in order of time; some are valid at no instant."""
    drawn = []
    for _ in range(draw(st.integers(0, 12))):
        a = draw(st.sampled_from([0, 1, None]))
        c = draw(st.sampled_from(["x", "y"]))
        time = draw(st.integers(0, LAST - 2))
        start = draw(st.integers(-4, 8))
        times: list[Any] = [start, start + draw(st.integers(-1, 5))]
        if stream == "D":
            times = [DAY + timedelta(days=one) for one in times]
        if draw(st.integers(0, 9)) == 0:
            times[draw(st.integers(0, 1))] = None
        row = (a, c, draw(st.integers(0, 1))) if stream == "K" else (a, c, *times)
        drawn.append((row, time))
    return sorted(drawn, key=lambda element: element[1])


@given(st.data())
def test_answers_are_those_of_the_definitions(data: st.DataObject) -> None:
    stream, text = data.draw(texts())
    inputs = {stream: data.draw(elements(stream))}
    cuts = data.draw(st.lists(st.integers(1, LAST - 1), max_size=3, unique=True))
    check([text], inputs, [*sorted(cuts), LAST], data.draw(st.sampled_from([1, 2])))


def test_humidity_of_the_card_holds_for_three_minutes() -> None:
    """Card B4: 77, 77, 77, 70, 80, 80, 77 each minute; above 75 for 3 minutes is 77 in [0, 3)."""
    humidity = [77, 77, 77, 70, 80, 80, 77]
    rows = [((value, "m", 1), minute) for minute, value in enumerate(humidity)]
    text = "Select a, Valid(K) From K (a) Where a > 75 and Valid(K) >= 3"
    found = run_plan(compiled(text), {"K": rows}, SCHEMAS, [8])["q0"]
    assert +found == {((77, 0, 3), 2, 1): 1}


def test_andy_worked_more_than_six_years_in_one_department() -> None:
    """Card B4: Toys [2000, 2004) and [2004, 2009) are [2000, 2009), Books [2009, 2012) is not."""
    years = [("Toys", 2000, 2004), ("Toys", 2004, 2009), ("Books", 2009, 2012)]
    rows = [
        ((1, dept, date(start, 1, 1), date(end, 1, 1)), n)
        for n, (dept, start, end) in enumerate(years)
    ]
    plain = "Select c, since, until From D Where until > since"
    text = "Select c, Valid(D) From D (c) Where Cast(Valid(D) As Interval Year) > 6"
    found = run_plan(compiled(text, plain), {"D": rows}, SCHEMAS, [8])["q0"]
    assert +found == {(("Toys", date(2000, 1, 1), date(2009, 1, 1)), 1, 1): 1}


def test_other_queries_read_coalesced_rows() -> None:
    rows = [((1, "x", n, n + 2), n) for n in range(0, 8, 2)] + [((0, "y", 1, 3), 7)]
    coalesced = "Select a, Valid(G) From G (a) [Range 4]"
    above = "Select a, count(*) As n, max(valid_to) As last From q0 Group By a"
    again = "Select Valid(q0) From q0 (a) Where Valid(q0) > 2"
    check([coalesced, above, again], {"G": rows}, [3, 6, 14])


@pytest.mark.parametrize("n_shards", [1, 3])
def test_a_long_interval_that_goes_leaves_many_runs(n_shards: int) -> None:
    """What the longest held together falls apart into more runs than there were elements."""
    short = [((1, "x", 3 * n, 3 * n + 1), 1) for n in range(200)]
    rows = [((1, "x", 0, 700), 0), *short]
    check(["Select a, Valid(G) From G (a) [Range 1]"], {"G": rows}, [1, 2, 3, 4], n_shards)


def test_names_of_valid_times_are_read_in_any_case_and_with_numbers() -> None:
    """What a query lists as Valid_From, and twice as a, is found where another coalesces it."""
    rows = [((1, "x", n, n + 2), n) for n in range(0, 8, 2)]
    inner = "Select a, c As a, since As Valid_From, until As VALID_TO From G [Range 6]"
    check([inner, "Select a_2, Valid(q0) From q0 (a_2)"], {"G": rows}, [4, 14])
