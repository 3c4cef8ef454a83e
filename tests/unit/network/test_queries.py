"""Whole queries: what the operators of a network answer is what the text means."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from backend.cql import CqlError, parse_query
from backend.model.conditions import ContinuousQuery
from backend.model.schema import Schema
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import answer
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import (
    RELATIONS,
    SECOND,
    STREAMS,
    TRUE,
    compiled,
    inputs,
    parsed,
    query_texts,
)

LAST = 5
END = LAST + 6
CUTS = st.lists(st.integers(1, LAST), max_size=3).map(sorted)


def runnable(text: str) -> ContinuousQuery:
    try:
        query = parsed(text)
    except CqlError as error:
        if "a query reads a stream" not in error.message:
            raise
        reject()
    assume(query.plan is not None)
    return query


@settings(deadline=None, max_examples=300)
@given(query_texts(), inputs(LAST), CUTS, st.integers(1, 3), st.sampled_from(["mjoin", "binary"]))
def test_a_query_answers_what_it_means(
    text: str, rows: dict[str, Any], cuts: list[int], n_shards: int, joins: Any
) -> None:
    query = runnable(text)
    plan = compile_queries([query], since={"q": 0}, tick_us=SECOND, joins=joins)
    found = run_plan(plan, rows, {**STREAMS, **RELATIONS}, [*cuts, END], n_shards)["q"]
    expected = answer(query.plan, rows, END - 1)
    assert Counter(dict(found - expected)) == Counter(), "too many"
    assert Counter(dict(expected - found)) == Counter(), "too few"


NAN, LARGE = math.nan, 2**53 + 1


@pytest.mark.parametrize(
    ("text", "of_s", "of_u"),
    [
        ("Select a From S Where a not in (Select e From U)", [1, 2, None], [1.0, 0.5]),
        ("Select a From S Where a not in (Select e From U)", [1, 2], [1.0, NAN]),
        ("Select a From S Where a not in (Select e From U)", [LARGE], [float(LARGE - 1)]),
        ("Select a From S Where a in (Select e From U)", [LARGE], [float(LARGE - 1)]),
        ("Select a From S Where a + 1 not in (Select e From U)", [LARGE, 1], [float(LARGE - 1)]),
        ("Select d From U Where e not in (Select a From S)", [1], [1.0, NAN, 2.0, None]),
        ("Select d From U Where e not in (Select a From S)", [LARGE], [float(LARGE - 1)]),
        ("Select d From U Where e not in (Select a From S Where a > 5)", [1], [NAN, None]),
    ],
)
def test_membership_is_comparison(text: str, of_s: list[Any], of_u: list[Any]) -> None:
    """NaN compares like NULL, and numbers of two types by their exact values."""
    rows: dict[str, Any] = {"T": [], "R": []}
    rows["S"] = [((value, 0, "x"), 0) for value in of_s]
    rows["U"] = [((place, value, "x"), 0) for place, value in enumerate(of_u)]
    query = parsed(text)
    plan = compile_queries([query], since={"q": 0}, tick_us=SECOND)
    found = run_plan(plan, rows, {**STREAMS, **RELATIONS}, [END], 2)["q"]
    assert found == answer(query.plan, rows, END - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Select D.* From (Select x.a, y.a From S [Now] x, S [Range 9] y Where x.b = y.b) As D",
            {"+ 1 1 at 0", "- 1 1 at 1", "+ 2 1 at 1", "+ 2 2 at 1", "- 2 1 at 2", "- 2 2 at 2"},
        ),
        (
            "Select *, 5 As k From (Select a, b As a From S)",
            {"+ 1 7 5 at 0", "+ 2 7 5 at 1"},
        ),
        (
            "Select a From (Select a, b As a From S) [Partition By a_2 Rows 1]",
            {"+ 1 at 0", "- 1 at 1", "+ 2 at 1"},
        ),
        (
            "Select x.A_2, y.a From (Select a, b As A From S) x, S [Now] y Where x.a = y.a",
            {"+ 7 1 at 0", "- 7 1 at 1", "+ 7 2 at 1", "- 7 2 at 2"},
        ),
    ],
)
def test_attributes_of_one_name_are_told_apart(text: str, expected: set[str]) -> None:
    rows: dict[str, Any] = {"S": [((1, 7, "x"), 0), ((2, 7, "x"), 1)]}
    found = run_plan(compiled(text), rows, STREAMS, [1, END])["q0"]
    assert set(found.values()) == {1}
    told = {
        f"{'+' if sign > 0 else '-'} {' '.join(map(str, row))} at {tau}" for row, tau, sign in found
    }
    assert told == expected


ORDERED = "Select * From (Select * From S{}) [{}]"


@pytest.mark.parametrize("window", ["Rows 1", "Rows 2", "Partition By b Rows 1", "Range 1"])
def test_a_condition_that_is_always_true_changes_no_window(window: str) -> None:
    """Tuples of a tick are in order of their values behind a query in parentheses."""
    rows: dict[str, Any] = {"S": [((a, b, "x"), b // 3) for b in range(9) for a in (3, 1, 2)]}
    answers = []
    for where in ("", TRUE):
        query = parsed(ORDERED.format(where, window))
        plan = compile_queries([query], since={"q": 0}, tick_us=SECOND)
        answers.append(run_plan(plan, rows, STREAMS, [2, END], 2)["q"])
        assert answers[-1] == answer(query.plan, rows, END - 1)
    assert answers[0] == answers[1]


def test_the_answer_of_a_named_query_is_in_order_of_its_values() -> None:
    rows: dict[str, Any] = {"S": [((9, 0, "x"), 0), ((1, 0, "x"), 0), ((5, 0, "x"), 0)]}
    for where in ("", TRUE):
        named = parse_query("Whole", f"Select * From S{where}", STREAMS)
        query = parse_query("q", "Select a From Whole [Rows 1]", STREAMS, queries={"Whole": named})
        plan = compile_queries([query], since={"q": 0}, tick_us=SECOND)
        assert run_plan(plan, rows, STREAMS, [END])["q"] == {((9,), 0, 1): 1}


def test_a_join_of_more_equal_attributes_than_it_has_bits_for() -> None:
    names = [f"x{n}" for n in range(70)]
    schemas = {name: Schema.parse(", ".join(f"{one} int" for one in names)) for name in "VW"}
    equal = " and ".join(f"V.{one} = W.{one}" for one in names)
    query = parse_query("q", f"Select V.x0 From V, W Where {equal}", schemas)
    plan = compile_queries([query], since={"q": 0}, tick_us=SECOND)
    row = tuple(range(70))
    inputs = {"V": [(row, 0)], "W": [(row, 1), ((*row[:-1], 0), 1)]}
    assert run_plan(plan, inputs, schemas, [2])["q"] == {((0,), 1, 1): 1}
