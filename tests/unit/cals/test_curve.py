"""Accuracy over memory against shedding written out, tuple by tuple. Card B3, C2"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding import curve
from backend.operators.network.shedding.curve import AccuracyCurve, CurvePoint, merged
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple, ValidCondition
from tests.oracles.cals_shedding import SlowShedding, accuracy
from tests.oracles.run_sample import curve_of_window, sample_of
from tests.unit.cals.cases import ALL, B4, ShedCase, shed_cases, streams


def whole_window(case: ShedCase, stream: Sequence[TemporalTuple], limit: int = 0) -> SheddingWindow:
    """All of a stream, under a limit, its runs known."""
    options = case.options._replace(memory_tuples=limit, low_water=1.0, audit="exact")
    window = SheddingWindow(options, ALL, case.answer)
    for new in stream:
        window.arrive(new)
    return window


def dropped_one_by_one(
    case: ShedCase, stream: Sequence[TemporalTuple], limit: int = 0
) -> tuple[list[int], dict[int, float]]:
    """What goes of what a limit has left, and R1 with so many kept, written out."""
    slow: SlowShedding = case._replace(low_water=1.0, limit=limit).slow()
    for new in stream:
        slow.arrive(new, lambda one: False)

    def seen() -> float:
        return float(accuracy(slow.window, slow.memory, "R1", lambda n: n >= case.least))

    order, accuracies = [], {len(slow.memory): seen()}
    while len(slow.memory) > 1:
        slow.limit = len(slow.memory) - 1
        gone = slow.shed()
        if not gone:
            break
        order += gone
        accuracies[len(slow.memory)] = seen()
    return order, accuracies


@given(shed_cases(), streams(), st.booleans())
def test_a_curve_is_what_dropping_one_by_one_leaves(
    case: ShedCase, stream: list[TemporalTuple], is_short: bool
) -> None:
    """From all tuples of the window on, and from those that a limit has left."""
    limit = case.limit if is_short else 0
    window = whole_window(case, stream, limit)
    sample = sample_of(window)
    assert sample.window.n_tuples == len(stream)
    shadow = curve.shed(sample, window.options, case.answer.lengths, sample.in_memory)
    order, accuracies = dropped_one_by_one(case, stream, limit)
    assert sample.looked.numbers[shadow.order][: len(order)].tolist() == order
    for n, expected in accuracies.items():
        assert shadow.accuracy[n] == pytest.approx(expected, abs=1e-9)


@given(shed_cases(), streams(), st.integers(0, 20))
def test_a_curve_ends_at_the_exact_answer(
    case: ShedCase, stream: list[TemporalTuple], limit: int
) -> None:
    """Shares of one, 1 with all tuples; its envelope is above it, and each tuple adds less."""
    found = curve_of_window(whole_window(case, stream, limit))
    assert found is not None
    assert all(0 <= point.accuracy <= 1 for point in found.points)
    assert all(point.at_once is None or 0 <= point.at_once <= 1 for point in found.points)
    assert (found.points[-1].tuples, found.points[-1].accuracy) == (len(stream), 1)
    hull = found.envelope
    rises = [(high[1] - low[1]) / (high[0] - low[0]) for low, high in pairwise(hull)]
    assert all(rise >= 0 for rise in rises)
    assert all(later <= before + 1e-9 for before, later in pairwise(rises))
    axis, ends = zip(*hull, strict=True)
    for point in found.points:
        assert np.interp(point.tuples, axis, ends) >= point.accuracy - 1e-9


def test_the_worked_example_loses_least_first() -> None:
    """s3 of card B4 goes first, which leaves 17/18."""
    window = whole_window(ShedCase("cals", ALL, 0), B4)
    sample = sample_of(window)
    shadow = curve.shed(sample, window.options, ValidCondition(), sample.in_memory)
    assert sample.looked.numbers[shadow.order[0]] == 3
    assert shadow.accuracy[4] == pytest.approx(17 / 18)


def test_a_window_that_is_known_in_part_ends_where_drops_are_expected_to_have_left_it() -> None:
    options = ShedOptions("oldest", 10, audit="off")
    window = SheddingWindow(options, ALL)
    for k in range(1, 21):
        window.arrive(TemporalTuple(k, (k,), k, k + 1))
    found = curve_of_window(window)
    assert found is not None
    kept, whole = found.points[-2:]
    assert (kept.tuples, whole.tuples, whole.accuracy) == (10, 20, 1)
    assert kept.accuracy == kept.at_once == pytest.approx(window.expected_accuracy) == 0.5


def test_some_runs_stand_for_all() -> None:
    """Of 4 000 tuples about 500 are looked at; the curve is that of all but for a little."""
    draws, window = (
        random.Random(7),
        SheddingWindow(
            ShedOptions("cals", audit="exact"), ALL._replace(size=10_000), AnswerShape()
        ),
    )
    now, value = 0, 0
    for k in range(1, 4001):
        value = value if draws.random() < 0.7 else draws.randrange(30)
        window.arrive(TemporalTuple(k, (value,), now, now + (length := draws.randint(1, 5))))
        now += length
    some, most = curve_of_window(window), curve.MOST_LOOKED
    assert some is not None
    assert most / 2 < some.n_looked < 2 * most
    curve.MOST_LOOKED = 4000
    try:
        every = curve_of_window(window)
    finally:
        curve.MOST_LOOKED = most
    assert every is not None
    assert every.n_looked == 4000
    apart = [abs(some.between(p.tuples).accuracy - p.accuracy) for p in every.points]
    assert max(apart) < 0.06


def test_what_would_go_is_counted_by_value() -> None:
    stream = [TemporalTuple(k, (k % 2,), 3 * k, 3 * k + 1 + k % 2) for k in range(1, 25)]
    found = curve_of_window(whole_window(ShedCase("oldest", ALL, 0), stream, 12))
    assert found is not None
    half = found.between(6)
    assert dict(zip(found.values, half.going, strict=True)) == {(0,): 3, (1,): 3}
    assert found.between(12).going == (0, 0)
    assert found.between(24).at_once is None


def test_shards_under_one_limit_are_one_curve() -> None:
    def line(n: float, end: float) -> AccuracyCurve:
        points = CurvePoint(0, 0, 0, (n,)), CurvePoint(n, end, end, (0,))
        return AccuracyCurve(n, int(n), points, ((n,),))

    both = merged([(line(10, 1), 3.0), (line(30, 0.5), 1.0)])
    assert both is not None
    assert (both.n_window, both.n_looked) == (40, 40)
    half = both.between(20)
    assert half.accuracy == half.at_once == pytest.approx((3 * 0.5 + 0.25) / 4)
    assert dict(zip(both.values, half.going, strict=True)) == {(10,): 5, (30,): 15}
    assert merged([]) is None
    assert merged([(line(10, 1), 0.0)]) == line(10, 1)
