"""Algorithms in the shadow: what each would have left, with intervals, and which one is taken."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from backend.adaptive.core import Evaluations
from backend.operators.network.shedding import curve
from backend.operators.network.shedding.curve import AccuracyCurve, CurvePoint
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.race import Raced, merged, race
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import TemporalTuple
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.window import AdaptedWindow
from tests.oracles.run_sample import sample_of
from tests.unit.cals.cases import ALGORITHMS, ALL, ShedCase, shed_cases, streams
from tests.unit.cals.test_curve import dropped_one_by_one, whole_window


@given(shed_cases(), streams())
def test_each_is_as_accurate_as_it_would_be_alone(
    case: ShedCase, stream: list[TemporalTuple]
) -> None:
    """All tuples of the window are looked at, so that nothing is uncertain."""
    window = whole_window(case, stream, case.limit)
    sample = sample_of(window)
    found = {one.algorithm: one for one in race(sample, window.options, case.answer.lengths)}
    if window.is_whole:
        assert found == {}
        return
    assert set(found) == set(ALGORITHMS)
    now = found[case.algorithm]
    assert now.gain == now.gain_half == 0
    for algorithm, one in found.items():
        assert (one.half, one.gain_half) == (0, 0)
        assert one.gain == pytest.approx(one.accuracy - now.accuracy)
        if algorithm == "rand":  # another order than that of hashes, where it is not in force
            continue
        _, accuracies = dropped_one_by_one(case._replace(algorithm=algorithm), stream)
        assert one.accuracy == pytest.approx(accuracies[len(window.memory)], abs=1e-9)


def test_of_some_runs_the_whole_is_within_the_interval() -> None:
    """Of 12 windows of 2 000 tuples; what one algorithm gains is surer than how good it is."""
    draws, within, narrower = random.Random(5), 0, 0
    for _ in range(12):
        window = SheddingWindow(ShedOptions("cals", audit="exact"), ALL._replace(size=5000))
        now, value = 0, 0
        for k in range(1, 2001):
            value = value if draws.random() < 0.6 else draws.randrange(40)
            window.arrive(TemporalTuple(k, (value,), now, now + (length := draws.randint(1, 5))))
            now += length
        half = window.options._replace(memory_tuples=1000)
        window.turn(half)
        looked = [raced_of(window, most) for most in (curve.MOST_LOOKED, 2000)]
        some, every = ({one.algorithm: one for one in found} for found in looked)
        oldest, truth = some["oldest"], every["oldest"]
        assert truth.half == 0
        within += abs(oldest.accuracy - truth.accuracy) <= oldest.half
        narrower += some["reach"].gain_half < some["reach"].half
    assert within >= 9
    assert narrower == 12


def raced_of(window: SheddingWindow, most: int) -> tuple[Raced, ...]:
    before, curve.MOST_LOOKED = curve.MOST_LOOKED, most
    try:
        return race(sample_of(window), window.options, window.answer.lengths)
    finally:
        curve.MOST_LOOKED = before


def test_shards_race_together() -> None:
    one = Raced("reach", 0.8, 0.03, 0.2, 0.04, 10), Raced("cals", 0.6, 0.05, 0.0, 0.0, 10)
    other = Raced("cals", 0.9, 0.03, 0.0, 0.0, 6), Raced("reach", 0.5, 0.0, -0.4, 0.0, 6)
    first, second = merged([(one, 1.0), (other, 1.0)])
    assert (first.algorithm, second.algorithm) == ("cals", "reach")
    assert first.accuracy == pytest.approx(0.75)
    assert first.n == 16
    assert first.half == pytest.approx((0.025**2 + 0.015**2) ** 0.5)
    assert second.gain == pytest.approx(-0.1)
    whole = merged([(one, 1.0), ((), 3.0)])
    assert whole[0].accuracy == pytest.approx(0.95)
    assert merged([((), 1.0)]) == ()


def test_another_algorithm_is_taken_if_it_surely_gains_enough() -> None:
    window, evaluations = AdaptedWindow("w", is_auto=True), Evaluations()
    curve_now = AccuracyCurve(9, 9, (CurvePoint(9, 1, None),))

    def told(gain: float, half: float, is_new: bool = True) -> list[str]:
        raced = (
            Raced("reach", 0.8, 0.1, gain, half, 30),
            Raced("cals", 0.8 - gain, 0.1, 0.0, 0.0, 30),
        )
        own = curve_now._replace(is_new=is_new)
        profile = ShedProfile(n_dropped=1, is_whole=False, curve=own, race=raced)
        decisions = window.observe(1, profile, evaluations, 1)
        return [one.verdict for one in decisions if one.kind == "shed algorithm"]

    assert told(0.05, 0.045) == ["kept"]
    assert told(0.05, 0.01, is_new=False) == []
    used = [window.options.shed_algorithm]
    assert told(0.05, 0.01) == ["acted"]
    used.append(window.options.shed_algorithm)
    assert used == ["cals", "reach"]
    assert told(0.05, 0.01) == [], "it is in force"
    again = AdaptedWindow("w", is_auto=True)
    again.restore({}, window.state())
    window.is_auto = False
    assert [again.options.shed_algorithm, window.options.shed_algorithm] == ["reach", "cals"]
