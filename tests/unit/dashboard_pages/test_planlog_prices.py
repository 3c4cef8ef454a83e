"""What adapting returned: prices for the record alone, and what samples leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dashboard.views.planlog_hindsight import look_back_on, on_record, returned_words
from tests.unit.dashboard_pages.test_planlog_views import look, there_and_back


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


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (0.1, "Adapting returned 13 to 16 × what it cost;"),
        (1.0, "It cannot be told whether adapting paid: samples do not say it surely enough."),
    ],
)
def test_what_samples_leave_open_is_said(off: float, words: str) -> None:
    """Every second stretch cost more than its sample said, the others less."""
    looks = []
    for each in there_and_back():
        n, cost = each.record["ran"]
        ran = [n, cost + n * off * (-1) ** each.seq]
        looks.append(replace(each, record={**each.record, "ran": ran}))
    back = look_back_on(looks)
    assert back is not None
    assert back.error == pytest.approx(1.96 * 1000 * off * 12**0.5)
    assert back.saved == (back.back.saved - back.error, back.back.saved + back.error)
    assert returned_words(back).startswith(words)
