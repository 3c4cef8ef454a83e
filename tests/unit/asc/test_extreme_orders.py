"""The exact best and worst fixed order against all permutations, and the local search."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.adaptive.stats import thinned
from backend.model.conditions import ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.lattice import (
    OrderFound,
    affordable,
    extreme_order,
    survivors,
)
from backend.systems.asc.matching import StopRule, sample_regions, trace
from tests.oracles import selection_orders as oracle
from tests.oracles.selection import NaiveConstructs
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import L12_ROWS, C, columns, l12, query

Rows = list[dict[str, Any]]
RULES = st.sampled_from(["resolved", "drop"])


def test_best_and_worst_of_l12() -> None:
    """§9.2: 23 visits in the order A1, A4, A2, A3, 26 at worst."""
    regions = sample_regions(l12(), columns(L12_ROWS))
    best = extreme_order(l12(), regions, "drop")
    worst = extreme_order(l12(), regions, "drop", worst=True)
    assert best == OrderFound(("A1", "A4", "A2", "A3"), 23 / 7, 7, exact=True)
    assert worst.cost == pytest.approx(26 / 7)


@settings(max_examples=40)
@given(
    conjunctive_queries(),
    number_rows(),
    RULES,
    st.booleans(),
    st.none() | st.lists(st.integers(1, 5), min_size=5, max_size=5),
)
def test_the_subset_dp_finds_what_all_permutations_find(
    queries: list[ContinuousQuery],
    rows: Rows,
    rule: StopRule,
    worst: bool,
    prices: list[int] | None,
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    weights = dict(zip(NUMBERS_SCHEMA.names, map(float, prices), strict=True)) if prices else None
    regions = sample_regions(constructs, columns(rows))
    found = extreme_order(constructs, regions, rule, weights, worst=worst)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    order, cost = oracle.extreme_order(naive, rows, rule, weights, worst)
    assert found.order == order
    assert found.cost == pytest.approx(cost)


@given(conjunctive_queries(), number_rows(), RULES, st.data())
def test_visits_after_a_set_do_not_depend_on_its_order(
    queries: list[ContinuousQuery], rows: Rows, rule: StopRule, data: st.DataObject
) -> None:
    """F4 under both rules: w(P, a) are the visits the next construct gets after any order of P."""
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    regions = sample_regions(constructs, columns(rows))
    table = survivors(constructs, regions, rule)
    order = data.draw(st.permutations(constructs.attributes))
    reached = trace(constructs, regions, order, rule).reached.tolist()
    done = 0
    for attribute, n in zip(order, reached, strict=True):
        column = constructs.attributes.index(attribute)
        assert table[done, column] == n
        done |= 1 << column


def test_more_than_a_word_of_tuples_and_of_queries() -> None:
    rng = random.Random(5)
    queries = [
        query(f"q{j}", *(C(a, "<", rng.randrange(100)) for a in rng.sample(["x", "y", "z"], 2)))
        for j in range(100)
    ]
    constructs = build_constructs(queries, Schema.parse("x int, y int, z int"))
    values = {a: [rng.randrange(110) for _ in range(150)] for a in "xyz"}
    regions = sample_regions(constructs, values)
    for rule in ("resolved", "drop"):
        visits = {
            order: trace(constructs, regions, order, rule).visits.sum()
            for order in permutations(constructs.attributes)
        }
        found = extreme_order(constructs, regions, rule)
        assert found.cost * 150 == min(visits.values()) == visits[found.order]


def test_a_large_sample_is_thinned_evenly() -> None:
    regions = np.arange(1000)[:, None]
    assert thinned(regions, 2000) is regions
    assert thinned(regions, 4)[:, 0].tolist() == [0, 333, 666, 999]
    few = affordable(l12(), "drop", effort=1e-7)
    assert few == 1
    seven = sample_regions(l12(), columns(L12_ROWS))
    assert extreme_order(l12(), seven, "drop", effort=1e-7).n == 1


def test_above_fourteen_constructs_a_local_search() -> None:
    """16 constructs, each dropping its own share, alone: the best order is by that share."""
    names = [f"A{i:02}" for i in range(16)]
    schema = Schema.parse(", ".join(f"{name} int" for name in names))
    everywhere = query("all", *(C(name, "<", 100 - 5 * i) for i, name in enumerate(names)))
    constructs = build_constructs([everywhere], schema)
    rng = random.Random(3)
    values = {a: [rng.randrange(100) for _ in range(900)] for a in names}
    regions = sample_regions(constructs, values)
    found = extreme_order(constructs, regions, "resolved")
    worst = extreme_order(constructs, regions, "resolved", worst=True)
    assert not found.exact
    assert found.n == 900
    own = trace(constructs, regions, found.order, "resolved").visits.mean()
    assert found.cost == pytest.approx(own)
    by_share = trace(constructs, regions, names[::-1], "resolved").visits.mean()
    assert found.cost <= by_share < worst.cost
    exact = extreme_order(constructs, regions, "drop", exact_up_to=16)
    assert exact.exact
    assert found.cost <= 1.05 * trace(constructs, regions, exact.order, "resolved").visits.mean()


def test_no_construct_no_order() -> None:
    constructs = build_constructs([], Schema.parse("x int"))
    found = extreme_order(constructs, sample_regions(constructs, {"x": [1, 2]}), "resolved")
    assert (found.order, found.cost) == ((), 0.0)
