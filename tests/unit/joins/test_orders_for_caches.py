"""Probe orders that are about as good: rarer inputs go first, as caches can keep what they join."""

from __future__ import annotations

import numpy as np
import pytest

from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.systems.joins.decide.ordering import PipelineOrder
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from backend.systems.joins.decide.telling import JoinLook, order_decision
from bench.joins_data import chained

R, S, T = range(3)
SETTINGS = JoinSettings(alpha=0.81, order_samples=50)
COSTS = (2.0, 2.0, 2.0)
T_OFTEN = (0.1, 0.1, 0.8)


def of_s(n_by_r: int, n_by_t: int) -> PipelineOrder:
    """S's pipeline, T first. R drops so many of its elements, T so many others."""
    pipeline = PipelineOrder(JoinShape.of(chained(3), 3, "RST"), S, (T, R))
    dropped = np.array([1 << R] * n_by_r + [1 << T] * n_by_t, np.uint64)
    n = len(dropped)
    steps, entering = np.zeros((n, 2), np.int64), np.zeros((n, 3), np.int64)
    told = PipelineProfile(n, 0, 0, 0, 0, np.arange(n), entering, steps, steps, dropped)
    pipeline.take(told, SETTINGS)
    return pipeline


def test_of_orders_about_as_good_the_one_with_rarer_inputs_first_is_taken() -> None:
    check = of_s(95, 100).check(COSTS, SETTINGS, T_OFTEN)
    assert check is not None
    assert (check.verdict, check.for_caches) == ("switched", True)
    assert (check.before, check.filters) == ((T, R), (R, T))


def test_the_inequality_that_decided_is_recorded_and_what_the_order_will_cost() -> None:
    """R drops 95 of 195 at 2 ns, T 100: enough, as sqrt(0.81) = 0.9 of T's rank is asked for."""
    check = of_s(95, 100).check(COSTS, SETTINGS, T_OFTEN)
    assert check is not None
    look = JoinLook(1, 0, 195, JoinShape.of(chained(3), 3, "RST"), SETTINGS)
    told = order_decision(look, check, None)
    assert (told.lhs, told.rhs) == pytest.approx((95 / 195 / 0.002, 0.9 * 100 / 195 / 0.002))
    assert told.relation == ">="
    assert told.predicted_old == pytest.approx(2 * (195 + 95) / 195)
    assert told.predicted_new == pytest.approx(2 * (195 + 100) / 195)
    pair = told.detail["pair"]
    assert (pair["filter"], pair["challenger"]) == ("T", "R")
    assert told.detail["alpha"] ** told.detail["alpha_power"] == pytest.approx(0.9)
    assert "of 195 elements that get so far R drops 95, T 100" in told.explanation


def test_an_order_that_is_better_stays_and_so_does_one_of_inputs_as_frequent() -> None:
    for pipeline, shares in ((of_s(85, 100), T_OFTEN), (of_s(95, 100), (0.3, 0.2, 0.5))):
        check = pipeline.check(COSTS, SETTINGS, shares)
        assert check is not None
        assert (check.verdict, check.for_caches) == ("below_threshold", False)


def test_nothing_is_exchanged_where_orders_are_fixed_or_nothing_is_cached() -> None:
    for settings in (JoinSettings(join_order="fixed"), JoinSettings(caching="off")):
        check = of_s(100, 100).check(COSTS, settings, T_OFTEN)
        assert check is not None
        assert not check.for_caches


def test_such_an_order_takes_a_clear_violation_to_be_left() -> None:
    pipeline = of_s(100, 140)
    pipeline.adopt((R, T), for_caches=True)
    kept = pipeline.check(COSTS, SETTINGS, T_OFTEN)
    assert kept is not None
    assert kept.verdict == "below_threshold", "100 : 140 violates by α, not by α²"
    worse = of_s(100, 300)
    worse.adopt((R, T), for_caches=True)
    left = worse.check(COSTS, SETTINGS, T_OFTEN)
    assert left is not None
    assert (left.verdict, left.filters) == ("switched", (T, R))
