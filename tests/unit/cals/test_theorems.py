"""What card B3 says of the algorithms, as properties."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.accuracy import AccuracyMetric, accuracy_parts
from backend.operators.network.shedding.options import RhoBasis, ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import (
    EVERY_LENGTH,
    RunSpan,
    TemporalTuple,
    coalesced,
)
from tests.oracles import cals_shedding as slow
from tests.unit.cals.cases import (
    ALGORITHMS,
    ALL,
    ShedCase,
    contiguous,
    play,
    shed_cases,
    streams,
)

SOME_LIMIT = st.integers(1, 9)


def shed(algorithm: ShedAlgorithm, limit: int, stream: list[TemporalTuple]) -> SheddingWindow:
    """After all of a stream has come."""
    window = SheddingWindow(ShedCase(algorithm, ALL, limit).options, ALL)
    for new in stream:
        window.arrive(new)
    return window


@given(shed_cases(), contiguous(40))
def test_what_is_kept_lies_inside_what_is_exact(
    case: ShedCase, stream: list[TemporalTuple]
) -> None:
    for step in play(case, stream):
        exact, kept = slow.runs(step.slow.window), coalesced(step.fast.memory)
        for values, start, end in kept:
            around = [one for one in exact if one[0] == values and one[1] <= start < one[2]]
            assert len(around) == 1
            assert end <= around[0][2]
        assert 0 <= accuracy_parts(map(slow_run, exact), kept).accuracy() <= 1


def slow_run(run: slow.Run) -> RunSpan:
    return RunSpan(*run)


@given(st.sampled_from(["cals", "cals-v"]), streams(), SOME_LIMIT)
def test_cals_and_cals_v_never_split_a_run(
    algorithm: ShedAlgorithm, stream: list[TemporalTuple], limit: int
) -> None:
    window = SheddingWindow(ShedCase(algorithm, ALL, limit).options, ALL)
    for new in stream:
        for receipt in window.arrive(new):
            assert receipt.delta == 0
            assert len(receipt.after) <= 1


@given(contiguous(40), SOME_LIMIT)
def test_cals_v_is_plain_drop_oldest(stream: list[TemporalTuple], limit: int) -> None:
    assert list(shed("cals-v", limit, stream).memory) == stream[-limit:]
    assert list(shed("oldest", limit, stream).memory) == stream[-limit:]


@given(streams(), st.sampled_from(["exact", "memory"]), SOME_LIMIT)
def test_the_sum_of_both_objectives_orders_as_one_after_the_other(
    stream: list[TemporalTuple], basis: RhoBasis, limit: int
) -> None:
    for step in play(ShedCase("cals", ALL, limit, basis=basis), stream):
        if step.dropped:
            window = step.slow.window
            before = [one for one in window if one[0] in {*kept(step.fast), *step.dropped}]
            old = [one for one in before if one[0] != step.slow.newest]
            first = min(old, key=lambda one: (*slow.objectives(one, before, window, basis), one[0]))
            assert step.dropped == [first[0]]


def kept(window: SheddingWindow) -> set[int]:
    return {one.number for one in window.memory}


@given(streams(), st.data())
def test_a_drop_from_an_intact_window_costs_what_the_identity_says(
    stream: list[TemporalTuple], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(stream))
    left = [one for one in stream if one is not gone]
    n = len(slow.runs(stream))
    delta, rho = slow.objectives(gone, stream, stream, "exact")
    assert slow.accuracy(stream, left) == Fraction(n - rho) / (n + delta)


@given(streams(12), st.integers(1, 11))
def test_no_algorithm_is_better_than_the_best_of_all_subsets(
    stream: list[TemporalTuple], limit: int
) -> None:
    subsets = combinations(stream, min(limit, len(stream)))
    best = max(slow.accuracy(stream, subset) for subset in subsets)
    for algorithm in ALGORITHMS:
        left = list(shed(algorithm, limit, stream).memory)
        assert slow.accuracy(stream, left) <= best


@given(streams(12), st.sampled_from(["R1", "R2", "R3"]))
def test_one_drop_of_cals_m_is_the_best_of_all(
    stream: list[TemporalTuple], metric: AccuracyMetric
) -> None:
    case = ShedCase("cals-m", ALL, max(1, len(stream) - 1), metric=metric)
    window = SheddingWindow(case.options, ALL)
    for new in stream:
        window.arrive(new)
    without = [[one for one in stream if one is not gone] for gone in stream[:-1]]
    best = max((slow.accuracy(stream, left, metric) for left in without), default=1)
    assert slow.accuracy(stream, list(window.memory), metric) == best


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_different_values_keep_the_share_of_the_memory(algorithm: ShedAlgorithm) -> None:
    stream = [TemporalTuple(k, (k,), 3 * k, 3 * k + 1 + k % 2) for k in range(1, 21)]
    window = shed(algorithm, 8, stream)
    assert accuracy_parts(coalesced(stream), coalesced(window.memory)).accuracy() == 8 / 20


@pytest.mark.parametrize("algorithm", sorted({*ALGORITHMS} - {"rand", "cals-i", "cals-m"}))
def test_all_equal_values_stay_one_run(algorithm: ShedAlgorithm) -> None:
    stream = [TemporalTuple(k, (1,), 2 * k, 2 * k + 2) for k in range(1, 21)]
    assert list(shed(algorithm, 8, stream).memory) == stream[-8:]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_memory_of_one_tuple(algorithm: ShedAlgorithm) -> None:
    stream = [TemporalTuple(k, (k % 2,), k, k + 1) for k in range(1, 8)]
    (left,) = shed(algorithm, 1, stream).memory
    assert left == stream[-1] or algorithm == "rand"


@given(st.sampled_from(ALGORITHMS), streams())
def test_nothing_is_dropped_where_all_fits(
    algorithm: ShedAlgorithm, stream: list[TemporalTuple]
) -> None:
    for limit in (0, len(stream)):
        window = shed(algorithm, limit, stream)
        assert list(window.memory) == stream
        assert window.is_whole
        assert window.expected_accuracy == 1


def test_dropping_a_covered_tuple_costs_nothing() -> None:
    stream = [
        TemporalTuple(1, (1,), 0, 10),
        TemporalTuple(2, (1,), 2, 4),
        TemporalTuple(3, (2,), 5, 6),
    ]
    for algorithm in ("cals", "cals-i", "cals-m", "reach"):
        window = SheddingWindow(ShedCase(algorithm, ALL, 2).options, ALL)
        receipts = [receipt for new in stream for receipt in window.arrive(new)]
        assert [receipt.dropped.number for receipt in receipts] == [2]
        assert (receipts[0].delta, receipts[0].rho, receipts[0].predicted_loss) == (0, 0, 0)
        assert receipts[0].before == receipts[0].after[0]


def test_a_long_tuple_holds_others_together() -> None:
    """Its loss leaves three pieces where two ends of a run would say none."""
    stream = [
        TemporalTuple(1, (1,), 0, 20),
        TemporalTuple(2, (1,), 2, 4),
        TemporalTuple(3, (1,), 8, 9),
        TemporalTuple(4, (1,), 12, 13),
    ]
    assert slow.objectives(stream[0], stream, stream, "exact") == (2, Fraction(16, 20))
    window = SheddingWindow(ShedOptions("oldest", 3, audit="exact"), ALL)
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    assert (receipts[0].delta, len(receipts[0].after)) == (2, 3)
    parts = accuracy_parts(coalesced(stream), coalesced(window.memory), EVERY_LENGTH)
    assert parts.extraneous == 2
    assert parts.accuracy() == pytest.approx(4 / 20 / 3)
    assert window.expected_accuracy == pytest.approx(parts.accuracy())
