"""The ghost run: under the recorded μ it repeats the engine's decisions, under another it tells."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dashboard.base.context import Context, Moment
from dashboard.systems.asc.ghost_parts import ghost_numbers, ghost_table
from dashboard.systems.asc.ghost_view import compare, effect
from dashboard.systems.asc.recorded_trials import Plan, SampledCost, Trial, read_trials
from dashboard.systems.asc.replay import of_trials
from dashboard.systems.asc.whatif_figure import draw_ghost
from dashboard.systems.asc.whatif_view import UNKNOWN, GhostStep, redecide
from dashboard.views.numbers import FEWEST
from storage.tables.rows import DecisionEntry
from tests.unit.asc.stream import Stream, a_filters, b_filters, settings, tuples
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_pages.test_pages import as_text

KNOBS = st.fixed_dictionaries(
    {
        "mu": st.sampled_from([0.0, 0.02, 0.1, 0.5]),
        "trigger": st.sampled_from(["visits", "dropping ratio", "either"]),
        "cooldown_tuples": st.sampled_from([0, 1500]),
        "min_gain": st.sampled_from([0.0, 0.01, 0.3]),
        "ordering": st.sampled_from(["macro", "hybrid", "best", "sas"]),
        "no_drop_visit_cost": st.sampled_from([0.3, 0.6, 1.0]),
        "reject_sample_every": st.sampled_from([1, 3]),
        "stop_rule": st.sampled_from(["resolved", "drop"]),
        "min_samples": st.sampled_from([100, 260]),
    }
)


def recorded(stream: Stream) -> list[DecisionEntry]:
    """The decisions as the store gives them back."""
    rows = list(stream.decisions())
    return [
        DecisionEntry(replace(row, detail=json.loads(json.dumps(row.detail))), 100.0 + i, None)
        for i, row in enumerate(rows)
    ]


def drifting(**knobs: object) -> Stream:
    """The filtering attribute moves twice; nothing is sampled away but by the knobs."""
    stream = Stream(settings(**knobs), profile_prob=0.4)
    for part in (a_filters(4000), b_filters(4000), tuples(2000, 5), a_filters(3000, 9)):
        stream.run(part)
    return stream


def last_plan(steps: list[GhostStep]) -> Plan:
    return steps[-1].after


@given(KNOBS, st.booleans())
@hypothesis_settings(max_examples=10, deadline=None)
def test_under_the_recorded_mu_the_ghost_repeats_the_record(
    knobs: dict[str, object], turns: bool
) -> None:
    stream = drifting(**knobs)
    if turns:
        stream.turn("ordering", "macssas")
        stream.turn("mu", 0.05)
        stream.run(b_filters(3000, 8))
        stream.turn("stop_rule", "drop")
        stream.run(tuples(3000, 3))
    entries = recorded(stream)
    steps = redecide(read_trials(entries), {})
    assert [s.ghost for s in steps] == [s.real for s in steps]
    assert [s.ghost_plan for s in steps] == [s.real_plan for s in steps]
    stored = {e.decision.seq: e.decision for e in entries}
    told = {s.trial.seq: s for s in steps if s.trial.seq in stored}
    assert told.keys() == stored.keys()
    assert all(told[seq].ghost == d.verdict for seq, d in stored.items())
    made = [d.new["order"] for d in stored.values() if d.verdict == "switched" and d.new]
    assert made == [list(s.after.order) for s in steps if s.ghost == "switched"]


@pytest.mark.parametrize("ordering", ["macro", "hybrid"])
def test_another_mu_gives_about_what_a_run_with_it_gives(ordering: str) -> None:
    knobs = {"ordering": ordering, "no_drop_visit_cost": 1.0}
    steps = redecide(read_trials(recorded(drifting(mu=0.05, **knobs))), {"mu": 5.0})
    real = redecide(read_trials(recorded(drifting(mu=5.0, **knobs))), {})
    found, truth = compare(steps, 30), compare(real, 30)
    assert found.ghost.switched == truth.real.switched
    assert found.ghost.switched < found.real.switched
    assert found.vanish == found.real.switched - found.common > 0
    assert last_plan(steps).order == last_plan(real).order
    assert found.ghost.visits == pytest.approx(truth.real.visits, rel=0.05)
    assert found.saved is not None
    assert found.saved.low < found.saved.mean < 0


def test_a_smaller_mu_adds_rearrangements() -> None:
    steps = redecide(read_trials(recorded(drifting(mu=5.0, no_drop_visit_cost=1.0))), {"mu": 0.05})
    found = compare(steps, 30)
    assert found.appear > 0
    assert found.vanish == 0
    assert found.ghost.rebuilt > found.real.rebuilt
    assert found.saved is not None
    assert 0 < found.saved.mean < found.saved.high
    assert sum(s.n_tuples for s in steps) == steps[-1].trial.at


def test_too_few_samples_give_no_number() -> None:
    steps = redecide(read_trials(recorded(drifting())), {"mu": 0.3})
    assert compare(steps, 1_000_000).ghost.visits is None
    assert compare(steps[: FEWEST - 1], 30).saved is None
    assert compare([], 30).saved is None


def test_nothing_is_recorded_where_another_mu_has_no_meaning() -> None:
    for knobs in ({"what_if": False}, {"monitoring": "by period"}, {"ordering": "worst"}):
        stream = drifting(**knobs)
        assert read_trials(recorded(stream)) == []
    stream.turn("ordering", "macro")
    stream.run(b_filters(3000, 8))
    first, *others = read_trials(recorded(stream))
    assert first.fresh
    assert not any(trial.fresh for trial in others)


def test_an_unknown_plan_is_said_to_be_unknown() -> None:
    trials = read_trials(recorded(drifting(mu=0.05, no_drop_visit_cost=1.0)))
    forgot = [t._replace(plans=_known_only(t), contest=None) for t in trials]
    steps = redecide(forgot, {"mu": 5.0})
    assert any(s.ghost == UNKNOWN and s.ghost_cost is None for s in steps)
    assert compare(steps, 30).n_unknown > 0


def forgetful(from_: int) -> list[Trial]:
    """A lively record that from a trial on tells only of the plan in force."""
    trials = read_trials(recorded(drifting(mu=0.05, no_drop_visit_cost=1.0)))
    later = [t._replace(plans=_known_only(t), contest=None, candidate=None) for t in trials[from_:]]
    return trials[:from_] + later


def test_the_ghost_ends_where_it_cannot_decide_and_counts_up_to_there() -> None:
    trials = forgetful(8)
    steps = redecide(trials, {"mu": 5.0})
    end = next(i for i, step in enumerate(steps) if step.ghost == UNKNOWN)
    assert end >= 8
    assert {step.ghost for step in steps[end:]} == {UNKNOWN}
    assert any(step.real == "switched" for step in steps[end:])
    assert {effect(step) for step in steps[end:]} == {None}
    found, known = compare(steps, 30), compare(steps[:end], 30)
    assert found == known._replace(n_unknown=len(steps) - end, until=steps[end - 1].trial.time)
    assert found.real.switched == sum(step.real == "switched" for step in steps[:end])
    said = as_text(ghost_numbers(found, "μ = 5", steps))
    assert f"{found.common} of {found.real.switched} stay until 00:0" in said
    assert f"{len(steps) - end} later evaluations are not decidable" in said
    assert of_trials(trials, {"mu": 5.0}).switches == (
        found.real.switched,
        found.ghost.switched,
    )
    assert [len(trace.x) for trace in checked(draw_ghost(steps, "")).data[2:]] == [
        found.common,
        found.vanish,
        found.appear,
    ]


def test_the_list_says_where_nothing_can_be_decided() -> None:
    steps = redecide(forgetful(8), {"mu": 5.0})
    listed = as_text(ghost_table(steps, Context(Moment("r"), None, None, None)))
    assert listed.count("would vanish") == compare(steps, 30).vanish
    assert listed.count("not decidable") == compare(steps, 30).n_unknown


@pytest.mark.parametrize("knob", ["mu", "cooldown_tuples", "min_gain"])
def test_what_was_switched_at_the_value_itself_never_vanishes(knob: str) -> None:
    lively, calm = {"mu": (0.05, 5.0), "cooldown_tuples": (0, 10**6), "min_gain": (0.0, 0.9)}[knob]
    stream = drifting(**{"mu": 0.05, knob: lively, "no_drop_visit_cost": 1.0})
    stream.turn(knob, calm)
    stream.run(b_filters(4000, 8))
    stream.turn(knob, lively)
    for seed in (3, 5):
        stream.run(a_filters(3000, seed))
        stream.run(b_filters(3000, seed + 1))
    steps = redecide(read_trials(recorded(stream)), {knob: lively})
    assert sum(step.real == "switched" for step in steps) > 3
    assert compare(steps, 30).vanish == 0


def test_the_branch_of_the_value_in_force_is_the_record() -> None:
    """Begun anywhere, also where the record waits for samples."""
    trials = read_trials(recorded(drifting(mu=0.05, min_samples=260, no_drop_visit_cost=1.0)))
    for begin in range(len(trials)):
        found = compare(redecide(trials[begin:], {"mu": 0.05}), 30)
        assert (found.is_same, found.n_unknown) == (True, 0)


def _known_only(trial: Trial) -> dict[Plan, SampledCost]:
    return {plan: cost for plan, cost in trial.plans.items() if plan == trial.running}


def test_what_a_trial_costs_is_bounded() -> None:
    """λ of one batch: no more orders are built than the tuples earned."""
    stream = Stream(settings(lambda_tuples=100, min_samples=30), profile_prob=0.4)
    stream.run(tuples(4000, 5), batch_tuples=100)
    trials = read_trials(recorded(stream))
    n_costed = sum(len(t.plans) for t in trials)
    assert len(trials) > 30
    assert n_costed < 3 * len(trials)
