"""The autopilot of a unit: what judges a plan is in no search before, and looks can be repeated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.adaptive.planlog.confidence import order_worst
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic, PlanLogRefused
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from storage.vocabulary.looks import LookFacts

SCHEMA = LogSchema(
    (NamedStatistic("cost a", "visits"), NamedStatistic("cost b", "visits")), "visits/tuple"
)
Rows = NDArray[np.float64]


@dataclass
class TwoPlans:
    """Plans a and b; a row is its number and what it costs under each."""

    schema: LogSchema = SCHEMA
    searched: set[float] = field(default_factory=set)
    judged: list[float] = field(default_factory=list)

    def statistics(self, sample: Rows) -> Sequence[float]:
        means: list[float] = sample[:, 1:].mean(axis=0).tolist()
        return means

    def search(self, sample: Rows) -> Sequence[LogJson]:
        self.searched |= set(sample[:, 0].tolist())
        return ["a"] if sample[:, 1].sum() < sample[:, 2].sum() else ["b"]

    def prices(self, plan: LogJson, sample: Rows) -> Rows:
        self.judged += sample[:, 0].tolist()
        return sample[:, 1 if plan == "a" else 2]

    def worst(self, old: LogJson, new: LogJson) -> float | None:
        return None


@dataclass
class Moved(TwoPlans):
    """Plans that are not put in force at one price."""

    price: float = 0.0

    def switching(self, old: LogJson, new: LogJson) -> float:
        return self.price if new == "b" else 2 * self.price


def rows(rng: np.random.Generator, start: int, n: int, a: float, b: float) -> Rows:
    numbers = np.arange(start, start + n, dtype=np.float64)
    return np.column_stack([numbers, rng.normal(a, 0.3, n) ** 2, rng.normal(b, 0.3, n) ** 2])


def run(
    seed: int,
    n_batches: int,
    switch_at: int,
    taught: Steering | None = None,
    dear: float = 2.0,
    settle_at: int | None = None,
    price: float | None = None,
) -> tuple[Steering, list[SteeredLook]]:
    """Batches of 200 sampled tuples, in which a is the cheaper plan at first, then b; before one of
    them it is said that conditions are others. price: of switching, of their own."""
    rng, steering = np.random.default_rng(seed), taught or Steering(SCHEMA)
    plans = TwoPlans() if price is None else Moved(price=price)
    plan, looks = "a", list[SteeredLook]()
    for batch in range(n_batches):
        a, b = (1.0, dear) if batch < switch_at else (dear, 1.0)
        if batch == settle_at:
            steering.settle(500)
        sample = rows(rng, batch * 200, 200, a, b)
        steering.sampled(2_000, sample)
        steering.ran(2_000, float(plans.prices(plan, sample).sum() * 10))
        look = steering.look(plans, plan, 200, 1.0)
        if look is not None:
            looks.append(look)
            plan = look.plan
    return steering, looks


def test_the_better_plan_is_taken_once_and_the_record_says_why() -> None:
    _, looks = run(1, 60, 30)
    switches = [look for look in looks if look.verdict.is_switch]
    assert [look.plan for look in switches] == ["b"]
    assert looks[-1].plan == "b"
    facts = LookFacts("toy", 1, 2, 3, 0, lambda version, plan: {"order": [plan]}, str)
    decision = switches[0].decision(facts)
    assert decision.verdict == "switched"
    assert decision.lhs is not None
    assert decision.rhs is not None
    assert decision.lhs > decision.rhs
    assert decision.plan_version == 4
    kept = [look for look in looks if not look.verdict.is_switch]
    decisions = [look.decision(facts) for look in kept]
    assert {each.verdict for each in decisions} <= {"kept", "below_threshold"}
    assert all(each.explanation.startswith("plan kept") for each in decisions)


@given(
    st.integers(0, 2**32),
    st.integers(2, 40),
    st.integers(0, 30),
    st.integers(1, 9),
    st.integers(0, 40),
    st.none() | st.sampled_from([0.0, 123.456789, 60_000.0]),
)
def test_looks_taken_again_from_their_records_leave_the_same_state(
    seed: int,
    n_batches: int,
    switch_at: int,
    keep_every: int,
    settle_at: int,
    price: float | None,
) -> None:
    """Also from the newest ones alone, of which one kept the state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backend.adaptive.planlog.steering.KEEP_EVERY", keep_every)
        steering, looks = run(seed, n_batches, switch_at, settle_at=settle_at, price=price)
        records = json.loads(json.dumps([look.record for look in looks]))
        for newest in (records, records[-keep_every:]):
            again = Steering(SCHEMA)
            again.take_again(newest)
            assert again.pilot.state() == steering.pilot.state()
            assert again.t == looks[-1].look.t


def test_a_plan_is_switched_to_at_its_own_price() -> None:
    """Dear ones never, and a look says the price of the rival that it names."""
    for price, n_switches in ((500.0, 1), (1e9, 0)):
        _, looks = run(1, 60, 30, price=price)
        rivals = [look for look in looks if look.rival == "b"]
        assert {look.verdict.switching for look in rivals} == {price}
        assert all(look.record["switching"] == look.verdict.switching for look in looks)
        assert sum(look.verdict.is_switch for look in looks) == n_switches


def test_tuples_that_judge_a_plan_are_in_no_search_before() -> None:
    class Watching(TwoPlans):
        def prices(self, plan: LogJson, sample: Rows) -> Rows:
            if plan not in known:
                assert not self.searched & set(sample[:, 0].tolist())
            return super().prices(plan, sample)

    rng, steering, plans = np.random.default_rng(3), Steering(SCHEMA), Watching()
    known = {"a"}
    for batch in range(12):
        known = {"a"} if batch == 0 else {"a", "b"}
        steering.sampled(2_000, rows(rng, batch * 400, 400, 2.0, 1.0))
        steering.look(plans, "a", 400, 1.0)
    assert plans.searched


def test_while_conditions_settle_every_sample_since_is_searched_and_judges() -> None:
    rng, steering, plans = np.random.default_rng(3), Steering(SCHEMA), TwoPlans()
    steering.sampled(2_000, rows(rng, 0, 200, 1.0, 2.0))
    steering.look(plans, "a", 200, 1.0)
    steering.settle(500)
    plans.searched.clear()
    looks = []
    for batch in range(1, 5):
        steering.sampled(2_000, rows(rng, batch * 200, 200, 2.0, 1.0))
        plans.judged.clear()
        looks.append(steering.look(plans, "a", 200, 1.0))
        if batch <= 3:
            since = set(np.arange(200, 200 * (batch + 1), dtype=np.float64))
            assert plans.searched == set(plans.judged) == since
    settling = [look.record.get("settling") for look in looks if look is not None]
    assert settling[:3] == [500, 300, 100]
    assert not any(settling[3:])


def test_a_plan_that_another_put_in_force_is_measured_anew() -> None:
    steering, looks = run(5, 40, 20)
    assert looks[-1].plan == "b"
    steering.ran(2_000, 1e9)
    steering.sampled(2_000, rows(np.random.default_rng(5), 0, 200, 2.0, 1.0))
    look = steering.look(TwoPlans(), "a", 200, 1.0)
    assert look is not None
    assert look.record["replaced"]
    assert look.ran == (0, 0.0)


NAN = float("nan")
POISON: tuple[dict[str, Any], ...] = (
    *({"t": -1}, {"t": "soon"}, {"cost": NAN}, {"cost": -1.0}, {"state": {}}, {"began": "then"}),
    *({"offers": [["x"]]}, {"offers": [[]]}, {"plans": {"0": "c"}}, {"plan": "no"}),
    *({"switching": NAN}, {"deciding": -1.0}, {"deciding": 10**400}, {"caution": 1000}),
    *(
        {"settling": -1},
        {"settling": NAN},
        {"statistics": [1.0, NAN]},
        {"ran": [1, NAN]},
        {"ran": [1.5, 1.0]},
        {"n_sample": -1},
    ),
    *(
        {"offers": [["b", 1.0, *sample]]}
        for sample in ([9, NAN, 1, 0], [9, 0, -1, 0], [-9, 0, 1, 0], [9, 0, 1, 0, NAN])
    ),
    *({"offers": [["b", 1.0, *sample]]} for sample in ([9, 0, 1, NAN], [9, 0, 1], [2.5, 0, 1, 0])),
)
#: Where a state is poisoned, and with what.
POISONED_STATES: tuple[tuple[tuple[str | int, ...], Any], ...] = (
    *((("gain", place), NAN) for place in range(4)),
    *(((*place,), NAN) for place in (("last", 0), ("last", 1, 0), ("last", 2))),
    *(((*place,), -1) for place in (("dwell", "now", 2), ("dwell", "now", 3))),
    (("dwell", "dwells"), [[1, [[NAN, 1]]]]),
    *((("rivals", 0, 1, 0, place), NAN) for place in range(6)),
    (("log", "moves", "last", 0), NAN),
)


@pytest.mark.parametrize("poison", POISON)
def test_poisoned_records_are_refused_with_a_sentence(poison: dict[str, Any]) -> None:
    _, looks = run(7, 10, 5)
    records = [{**looks[0].record, **poison}]
    with pytest.raises(PlanLogRefused):
        Steering(SCHEMA).take_again(records)
    steering = Steering(SCHEMA)
    assert [event.title for event in steering.resume(records)] == ["the plan log begins anew"]
    steering.sampled(2_000, rows(np.random.default_rng(1), 0, 200, 1.0, 2.0))
    look = steering.look(TwoPlans(), "a", 200, 1.0)
    assert look is not None
    assert look.record["number"] == 1


@pytest.mark.parametrize(("place", "poison"), POISONED_STATES)
def test_a_poisoned_state_is_refused_with_a_sentence(
    place: tuple[str | int, ...], poison: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backend.adaptive.planlog.steering.KEEP_EVERY", 1)
        _, looks = run(7, 60, 30)
    record = json.loads(json.dumps(looks[-1].record))
    record["state"]["rivals"] = [[looks[0].look.plan, [[1, 2_000, 9, 0.1, 0.2, 1.0]]]]
    assert Steering(SCHEMA).resume([record]) == []
    part = record["state"]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = poison
    steering = Steering(SCHEMA)
    assert [event.title for event in steering.resume([record])] == ["the plan log begins anew"]
    assert steering.pilot.log.n_evaluations == 0
    assert steering.t == record["t"]


def test_a_log_whose_first_looks_were_removed_begins_anew_and_says_so() -> None:
    _, looks = run(7, 60, 30)
    records = [look.record for look in looks]
    for gone in (1, len(records) - 1):
        steering = Steering(SCHEMA)
        (event,) = steering.resume(records[gone:])
        assert (event.title, event.detail) == (
            "the plan log begins anew",
            "look 1 of the log is not on record",
        )
        assert (steering.pilot.log.n_evaluations, steering.t) == (0, records[-1]["t"])


#: What the dearer plan costs: little more than the other, so that a look alone is not sure.
DEAR = 1.08


def spelt_out(looks: Sequence[SteeredLook]) -> list[dict[str, Any]]:
    """Their records, as a store gives them."""
    return [{**look.record, "schema": SCHEMA.form()} for look in looks]


def test_a_run_that_learnt_needs_fewer_looks() -> None:
    """Of the same drift, over many seeds: looks until b is taken, and tuples that ran under a."""
    alone, learnt, later, sooner = 0, 0, 0, 0
    for seed in range(12):
        _, first = run(seed, 120, 60, dear=DEAR)
        taught = Steering(SCHEMA)
        (event,) = taught.learn(spelt_out(first))
        assert event.detail.startswith(f"{len(first)} looks, ")
        runs = [run(100 + seed, 60, 0, by, DEAR)[1] for by in (None, taught)]
        n = [next(i for i, look in enumerate(looks) if look.plan == "b") for looks in runs]
        t = [looks[i].look.t for looks, i in zip(runs, n, strict=True)]
        alone, learnt = alone + n[0] + 1, learnt + n[1] + 1
        later, sooner = later + t[0], sooner + t[1]
        (kept,) = (look.record for look in runs[1] if "state" in look.record)
        assert kept["number"] == len(first) + 1
        again = Steering(SCHEMA)
        assert again.resume([look.record for look in runs[1]]) == []
        assert again.pilot.state() == taught.pilot.state()
    assert learnt < alone
    assert sooner < later


def test_a_log_of_another_schema_is_not_learnt_from() -> None:
    _, looks = run(7, 10, 5)
    records = spelt_out(looks)
    with pytest.raises(PlanLogRefused, match=r"the log's cost_unit is .* this run's is 'us/tuple'"):
        Steering(replace(SCHEMA, cost_unit="us/tuple")).learn(records)
    with pytest.raises(PlanLogRefused):
        Steering(SCHEMA).learn([{**records[0], "cost": NAN}])
    assert Steering(SCHEMA).learn([]) == []


def test_a_log_that_was_refused_is_not_asked_again() -> None:
    """The log that began instead of it is another, also for a run that goes on once more."""
    _, looks = run(7, 10, 5)
    poisoned = [{**looks[0].record, "cost": NAN}]
    steering, plans, rng = Steering(SCHEMA), TwoPlans(), np.random.default_rng(1)
    assert steering.resume(poisoned)
    later: list[dict[str, Any]] = []
    while len(later) < 5:
        steering.sampled(20_000, rows(rng, 0, 200, 1.0, 2.0))
        look = steering.look(plans, "a", 200, 1.0)
        later += [look.record] if look is not None else []
    assert later[0]["began"] not in (poisoned[0]["began"], None)
    again = Steering(SCHEMA)
    assert again.resume([*poisoned, *later]) == []
    assert again.pilot.state() == steering.pilot.state()


def test_looks_that_leave_nothing_out_are_taken_again() -> None:
    """As those of earlier stores."""
    steering, looks = run(7, 30, 15)
    full = {"plans": {}, "replaced": False, "is_transient": False, "settling": 0}
    again = Steering(SCHEMA)
    again.take_again([{**full, **look.record, "schema": SCHEMA.form()} for look in looks])
    assert again.pilot.state() == steering.pilot.state()


def test_records_of_another_schema_are_passed_over() -> None:
    """The new log begins where the run is, whether or not somebody counted."""
    _, looks = run(7, 10, 5)
    records = [look.record for look in looks]
    for known, t in ((0, records[-1]["t"]), (10**6, 10**6)):
        steering = Steering(replace(SCHEMA, cost_unit="us/tuple"))
        assert steering.resume(records, known) == []
        assert (steering.pilot.log.n_evaluations, steering.t) == (0, t)
        steering.sampled(2_000, rows(np.random.default_rng(1), 0, 200, 1.0, 2.0))
        look = steering.look(TwoPlans(steering.schema), "a", 200, 1.0)
        assert look is not None
        assert (look.record["began"], look.record["t"]) == (t, t + 2_000)


@given(st.integers(0, 2**32), st.integers(2, 30), st.integers(0, 20), st.booleans())
def test_a_run_that_was_killed_decides_as_one_that_forgot(
    seed: int, n_batches: int, switch_at: int, is_settling: bool
) -> None:
    settle_at = n_batches - 1 if is_settling else None
    steering, looks = run(seed, n_batches, switch_at, settle_at=settle_at)
    again, t = Steering(SCHEMA), steering.t
    assert again.resume([look.record for look in looks], t) == []
    steering.forget()
    plan = looks[-1].plan
    for batch in range(10):
        sample = rows(np.random.default_rng(seed + batch), batch * 100, 100, 2.0, 1.0)
        records = []
        for each in (steering, again):
            each.sampled(1_000, sample)
            each.ran(1_000, 1_500.0)
            look = each.look(TwoPlans(), plan, 150, 1.0)
            records.append(None if look is None else look.record)
        assert records[0] == records[1]


@given(
    st.permutations(range(4)),
    st.permutations(range(4)),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
)
def test_no_tuple_costs_more_under_another_order_than_is_said(
    old: list[int], new: list[int], costs: list[int]
) -> None:
    """A tuple is done once every operator of one of its sets was visited."""

    def paid(order: Sequence[int], done: frozenset[int]) -> float:
        last = max(order.index(each) for each in done)
        return float(sum(costs[each] for each in order[: last + 1]))

    sets = [frozenset(each) for each in chain(*(combinations(range(4), k) for k in (1, 2, 3, 4)))]
    least = max(paid(new, done) - paid(old, done) for done in sets)
    assert order_worst(old, new, costs) == max(0.0, least)
    assert order_worst(old, old, costs) == 0
