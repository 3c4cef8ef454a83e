"""Filters under the autopilot: orders, what they cost at most, and a run that goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.ordering.steered import log_schema
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.systems.agreedy.steering import FilterOrders
from storage.vocabulary.records import Decision
from tests.unit.agreedy.stream import Stream, independent_drops, query_of, settings

UP, DOWN = (0.1, 0.3, 0.5, 0.7), (0.7, 0.5, 0.3, 0.1)


@pytest.mark.parametrize("algorithm", ["a-greedy", "sweep", "optimal"])
def test_an_order_is_left_for_a_better_one_and_kept_then(algorithm: str) -> None:
    knobs = settings(policy="autopilot", filter_algorithm=algorithm, profile_prob=0.5)
    stream = Stream(knobs, query_of(4))
    rng = np.random.default_rng(5)
    stream.run(independent_drops(rng, 20_000, UP))
    assert stream.order == "F4 F3 F2 F1"
    stream.run(independent_drops(rng, 80_000, DOWN))
    assert stream.order == "F1 F2 F3 F4"
    looks = [each for each in stream.instructions if isinstance(each, Decision)]
    assert {look.kind for look in looks} == {"look"}
    assert sum(look.verdict == "switched" for look in looks) <= 8
    records = json.loads(json.dumps([look.detail["plan_log"] for look in looks]))
    again = FiltersReOptimizer(query_of(4), knobs)
    again.resume(stream.order.split(), 9, len(looks), 700, records)
    assert again.pilot.pilot.state() == stream.core.pilot.pilot.state()


@given(st.permutations(range(4)), st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_no_order_costs_a_tuple_more_than_is_said(order: list[int], costs: list[int]) -> None:
    names, ps = ("F1", "F2", "F3", "F4"), tuple(cost * 1_000_000 for cost in costs)
    orders = FilterOrders(log_schema(names), names, ps, (0, 1, 2, 3), is_optimal=False)
    every = np.array([[n >> bit & 1 for bit in range(4)] for n in range(16)], dtype=np.int8)
    old, new = list(names), [names[place] for place in order]
    more = orders.prices(new, every) - orders.prices(old, every)
    assert orders.worst(old, new) == pytest.approx(max(0.0, more.max()))


@pytest.mark.parametrize("seed", range(5))
def test_samples_of_before_something_else_decided_judge_no_order(seed: int) -> None:
    stream = Stream(settings(policy="autopilot", profile_prob=0.1, min_samples=100), query_of(4))
    rng = np.random.default_rng(seed)
    stream.run(independent_drops(rng, 5_000, UP))
    stream.turn("policy", "thresholds")
    stream.run(independent_drops(rng, 50_000, DOWN))
    assert stream.order == "F1 F2 F3 F4"
    stream.turn("policy", "autopilot")
    n_before = len(stream.instructions)
    stream.run(independent_drops(rng, 3_000, DOWN))
    assert stream.order == "F1 F2 F3 F4"
    later = [i for i in stream.instructions[n_before:] if isinstance(i, Decision)]
    records = [decision.detail["plan_log"] for decision in later if decision.kind == "look"]
    assert records[0]["t"] > 55_000
    assert records[0]["replaced"]
    assert records[0]["ran"] == [0, 0.0]


@pytest.mark.parametrize("least", [500, 600, 900])
def test_more_samples_than_usual_are_collected_where_they_are_asked_for(least: int) -> None:
    knobs = settings(policy="autopilot", profile_prob=0.2, min_samples=least)
    stream = Stream(knobs, query_of(4))
    stream.run(independent_drops(np.random.default_rng(1), 50_000, UP))
    looks = [each.detail["plan_log"] for each in stream.decisions()]
    assert looks
    assert all(look["n_sample"] >= least for look in looks)


def test_another_price_of_native_filters_begins_another_log() -> None:
    stream = Stream(settings(policy="autopilot"), query_of(4, n_native=1))
    rng = np.random.default_rng(3)
    stream.run(independent_drops(rng, 5_000, UP))
    stream.turn("native_cost_us", 0.5)
    n_before = len(stream.decisions())
    stream.run(independent_drops(rng, 5_000, UP))
    record = stream.decisions()[n_before].detail["plan_log"]
    assert (record["number"], record["began"]) == (1, 5_000)


@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_answered_with_few_profile_tuples(seed: int) -> None:
    stream = Stream(settings(policy="autopilot", profile_prob=0.05, min_samples=100), query_of(4))
    rng = np.random.default_rng(seed)
    stream.run(independent_drops(rng, 60_000, UP))
    assert stream.order.startswith("F4 F3")
    stream.run(independent_drops(rng, 6_000, DOWN))
    assert stream.order.startswith("F1")
    looks = [decision.detail["plan_log"] for decision in stream.decisions()]
    settling = [look["t"] for look in looks if look.get("settling")]
    assert min(settling) < 5_000
    assert not any(45_000 < t <= 60_000 for t in settling)
    assert any(60_000 < t < 66_000 for t in settling)
