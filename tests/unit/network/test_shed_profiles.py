"""What windows in several shards tell together."""

from __future__ import annotations

import pytest

from backend.adaptive.stats import Mean
from backend.operators.network.shedding.accuracy import AccuracyParts
from backend.operators.network.shedding.audits import MeasuredAccuracy
from backend.operators.network.temporal.shed_tuning import ShedProfile


def measured(exact: int, value: float, half: float) -> MeasuredAccuracy:
    parts = AccuracyParts(exact=exact, pieces=exact, reduction=exact * value)
    return MeasuredAccuracy(parts, Mean(value, value - half, value + half, exact), exact, 0.0)


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
    assert first.merged([ShedProfile()]).n_window is None
    assert first.merged([]) == first
