"""Patience with candidates that do not change, and what ends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.systems.joins.decide.activity import Activity, InputActivity
from backend.systems.joins.decide.patience import MOST, Patience
from backend.systems.joins.decide.settings import JoinSettings

CHANGE = 0.2
SETTINGS = JoinSettings(interval_tuples=10_000)
#: 2 probes and 3 tuples built by each element of one input, 1 and 0 by those of another.
USUAL = Activity((InputActivity(10_000, 20_000, 30_000), InputActivity(10_000, 10_000, 0)))
PLAIN = JoinTuning(((1,), (0,)), profile_prob=(0.1, 0.1))
CACHED = replace(PLAIN, caches=(CacheSpec("0", (0,), (0,), (Segment(0, 0, 0),), 4096),))


def of(came: tuple[int, int], per_element: tuple[int, int] = (5, 1)) -> Activity:
    """Elements of both inputs, and index probes for each of them."""
    pairs = zip(came, per_element, strict=True)
    return Activity(tuple(InputActivity(n, n * probes, 0) for n, probes in pairs))


def batches(patience: Patience, one: Activity, n: int, tuning: JoinTuning | None) -> int:
    """How many of n such batches say that something moved."""
    return sum(patience.look(one, tuning, SETTINGS) for _ in range(n))


def test_intervals_double_where_selections_change_nothing() -> None:
    patience, waited = Patience(), []
    for _ in range(6):
        n = 0
        while not patience.is_due(n, 100):
            patience.look(USUAL, PLAIN, SETTINGS)
            n += 50
        waited.append(n)
        patience.selected(False)
    assert waited == [100, 200, 400, 800, 100 * MOST, 100 * MOST]
    patience.selected(True)
    assert patience.n_intervals == 1


def test_counts_that_move_end_the_waiting() -> None:
    patience = Patience()
    for _ in range(3):
        patience.selected(False)
    assert not batches(patience, USUAL, 4, PLAIN)
    first, second = USUAL.inputs
    few = Activity((InputActivity(10_000, 22_000, 33_000), second))
    assert not patience.look(few, PLAIN, SETTINGS)
    assert not patience.is_due(100, 100)
    many = Activity((first, InputActivity(10_000, 10_000, 8_000)))
    assert patience.look(many, PLAIN, SETTINGS)
    assert not patience.is_due(50, 100), "an interval has to pass all the same"
    assert patience.is_due(100, 100)


def test_what_caches_in_use_hide_is_profiled_when_something_moved_or_rarely() -> None:
    patience = Patience()
    assert [patience.looks_behind() for _ in range(MOST)] == [False] * (MOST - 1) + [True]
    assert not batches(patience, USUAL, 2, PLAIN)
    moved = Activity((USUAL.inputs[0], InputActivity(10_000, 20_000, 0)))
    assert patience.look(moved, PLAIN, SETTINGS)
    assert [patience.looks_behind() for _ in range(2)] == [True, False]


def test_work_of_another_execution_is_no_change() -> None:
    """Watched batches do more, and so do those with other caches; an input that comes more often
    is seen whatever is done."""
    patience, more = Patience(), of((5_000, 5_000), (9, 1))
    assert not batches(patience, of((5_000, 5_000)), 4, CACHED)
    assert not batches(patience, more, 3, None)
    assert not batches(patience, more, 4, PLAIN)
    assert not batches(patience, more, 3, replace(PLAIN, profile_prob=(0.2, 0.1)))
    assert batches(patience, of((9_000, 1_000), (9, 1)), 1, None) == 1


def test_a_change_while_something_was_watched_is_seen_behind_it() -> None:
    patience, more = Patience(), of((5_000, 5_000), (9, 1))
    assert not batches(patience, of((5_000, 5_000)), 4, PLAIN)
    assert not batches(patience, more, 3, None)
    assert batches(patience, more, 4, PLAIN) == 1


@pytest.mark.parametrize("n", [10, 100, 1_000, 20_000])
def test_a_change_is_seen_however_small_batches_are(n: int) -> None:
    """Twice an interval of what is usual, then as much of something else."""
    patience, n_batches = Patience(), 1 + 40_000 // (2 * n)
    assert not batches(patience, of((n, n)), n_batches, PLAIN)
    assert batches(patience, of((n, n), (8, 1)), n_batches, PLAIN) == 1
    assert not batches(patience, of((n, n), (8, 1)), n_batches, PLAIN)
    assert batches(patience, of((n, 4 * n), (8, 1)), n_batches, PLAIN) == 1


def test_where_any_change_counts_chance_is_none() -> None:
    patience, settings = Patience(), replace(SETTINGS, change_share=0.0)
    looks = [patience.look(of((5_000, 5_000)), PLAIN, settings) for _ in range(4)]
    assert looks == [False] * 4
    assert patience.look(of((5_000, 5_000), (7, 1)), PLAIN, settings)


def test_what_chance_has_among_few_elements_is_no_change() -> None:
    """A third more is done for each element; an input is half as frequent again as it was."""
    for n, has_moved in ((60, False), (9_000, True)):
        one, other = InputActivity(n, 2 * n, n), InputActivity(n, n, 0)
        usual = Activity((one, other))
        done = Activity((InputActivity(n, 8 * n // 3, 4 * n // 3), other))
        assert done.more_is_done(usual, CHANGE) == has_moved
        assert not done.others_came(usual, CHANGE)
        more = Activity((InputActivity(2 * n, 4 * n, 2 * n), other))
        assert more.others_came(usual, CHANGE) == has_moved
    none = Activity((InputActivity(0, 0, 0),) * 2)
    assert not none.others_came(none, CHANGE)
    assert not none.more_is_done(none, CHANGE)
