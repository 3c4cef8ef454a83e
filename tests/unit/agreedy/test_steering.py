"""Filters under the autopilot: orders, what they cost at most, and a run that goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    stream.run(independent_drops(rng, 40_000, DOWN))
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
    orders = FilterOrders(names, 0, ps, (0, 1, 2, 3), is_optimal=False)
    every = np.array([[n >> bit & 1 for bit in range(4)] for n in range(16)], dtype=np.bool_)
    old, new = list(names), [names[place] for place in order]
    more = orders.prices(new, every) - orders.prices(old, every)
    assert orders.worst(old, new) == pytest.approx(max(0.0, more.max()))
