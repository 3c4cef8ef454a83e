"""Calibration by the time of whole batches; patience with candidates that do not change."""

from __future__ import annotations

import pytest

from backend.systems.joins.activity import Activity, InputActivity
from backend.systems.joins.calibration import FIXED, Calibration
from backend.systems.joins.patience import MOST, Patience
from backend.systems.joins.profiling import profile_share
from backend.systems.joins.settings import JoinSettings

CHANGE = 0.2
#: 2 probes and 3 tuples built by each element of one input, 1 and 0 by those of another.
USUAL = Activity((InputActivity(10_000, 20_000, 30_000), InputActivity(10_000, 10_000, 0)))


def test_factors_are_one_until_batches_without_caches_were_seen() -> None:
    found = Calibration(keep=10)
    assert (found.of_probes, found.of_operations, found.knows_bare) == (1.0, 1.0, False)
    found.add_cached(500.0, 100.0, 100.0)
    assert found.of_operations == 1.0, "nobody knows what of it went to probes"
    found.add_bare(0.0, 200.0, 4.0)
    found.add_bare(80.0, 0.0, 4.0)
    assert not found.knows_bare, "a batch that tells no time, one of which nothing is estimated"


def test_what_is_left_beside_probes_went_to_operations_of_caches() -> None:
    """With as many operations as an element takes besides, half of the time is theirs."""
    found = Calibration(keep=10)
    for _ in range(2):
        found.add_bare(200.0, 200.0, FIXED)
    assert found.of_probes == pytest.approx(0.5)
    assert found.of_operations == pytest.approx(0.5)
    found.add_cached(taken_ns=210.0, probes_ns=100.0, operations_ns=20.0)
    assert found.of_operations == pytest.approx((210 - 100 - 0.5 * 100) / 20)
    found.add_bare(10_000.0, 200.0, FIXED)  # a batch that was disturbed
    assert found.of_probes == pytest.approx(0.5)


def test_what_elements_take_whatever_is_done_is_not_saved_by_doing_less() -> None:
    """The same time a probe, whatever their number."""
    for n_probes in (2, 4, 30):
        found = Calibration(keep=10)
        for _ in range(2):
            found.add_bare(10.0 * (FIXED + n_probes), 20.0 * n_probes, n_probes)
        assert found.of_probes == pytest.approx(0.5)


def test_factors_stay_in_bounds_and_forget() -> None:
    found = Calibration(keep=3)
    for _ in range(2):
        found.add_bare(1e9, 1.0, 1.0)
    assert found.of_probes == 10.0
    found.add_cached(1.0, 100.0, 5.0)
    assert found.of_operations == pytest.approx(5.0), "half of what probes are, at the least"
    for _ in range(3):
        found.add_bare(2.0, 1.0, FIXED)
    assert found.of_probes == 1.0


def test_intervals_double_where_selections_change_nothing() -> None:
    patience, waited = Patience(), []
    for _ in range(6):
        n = 0
        while not patience.is_due(n, 100):
            patience.look(USUAL, CHANGE)
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
    assert [patience.look(USUAL, CHANGE) for _ in range(4)] == [False] * 4
    first, second = USUAL.inputs
    assert not patience.look(Activity((InputActivity(10_000, 22_000, 33_000), second)), CHANGE)
    assert not patience.is_due(100, 100)
    assert patience.look(Activity((first, InputActivity(10_000, 10_000, 1_000))), CHANGE)
    assert not patience.is_due(50, 100), "an interval has to pass all the same"
    assert patience.is_due(100, 100)


def test_what_chance_has_among_few_elements_is_no_change() -> None:
    """A third more is done for each element; an input is half as frequent again as it was."""
    for n, has_moved in ((60, False), (9_000, True)):
        one, other = InputActivity(n, 2 * n, n), InputActivity(n, n, 0)
        usual = Activity((one, other))
        done = InputActivity(n, 8 * n // 3, 4 * n // 3)
        assert Activity((done, other)).has_moved(usual, CHANGE) == has_moved
        more = InputActivity(2 * n, 4 * n, 2 * n)
        assert Activity((more, other)).has_moved(usual, CHANGE) == has_moved
    none = Activity((InputActivity(0, 0, 0),) * 2)
    assert not none.has_moved(none, CHANGE)


def test_so_many_are_profiled_that_two_intervals_give_enough() -> None:
    settings = JoinSettings(interval_tuples=100_000, profile_prob=0.01)
    assert settings.keep_elements == 100
    assert profile_share(settings, share=0.5, waits=False) == 1 / 512 <= 100 / 50_000
    assert profile_share(settings, share=0.5, waits=True) == 1 / 128
    assert profile_share(settings, share=0.02, waits=False) == 0.01, "the share that is set"
    assert profile_share(settings, share=0.02, waits=True) == 1 / 8
    assert profile_share(settings, share=0.0, waits=True) == 1 / 256
    assert profile_share(settings, share=1e-9, waits=True) == 1.0
