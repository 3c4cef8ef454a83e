"""The 2007 orders: the paper's example, the oracle, and how many periods they take."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.conditions import ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.cover import cover_prefix, minimum_covers
from backend.systems.asc.joint import (
    chosen_cover,
    joint_selectivity,
    macs,
    macssas,
    macssas_by_period,
    sas,
    sas_by_period,
)
from backend.systems.asc.matching import sample_regions
from tests.oracles import selection_orders as oracle
from tests.oracles.selection import NaiveConstructs
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import L07_ROWS, C, columns, l07, query

Rows = list[dict[str, Any]]


def test_macssas_of_l07() -> None:
    """§9.3: MACS {A1}; one period with t1..t3: s(A1→A2) = 2/9, s(A1→A3) = 1/3 → A1, A2, A3."""
    regions = sample_regions(l07(), columns(L07_ROWS))
    assert chosen_cover(l07(), regions) == ("A1",)
    assert joint_selectivity(l07(), regions, ["A1", "A2"]) == pytest.approx(2 / 9)
    found = macssas_by_period(l07(), [regions])  # |A_p| - 2 = 1 period
    assert found.order == ("A1", "A2", "A3")
    first, second, last = found.steps
    assert (first.phase, last.phase, last.chosen) == ("last", "last", "A3")
    assert {c.attribute: c.score for c in second.candidates} == {
        "A2": pytest.approx(2 / 9),
        "A3": pytest.approx(1 / 3),
    }
    assert second.sentence() == "A2: least joint selectivity 0.222 (next best A3 0.333)"


@settings(max_examples=60)
@given(conjunctive_queries(), st.lists(number_rows(6), min_size=5, max_size=5))
def test_orders_are_those_of_the_text(queries: list[ContinuousQuery], periods: list[Rows]) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    one, rows = sample_regions(constructs, columns(periods[0])), periods[0]
    cover, rest = oracle.cover_and_rest(naive, rows)
    assert list(sas(constructs, one).order) == oracle.sas(naive, [naive.attributes], [rows] * 5)
    assert macs(constructs, one).order == (*cover, *rest)
    assert list(macssas(constructs, one).order) == oracle.sas(naive, [cover, rest], [rows] * 5)
    each = [sample_regions(constructs, columns(part)) for part in periods]
    expected = oracle.sas(naive, [naive.attributes], periods)
    assert list(sas_by_period(constructs, each).order) == expected
    expected = oracle.sas(naive, [cover, rest], periods)
    assert list(macssas_by_period(constructs, each).order) == expected


@given(conjunctive_queries(), number_rows())
def test_macs_begins_with_a_minimum_cover(queries: list[ContinuousQuery], rows: Rows) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    smallest = len(next(iter(minimum_covers(constructs))))
    for found in (macs(constructs, regions), macssas(constructs, regions)):
        assert sorted(found.order) == sorted(constructs.attributes)
        assert len(cover_prefix(constructs, found.order)) == smallest


@given(conjunctive_queries(), number_rows())
def test_theorem_4(queries: list[ContinuousQuery], rows: Rows) -> None:
    """|A_p| - 2 periods when the minimum cover is a proper part, |A_p| - 1 when it is all."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    n, cover = len(constructs.attributes), len(chosen_cover(constructs, regions))
    needed = n - 2 if 1 <= cover < n else max(0, n - 1)
    macssas_by_period(constructs, [regions] * needed)
    if needed > 0:
        with pytest.raises(ValueError, match="one a measured step needed"):
            macssas_by_period(constructs, [regions] * (needed - 1))


def test_many_attributes_take_the_greedy_cover() -> None:
    names = [f"A{i:02}" for i in range(22)]
    schema = Schema.parse(", ".join(f"{name} int" for name in names))
    queries = [query(f"q{a}", C(a, "=", 1), C("A20", "=", 1)) for a in names]
    constructs = build_constructs(queries, schema)
    regions = sample_regions(constructs, {a: [0, 1] for a in names})
    assert macs(constructs, regions).order[0] == "A20"
