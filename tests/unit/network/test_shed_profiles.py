"""What windows in several shards tell together."""

from __future__ import annotations

import pytest

from backend.adaptive.stats import Mean
from backend.operators.network.shedding.accuracy import AccuracyParts, accuracy_parts
from backend.operators.network.shedding.audits import MeasuredAccuracy
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import TemporalTuple, coalesced
from backend.operators.network.temporal.shed_tuning import ShedProfile
from tests.unit.cals.cases import ALL


def measured(exact: int, value: float, half: float) -> MeasuredAccuracy:
    parts = AccuracyParts(exact=exact, pieces=exact, reduction=exact * value)
    mean = Mean(value, value - half, value + half, exact)
    return MeasuredAccuracy(parts, mean, exact, mean)


def test_accuracies_of_shards_are_weighed_by_what_was_compared() -> None:
    first = ShedProfile(n_resident=5, n_window=9, measured=measured(30, 0.9, 0.03))
    second = ShedProfile(n_resident=5, n_window=7, measured=measured(10, 0.5, 0.09))
    whole = first.merged([second])
    assert whole.measured is not None
    assert whole.measured.accuracy.value == pytest.approx((30 * 0.9 + 10 * 0.5) / 40)
    half = ((0.75 * 0.03) ** 2 + (0.25 * 0.09) ** 2) ** 0.5
    assert whole.measured.accuracy.high - whole.measured.accuracy.value == pytest.approx(half)
    assert (whole.parts.exact, whole.n_window, whole.n_resident) == (40, 16, 10)
    assert first.merged([ShedProfile()]).measured == first.measured
    short = [ShedProfile(whole_from=when) for when in (None, 40, 70)]
    assert short[0].merged(short[1:]).whole_from == 70
    assert first.merged([second]).whole_from is None
    assert first.merged([ShedProfile()]).n_window is None
    assert first.merged([]) == first


def test_expected_accuracies_of_shards_are_weighed_by_coalesced_tuples() -> None:
    """Whatever is resident: 3 of 4 and 96 of 96 are 99 of 100."""
    first = ShedProfile(n_resident=500, expected=0.75, n_expected=4)
    whole = first.merged([ShedProfile(n_resident=1, expected=1.0, n_expected=96), ShedProfile()])
    assert whole.n_expected == 100
    assert whole.expected == pytest.approx(0.99)
    assert ShedProfile().merged([ShedProfile()]).expected == 1


def test_the_remainder_is_of_like_with_like() -> None:
    """Measured under another metric it is .4; R1, as expected, is .6, with its interval."""
    other, alike = Mean(0.4, 0.4, 0.4, 9), Mean(0.6, 0.5, 0.65, 9)
    profile = ShedProfile(expected=0.7, measured=MeasuredAccuracy(AccuracyParts(), other, 9, alike))
    remainder = profile.remainder
    assert remainder is not None
    shown = [remainder.value, remainder.low, remainder.high]
    assert shown == pytest.approx([0.1, 0.05, 0.2])
    assert ShedProfile(expected=0.7).remainder is None


def test_shards_together_expect_what_one_window_does() -> None:
    """Values in two shards, each under half of the limit, by receipts."""
    shards = [SheddingWindow(ShedOptions("oldest", 3, audit="exact"), ALL) for _ in range(2)]
    tuples = [TemporalTuple(k, (k % 5,), 2 * k, 2 * k + 3) for k in range(1, 21)]
    for new in tuples:
        shards[new.values[0] == 0].arrive(new)
    profiles = [
        ShedProfile(expected=one.expected_accuracy, n_expected=one.n_expected) for one in shards
    ]
    kept = [*shards[0].memory, *shards[1].memory]
    truth = accuracy_parts(coalesced(tuples), coalesced(kept)).accuracy()
    assert profiles[0].merged(profiles[1:]).expected == pytest.approx(truth)
