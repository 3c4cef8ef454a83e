"""Bounds are those of the integrated likelihood, and looking often makes no false alarms."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.adaptive.planlog.confidence import (
    TIGHT_AT,
    PairedSample,
    SavingLadder,
    lower_bound,
    paired_sample,
)
from tests.oracles import planlog_confidence as slow

LOOKS = st.lists(
    st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=5), min_size=1, max_size=20
)


def sample_of(values: Sequence[float]) -> PairedSample:
    """Of these savings, without a guard."""
    return PairedSample(len(values), float(np.mean(values)), float(np.var(values)) * len(values))


@given(LOOKS)
def test_stretches_are_those_of_the_twin_and_survive_a_kill(looks: list[list[float]]) -> None:
    ladder, restored = SavingLadder(), SavingLadder()
    for look in looks:
        ladder.add(sample_of(look), 10)
        restored.restore(json.loads(json.dumps(ladder.state())))
        assert restored.bounds(0.01) == ladder.bounds(0.01)
    sizes = slow.sizes_of_stretches(len(looks))
    bounds = ladder.bounds(0.01)
    assert [each.n_tuples for each in bounds] == [10 * n for n in np.cumsum(sizes)]
    for bound, values in zip(bounds, slow.suffixes(looks), strict=True):
        assert bound.lower == pytest.approx(lower_bound(sample_of(values), 0.01), abs=1e-9)
    assert len(sizes) <= 2 * math.log2(len(looks) + 1) + 1


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, 3.5, 2.5, 1.5] * 2, [0.5, 1.5, -1.0, 2.0] * 4])
@pytest.mark.parametrize("level", [0.3, 0.05])
def test_the_bound_is_where_the_integrated_odds_reach_the_level(
    values: list[float], level: float
) -> None:
    level_each = level / len(TIGHT_AT)
    odds = -2 * math.log(level_each)
    bound = lower_bound(sample_of(values), level)
    assert math.isfinite(bound)
    unseen = max(0.0, float(np.mean(values))) * -math.log(level) / len(values)
    odds_there = [
        slow.mixed_odds(values, bound + unseen, math.sqrt((odds + math.log(1 + odds)) / tight))
        for tight in TIGHT_AT
    ]
    assert max(odds_there) == pytest.approx(1 / level_each, rel=0.02)


@given(st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=30), st.floats(0.001, 0.2))
def test_bounds_lie_below_the_mean_and_rise_with_the_level(
    values: list[float], level: float
) -> None:
    sample = sample_of(values)
    assert lower_bound(sample, level) <= sample.mean + 1e-9
    assert lower_bound(sample, level) <= lower_bound(sample, level * 2)
    guarded = PairedSample(sample.n, sample.mean, sample.squares, 5.0)
    assert lower_bound(guarded, level) <= lower_bound(sample, level)
    assert lower_bound(sample, 0.0) == -math.inf


def test_a_sample_is_what_its_tuples_cost_under_both_plans() -> None:
    old, new = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 4.0])
    sample = paired_sample(old, new)
    assert sample == PairedSample(3, 0.0, 8.0, 3.0)
    assert paired_sample(old[:0], new[:0]) == PairedSample(0, 0.0, 0.0)
    parts = paired_sample(old[:2], new[:2]).merged(paired_sample(old[2:], new[2:]))
    assert (parts.n, parts.mean, parts.squares) == pytest.approx((3, 0.0, 8.0))
    empty = PairedSample(0, 0.0, 0.0)
    assert empty.merged(empty) == empty


def lower_bounds(
    n: NDArray[np.int64], mean: NDArray[np.float64], squares: NDArray[np.float64], worst: float
) -> NDArray[np.float64]:
    """Of many samples at once, at the default level of one in 1 000."""
    bounds = np.full(mean.shape, -np.inf)
    for tight in TIGHT_AT:
        level = 0.001 / len(TIGHT_AT)
        odds = -2 * math.log(level)
        spread = 1 + n * (odds + math.log(1 + odds)) / tight
        ratio = np.minimum(np.exp((0.5 * np.log(spread) - math.log(level)) * 2 / n), spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            half = np.sqrt(squares * (ratio - 1) / (1 - ratio / spread) / n)
        bounds = np.fmax(bounds, mean - np.where(ratio < spread, half, np.inf))
    return bounds - (worst + np.maximum(mean, 0)) * -math.log(0.001) / n


def false_alarms(values: list[float], probs: list[float], n: int, seed: int) -> int:
    """Looks of 200 runs of 250 at which a stretch, any that ends now, surely saves, though the mean
    saving is 0. An alarm begins anew. n: tuples of a look."""
    n_runs, n_looks = 200, 250
    chances = np.array(probs) / sum(probs)
    centred = np.array(values) - np.array(values) @ chances
    counts = np.random.default_rng(seed).multinomial(n, chances, size=(n_runs, n_looks))
    sums, squares = (
        np.pad(np.cumsum(counts @ power, axis=1), ((0, 0), (1, 0)))
        for power in (centred, centred**2)
    )
    begun, alarms = np.zeros(n_runs, dtype=np.int64), 0
    for t in range(1, n_looks + 1):
        so_many = n * (t - np.arange(t))
        mean = (sums[:, [t]] - sums[:, :t]) / so_many
        around = np.maximum(squares[:, [t]] - squares[:, :t] - so_many * mean**2, 0.0)
        sure = lower_bounds(so_many, mean, around, max(0.0, -float(centred.min()))) > 0
        hit = (sure & (np.arange(t) >= begun[:, None])).any(axis=1)
        alarms, begun[hit] = alarms + int(hit.sum()), t
    return alarms


@pytest.mark.parametrize(
    ("values", "probs", "n"),
    [
        ([-2, -1, 0, 1, 2], [5, 10, 70, 10, 5], 250),
        ([-50, 0.5], [1, 99], 100),
        ([-10, 0], [3, 97], 20),
        ([0, 1], [1, 1], 5),
    ],
    ids=["even", "rare and dear", "some are dear", "few tuples"],
)
def test_stationary_data_make_at_most_one_false_alarm_in_1000_looks(
    values: list[float], probs: list[float], n: int
) -> None:
    assert false_alarms(values, probs, n, seed=11) <= 50


def test_bounds_of_many_samples_are_those_of_each() -> None:
    rng = np.random.default_rng(1)
    n, mean = rng.integers(2, 5000, 50), rng.normal(size=50)
    squares = n * rng.random(50)
    each = [
        lower_bound(PairedSample(int(k), m, s, 2.0), 0.001)
        for k, m, s in zip(n, mean.tolist(), squares.tolist(), strict=True)
    ]
    assert lower_bounds(n, mean, squares, 2.0).tolist() == pytest.approx(each)


@pytest.mark.parametrize("level", [1e-300, 1e-306, 1e-308, 5e-324, 0.0])
@pytest.mark.parametrize("n", [2, 3, 50])
def test_a_level_next_to_nothing_is_sure_of_nothing(n: int, level: float) -> None:
    bound = lower_bound(PairedSample(n, 1.0, 0.1, 1.0), level)
    assert bound < 1.0
    assert not math.isnan(bound)
    assert n > 3 or bound == -math.inf
