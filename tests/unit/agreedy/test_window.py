"""The profile window against a list of tuples; costs; changes; overhead."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.adaptive.ordering.changes import ChangeDetector
from backend.adaptive.ordering.view import view_of
from backend.adaptive.ordering.window import ProfileWindow
from backend.model.filters import Outcomes, Shares
from backend.systems.agreedy.overhead import OverheadMeter
from tests.oracles import filters as oracle

N = 4


def rows(data: st.DataObject, k: int) -> NDArray[np.int8]:
    """Outcomes of dropped tuples, at least one filter of each: the bits of as many numbers."""
    drawn = data.draw(st.lists(st.integers(1, (1 << N) - 1), min_size=k, max_size=k))
    numbers = np.array(drawn, dtype=np.int8).reshape(k, 1)
    return (numbers >> np.arange(N, dtype=np.int8)) & np.int8(1)


@given(st.data())
def test_a_window_by_number_is_the_last_tuples(data: st.DataObject) -> None:
    keep = data.draw(st.sampled_from([1, 3, 64, 70]))
    window, kept = ProfileWindow(N), deque[list[int]](maxlen=keep)
    view = np.zeros((N, N), dtype=np.int64)
    order = [2, 0, 3, 1]
    for batch in range(data.draw(st.integers(1, 12))):
        outcomes = rows(data, data.draw(st.sampled_from([0, 1, 2, 40, 90])))
        view += view_of(window.add(outcomes, 0, batch), order)
        view -= view_of(window.expire(keep), order)
        kept.extend(outcomes.tolist())
        drops = [[bool(b) for b in row] for row in kept]
        assert window.drops().tolist() == drops
        assert view.tolist() == view_of(window.columns, order).tolist()
        assert view.tolist() == oracle.view(drops, order)


@given(st.data())
def test_a_window_by_age_is_what_is_young_enough(data: st.DataObject) -> None:
    window, all_rows = ProfileWindow(N), list[tuple[float, list[int]]]()
    n_passed: list[tuple[float, int]] = []
    now = 0.0
    for _ in range(data.draw(st.integers(1, 10))):
        now += data.draw(st.sampled_from([0.5, 1.0, 7.0]))
        outcomes = rows(data, data.draw(st.integers(0, 5)))
        passed = data.draw(st.integers(0, 3))
        window.add(outcomes, passed, now)
        window.expire(None, now - 5.0)
        all_rows += [(now, row) for row in outcomes.tolist()]
        n_passed.append((now, passed))
        young = [[bool(b) for b in row] for time, row in all_rows if time >= now - 5.0]
        assert window.drops().tolist() == young
        assert window.n_passed == sum(n for time, n in n_passed if time >= now - 5.0)


def test_passes_leave_with_the_dropped_tuples_of_their_batch() -> None:
    window = ProfileWindow(2)
    window.add(np.array([[1, 0]] * 4, dtype=np.int8), 8, 0.0)
    assert (len(window), window.n_passed) == (4, 8)
    window.add(np.array([[0, 1]] * 3, dtype=np.int8), 1, 1.0)
    window.expire(4)
    assert (len(window), window.n_passed) == (4, 2 + 1)
    window.expire(0)
    assert (len(window), window.n_passed) == (0, 0)


def test_a_stream_that_drops_nothing_fills_no_memory() -> None:
    window = ProfileWindow(2)
    nothing: Outcomes = np.zeros((0, 2), dtype=np.int8)
    for batch in range(1000):
        window.add(nothing, 5, batch)
        window.expire(10)
    assert 0 < window.n_passed <= 5 * 90


def test_batches_that_were_not_asked_everything_go_as_a_whole() -> None:
    window = ProfileWindow(3)
    window.add(np.array([[0, 1, 0], [1, 0, 1]], dtype=np.int8), 6, 0.0)
    assert window.is_complete
    window.add(np.array([[1, -1, -1], [0, 0, 1]], dtype=np.int8), 2, 1.0, is_complete=False)
    assert not window.is_complete
    assert len(window) - len(window.completed()) == 2
    window = window.completed()
    assert window.is_complete
    assert window.drops().tolist() == [[False, True, False], [True, False, True]]
    assert window.n_passed == 6
    assert window.completed() is window


def test_the_window_of_fewer_filters() -> None:
    window = ProfileWindow(3)
    window.add(np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0]], dtype=np.int8), 2, 0.0)
    fewer = window.of_filters([1, 2])
    assert fewer.drops().tolist() == [[True, True], [True, False]]
    assert fewer.n_passed == 3


def test_a_change_of_a_drop_probability_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    detector = ChangeDetector()
    found = []
    for batch in range(400):
        share = 0.5 if batch < 300 else 0.7
        found.append(detector.add({"f": 300}, {"f": int(rng.binomial(300, share))}))
    at = [i for i, change in enumerate(found) if change is not None]
    assert len(at) == 1
    assert 300 <= at[0] <= 303
    change = found[at[0]]
    assert change is not None
    assert (change.filter, change.now > change.before) == ("f", True)


def test_shares_of_the_time_add_up_and_say_when_p_pays() -> None:
    meter = OverheadMeter()
    assert meter.overhead is None
    assert meter.break_even(1.0) is None
    for _ in range(3):
        meter.add(Shares(9000.0, 700.0, 100.0, 150.0, 50.0), 1000, 0.05)
    overhead = meter.overhead
    assert overhead is not None
    assert sum(overhead[:5]) == pytest.approx(1)
    assert overhead.adapting == pytest.approx(0.1)
    # profiling costs 1000 us per batch of 1000 tuples at p = 0.05: 20 us per tuple at p = 1
    assert meter.break_even(1.0) == pytest.approx(0.05)
    assert meter.break_even(1e9) == 1.0
    assert meter.break_even(-3.0) == 0.0
