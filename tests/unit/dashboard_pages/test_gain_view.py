"""What adapting came to: shares, intervals, and when nothing is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.systems.agreedy.words import ORDER
from dashboard.systems.asc.gain import FIRST, TUPLES, ledger_gain
from dashboard.systems.asc.regret_view import ERROR, TOTAL
from dashboard.systems.joins.words import CACHES
from dashboard.views.gain import Columns, CurvePoint, column, ratio_gain, turning_points
from storage.tables.rows import SeriesData


def _ledger(saved: float, error: float) -> Columns:
    """Two entries of 1 000 tuples each that cost 3 and 5 visits in the first order."""
    return {
        TOTAL: {10: 0.0, 20: saved},
        ERROR: {10: 0.0, 20: error},
        FIRST: {10: 3.0, 20: 5.0},
        TUPLES: {10: 1000.0, 20: 2000.0},
    }


def test_saved_is_a_share_of_what_the_first_order_would_have_cost() -> None:
    gain = ledger_gain(_ledger(2000.0, 100.0))
    assert gain is not None
    assert (gain.lead, gain.figure, gain.tone) == ("Adapting saved", "25\u2009%", "gain")
    assert "± 2.5\u2009%" in gain.basis
    assert gain.curve[-1][:2] == (20, 2000.0)
    assert gain.curve[-1][2:] == pytest.approx((1804.0, 2196.0))


def test_lost_is_called_lost() -> None:
    gain = ledger_gain(_ledger(-400.0, 10.0))
    assert gain is not None
    assert (gain.lead, gain.figure, gain.tone) == ("Adapting lost", "5.0\u2009%", "loss")


@pytest.mark.parametrize(("saved", "error"), [(100.0, 60.0), (-100.0, 60.0), (0.0, 0.0)])
def test_nothing_is_claimed_when_the_interval_has_zero(saved: float, error: float) -> None:
    gain = ledger_gain(_ledger(saved, error))
    assert gain is not None
    assert (gain.figure, gain.tone) == ("", "quiet")
    assert ("no other order was measured" in gain.basis) == (saved == 0)


def test_without_tuples_the_visits_are_told() -> None:
    gain = ledger_gain({TOTAL: {1: 65_000.0}, ERROR: {1: 500.0}})
    assert gain is not None
    assert gain.figure == "65.0k"
    assert "± 980 visits" in gain.basis
    assert ledger_gain({TOTAL: {}}) is None


def test_an_order_or_caches_save_a_share_now() -> None:
    order, caches = ORDER, CACHES
    gain = ratio_gain(order, {order.now: {1: 9.0, 2: 6.0}, order.before: {1: 9.0, 2: 8.0}})
    assert gain is not None
    assert (gain.lead, gain.figure) == ("This order saves", "25\u2009%")
    assert [point[1] for point in gain.curve] == [0.0, 0.25]
    assert "this batch" in gain.basis
    assert ratio_gain(caches, {caches.now: {1: 1.1}, caches.before: {1: 1.0}}) is None
    worse = ratio_gain(caches, {caches.now: {1: 1.1, 2: 1.2}, caches.before: {1: 1.0, 2: 1.0}})
    assert worse is not None
    assert (worse.lead, worse.tone) == ("Caches lose", "loss")
    assert ratio_gain(order, {order.now: {1: 9.0}}) is None
    assert "last 2 batches, 95\u2009% interval" in worse.basis
    same = ratio_gain(caches, {caches.now: {1: 1.0, 2: 1.0}, caches.before: {1: 1.0, 2: 1.0}})
    assert same is not None
    assert (same.lead, same.figure, same.tone) == ("No cache pays for itself here", "", "quiet")
    assert same.basis.startswith("0.0\u2009% of what the join would cost")


def test_the_newest_value_is_exact() -> None:
    values = np.array([1.0, np.nan, 7.5])
    batches = np.array([10, 20, 28])
    data = SeriesData("e", "p", "", batches, values, values, values, values, batches, thinned=True)
    assert column(data, 30, 9.0) == {10: 1.0, 28: 7.5, 30: 9.0}
    assert column(data, 28, 9.0) == {10: 1.0, 28: 9.0}
    assert column(data, None, None) == {10: 1.0, 28: 7.5}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 20))
def test_a_thinned_curve_keeps_its_newest_point_and_its_length(
    values: list[int], most: int
) -> None:
    curve: list[CurvePoint] = [(batch, float(v), None, None) for batch, v in enumerate(values)]
    kept = turning_points(curve, most)
    assert kept[-1] == curve[-1]
    assert len(kept) <= most
    assert set(kept) <= set(curve)
