"""A target of accuracy, and the least memory that holds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.adaptive.stats import Mean
from backend.operators.network.shedding.curve import AccuracyCurve, CurvePoint
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.floor import AccuracyFloor
from backend.systems.cals.window import AdaptedWindow

SURE = Mean(1.0, 1.0, 1.0, 9)


def curve(*accuracies: float, is_new: bool = True) -> AccuracyCurve:
    """Of a hundred tuples a point."""
    points = tuple(CurvePoint(100 * n, each, None) for n, each in enumerate(accuracies))
    return AccuracyCurve(points[-1].tuples, 9, points, (), is_new)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.01, 1))
def test_with_what_is_kept_no_more_tuples_are_below_the_target(
    accuracies: list[float], target: float
) -> None:
    floor, whole = AccuracyFloor(target), curve(0, *accuracies, 1)
    assert floor.observe(whole, SURE)
    points = {point.tuples: point.accuracy for point in whole.points}
    assert all(each >= target for tuples, each in points.items() if tuples >= floor.tuples)
    below = floor.tuples - 100
    assert below <= 0 or points[below] < target


def test_less_is_kept_only_while_the_interval_lies_above_and_more_at_once() -> None:
    floor, kept = AccuracyFloor(0.8), list[int]()
    for low, accuracies in (
        (1.0, (0, 0.5, 0.85, 1)),
        (0.7, (0, 0.9, 0.95, 1)),  # less would do, but what is measured may be below
        (0.85, (0, 0.9, 0.95, 1)),
        (0.85, (0, 0.2, 0.4, 1)),
        (0.85, (0, 0.2, 0.81, 1)),
    ):
        floor.observe(curve(*accuracies), Mean(low, low, 1.0, 9))
        kept.append(floor.tuples)
    assert kept == [200, 210, 100, 300, 200]
    assert not floor.observe(curve(0, 1, 1, 1, is_new=False), SURE)
    floor.turn(0)
    assert (floor.tuples, floor.observe(curve(0, 1), SURE)) == (0, False)


def test_a_window_keeps_what_its_target_takes_and_says_where_memory_is_short() -> None:
    window, evaluations = AdaptedWindow("w"), Evaluations()
    window.pool.row_bytes, window.pool.price = 40, 1.0
    window.floor.turn(0.8)
    profile = ShedProfile(n_arrived=9, n_dropped=1, is_whole=False, curve=curve(0, 0.5, 0.85, 1))
    begins, decision = window.observe(3, profile, evaluations, 1)
    assert (decision.kind, decision.lhs, decision.rhs) == ("accuracy floor", 0.85, 0.8)
    assert decision.explanation == "keeps 200 of 300 tuples for an accuracy of 0.8"
    assert begins.kind == "shedding"
    assert (window.options.memory_tuples, window.pool._pages(300)) == (200, 3)
    assert sum(tier.n_pages for tier in window.pool.tiers) == 2
    window.pool.grant(1)
    assert window.options.memory_tuples == 102
    assert window.inexact.endswith("; for an accuracy of 0.8 it needed 200")
    again = AdaptedWindow("w")
    again.floor.turn(0.8)
    again.restore({}, window.state())
    assert again.floor.tuples == 200
