"""What a turn did, told from paired samples: against the rule decided again, and against truth."""

from __future__ import annotations

import pytest

from dashboard.systems.asc.ghost_view import compare
from dashboard.systems.asc.recorded_trials import REPLAYED, read_trials
from dashboard.systems.asc.replay import of_trials
from dashboard.systems.asc.whatif_view import redecide
from dashboard.views.effects import before_and_after
from tests.unit.dashboard_pages.test_whatif_view import drifting, recorded

OTHER = {
    "mu": 5.0,
    "trigger": "dropping ratio",
    "cooldown_tuples": 10**6,
    "min_gain": 0.9,
}


@pytest.mark.parametrize("name", OTHER)
def test_each_replayed_knob_changes_the_decisions_as_the_engine_would(name: str) -> None:
    given = {name: OTHER[name]}
    ghost = redecide(read_trials(recorded(drifting(no_drop_visit_cost=1.0))), given)
    real = redecide(read_trials(recorded(drifting(no_drop_visit_cost=1.0, **given))), {})
    assert name in REPLAYED
    assert [step.ghost == "switched" for step in ghost] == [s.real == "switched" for s in real]


def test_a_preview_and_the_judgement_of_the_same_turn_agree() -> None:
    calm = read_trials(recorded(drifting(mu=5.0, no_drop_visit_cost=1.0)))
    would = of_trials(calm, {"mu": 0.05}).preview(30)
    lively = read_trials(recorded(drifting(mu=0.05, no_drop_visit_cost=1.0)))
    did = of_trials(lively, {"mu": 5.0}).judged(30)
    assert would.share is not None
    assert did.share is not None
    assert would.switches == did.switches
    assert would.share.mean < 0
    assert did.share.mean < 0
    assert did.tone == would.tone == "quiet", "with so few evaluations 0 is in the interval"
    assert did.words.startswith("visits −")
    assert "switches 0 → " in did.words


def test_the_share_is_what_was_saved_over_what_was_paid() -> None:
    trials = read_trials(recorded(drifting(mu=5.0, no_drop_visit_cost=1.0)))
    found = compare(redecide(trials, {"mu": 0.05}), 30)
    share = of_trials(trials, {"mu": 0.05}).preview(30).share
    assert found.real.visits is not None
    assert found.ghost.visits is not None
    assert share is not None
    assert share.mean == pytest.approx(found.ghost.visits / found.real.visits - 1)
    assert share.low < share.mean < share.high


def test_few_samples_give_no_number() -> None:
    trials = read_trials(recorded(drifting()))
    assert "not enough samples" in of_trials(trials[:1], {"mu": 0.3}).preview(30).words
    assert before_and_after([1.0] * 4, [1.0] * 9).share is None


def test_before_and_after_says_that_it_is_no_proof() -> None:
    found = before_and_after([4.0, 4.1, 3.9, 4.0, 4.0], [3.0, 3.1, 2.9, 3.0, 3.0])
    assert found.share is not None
    assert found.share.mean == pytest.approx(-0.25)
    assert found.words.endswith("before and after (not paired)")
    assert found.tone == "quiet"
