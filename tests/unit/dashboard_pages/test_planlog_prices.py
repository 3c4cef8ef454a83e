"""What adapting returned: prices for the record alone, and what samples leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.planlog_hindsight import (
    in_moves,
    like_error,
    like_filled,
    look_back_on,
    on_record,
    returned_words,
    stretch_shares,
)
from tests.unit.dashboard_pages.test_planlog_views import look, there_and_back

_UNTOLD = "It cannot be told whether adapting paid: samples do not say it surely enough."


def test_prices_for_the_record_leave_nothing_to_guess() -> None:
    """ "ba" ran first before look 5, and was priced then on what was kept of the west."""
    west = [look(n, "west", "ab", "ab", offers=[]) for n in (1, 2, 3)]
    first = look(5, "east", "ba", "ba", past=[[1, 139], [3, 139], [9, 0]])
    east = [look(4, "east", "ab", "ba"), first, look(6, "east", "ba", "ba", offers=[])]
    east.append(look(7, "east", "ba", "ba", offers=[], prices={"ab": 139}))
    looks = [*west, *east]
    prices = on_record(looks, ("ab", "ba"))
    assert prices[:3, 1] == pytest.approx([3.987, np.nan, 3.987], abs=1e-3, nan_ok=True)
    assert prices[5:, 0] == pytest.approx([np.nan, 3.987], abs=1e-3, nan_ok=True)
    back = look_back_on(looks)
    assert back is not None
    assert (back.known, back.near) == (12 / 14, 2 / 14)
    assert back.guessed == pytest.approx(0)
    assert back.least == back.most == back.back
    assert returned_words(back) == "Adapting returned 35 × what it cost."


def test_a_price_is_not_taken_from_a_look_at_another_cost() -> None:
    """A filter was dear before it was known, then cheap in steps; only the second look has a price
    of the other plan."""
    schema = {"statistics": [["drop x", "prob"], ["cost x", "us/tuple"]], "cost_unit": "us/tuple"}
    costs = (0.7, *[0.07] * 3, *[0.007] * 3)
    records = [{"schema": schema, "statistics": [0.5, cost]} for cost in costs]
    prices = np.array([[1.0, np.nan], [1.0, 0.2], *([1.0, np.nan] for _ in range(5))])
    filled, _ = like_filled(prices, in_moves(records))
    assert filled[:, 1] == pytest.approx([np.nan, *[0.2] * 3, *[np.nan] * 3], nan_ok=True)


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (0.1, "Adapting returned 13 to 16 × what it cost;"),
        (1.0, f"{_UNTOLD} The best single plan would have cost between"),
        (0.87, f"{_UNTOLD} It returned 0."),
    ],
)
def test_what_samples_leave_open_is_said(off: float, words: str) -> None:
    """Every second stretch cost more than its sample said, the others less; of one in which
    conditions changed that is as if they had come late."""
    looks = []
    for each in there_and_back():
        n, cost = each.record["ran"]
        ran = [n, cost + n * off * (-1) ** each.seq]
        looks.append(replace(each, record={**each.record, "ran": ran}))
    back = look_back_on(looks)
    assert back is not None
    assert back.error == pytest.approx(1.96 * 1000 * off * 11**0.5)
    assert back.saved == (back.back.saved - back.error, back.back.saved + back.error)
    assert returned_words(back).startswith(words)


@given(st.integers(1, 9), st.floats(0, 1))
def test_a_stretch_in_which_conditions_changed_is_of_both(seed: int, share: float) -> None:
    """So that what was measured of the plan that ran is what it cost before and after."""
    prices = np.random.default_rng(seed).uniform(1, 9, (5, 2))
    statistics = np.array([[0.0, 0.5], [1.0, 0.5], [0.0, 0.5], [1.0, 0.5], [100.0, 0.5]])
    mixed = share * prices[4] + (1 - share) * prices[3]
    for chosen in (0, 1):
        measured = np.array([5.0, 5.0, 5.0, 5.0, mixed[chosen]])
        shares = stretch_shares(prices, statistics, measured, [chosen] * 5)
        assert shares == pytest.approx([1, 1, 1, 1, share], abs=1e-6)


def test_the_return_is_of_what_ran_before_conditions_changed_and_after() -> None:
    """Most of stretch 4 was still west, where "ab" is the better plan."""
    late = look(4, "east", "ab", "ab", ran=[1000, 1000 * (0.8 * 1.0 + 0.2 * 4.0)])
    looks = [late if each.seq == 4 else each for each in there_and_back()]
    back, whole = look_back_on(looks), look_back_on(there_and_back())
    assert back is not None
    assert whole is not None
    assert whole.back.running - back.back.running == pytest.approx(2400)
    assert back.back.single.cost == pytest.approx(whole.back.single.cost - 2400)
    assert back.back.sequence.cost == pytest.approx(whole.back.sequence.cost - 1000 + 1600)
    assert back.error == pytest.approx(0)


def test_prices_of_like_conditions_are_off_by_what_they_are_off_where_both_are_known() -> None:
    """In the first plan's two spells alike looks have 2 and 3, 4 and 4; the second's is one."""
    none = np.nan
    first, second = [2.0, 4.0, none, 3.0, 4.0, 8.0], [none, 1.0, 2.0, none, none, none]
    statistics = np.array([[0.0], [9.0], [0.0], [0.0], [9.0], [90.0]])
    prices = np.array([first, second]).T
    off = [3 / 2 - 1, 4 / 4 - 1, 2 / 3 - 1, 4 / 4 - 1]
    assert like_error(prices, statistics) == pytest.approx(np.sqrt(np.mean(np.square(off))))
    assert np.isnan(like_error(prices[:, 1:], statistics))


def test_prices_of_like_conditions_count_as_guessed_where_none_was_seen_to_hold() -> None:
    """Two spells in the same conditions, each with the price of its own plan only."""
    looks = [look(n, "west", "ab", "ab", offers=[]) for n in (1, 2, 3)]
    looks += [look(n, "west", "ba", "ba", offers=[]) for n in (4, 5, 6)]
    back = look_back_on(looks)
    assert back is not None
    assert (back.near, back.guessed) == (0, 0.5)
