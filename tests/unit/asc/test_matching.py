"""Matching: papers' numbers, and scalar = vectorised = naive on random queries and tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.matching import StopRule, sample_regions, trace
from tests.oracles.selection import NaiveConstructs, matches
from tests.strategies import (
    MIXED_SCHEMA,
    NUMBERS_SCHEMA,
    conjunctive_queries,
    mixed_queries,
    number_rows,
    rows_of,
)
from tests.unit.asc.papers import (
    L07_ROWS,
    L12_ROWS,
    C,
    bits,
    columns,
    l07,
    l12,
    match_tuple,
    query,
    query_names,
)

RULES: tuple[StopRule, ...] = ("resolved", "drop")


def test_example_2_of_l12() -> None:
    constructs, order = l12(), ("A1", "A2", "A3", "A4")
    grb, visits = match_tuple(constructs, order, L12_ROWS[1], "drop")
    assert (bits(grb, 4), query_names(constructs, grb), len(visits)) == ("0001", ("q4",), 4)
    assert bits(match_tuple(constructs, order[:1], L12_ROWS[1], "drop")[0], 4) == "0101"
    for row in (L12_ROWS[0], L12_ROWS[2]):
        grb, visits = match_tuple(constructs, order, row, "drop")
        assert (bits(grb, 4), visits) == ("0000", ["A1", "A2", "A3"])


@pytest.mark.parametrize(
    ("order", "total"), [(("A1", "A4", "A2", "A3"), 23), (("A1", "A2", "A3", "A4"), 24)]
)
def test_visits_of_fixed_orders_on_l12(order: tuple[str, ...], total: int) -> None:
    regions = sample_regions(l12(), columns(L12_ROWS))
    assert trace(l12(), regions, order, "drop").visits.sum() == total


def test_tuples_of_l07() -> None:
    constructs = l07()
    found = [match_tuple(constructs, ("A1", "A2", "A3"), row, "drop") for row in L07_ROWS]
    assert [query_names(constructs, grb) for grb, _ in found] == [("q2",), ("q1",), ()]
    assert [len(visits) for _, visits in found] == [3, 3, 1]


@given(mixed_queries(), rows_of(MIXED_SCHEMA), st.data())
def test_matches_are_those_of_sql_in_any_order_under_both_rules(
    queries: list[ContinuousQuery], rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    """F1: the result is order independent; the stop rules do not change it."""
    constructs = build_constructs(queries, MIXED_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    order = data.draw(st.permutations(constructs.attributes))
    for rule in RULES:
        vectorised = trace(constructs, regions, order, rule)
        for t, row in enumerate(rows):
            grb, visits = match_tuple(constructs, order, row, rule)
            assert query_names(constructs, grb) == matches(queries, row, MIXED_SCHEMA)
            assert (vectorised.grb[t] == grb).all()
            assert vectorised.visits[t] == len(visits)


@given(conjunctive_queries(), number_rows(), st.data())
def test_visits_are_those_of_the_definition(
    queries: list[ContinuousQuery], rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    assert constructs.attributes == tuple(naive.attributes)
    order = data.draw(st.permutations(constructs.attributes))
    regions = sample_regions(constructs, columns(rows))
    for rule in RULES:
        expected = [naive.visits(order, row, rule) for row in rows]
        found = trace(constructs, regions, order, rule)
        assert found.visits.tolist() == [len(v) for v in expected]
        assert found.reached.tolist() == [sum(a in v for v in expected) for a in order]
        assert [match_tuple(constructs, order, row, rule)[1] for row in rows] == expected
        for place in range(len(order)):
            live = [naive.live(order[: place + 1], row) for row in rows]
            assert found.alive[place] == sum(bool(slots) for slots in live)


@given(conjunctive_queries(), number_rows(), st.data())
def test_resolved_never_visits_more(
    queries: list[ContinuousQuery], rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    regions = sample_regions(constructs, columns(rows))
    resolved, drop = (trace(constructs, regions, order, rule) for rule in RULES)
    assert (resolved.visits <= drop.visits).all()
    assert resolved.n_unmatched == drop.n_unmatched == (~drop.grb.any(axis=1)).sum()


def test_two_hundred_queries() -> None:
    schema = Schema.parse("x int, y int")
    queries = [query(f"q{j:03}", C("x", "=", j % 50), C("y", ">", j)) for j in range(200)]
    constructs = build_constructs(queries, schema)
    rows = [{"x": x, "y": y} for x in (7, 49, 50, None) for y in (0, 8, 120, 500)]
    regions = sample_regions(constructs, columns(rows))
    for rule in RULES:
        found = trace(constructs, regions, ("y", "x"), rule)
        for grb, row in zip(found.grb, rows, strict=True):
            assert query_names(constructs, grb) == matches(queries, row, schema)


def test_a_predicate_free_query_keeps_every_tuple_alive() -> None:
    constructs = build_constructs([query("all"), query("q", C("x", "=", 1))], Schema.parse("x int"))
    found = trace(constructs, sample_regions(constructs, {"x": [1, 2]}), ("x",), "resolved")
    assert [query_names(constructs, grb) for grb in found.grb] == [("all", "q"), ("all",)]
    assert found.alive.tolist() == [2]


def test_without_p_attributes_nothing_is_visited() -> None:
    constructs = build_constructs([query("all")], Schema.parse("x int"))
    regions = sample_regions(constructs, {"x": [1, 2, None]})
    assert regions.shape == (3, 0)
    assert trace(constructs, regions, (), "drop").visits.tolist() == [0, 0, 0]
    assert sample_regions(constructs, {}).shape == (0, 0)


def test_an_empty_sample() -> None:
    constructs = l12()
    found = trace(constructs, np.zeros((0, 4), dtype=np.intp), constructs.attributes, "drop")
    assert (len(found.visits), found.n_unmatched, found.reached.tolist()) == (0, 0, [0, 0, 0, 0])
