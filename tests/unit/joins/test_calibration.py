"""Calibration by the time of whole batches; what share of elements is profiled."""

from __future__ import annotations

import json

import pytest

from backend.systems.joins.decide.calibration import FADED, FIXED, Calibration
from backend.systems.joins.decide.profiling import profile_share, steadied
from backend.systems.joins.decide.settings import JoinSettings


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
    for _ in range(2):
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
    for _ in range(2):
        found.add_cached(1.0, 100.0, 5.0)
    assert found.of_operations == pytest.approx(5.0), "half of what probes are, at the least"
    for _ in range(3):
        found.add_bare(2.0, 1.0, FIXED)
    assert found.of_probes == 1.0


def calibrated() -> Calibration:
    """Half of the time of a batch is that of its probes, which take half of what is estimated."""
    found = Calibration(keep=10)
    for _ in range(3):
        found.add_bare(200.0, 200.0, FIXED)
    return found


def test_a_batch_that_was_disturbed_does_not_price_caches() -> None:
    found = calibrated()
    found.add_cached(2_000.0, 100.0, 100.0)
    assert (found.of_operations, found.knows_cached) == (0.5, False), "one batch says nothing"
    found.add_cached(250.0, 100.0, 100.0)
    assert found.knows_cached
    assert found.of_operations == pytest.approx(1.0)
    for taken_ns in (250.0, 250.0, 3_000.0, 250.0):
        found.add_cached(taken_ns, 100.0, 100.0)
        assert found.of_operations == pytest.approx(1.0)


def test_what_caches_took_fades_while_there_are_none() -> None:
    found = calibrated()
    for _ in range(4):
        found.add_cached(900.0, 100.0, 100.0)
    assert found.of_operations == pytest.approx(7.5)
    for _ in range(FADED - 1):
        found.add_bare(200.0, 200.0, FIXED)
    assert found.knows_cached
    found.add_bare(200.0, 200.0, FIXED)
    assert (found.of_operations, found.knows_cached) == (0.5, False)


def test_a_machine_that_became_slower_does_not_price_caches() -> None:
    """All takes three times as long while caches are in use, and when they are out again."""
    found = calibrated()
    for _ in range(3):
        found.add_cached(3 * 250.0, 100.0, 100.0)
    assert found.of_operations == pytest.approx(6.0)
    for _ in range(4):
        found.add_bare(3 * 200.0, 200.0, FIXED)
    assert found.of_probes == pytest.approx(1.5)
    assert found.of_operations == pytest.approx(3.0), "twice what probes take, as before"


def test_calibration_goes_on_as_it_was() -> None:
    found, again = calibrated(), Calibration(keep=10)
    for _ in range(2):
        found.add_cached(250.0, 100.0, 100.0)
    again.restore(json.loads(json.dumps(found.state())))
    assert again.state() == found.state()
    assert again.of_operations == found.of_operations == pytest.approx(1.0)
    assert (again.of_probes, again.fixed_ns) == (found.of_probes, found.fixed_ns)


def test_so_many_are_profiled_that_two_intervals_give_enough() -> None:
    settings = JoinSettings(interval_tuples=100_000, join_profile_prob=0.01)
    assert settings.keep_elements == 100
    assert profile_share(settings, share=0.5, waits=False) == 1 / 512 <= 100 / 50_000
    assert profile_share(settings, share=0.5, waits=True) == 1 / 128
    assert profile_share(settings, share=0.02, waits=False) == 0.01, "the share that is set"
    assert profile_share(settings, share=0.02, waits=True) == 1 / 8
    assert profile_share(settings, share=0.0, waits=True) == 1 / 256
    assert profile_share(settings, share=1e-9, waits=True) == 1.0


def test_shares_that_are_profiled_are_steady_and_enough() -> None:
    assert steadied((), (0.1, 0.2)) == (0.1, 0.2)
    assert steadied((0.2, 0.2, 0.2), (0.1, 0.05, 0.4)) == (0.2, 0.05, 0.4)
