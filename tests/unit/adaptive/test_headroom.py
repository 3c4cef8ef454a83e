"""Headroom: sentences and numbers, and the way into a record and back."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from backend.adaptive.core import Cooldown
from backend.adaptive.headroom import cooling, moving, overtaking, recorded, saving, waiting_for
from storage.vocabulary.headroom import read
from storage.vocabulary.looks import LookFacts, look_decision, look_terms
from tests.golden import store_v4 as golden


def test_an_operator_overtakes_when_it_drops_so_much_more() -> None:
    found = overtaking("a3", "a6", 0.06, 0.24, " when the order is built anew")
    assert found.words == (
        "a3 overtakes a6 if its drop probability rises by 0.060 when the order is built anew"
    )
    assert (found.missing, found.unit, found.entity, found.over) == (0.06, "prob", "a3", "a6")
    assert found.near == pytest.approx(0.8)
    assert overtaking("a3", "a6", -0.01, 0.24).near == 1.0
    assert overtaking("a3", "a6", None, 0.24).near == 0.0


def test_what_waits_says_for_how_much() -> None:
    found = waiting_for(120, 2000, "profile tuples")
    assert found.words == "1 880 more profile tuples have to come first (120 of 2 000 did)"
    assert (found.missing, found.near) == (1880.0, 0.06)
    assert cooling(Cooldown(1000), 4000).missing == 3000.0


def test_costs_and_shares() -> None:
    found = saving("a → b", 2.0, 2.2, 0.05, "visits/tuple")
    assert found.missing == pytest.approx(0.3)
    assert found.near == pytest.approx(1.9 / 2.2)
    assert found.words == ("a → b costs 2.20, the plan in force 2.00: it needs to be 5.0 % cheaper")
    assert saving("a", 2.0, 2.0, 0.01, "").words.endswith(": it needs to be 1.0 % cheaper")
    assert saving("a", 2.0, 1.0, 0.0, "").missing == 0.0
    assert moving("a cost", 0.05, 0.2, "caches are selected").near == pytest.approx(0.25)


def test_it_goes_into_a_record_and_comes_back_nearest_first() -> None:
    far, near = waiting_for(1, 10, "tuples"), waiting_for(9, 10, "tuples")
    stored = json.loads(json.dumps(recorded([far, near])))
    assert read(stored) == [near, far]
    assert recorded([]) == {}
    assert read({}) == read(None) == []


@pytest.mark.parametrize("away", [0.15, -0.15])
def test_a_look_says_what_it_saw_with_its_interval(away: float) -> None:
    """Against the interval of the savings themselves."""
    saved = np.random.default_rng(3).normal(away, 0.4, 90)
    offer = [golden.RECORD["rival"], 1.75, 90, saved.mean(), saved.var() * 90, 1.0]
    record = {**golden.RECORD, "offers": [offer]}
    terms = look_terms(record, "visits/tuple", golden.FORMS)
    rows = read(look_decision(record, terms, LookFacts("asc", 3, 4, 2, 1)).detail)
    words = next(row.words for row in rows if "nearest other plan" in row.words)
    half = 1.96 * saved.std(ddof=1) / math.sqrt(90)
    seen = f"{abs(saved.mean()):.3g} ± {half:.3g}"
    end = f"seen {seen}, of it sure 0.00123" if away > 0 else f"but costs {seen} more on the sample"
    needed = (1900.0 + 380.0) / 50000
    assert words == f"the nearest other plan has to save {needed:.3g} visits/tuple surely; {end}"
