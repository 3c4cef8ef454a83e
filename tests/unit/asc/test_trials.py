"""Trials: what other plans would have made of an evaluation, on its sample, within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from backend.adaptive.stats import thinned
from backend.systems.asc.cost import expected_visits
from backend.systems.asc.trials import MOST_ORDERS, MOST_TUPLES
from tests.unit.asc.papers import C, query
from tests.unit.asc.stream import QUERIES, Stream, a_filters, b_filters, settings, tuples


def trials(stream: Stream) -> list[dict[str, Any]]:
    return [row for d in stream.decisions() for row in d.detail.get("trials", ())]


def test_plans_are_costed_on_the_sample_of_the_evaluation() -> None:
    stream = Stream(settings(no_drop_visit_cost=1.0, mu=0.05), profile_prob=1.0)
    for part in (a_filters(3000), b_filters(3000), tuples(1000, 4)):
        stream.run(part)
    last = trials(stream)[-1]
    core = stream.core
    sample = thinned(core.profile_regions[-1000:], MOST_TUPLES)
    assert last["n"] == len(sample) == MOST_TUPLES
    assert len(last["plans"]) > 1
    for kind, order, digest, visits, cost in last["plans"]:
        assert (kind, digest) == ("early drop", "")
        truth = expected_visits(core.constructs, sample, order, "resolved").value
        assert visits == cost == pytest.approx(truth, abs=1e-4)


def test_a_rebuild_has_its_contest_and_a_quiet_evaluation_a_stand_in() -> None:
    stream = Stream(settings(no_drop_visit_cost=1.0, mu=0.3), profile_prob=1.0)
    stream.run(a_filters(4000))
    stream.run(b_filters(3000))
    decided = {d.seq: d for d in stream.decisions()}
    for row in trials(stream):
        decision = decided[row["seq"]]
        assert row["verdict"] == decision.verdict
        assert ("contest" in row) == (decision.verdict in ("switched", "kept"))
        orders = [plan[:3] for plan in row["plans"]]
        assert row["candidate"] in orders
        if "contest" in row:
            costs = {tuple(plan[1]): plan[4] for plan in row["contest"]["plans"][:1]}
            assert list(costs.values()) == [decision.predicted_old]
        else:
            cost = {tuple(plan[1]): plan[4] for plan in row["plans"]}
            assert cost[tuple(row["candidate"][1])] <= min(cost.values()) * 1.006


def test_a_hybrid_plan_costs_its_order_times_omega_as_last_measured() -> None:
    knobs = settings(ordering="hybrid", stop_rule="drop", no_drop_visit_cost=1.0, mu=0.05)
    stream = Stream(knobs, profile_prob=0.5)
    stream.run(a_filters(4000))
    assert stream.core.plan.kind == "hybrid"
    row = trials(stream)[-1]
    assert row["running"][2]
    cost = {tuple([p[0], p[2], *p[1]]): p[4] for p in row["plans"]}
    running, order = row["running"], row["running"][1]
    found = cost["hybrid", running[2], *order] / cost["early drop", "", *order]
    assert found == pytest.approx(stream.core.monitor.regret.relative_cost, abs=1e-3)
    stream.run(b_filters(6000))
    old = [p for r in trials(stream) for p in r["plans"] if p[0] == "hybrid"]
    assert {p[2] for p in old} > {running[2]}


def test_other_queries_begin_anew() -> None:
    stream = Stream(settings(), profile_prob=0.5)
    stream.run(a_filters(3000))
    stream.register((*QUERIES[1:], query("q9", C("d", "=", 5))), "query q9 registered")
    stream.run(a_filters(3000, 4))
    fresh = [row["kind"] for row in trials(stream) if row["fresh"]]
    assert fresh == ["initial order", "queries changed"]


def test_only_the_last_orders_are_followed() -> None:
    stream = Stream(settings(lambda_tuples=250, mu=0.0, min_gain=0.0), profile_prob=0.5)
    for seed in range(12):
        stream.run(tuples(1000, seed, a=20 + 7 * seed, b=100 - 7 * seed))
    assert max(len(row["plans"]) for row in trials(stream)) <= MOST_ORDERS + 1
    assert sum(len(row["plans"]) > 2 for row in trials(stream)) > 5
