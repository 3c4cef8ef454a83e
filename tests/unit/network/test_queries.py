"""Whole queries: what the operators of a network answer is what the text means."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from backend.cql import CqlError
from backend.model.conditions import ContinuousQuery
from backend.systems.stream.compiling import compile_queries
from tests.oracles.cql_semantics import answer
from tests.unit.network.query_runs import run_plan
from tests.unit.network.query_texts import RELATIONS, SECOND, STREAMS, inputs, parsed, query_texts

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
