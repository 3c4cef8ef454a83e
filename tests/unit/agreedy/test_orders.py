"""Costs of orders, greedy, by rank alone, optimal; Theorem 4.3.1."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.adaptive.ordering.orders import (
    cost_after_move,
    cost_of_view,
    greedy_order,
    optimal_order,
    order_cost,
)
from backend.adaptive.ordering.ranks import ranked_order
from backend.adaptive.ordering.view import MatrixView
from tests.oracles import filters as oracle
from tests.unit.agreedy.cases import Case, cases, packed

#: Upper bounds of greedy / optimal for unit costs, certified by the card's linear programmes.
UNIT_COST_BOUNDS = {1: 1.0, 2: 1.0, 3: 1.1667, 4: 1.2667, 5: 1.358}


def passes(n: int, count: int) -> list[list[bool]]:
    return [[False] * n for _ in range(count)]


@given(cases(), st.integers(0, 5))
def test_costs_are_those_counted(case: Case, n_passed: int) -> None:
    rows = [*case.drops, *passes(case.n, n_passed)]
    columns = packed(case.drops, case.n)
    expected = oracle.cost(rows, case.order, case.costs)
    assert order_cost(case.order, columns, case.costs, len(rows)) == expected
    view = MatrixView(case.order)
    view.rebuild(columns)
    assert cost_of_view(view, case.costs, len(rows)) == expected


@given(cases(), st.integers(0, 5), st.data())
def test_one_column_prices_a_move(case: Case, n_passed: int, data: st.DataObject) -> None:
    source = data.draw(st.integers(0, case.n - 1))
    target = data.draw(st.integers(0, source))
    view = MatrixView(case.order)
    view.rebuild(packed(case.drops, case.n))
    rows = [*case.drops, *passes(case.n, n_passed)]
    price = cost_after_move(view, case.costs, len(rows), source, target)
    view.move(source, target)
    assert price == oracle.cost(rows, view.order, case.costs)


@given(cases(), st.data())
def test_optimal_is_the_least_over_all_orders(case: Case, data: st.DataObject) -> None:
    n_native = data.draw(st.integers(0, case.n))
    incumbent = [*range(case.n)]
    columns = packed(case.drops, case.n)
    order = optimal_order(columns, case.costs, incumbent, len(case.drops), n_native)
    assert order is not None
    assert sorted(order[:n_native]) == list(range(n_native))
    found = oracle.cost(case.drops, order, case.costs)
    assert found == oracle.optimum(case.drops, case.n, case.costs, n_native)
    if found == oracle.cost(case.drops, incumbent, case.costs):
        assert order == incumbent


def test_optimal_gives_up_beyond_its_size() -> None:
    columns = packed([[True] * 15], 15)
    assert optimal_order(columns, [1] * 15, list(range(15)), 1) is None
    assert optimal_order(columns, [1] * 15, list(range(15)), 1, n_native=7) is not None


@given(cases(free=False))
@settings(max_examples=100)
def test_greedy_is_within_four_times_the_best_order(case: Case) -> None:
    order = greedy_order(packed(case.drops, case.n), case.costs, case.order)
    best = oracle.optimum(case.drops, case.n, case.costs)
    assert oracle.satisfies_invariant(case.drops, order, case.costs)
    assert oracle.cost(case.drops, order, case.costs) <= 4 * best
    unit = [1] * case.n
    order = greedy_order(packed(case.drops, case.n), unit, case.order)
    least = oracle.optimum(case.drops, case.n, unit)
    assert oracle.cost(case.drops, order, unit) <= UNIT_COST_BOUNDS[case.n] * least + 1e-3


@given(cases(free=False))
def test_greedy_is_optimal_for_two_filters(case: Case) -> None:
    two = [row[:2] for row in case.drops]
    if case.n < 2:
        return
    order = greedy_order(packed(two, 2), case.costs[:2], [0, 1])
    assert oracle.cost(two, order, case.costs[:2]) == oracle.optimum(two, 2, case.costs[:2])


@given(cases())
def test_independent_sorts_by_unconditional_rank_and_is_stable(case: Case) -> None:
    drops = [sum(row[x] for row in case.drops) for x in range(case.n)]
    order = ranked_order(drops, case.costs, case.order)

    def key(x: int) -> Fraction | float:
        return -oracle.rank(drops[x], case.costs[x])

    assert order == sorted(case.order, key=key)


@given(cases(most=6), st.integers(1, 6))
def test_independent_keeps_the_segments(case: Case, n_native: int) -> None:
    drops = [sum(row[x] for row in case.drops) for x in range(case.n)]
    order = ranked_order(drops, case.costs, case.order, min(n_native, case.n))
    assert set(order[:n_native]) == set(case.order[:n_native])
