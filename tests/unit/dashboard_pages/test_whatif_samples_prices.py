"""Other ``min_samples`` and another price of branch-free visits, beside the engine with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backend.systems.asc.cost import PlanChoice, PlanShape
from backend.systems.asc.rearrange import Rearrangement, rearrange
from backend.systems.asc.watch import EvaluationMoment
from dashboard.systems.asc.recorded_trials import Trial, read_trials, told
from dashboard.systems.asc.replay import AT_MEASURED, of_trials
from dashboard.systems.asc.whatif_view import IDLE, PRICED, UNKNOWN, redecide
from tests.unit.asc.stream import Stream, a_filters, b_filters, settings, tuples
from tests.unit.dashboard_pages.test_whatif_view import drifting, recorded

PRICES = (0.0, 0.2, 0.45, 0.7, 1.0)
SAMPLES = (30, 100, 350, 450, 900, 1500, 5000)


def turned(knob: str, value: object, **knobs: object) -> list[Trial]:
    """The trials of a run in which a knob is turned after 4000 tuples (batch 16), or not at all."""
    stream = Stream(settings(**knobs), profile_prob=0.4)
    stream.run(a_filters(4000))
    if value is not None:
        stream.turn(knob, value)
    for part in (b_filters(4000), tuples(2000, 5), a_filters(3000, 9)):
        stream.run(part)
    return [one for one in read_trials(recorded(stream)) if one.batch >= 16]


@given(
    st.sampled_from(SAMPLES[:4]),
    st.sampled_from(SAMPLES),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.sampled_from([300, 2000]),
)
@example(30, 5000, 1.0, 2000)
@example(350, 30, 0.3, 2000)
@hypothesis_settings(max_examples=8, deadline=None)
def test_other_min_samples_decide_as_the_engine_does_once_turned(
    before: int, after: int, price: float, tau: int
) -> None:
    knobs = {"min_samples": before, "no_drop_visit_cost": price, "tau_tuples": tau, "mu": 0.05}
    record = turned("min_samples", None, **knobs)
    truth = turned("min_samples", after, **knobs)
    steps = redecide(record, {"min_samples": after})
    assert steps
    for step, was, real in zip(steps, record, truth, strict=False):
        same = step.trial.n_sample == was.n_sample
        if step.ghost_plan != step.real_plan or step.ghost == "unknown" or real.at != was.at:
            break
        assert step.trial.n_sample == real.n_sample
        assert step.trial.min_samples == real.min_samples
        assert step.ghost_plan == real.running
        if not same and step.ghost in ("switched", "kept"):
            break
        assert step.ghost == real.verdict
        if step.ghost == "switched" and step.real != "switched":
            break


def test_more_samples_than_ever_come_stop_every_rearrangement() -> None:
    knobs = {"no_drop_visit_cost": 1.0, "mu": 0.05, "tau_tuples": 5000}
    record = turned("min_samples", None, **knobs)
    truth = turned("min_samples", 5000, **knobs)
    steps = redecide(record, {"min_samples": 5000})
    assert any(one.verdict == "switched" for one in record)
    assert {one.verdict for one in truth[:4]} <= {"thin", "below_threshold"}
    assert not any(step.ghost == "switched" for step in steps if step.trial.is_thin)
    assert any(step.ghost == "thin" != step.real for step in steps)


def test_a_first_order_waits_for_the_samples_asked_for() -> None:
    record = read_trials(recorded(drifting(min_samples=100, no_drop_visit_cost=1.0)))
    assert record[0].kind == "initial order"
    first, *rest = redecide(record, {"min_samples": 1500})
    assert (first.real, first.ghost) == ("kept", "thin")
    held = [step for step in rest if step.trial.is_thin]
    asked = rest[len(held)]
    assert asked.ghost in ("switched", "kept")
    assert asked.trial.held is not None
    assert asked.trial.held.n_window >= 1500 > held[-1].trial.n_sample
    assert all(step.ghost == "thin" for step in held)


def test_a_first_order_comes_as_soon_as_fewer_samples_suffice() -> None:
    record = read_trials(recorded(drifting(min_samples=1500, no_drop_visit_cost=1.0)))
    early = [one for one in record if one.init is None and one.kind == "rearrangement"]
    assert early
    assert all(one.candidate is not None for one in early), "what few samples give is recorded"
    steps = redecide(record, {"min_samples": 100})
    assert (steps[0].real, steps[0].ghost) == ("thin", "kept")
    assert steps[1].ghost == UNKNOWN, "before the first order the record does not tell visits"
    initial = next(trial for trial in record if trial.kind == "initial order")
    step = redecide([record[0], initial], {"min_samples": 100})[1]
    assert (step.real, step.ghost) == ("kept", IDLE)


class Rebuilds:
    """What the core's contests were held on, while it runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[EvaluationMoment] = []

        def kept(moment: EvaluationMoment, periods: Sequence[Any]) -> Rearrangement:
            self.found.append(replace(moment))
            return rearrange(moment, periods)

        monkeypatch.setattr("backend.systems.asc.reoptimizer.rearrange", kept)

    def again(self, seq: int, price: float) -> PlanChoice:
        """The contest of an evaluation held again by the core, at another price."""
        moment = next(one for one in self.found if one.seq == seq)
        knobs = replace(moment.knobs, no_drop_visit_cost=price)
        model = knobs.cost_model(moment.weights, moment.constructs.n_words)
        return rearrange(replace(moment, knobs=knobs, model=model), []).choice


@pytest.mark.parametrize("before", PRICES)
@pytest.mark.parametrize("ordering", ["macro", "hybrid", "best"])
@pytest.mark.parametrize("weighed", [False, True])
def test_every_contest_on_record_is_decided_at_another_price_as_the_core_does(
    before: float, ordering: str, weighed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilds = Rebuilds(monkeypatch)
    costs = "measured" if weighed else "equal"
    knobs = settings(
        no_drop_visit_cost=before, ordering=ordering, mu=0.02, min_gain=0.05, visit_costs=costs
    )
    stream = Stream(knobs, profile_prob=0.4)
    stream.visit_costs = {"a": 30.0, "b": 2.0, "c": 4.0, "d": 4.0} if weighed else {}
    for part in (a_filters(4000), b_filters(4000), tuples(2000, 5), a_filters(3000, 9)):
        stream.run(part)
    built = [one for one in read_trials(recorded(stream)) if one.contest is not None]
    assert built
    for trial in built:
        for price in PRICES:
            choice = rebuilds.again(trial.seq, price)
            (step,) = redecide([trial], {"no_drop_visit_cost": price})
            assert step.ghost == ("switched" if choice.switches else "kept")
            best: PlanShape = choice.best.shape
            assert (step.after.kind, step.after.order) == (best.kind, best.order)


def test_the_prices_of_the_test_differ_in_the_plans_they_choose() -> None:
    record = read_trials(recorded(drifting(no_drop_visit_cost=1.0)))
    kinds = {redecide(record, {"no_drop_visit_cost": price})[-1].after.kind for price in (0.1, 1.0)}
    assert kinds == {"no early drop", "early drop"}


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.1), (0.1, 1.0)])
def test_another_price_gives_the_plans_of_a_run_that_had_it(before: float, after: float) -> None:
    steps = redecide(
        read_trials(recorded(drifting(no_drop_visit_cost=before))), {"no_drop_visit_cost": after}
    )
    real = redecide(read_trials(recorded(drifting(no_drop_visit_cost=after))), {})
    assert {step.after.kind for step in steps} == {step.after.kind for step in real}
    assert steps[0].after == real[0].after


def test_a_turn_of_the_price_is_judged_without_its_own_evaluation() -> None:
    trials = turned("no_drop_visit_cost", 0.1, no_drop_visit_cost=1.0)
    assert trials[0].kind == PRICED
    assert trials[0].verdict == "switched"
    steps = redecide(trials, {"no_drop_visit_cost": 1.0})
    assert steps[0].ghost == IDLE
    assert steps[0].after == trials[0].running
    assert {step.after.kind for step in steps} == {"early drop"}


def test_both_runs_are_costed_at_the_measured_price() -> None:
    """So that a turn is not good or bad by what it says a visit costs."""
    trials = read_trials(recorded(drifting(no_drop_visit_cost=1.0)))
    would = of_trials(trials, {"no_drop_visit_cost": 0.1})
    assert would.quantity == AT_MEASURED
    ghost = [one for one in would.both if one.ghost != one.real]
    assert ghost
    assert {round(one.ghost, 6) for one in ghost} == {0.12 * 4}, "four visits of one word"


def test_other_samples_are_counted_and_said() -> None:
    trials = read_trials(recorded(drifting(no_drop_visit_cost=1.0)))
    same, other = (of_trials(trials, {"min_samples": n}) for n in (100, 450))
    assert same.against == ""
    assert "times on other samples than it would read" in other.against


def test_records_of_before_tell_nothing_of_both_knobs() -> None:
    trials = read_trials(recorded(drifting()))
    old = [one._replace(held=None, prices=None) for one in trials[:5]]
    for name in ("min_samples", "no_drop_visit_cost"):
        assert told(old, name) == []
        assert told([*old, *trials[5:]], name) == trials[5:]
    assert told(old, "mu") == old
