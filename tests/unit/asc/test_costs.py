"""Costs of plans and the choice among them; the matrices shown beside them."""

from __future__ import annotations

import math
from statistics import stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.stats import mean_of
from backend.adaptive.words import numbers
from backend.model.conditions import ContinuousQuery, Or
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.cost import (
    Contest,
    CostModel,
    PlanShape,
    branch_free_price,
    choose_plan,
    expected_visits,
)
from backend.systems.asc.explain import choice_sentence
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.matching import StopRule, sample_regions, trace
from backend.systems.asc.matrices import region_matrices, selectivity_matrix
from backend.systems.asc.rearrange import normalised
from tests.oracles.selection import NaiveConstructs, matches
from tests.strategies import NUMBERS_SCHEMA, conjunctive_queries, number_rows
from tests.unit.asc.papers import L12_ROWS, C, columns, l12, query

Rows = list[dict[str, Any]]
ALL = columns(L12_ROWS)
SCHEMA_ORDER = ("A1", "A2", "A3", "A4")
BEST = ("A1", "A4", "A2", "A3")


def test_expected_visits_of_l12() -> None:
    found = expected_visits(l12(), sample_regions(l12(), ALL), SCHEMA_ORDER, "drop")
    spread = stdev([3, 4, 3, 2, 4, 4, 4])
    assert found.value == pytest.approx(24 / 7)
    assert found.n == 7
    assert found.high - found.value == pytest.approx(1.959964 * spread / math.sqrt(7))


@given(conjunctive_queries(), number_rows(), st.data(), st.sampled_from(["resolved", "drop"]))
def test_expected_visits_are_those_of_the_definition(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject, rule: StopRule
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    found = expected_visits(constructs, sample_regions(constructs, columns(rows)), order, rule)
    naive = NaiveConstructs(queries, NUMBERS_SCHEMA)
    assert found.value == pytest.approx(naive.mean_visits(order, rows, rule))


def test_a_single_value_has_no_interval_width() -> None:
    found = expected_visits(l12(), sample_regions(l12(), columns(L12_ROWS[:1])), BEST, "drop")
    assert found.low == found.value == found.high


def early(*order: str) -> PlanShape:
    """Early drop in an order."""
    return PlanShape("early drop", order)


def branch_free(*order: str) -> PlanShape:
    """No early drop."""
    return PlanShape("no early drop", order)


def test_the_cheapest_plan_is_chosen() -> None:
    regions = sample_regions(l12(), ALL)
    contest = Contest(early(*SCHEMA_ORDER), (early(*BEST), branch_free(*BEST)))
    choice = choose_plan(l12(), regions, contest, CostModel("drop", 1.0))
    assert [(p.kind, p.order) for p in choice.plans] == [
        ("early drop", SCHEMA_ORDER),
        ("early drop", BEST),
        ("no early drop", BEST),
    ]
    assert [p.cost.value for p in choice.plans] == pytest.approx([24 / 7, 23 / 7, 4])
    assert (choice.best.order, choice.switches) == (BEST, True)
    assert choice.challenger is choice.best
    assert choice.saving.value == pytest.approx(1 / 7)
    assert choice.visits_init == pytest.approx(23 / 7)
    assert choice.d_init == pytest.approx(5 / 7)


def test_ties_keep_the_incumbent() -> None:
    regions = sample_regions(l12(), ALL)
    model = CostModel("drop", 24 / 28)
    contest = Contest(early(*SCHEMA_ORDER), (early(*SCHEMA_ORDER), branch_free(*SCHEMA_ORDER)))
    choice = choose_plan(l12(), regions, contest, model)
    assert not choice.switches
    assert len(choice.plans) == 2
    assert choice.challenger is choice.plans[1]


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_a_branch_free_visit_of_wider_bitmaps_is_not_cheaper(a: int, b: int) -> None:
    narrow, wide = sorted((a, b))
    assert 0 < branch_free_price(narrow) <= branch_free_price(wide) < 1


@pytest.mark.parametrize(("n_words", "price"), [(1, 0.12), (4, 0.225), (8, 0.26)])
def test_prices_lie_between_those_measured_by_doublings(n_words: int, price: float) -> None:
    assert branch_free_price(n_words) == pytest.approx(price)  # 2 words: 0.19
    assert branch_free_price(10**6) == branch_free_price(10**5)  # beyond the widest measured


def test_no_early_drop_is_a_plan() -> None:
    regions = sample_regions(l12(), ALL)
    cheap = CostModel("drop", 0.5)
    contest = Contest(early(*SCHEMA_ORDER), (early(*BEST), branch_free(*BEST)))
    choice = choose_plan(l12(), regions, contest, cheap)
    assert (choice.best.kind, choice.best.cost.value, choice.best.visits) == ("no early drop", 2, 4)
    assert choice.visits_init == pytest.approx(23 / 7)  # of its reference order
    leave = Contest(branch_free(*SCHEMA_ORDER), (early(*SCHEMA_ORDER),))
    back = choose_plan(l12(), regions, leave, CostModel("drop", 1.0))
    assert (back.best.kind, back.best.order) == ("early drop", SCHEMA_ORDER)
    assert not choose_plan(l12(), regions, leave, cheap).switches


def test_a_gain_below_the_least_is_not_worth_a_change() -> None:
    """23 visits against 24 are 4.2 % less."""
    regions = sample_regions(l12(), ALL)
    model = CostModel("drop", 1.0)
    for min_gain, switches in ((0.04, True), (0.05, False)):
        contest = Contest(early(*SCHEMA_ORDER), (early(*BEST),), min_gain=min_gain)
        choice = choose_plan(l12(), regions, contest, model)
        assert choice.switches is switches
    assert choice.withheld is choice.challenger is choice.plans[1]
    assert choice.visits_init == pytest.approx(24 / 7)
    assert choice_sentence(choice, 1.0) == (
        "order kept: A1 → A4 → A2 → A3 predicted 3.29 against 3.43, only 4.2 % less where "
        "min_gain = 5 % is asked for, on 7 sampled tuples"
    )


def test_an_incumbent_that_must_leave_leaves_for_a_dearer_plan() -> None:
    regions = sample_regions(l12(), ALL)
    contest = Contest(
        early(*BEST), (early(*SCHEMA_ORDER),), (early("A4", "A3", "A2", "A1"),), 0.5, True
    )
    choice = choose_plan(l12(), regions, contest, CostModel("drop", 1.0))
    assert (choice.best.order, choice.switches, choice.asked_for) == (SCHEMA_ORDER, True, True)
    assert choice.saving.value == pytest.approx(-1 / 7)
    assert choice.challenger is choice.best  # never a mere reference
    same = Contest(early(*BEST), (early(*BEST),), must_leave=True)
    assert not choose_plan(l12(), regions, same, CostModel("drop", 1.0)).switches


def test_weights_are_the_price_of_visits() -> None:
    """With A1 dear, the best order of equal visits is no longer the cheapest."""
    regions = sample_regions(l12(), ALL)
    weights = normalised({"A1": 9.0, "A2": 1.0, "A3": 1.0, "A4": 1.0}, SCHEMA_ORDER)
    assert weights == {"A1": 3.0, "A2": 1 / 3, "A3": 1 / 3, "A4": 1 / 3}
    assert normalised({"A1": 9.0}, SCHEMA_ORDER) is None
    model = CostModel("drop", 1.0, weights)
    cheap = extreme_order(l12(), regions, "drop", weights).order
    contest = Contest(early(*BEST), (early(*cheap), branch_free(*BEST)))
    choice = choose_plan(l12(), regions, contest, model)
    assert choice.best.order == cheap != BEST
    plain, weighted, all_of_them = choice.plans
    assert weighted.visits > plain.visits
    assert weighted.cost.value < plain.cost.value
    assert all_of_them.cost.value == pytest.approx(4)  # weights have mean 1
    reached = trace(l12(), regions, BEST, "drop").reached
    expected = sum(weights[a] * n for a, n in zip(BEST, reached.tolist(), strict=True)) / 7
    assert plain.cost.value == pytest.approx(expected)


def test_nothing_is_chosen_from_an_empty_sample() -> None:
    nothing = sample_regions(l12(), {name: [] for name in SCHEMA_ORDER})
    contest = Contest(early(*BEST), (early(*SCHEMA_ORDER),))
    with pytest.raises(ValueError, match="empty sample"):
        choose_plan(l12(), nothing, contest, CostModel("drop", 1.0))


def test_mean_of_costs() -> None:
    regions = sample_regions(l12(), ALL)
    assert mean_of(regions[:, 0]).n == 7


def test_region_matrix_of_l12() -> None:
    matrix = region_matrices(l12(), sample_regions(l12(), ALL))[1]
    assert (matrix.name, matrix.kind, matrix.unit, matrix.n) == ("regions:A2", "regions", "bit", 7)
    assert matrix.rows == ("NULL", "(-inf, 20)", "= 20", "(20, 60)", "= 60", "(60, +inf)")
    assert matrix.columns == ("q2", "q4")
    assert matrix.values == ((0, 0), (1, 0), (1, 0), (0, 0), (0, 0), (0, 1))
    assert matrix.row_stats["hit_prob"] == pytest.approx([0, 0, 1 / 7, 3 / 7, 0, 3 / 7])


def test_region_matrix_without_a_sample() -> None:
    nothing = sample_regions(l12(), {name: [] for name in SCHEMA_ORDER})
    matrix = region_matrices(l12(), nothing)[0]
    assert (matrix.n, matrix.row_stats["hit_prob"]) == (0, (None,) * 6)
    assert selectivity_matrix(l12(), nothing, BEST).values[0] == (None,) * 4


def test_a_query_of_several_slots_is_refuted_only_when_all_are() -> None:
    schema = Schema.parse("x int, y int")
    either = Or((C("x", "=", 1), C("y", "=", 1)))
    constructs = build_constructs([query("either", either), query("x2", C("x", "=", 2))], schema)
    regions = sample_regions(constructs, {"x": [1, 2, 3], "y": [0, 0, 1]})
    matrix = region_matrices(constructs, regions)[0]
    assert matrix.columns == ("either", "x2")
    assert {row[0] for row in matrix.values} == {1}  # x alone never refutes it
    table = selectivity_matrix(constructs, regions, ("x", "y"))
    assert table.values == ((1.0, 1 / 3), (2 / 3, None))
    assert table.row_stats["drop_prob"] == (0.0, 0.0)


@given(conjunctive_queries(), number_rows(), st.data())
def test_selectivities_multiply_to_the_matches(
    queries: list[ContinuousQuery], rows: Rows, data: st.DataObject
) -> None:
    constructs = build_constructs(queries, NUMBERS_SCHEMA)
    order = data.draw(st.permutations(constructs.attributes))
    table = selectivity_matrix(constructs, sample_regions(constructs, columns(rows)), order)
    found = [matches(queries, row, NUMBERS_SCHEMA) for row in rows]
    for name, *column in zip(table.columns, *table.values, strict=True):
        share = 1.0 if name not in constructs.contradictory else 0.0
        for place, value in enumerate(column):
            assert value is None or order[place] in constructs.uses(name)
            share *= 1.0 if value is None else value
        assert share == pytest.approx(sum(name in names for names in found) / len(rows))


def test_prices_are_told_apart() -> None:
    assert numbers(7.808, 7.8116) == ("7.808", "7.812")
    assert numbers(2.0, 3.0) == ("2.00", "3.00")
    assert numbers(0.5, 0.5) == ("0.5", "0.5")
    assert numbers(1.0, 1.0 + 1e-12) == ("1.000000000", "1.000000000")
