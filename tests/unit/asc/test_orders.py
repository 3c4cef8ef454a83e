"""Covers, macro-sequences and the facts F3-F6 against the papers' numbers and the oracles."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.cover import (
    cover_prefix,
    is_cover,
    minimum_cover,
    minimum_covers,
    static_order,
    static_selectivity,
)
from backend.systems.asc.macro import macro_sequence, macro_sequence_by_period
from backend.systems.asc.matching import sample_regions, trace
from tests.oracles import selection_orders as oracle
from tests.oracles.selection import NaiveConstructs
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import (
    L07_ROWS,
    L12_QUERIES,
    L12_ROWS,
    L12_SCHEMA,
    C,
    columns,
    l07,
    l12,
    query,
)

Rows = list[dict[str, Any]]


def test_example_3_of_l12() -> None:
    covers = {("A1", "A2"), ("A1", "A4"), ("A2", "A3"), ("A3", "A4")}
    assert set(minimum_covers(l12())) == covers
    assert set(oracle.minimum_covers(NaiveConstructs(L12_QUERIES, L12_SCHEMA))) == covers


def test_cover_of_l07() -> None:
    assert list(minimum_covers(l07())) == [("A1",)]
    assert static_order(l07()) == ("A1", "A2", "A3")


def test_cover_prefix_needs_every_p_attribute() -> None:
    assert cover_prefix(l12(), ("A1", "A3", "A2", "A4")) == ("A1", "A3", "A2")
    with pytest.raises(ValueError, match="order A1, A3 is no cover"):
        cover_prefix(l12(), ("A1", "A3"))


def test_example_4_of_l12() -> None:
    regions = sample_regions(l12(), columns(L12_ROWS[:3]))
    assert trace(l12(), regions, ("A1", "A2", "A3"), "drop").n_unmatched == 2  # d = 2/3


def test_example_5_of_l12() -> None:
    """τ = 1 tuple: periods t1, t2, t3."""
    periods = [sample_regions(l12(), columns([row])) for row in L12_ROWS[:3]]
    found = macro_sequence_by_period(l12(), periods)
    scores = [[(c.attribute, c.score) for c in step.candidates] for step in found.steps]
    assert scores[0] == [("A1", 3 / 4), ("A2", 1 / 2), ("A3", 3 / 4), ("A4", 3 / 4)]
    assert scores[1] == [("A1", 0), ("A3", 1 / 2), ("A4", 1)]
    assert scores[2] == [("A3", 1), ("A4", 0)]
    assert found.order == ("A2", "A1", "A3", "A4")
    assert found.cover_prefix == ("A2", "A1")
    assert found.n_comparisons == 4 * 5 // 2
    assert [step.sentence() for step in found.steps] == [
        "A2: least selectivity 0.500 (next best A1 0.750)",
        "A1: least selectivity 0.000 (next best A3 0.500)",
        "A3: greatest dropping ratio 1.000 (next best A4 0.000)",
        "A4: the last one left",
    ]
    with pytest.raises(ValueError, match="2 periods given; 3 are needed"):
        macro_sequence_by_period(l12(), periods[:2])


def test_orders_of_l12_cost_23_to_26() -> None:
    naive = NaiveConstructs(L12_QUERIES, L12_SCHEMA)
    regions = sample_regions(l12(), columns(L12_ROWS))
    totals = {
        o: trace(l12(), regions, o, "drop").visits.sum() for o in permutations(naive.attributes)
    }
    extremes = [
        oracle.extreme_order(naive, L12_ROWS, "drop", worst=w)[1] * 7 for w in (False, True)
    ]
    assert [min(totals.values()), max(totals.values())] == pytest.approx(extremes)
    assert (min(totals.values()), max(totals.values())) == (23, 26)
    assert totals["A1", "A4", "A2", "A3"] == 23
    assert totals["A1", "A2", "A3", "A4"] == 24


def test_macro_sequence_of_l07() -> None:
    """[L07] selects A1, A2, A3 on t1..t3 by joint selectivity; [L12] covers with A1 first."""
    found = macro_sequence(l07(), sample_regions(l07(), columns(L07_ROWS)))
    assert found.order == ("A1", "A2", "A3")
    joint = {}
    for attribute in ("A2", "A3"):
        grb = trace(l07(), sample_regions(l07(), columns(L07_ROWS)), ("A1", attribute), "drop").grb
        joint[attribute] = Fraction(sum(int(g).bit_count() for g in grb[:, 0]), 9)
    assert joint == {"A2": Fraction(2, 9), "A3": Fraction(1, 3)}


@given(conjunctive_queries(), number_rows())
def test_macro_sequence_is_that_of_the_text(queries: list[ContinuousQuery], rows: Rows) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    found = macro_sequence(constructs, sample_regions(constructs, columns(rows)))
    order, comparisons = oracle.macro_sequence(naive, [rows] * 5)
    n = len(order)
    assert found.order == tuple(order)
    assert found.n_comparisons == comparisons == n * (n + 1) // 2
    assert found.cover_prefix == cover_prefix(constructs, order)


@given(conjunctive_queries(), st.lists(number_rows(4), min_size=5, max_size=5))
def test_macro_sequence_by_period(queries: list[ContinuousQuery], periods: list[Rows]) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = [sample_regions(constructs, columns(rows)) for rows in periods]
    found = macro_sequence_by_period(constructs, regions)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    assert list(found.order) == oracle.macro_sequence(naive, periods)[0]


@given(conjunctive_queries())
def test_an_empty_sample_gives_s_1_and_d_0(queries: list[ContinuousQuery]) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    nothing = sample_regions(constructs, {name: [] for name in NUMBERS_SCHEMA.names})
    found = macro_sequence(constructs, nothing)
    scores = {(s.phase, c.score) for s in found.steps for c in s.candidates}
    assert scores <= {("selectivity", 1.0), ("dropping ratio", 0.0), ("last", None)}
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    assert list(found.order) == oracle.macro_sequence(naive, [[]] * 5)[0]


@given(conjunctive_queries(), st.data())
def test_covers_are_those_of_the_oracle(
    queries: list[ContinuousQuery], data: st.DataObject
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    expected = oracle.minimum_covers(naive)
    assert list(minimum_covers(constructs)) == expected
    weight = {a: data.draw(st.integers(0, 3)) for a in constructs.attributes}
    best = minimum_cover(constructs, weight)
    assert best == min(
        expected, key=lambda cover: (sum(weight[a] for a in cover), expected.index(cover))
    )
    order = static_order(constructs)
    assert sorted(order) == sorted(constructs.attributes)
    assert len(cover_prefix(constructs, order)) == len(best)
    assert all(0 <= s <= 1 for s in static_selectivity(constructs).values())


def test_greedy_cover_above_twenty_attributes() -> None:
    """21 queries on one attribute each share hub: the greedy cover is the hub alone."""
    names = [f"A{i:02}" for i in range(21)]
    schema = Schema.parse(", ".join(f"{name} int" for name in names))
    queries = [query(f"q{a}", C(a, "=", 1), C("A20", "=", 1)) for a in names[:20]]
    constructs = build_constructs(queries, schema)
    assert minimum_cover(constructs, dict.fromkeys(names, 1.0)) == ("A20",)
    assert static_order(constructs)[0] == "A20"
    lonely = build_constructs([query(f"q{a}", C(a, "=", 1)) for a in names], schema)
    assert minimum_cover(lonely, dict.fromkeys(names, 1.0)) == tuple(names)


def test_the_cover_prefix_need_not_be_minimum() -> None:
    """Erratum 4: phase 1 takes three attributes where two suffice."""
    queries = [
        query("q1", C("A1", "=", 1), C("A2", "<", 9)),
        query("q2", C("A1", "=", 1), C("A3", "<", 9)),
        query("q3", C("A2", "<", 9)),
        query("q4", C("A3", "<", 9)),
    ]
    schema = Schema.parse("A1 int, A2 int, A3 int")
    constructs = build_constructs(queries, schema)
    found = macro_sequence(
        constructs, sample_regions(constructs, {"A1": [0], "A2": [0], "A3": [0]})
    )
    assert found.cover_prefix == ("A1", "A2", "A3")
    assert list(minimum_covers(constructs)) == [("A2", "A3")]


@given(conjunctive_queries(), number_rows(), st.data())
def test_dropped_tuples_have_visited_a_cover(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject
) -> None:
    """F3 and the bounds on visits: dropped >= |MCS|, matched = n under the drop rule."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    smallest = len(next(iter(minimum_covers(constructs))))
    found = trace(constructs, sample_regions(constructs, columns(rows)), order, "drop")
    for grb, visits in zip(found.grb, found.visits.tolist(), strict=True):
        if grb.any():
            assert visits == len(order)
        else:
            assert is_cover(constructs, order[:visits])
            assert visits >= smallest


@given(conjunctive_queries(), number_rows(), st.data())
def test_visits_are_sums_over_prefixes(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject
) -> None:
    """F4: visits = Σ over proper prefixes of the tuples still alive; F5: d is order free."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    found = trace(constructs, sample_regions(constructs, columns(rows)), order, "drop")
    alive = [oracle.unmatched_after(naive, order[:length], rows) for length in range(len(order))]
    assert found.visits.sum() == sum(alive)
    assert found.n_unmatched == len(rows) - oracle.unmatched_after(naive, sorted(order), rows)


@given(conjunctive_queries(), number_rows(), st.data())
def test_conditional_selectivity_depends_on_the_covered_set_only(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject
) -> None:
    """F6, on the oracle that filters literally."""
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(naive.attributes))
    for length, attribute in enumerate(order):
        prefix = order[:length]
        uncovered = naive.covered - oracle.covered(naive, prefix)
        if uncovered:
            passed = [naive.passes(j, attribute, row) for j in uncovered for row in rows]
            expected = Fraction(sum(passed), len(passed))
            assert oracle.selectivity(naive, prefix, attribute, rows) == expected
