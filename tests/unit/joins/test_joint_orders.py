"""A join becomes another tree where that pays: as predicted at first, then as measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.systems.joins.decide.joint import best_tree
from backend.systems.joins.decide.joint_orders import LEAST_GAIN, JointOrders
from backend.systems.joins.decide.shape import Orders
from storage.vocabulary.headroom import read
from tests.oracles.join_trees import all_orders, priced_by
from tests.unit.joins.cases import chain
from tests.unit.joins.test_controller import SETTINGS, decisions, run
from tests.unit.joins.test_joint import model_of

#: S ⋈ T begins the pipelines of both, so that R ⋈ S is no prefix set.
WITHOUT_RS = ((1, 2), (2, 0), (1, 0))


def test_a_join_becomes_the_tree_that_pays_and_another_one_when_rates_change() -> None:
    settings = replace(SETTINGS, join_order="joint", orders=WITHOUT_RS)
    first = run(settings, (40, (1, 1, 12)))
    assert first.used == ["R ⋈ S"]
    assert first.controller.orders[1] == (0, 2)
    phases = (80, (1, 1, 12)), (40, (30, 1, 1))
    both = run(settings, *phases)
    assert both.used == ["S ⋈ T"]
    assert both.controller.orders == WITHOUT_RS
    told = [one for one in decisions(both) if one.kind == "join tree"]
    switches = [one for one in told if one.verdict == "switched"]
    assert len(switches) == 2
    assert switches[0].detail["kept"] == ["R ⋈ S"]
    for one in switches:
        assert one.lhs is not None
        assert one.rhs is not None
        assert one.lhs < one.rhs
    for one in told:
        lines = read(one.detail)
        assert bool(lines) == (one.verdict != "switched")
        assert all(line.near < 1 or line.missing == 0 for line in lines)
    outcomes = {one.decision for told in both.told for one in told.outcomes}
    assert {one.seq for one in switches} <= outcomes
    fixed = run(replace(settings, join_order="fixed"), *phases)
    assert both.controller.totals.spent < fixed.controller.totals.spent


def test_without_caches_or_with_many_inputs_pipelines_are_ordered_by_themselves() -> None:
    settings = replace(SETTINGS, join_order="joint", orders=(), caching="off")
    assert "join tree" not in {one.kind for one in decisions(run(settings, (20, (1, 1, 12))))}


SEED = 3
MODEL = model_of(chain(3), SEED)
BEST = best_tree(MODEL)
OTHER = next(one for one in all_orders(MODEL) if one != BEST.orders)


def plain(orders: Orders) -> float:
    return sum(map(sum, priced_by(MODEL, orders).bare))


def test_a_tree_is_tried_when_it_is_predicted_to_be_better_and_left_when_it_is_not() -> None:
    joint, before = JointOrders(), plain(OTHER)
    first = joint.look(OTHER, 2 * BEST.cost, before, MODEL, 0.2)
    assert (first.verdict, first.after, first.is_measured) == ("switched", BEST.orders, False)
    assert first.new_cost == pytest.approx(BEST.cost)
    back = joint.look(BEST.orders, 3 * BEST.cost, plain(BEST.orders), MODEL, 0.2)
    assert (back.verdict, back.after, back.is_measured) == ("switched", OTHER, True)
    again = joint.look(OTHER, 2 * BEST.cost, before, MODEL, 0.2)  # measured: not tried again
    assert (again.verdict, again.after) == ("below_threshold", OTHER)


def test_after_a_disappointment_more_is_asked_of_predictions_until_the_join_is_another() -> None:
    joint = JointOrders()
    joint.look(OTHER, 2 * BEST.cost, plain(OTHER), MODEL, 0.2)
    told = joint.look(BEST.orders, 2 * BEST.cost, plain(BEST.orders), MODEL, 0.2)
    assert joint.gain == 2 * LEAST_GAIN
    assert told.verdict == "below_threshold"
    changed = MODEL._replace(log_sizes=tuple(one + 2 for one in MODEL.log_sizes))
    joint.look(BEST.orders, 2 * BEST.cost, plain(BEST.orders), changed, 0.2)
    assert joint.gain == LEAST_GAIN
