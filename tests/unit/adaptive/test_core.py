"""What every decision core does beside deciding."""

from __future__ import annotations

import math
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.adaptive.core import Cooldown, Evaluations, FollowUp
from backend.adaptive.stats import mean_of, quantile
from backend.adaptive.words import arrows, count, numbers, percent, significant, too_thin


def test_of_rejected_evaluations_every_nth_is_stored_and_all_are_counted() -> None:
    evaluations = Evaluations()
    stored = []
    for n in range(1, 8):
        assert evaluations.count() == n
        if evaluations.is_stored("below_threshold", 3):
            stored.append(n)
    assert stored == [1, 4, 7]
    assert evaluations.seq == 7


def test_a_cooldown_is_always_stored_and_does_not_move_the_others() -> None:
    evaluations = Evaluations()
    assert evaluations.is_stored("thin", 2)
    assert evaluations.is_stored("cooldown", 2)
    assert evaluations.is_stored("cooldown", 2)
    assert not evaluations.is_stored("thin", 2)
    assert evaluations.is_stored("thin", 2)


def test_a_cooldown_begins_with_the_first_switch() -> None:
    cooldown = Cooldown()
    cooldown.passed(1000)
    assert cooldown.waited is None
    assert not cooldown.holds(10**9)
    cooldown.switched()
    assert not cooldown.holds(0)
    cooldown.passed(60)
    assert cooldown.holds(61)
    assert not cooldown.holds(60)
    cooldown.switched()
    assert cooldown.waited == 0


def _price(factor: float, sample: NDArray[np.float64]) -> NDArray[np.float64]:
    return factor * sample


def test_a_switch_is_followed_tuple_by_tuple() -> None:
    follow_up: FollowUp[float, NDArray[np.float64]] = FollowUp()
    assert follow_up.end(3) == []
    follow_up.begin(7, 3.0, 2.0, _price)
    assert follow_up.is_on
    follow_up.follow(100, 250.0, np.array([1.0, 3.0]))
    follow_up.follow(50, 50.0, np.array([5.0]))
    (found,) = follow_up.end(9)
    assert (found.decision, found.batch, found.n, found.n_sample) == (7, 9, 150, 3)
    assert found.actual_new == pytest.approx(2.0)
    assert found.sample_new == pytest.approx(2.0 * 3)
    assert found.counterfactual_old == pytest.approx(3.0 * 3)
    assert not follow_up.is_on


def test_without_tuples_a_switch_has_no_outcome_and_without_a_sample_no_comparison() -> None:
    follow_up: FollowUp[float, NDArray[np.float64]] = FollowUp()
    follow_up.begin(1, 1.0, 1.0, _price)
    assert follow_up.end(2) == []
    follow_up.begin(2, 1.0, 1.0, _price)
    follow_up.follow(10, 30.0, np.zeros(0))
    (found,) = follow_up.end(3)
    assert (found.actual_new, found.sample_new, found.counterfactual_old) == (3.0, None, None)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_a_mean_lies_in_its_interval_of_normal_theory(values: list[float]) -> None:
    found = mean_of(np.array(values))
    half = 1.959964 * stdev(values) / math.sqrt(len(values))
    assert found.value == pytest.approx(mean(values), abs=1e-6)
    assert found.high - found.low == pytest.approx(2 * half, rel=1e-6, abs=1e-6)
    assert found.n == len(values)


def test_means_of_one_and_of_no_value() -> None:
    one = mean_of(np.array([4.0]))
    assert (one.value, one.low, one.high, one.n) == (4.0, 4.0, 4.0, 1)
    assert mean_of(np.zeros(0)).detail() == {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 0}
    assert quantile(0.99) == pytest.approx(2.5758, abs=1e-4)


def test_words() -> None:
    assert arrows(("a", "b")) == "a → b"
    assert arrows(()) == "(nothing)"
    assert count(1234567) == "1 234 567"
    assert numbers(2.301, 2.302) == ("2.301", "2.302")
    assert [percent(s, True) for s in (0.34, -0.004, 0.0)] == ["+34 %", "-0.4 %", "+0 %"]
    assert [significant(x) for x in (math.inf, 0.03124, 1.234e-5, 1400.4)] == [
        "∞",
        "0.0312",
        "1.23 × 10⁻⁵",
        "1400",
    ]
    assert too_thin(120, 2000, "tuples") == "not acted on, 120 tuples of the 2 000 needed"
