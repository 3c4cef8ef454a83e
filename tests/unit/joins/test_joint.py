"""Orders and caches searched together: the best of all, and what trees come to."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.systems.joins.decide.costs import UnitCosts
from backend.systems.joins.decide.join_model import ASSUMED_MISS, JoinModel, LookupPlace
from backend.systems.joins.decide.joint import best_tree
from backend.systems.joins.decide.selecting import exact
from backend.systems.joins.decide.shape import JoinShape
from tests.oracles.join_trees import least_cost, priced_by
from tests.unit.joins.cases import chain as chained
from tests.unit.joins.cases import on_one_attribute, shape_of

SHAPES = {
    "one attribute of three": on_one_attribute(3),
    "chain of three": chained(3),
    "chain of four": chained(4),
    "star": shape_of(4, "12", "13", "14"),
    "two apart": shape_of(4, "12", "34"),
}


def model_of(shape: JoinShape, seed: int) -> JoinModel:
    """Sizes, selectivities, rates and misses at random."""
    rng = np.random.default_rng(seed)
    misses: dict[LookupPlace, float] = {}
    for i in range(shape.n):
        others = [j for j in range(shape.n) if j != i]
        for some in chain.from_iterable(combinations(others, k) for k in range(shape.n - 1)):
            joined = frozenset((i, *some))
            for inside in combinations([j for j in others if j not in some], 2):
                misses[i, joined, shape.key(joined, inside)] = float(rng.random())
    shares = rng.dirichlet(np.ones(shape.n)).tolist()
    sizes = rng.uniform(0, 5, shape.n).tolist()
    selectivities = rng.uniform(-5, 0, len(shape.classes)).tolist()
    units = UnitCosts(0.25, 1.0, 0.25)
    return JoinModel(shape, tuple(sizes), tuple(selectivities), tuple(shares), 1.0, units, misses)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 10_000))
def test_the_best_tree_is_the_best_of_all_orders_and_caches(name: str, seed: int) -> None:
    model = model_of(SHAPES[name], seed)
    tree = best_tree(model)
    assert tree.cost == pytest.approx(least_cost(model))
    problem = priced_by(model, tree.orders)
    assert problem.cost(exact(problem)) == pytest.approx(tree.cost)  # selection finds it again


def test_what_is_kept_is_a_tree_that_its_orders_begin_with() -> None:
    for seed in range(30):
        tree = best_tree(model_of(on_one_attribute(4), seed))
        sets = [inside for inside, _ in tree.kept]
        assert all(a <= b or b <= a or not a & b for a in sets for b in sets)
        for inside in sets:
            for i in inside:
                assert set(tree.orders[i][: len(inside) - 1]) == inside - {i}


def test_it_keeps_what_others_read_often_and_nothing_where_nobody_does() -> None:
    """R(A) ⋈ S(A,B) ⋈ T(B): R ⋈ S is kept for the many elements of T, not for few."""
    shape, units = chained(3), UnitCosts(0.25, 1.0, 0.25)
    sizes, selectivities = (math.log(10),) * 3, (math.log(0.1),) * 2
    often = JoinModel(
        shape, sizes, selectivities, (0.05, 0.05, 0.9), 1.0, units, {(2, frozenset({2}), (1,)): 0.1}
    )
    assert [inside for inside, _ in best_tree(often).kept] == [{0, 1}]
    never = often._replace(misses={(2, frozenset({2}), (1,)): 1.0, (0, frozenset({0}), (0,)): 1.0})
    assert best_tree(never).kept == ()


@settings(max_examples=30)
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 10_000))
def test_a_model_fits_pipelines_that_are_as_it_says(name: str, seed: int) -> None:
    true = model_of(SHAPES[name], seed)
    n = true.shape.n
    orders = tuple(true.shape.operators(i, [j for j in range(n) if j != i]) for i in range(n))
    flows = [true.flow(i, order) for i, order in enumerate(orders)]
    found = JoinModel.fitted(true.shape, orders, flows, 1.0, true.units, true.misses)
    for i, order in enumerate(orders):
        for step in range(n):
            joined = (i, *order[:step])
            expected = true.tuples(i, joined)
            if min(flow / true.shares[i] for flow in flows[i].entering) > 0.01:
                assert found.tuples(i, joined) == pytest.approx(expected, rel=0.05)


def test_misses_nobody_saw_are_those_of_the_key_then_of_all_then_assumed() -> None:
    model = model_of(chained(3), 1)._replace(
        misses={(2, frozenset({2}), (1,)): 0.2, (0, frozenset({0}), (0,)): 0.6}
    )
    assert model.miss_prob((2, frozenset({2}), (1,))) == 0.2
    assert model.miss_prob((1, frozenset({1}), (1,))) == 0.2
    assert model.miss_prob((1, frozenset({1}), (0, 1))) == pytest.approx(0.4)
    assert model._replace(misses={}).miss_prob((1, frozenset({1}), ())) == ASSUMED_MISS
