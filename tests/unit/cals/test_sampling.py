"""The core of windows that keep a sample: decisions, what is published, bids and floors."""

from __future__ import annotations

import pytest

from backend.adaptive.core import Evaluations
from backend.operators.network.sampling.accuracy import sample_accuracy, sample_curve
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.temporal.shed_tuning import ShedProfile
from backend.systems.cals.knobs import CalsKnobs
from backend.systems.cals.published import window_samples
from backend.systems.cals.window import AdaptedWindow


def profile(n_kept: int, n_window: int, n_dropped: int = 0) -> ShedProfile:
    return ShedProfile(
        n_arrived=100,
        n_resident=n_kept,
        n_window=n_window,
        n_dropped=n_dropped,
        is_whole=n_kept == n_window,
        expected=sample_accuracy(n_kept, n_window),
        n_expected=n_window,
        inclusion=n_kept / n_window,
    )


def test_sampling_begins_and_ends_and_says_so() -> None:
    knobs, evaluations = CalsKnobs(memory_tuples=200, shed_algorithm="cals"), Evaluations()
    window = AdaptedWindow("w", turned=knobs.sampling, is_sample=True)
    told = [
        window.observe(n, one, evaluations, 1)
        for n, one in enumerate([profile(90, 90), profile(200, 1000, 800), profile(80, 80)])
    ]
    kinds = [[one.kind for one in decisions] for decisions in told]
    assert kinds == [[], ["shedding"], ["shedding"]]
    (begins,) = told[1]
    assert (begins.algorithm, begins.lhs, begins.relation, begins.rhs) == ("rand", 1000, ">", 200)
    assert begins.explanation == "keeps a sample: 1000 tuples wanted"
    assert window.inexact == ""
    window.observe(3, profile(200, 1000, 800), evaluations, 1)
    said = "w keeps a sample of at most 200 tuples, from which values are estimated"
    assert window.inexact == said
    values = {one.property: one.value for one in window_samples("n", window)}
    assert values["inclusion_prob"] == values["memory_ratio"] == 0.2
    assert values["expected_accuracy"] == pytest.approx(1 - 1.96 * (0.8 / 200) ** 0.5, abs=1e-4)
    assert not {"kept_runs", "runs_bytes", "audit_bytes"} & values.keys()


def test_a_floor_is_held_and_the_curve_is_made_anew_when_the_window_is_another() -> None:
    window = AdaptedWindow("w", turned=ShedOptions("rand"), is_sample=True)
    window.floor.turn(0.9)
    looks = []
    for n, one in enumerate([profile(960, 960), profile(500, 970, 470), profile(500, 1200, 700)]):
        (decision,) = window.observe(n, one, Evaluations(), 1)[-1:] or (None,)
        looks.append(window.profile.curve is not None and window.profile.curve.is_new)
        if not n:
            assert decision is not None
            assert decision.kind == "accuracy floor"
            needed = window.options.memory_tuples
            assert sample_accuracy(needed, 960) >= 0.9 > sample_accuracy(needed - 40, 960)
    assert looks == [True, False, True]
    again = AdaptedWindow("w", is_sample=True)
    again.restore({}, window.state())
    again.observe(3, profile(500, 1200, 10), Evaluations(), 1)
    assert again.profile.curve is not None
    assert not again.profile.curve.is_new


def test_the_curve_rises_to_one() -> None:
    curve = sample_curve(1000, 300)
    accuracies = [point.accuracy for point in curve.points]
    assert accuracies == sorted(accuracies)
    assert (accuracies[0], accuracies[-1]) == (0, 1)
    assert not curve.is_whole
    assert curve.between(250).at_once == pytest.approx(curve.between(250).accuracy)
