"""Selections under the autopilot: it follows what pays, asks each tuple once, and goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest

from backend.model.events import AdoptPlan
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.regret import Saved
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from backend.systems.asc.steering import SelectionPlans, plan_form, shape_of_form
from storage.vocabulary.records import Decision, Event
from tests.unit.asc.stream import (
    QUERIES,
    SCHEMA,
    Columns,
    Stream,
    a_filters,
    b_filters,
    settings,
)


def piloted(**knobs: object) -> Stream:
    return Stream(settings(policy="autopilot", **knobs), profile_prob=0.5)


def looks_of(stream: Stream, *runs: Columns) -> list[Decision]:
    found = [each for tuples in runs for each in stream.run(tuples)]
    return [each for each in found if isinstance(each, Decision) and each.kind == "look"]


def test_a_lasting_change_is_followed_once() -> None:
    stream = piloted()
    looks = looks_of(stream, b_filters(5_000), a_filters(60_000))
    switches = [look for look in looks if look.verdict == "switched"]
    assert 1 <= len(switches) <= 3
    assert stream.core.plan.order[0] == "a"
    assert all(look.lhs is not None and look.rhs is not None for look in switches)


@pytest.mark.parametrize("seed", range(5))
def test_a_sure_change_is_answered_by_what_was_sampled_since(seed: int) -> None:
    """Regular execution counts that tuples reach other constructs; nothing of before judges."""
    stream = piloted()
    looks_of(stream, b_filters(10_000, seed))
    assert stream.core.plan.order[0] == "b"
    (first, *_) = looks_of(stream, a_filters(1_000, seed))
    assert first.detail["plan_log"]["settling"] > 0
    assert first.detail["plan_log"]["t"] <= 10_750
    assert stream.core.plan.order[0] == "a"


def test_the_first_look_takes_a_few_tuples() -> None:
    stream = piloted(min_samples=1_000)
    first, *_ = looks_of(stream, b_filters(500))
    assert first.detail["plan_log"]["n_sample"] < 200
    assert stream.core.plan.order[0] == "b"


def test_thresholds_take_over_with_a_measured_baseline() -> None:
    stream = piloted()
    looks_of(stream, b_filters(5_000))
    stream.turn("policy", "thresholds")
    found = stream.run(b_filters(1_000))
    kinds = [each.kind for each in found if isinstance(each, Decision)]
    assert kinds[0] == "policy changed"
    assert "look" not in kinds


def test_a_run_that_goes_on_knows_what_was_looked_at() -> None:
    stream = piloted()
    looks = looks_of(stream, b_filters(5_000), a_filters(20_000))
    records = json.loads(json.dumps([look.detail["plan_log"] for look in looks]))
    plan = PlanShape.of(stream.core.plan)
    again = SelectionReOptimizer(QUERIES, SCHEMA, stream.knobs)
    version = stream.core.plan.version
    again.resume(plan, version, 10, 90, Saved(plan, 0.0, 0.0), records)
    assert again.pilot.pilot.state() == stream.core.pilot.pilot.state()
    poisoned = [{**records[0], "t": "soon"}]
    said = SelectionReOptimizer(QUERIES, SCHEMA, stream.knobs).resume(
        plan, version, 10, 90, Saved(plan, 0.0, 0.0), poisoned
    )
    assert not [each for each in said if isinstance(each, AdoptPlan)]
    assert "the plan log begins anew" in [e.title for e in said if isinstance(e, Event)]


def test_plans_keep_their_micro_arrows_in_the_log() -> None:
    stream = Stream(settings(ordering="hybrid", min_support=1), profile_prob=0.5)
    stream.run(b_filters(5_000))
    shape = PlanShape.of(stream.core.plan)
    assert shape_of_form(json.loads(json.dumps(plan_form(shape)))) == shape


@pytest.mark.parametrize("seed", range(20))
def test_no_order_costs_a_tuple_more_than_is_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stream = Stream(settings(), profile_prob=0.5)
    stream.run(b_filters(2_000))
    core, knobs = stream.core, AscKnobs.of(settings())
    constructs = core.constructs
    model = knobs.cost_model(None, constructs.n_words)
    old, new = (
        PlanShape("early drop", tuple(rng.permutation(constructs.attributes).tolist()))
        for _ in range(2)
    )
    plans = SelectionPlans(constructs, old, model, knobs)
    sample = core.profile_regions
    more = plans.prices(plan_form(new), sample) - plans.prices(plan_form(old), sample)
    worst = plans.worst(plan_form(old), plan_form(new))
    assert worst is not None
    assert worst >= more.max()
    assert plans.worst(plan_form(old), plan_form(PlanShape("no early drop", new.order))) is None


def test_a_pilot_that_takes_over_again_begins_with_what_comes_then() -> None:
    stream = piloted(min_samples=100)
    looks_of(stream, b_filters(5_000))
    stream.turn("policy", "thresholds")
    stream.run(a_filters(20_000))
    order = stream.core.plan.order
    stream.turn("policy", "autopilot")
    first, *_ = looks_of(stream, a_filters(2_000))
    record = first.detail["plan_log"]
    assert record["t"] > 25_000
    assert record["replaced"]
    assert record["n_sample"] < 400
    assert stream.core.plan.order == order


@pytest.mark.parametrize("n_batches", range(0, 40, 3))
def test_a_killed_run_decides_as_one_that_forgot_what_it_sampled(n_batches: int) -> None:
    killed, forgetful = (piloted(min_samples=200) for _ in range(2))
    for stream in (killed, forgetful):
        looks_of(stream, b_filters(2_500))
        looks_of(stream, a_filters(250 * n_batches))
    core = killed.core
    looks = [each.detail["plan_log"] for each in killed.decisions() if each.kind == "look"]
    plan = PlanShape.of(core.plan)
    killed.core = SelectionReOptimizer(QUERIES, SCHEMA, killed.knobs)
    saved, t = Saved(plan, 0.0, 0.0), core.pilot.t
    records = json.loads(json.dumps(looks))
    killed.core.resume(plan, core.plan.version, 99, killed.batch, saved, records, t)
    forgetful.core.pilot.forget()
    later = [
        [look.detail["plan_log"] for look in looks_of(stream, a_filters(10_000, 7))]
        for stream in (killed, forgetful)
    ]
    assert later[0]
    assert later[0] == later[1]
    assert killed.core.plan == forgetful.core.plan


@pytest.mark.parametrize(
    ("knob", "value"), [("visit_costs", "measured"), ("no_drop_visit_cost", 0.5)]
)
def test_prices_under_another_model_begin_another_log(knob: str, value: object) -> None:
    stream = piloted()
    before = looks_of(stream, b_filters(5_000))[-1].detail["plan_log"]
    stream.turn(knob, value)
    after = looks_of(stream, b_filters(5_000))[0].detail["plan_log"]
    assert (after["number"], after["began"]) == (1, 5_000)
    assert after["began"] > before["began"]
    stream.turn("mu", 0.3)
    assert stream.core.pilot.pilot.log.n_evaluations > 0
