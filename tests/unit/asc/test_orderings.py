"""The ordering knob, hysteresis, periods and measured costs, through the decision core."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from backend.model.events import AdoptPlan, BatchExecuted
from backend.systems.asc.cost import CostModel, PlanShape
from backend.systems.asc.hybrid import Rules
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.macro import macro_sequence_by_period
from backend.systems.asc.matching import sample_regions, trace
from backend.systems.asc.orderings import ORDERINGS, Ordering, propose
from backend.systems.asc.rearrange import contest
from storage.vocabulary.records import Decision, DecisionOutcome
from tests.unit.asc.papers import L12_ROWS, columns, l12
from tests.unit.asc.stream import (
    QUERIES,
    Stream,
    a_filters,
    b_filters,
    settings,
    tuples,
)

MODEL = CostModel("drop", 1.0)
RULES = Rules("drop", min_support=1)


def last_decision(stream: Stream) -> Decision:
    """The newest decision."""
    return list(stream.decisions())[-1]


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_every_ordering_orders_every_construct(ordering: Ordering) -> None:
    regions = sample_regions(l12(), columns(L12_ROWS))
    found = propose(ordering, l12(), [regions], MODEL, RULES)
    assert sorted(found.shape.order) == list(l12().attributes)
    kinds = {"hybrid": "hybrid", "ticket": "ticket"}
    assert found.shape.kind == kinds.get(ordering, "early drop")
    assert found.shape.order[: len(found.cover_prefix)] == found.cover_prefix
    assert (found.search is not None) == (ordering in ("best", "worst"))
    by_period = propose(ordering, l12(), [regions] * 3, MODEL, RULES)
    assert by_period.shape == found.shape


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_turning_the_ordering_leads_to_its_plan_with_the_next_batch(ordering: Ordering) -> None:
    start = "sas" if ordering == "macro" else "macro"
    stream = Stream(settings(ordering=start, stop_rule="drop"))
    stream.run(b_filters(2000))
    before = stream.core.plan
    assert stream.turn("ordering", ordering) == []
    found = stream.run(b_filters(250, seed=9))
    decision = next(i for i in found if isinstance(i, Decision))
    assert decision.kind == "ordering changed"
    assert decision.detail["ordering"] == ordering
    plan = stream.core.plan
    if decision.verdict == "kept":
        assert plan == before
    else:
        adopt = next(i for i in found if isinstance(i, AdoptPlan))
        assert adopt.plan == plan != before
        assert "ordering changed from" in decision.explanation
        assert "as asked for" in adopt.reason
    if ordering in ("hybrid", "ticket"):
        assert plan.kind == ordering
    stream.run(b_filters(3000, seed=10))
    assert stream.core.plan.kind == plan.kind  # the same ordering meets itself from now on


def test_the_best_order_is_the_best_and_the_worst_the_worst() -> None:
    costs = {}
    for ordering in ("best", "worst"):
        stream = Stream(settings(ordering=ordering, stop_rule="drop"), profile_prob=1.0)
        stream.run(b_filters(250))
        constructs, regions = stream.core.constructs, stream.core.profile_regions
        found = extreme_order(constructs, regions, "drop", worst=ordering == "worst")
        decision = last_decision(stream)
        assert decision.detail["search"] == {"exact": True, "cost": found.cost, "n": 250}
        assert stream.core.plan.order == found.order
        costs[ordering] = trace(constructs, regions, found.order, "drop").visits.mean()
        assert costs[ordering] == pytest.approx(found.cost) == pytest.approx(decision.predicted_new)
    assert costs["best"] < costs["worst"]


def test_a_baseline_runs_unopposed() -> None:
    stream = Stream(settings(ordering="worst", no_drop_visit_cost=0.1))
    stream.run(b_filters(2000))
    assert stream.core.plan.kind == "early drop"
    first = next(stream.decisions())
    assert {plan["kind"] for plan in first.detail["plans"]} == {"early drop"}


def test_ticket_routing_stays_when_it_is_reconsidered() -> None:
    stream = Stream(settings(ordering="ticket", mu=0.0))
    stream.run(b_filters(3000))
    assert stream.core.plan.version == 2
    decision = last_decision(stream)
    assert (decision.verdict, decision.explanation.split("; ")[-1][:24]) == (
        "kept",
        "plan kept: there is no o",
    )
    assert decision.detail["paths"] == []  # a lottery has no way to show
    kinds = [(plan["kind"], plan["incumbent"]) for plan in decision.detail["plans"]]
    assert kinds == [("ticket", True), ("early drop", False)]


def test_hybrid_plans_meet_hybrid_plans_and_no_early_drop() -> None:
    regions = sample_regions(l12(), columns(L12_ROWS))
    hybrid = propose("hybrid", l12(), [regions], MODEL, RULES)
    macro = PlanShape("early drop", hybrid.shape.order)
    free = PlanShape("no early drop", hybrid.shape.order)
    first = contest(macro, "macro", hybrid, 0.01)
    assert (first.contenders, first.must_leave) == ((hybrid.shape, free), True)
    assert first.references == (macro,)
    later = contest(hybrid.shape, "hybrid", hybrid, 0.01)
    assert (later.must_leave, later.min_gain) == (False, 0.01)
    from_free = contest(free, "macro", hybrid, 0.0)
    assert (from_free.contenders, from_free.must_leave) == ((hybrid.shape,), False)


def test_a_small_gain_is_a_kept_plan_with_its_sentence() -> None:
    stream = Stream(settings(min_gain=0.9))
    stream.run(a_filters(2000))
    stream.run(b_filters(1000))
    decision = last_decision(stream)
    assert decision.verdict == "kept"
    assert "where min_gain = 90 % is asked for" in decision.explanation
    assert decision.predicted_new is not None
    assert decision.predicted_old is not None
    assert decision.predicted_new < decision.predicted_old
    assert decision.detail["min_gain"] == 0.9
    assert [p["chosen"] for p in decision.detail["plans"]].index(True) == 0


def test_by_period_each_step_has_its_own_period() -> None:
    """Four constructs take three periods of τ sampled tuples; the trigger waits meanwhile."""
    stream = Stream(settings(monitoring="by period", tau_tuples=400), profile_prob=1.0)
    stream.run(a_filters(1000))
    assert list(stream.decisions()) == []
    stream.run(a_filters(250, seed=5))  # 5 batches of 250: the first began it, 1000 since
    assert list(stream.decisions()) == []
    stream.run(a_filters(250, seed=6))
    (decision,) = stream.decisions()
    assert (decision.kind, decision.detail["n_periods"]) == ("initial order", 3)
    assert "after 3 monitoring periods of τ = 400 sampled tuples" in decision.explanation
    constructs = stream.core.constructs
    seen = [e.sample for e in stream.events[1:] if isinstance(e, BatchExecuted)]
    values = {a: [v for sample in seen for v in sample[a]] for a in "abcd"}
    regions = sample_regions(constructs, values)
    periods = [regions[i : i + 400] for i in (0, 400, 800)]
    expected = macro_sequence_by_period(constructs, periods)
    assert [s["chosen"] for s in decision.detail["steps"]] == list(expected.order)
    assert [s["n"] for s in decision.detail["steps"]] == [400, 400, 400, 0]


def test_by_period_no_trigger_is_evaluated_meanwhile() -> None:
    """Erratum 19: λ = 1000, and 3 periods of 1000 at a half: 6000 tuples without an evaluation."""
    stream = Stream(settings(monitoring="by period", tau_tuples=1000), profile_prob=0.5)
    stream.run(a_filters(8000))
    (first, *later) = stream.decisions()
    assert first.kind == "initial order"
    batches = [d.batch for d in later]
    assert batches[0] == first.batch + 4
    stream.run(b_filters(10_000))
    fired = [d for d in stream.decisions() if d.detail.get("n_periods")][-1]
    before = [d for d in stream.decisions() if d.batch < fired.batch][-1]
    assert fired.batch - before.batch >= 24
    assert fired.verdict == "switched"
    assert "visits per tuple rose" in fired.explanation
    assert stream.core.plan.order[0] == "b"


def test_monitoring_is_given_up_when_its_knob_or_the_queries_change() -> None:
    stream = Stream(settings(monitoring="by period", tau_tuples=1000), profile_prob=0.5)
    stream.run(a_filters(1000))
    stream.turn("monitoring", "one sample")
    stream.run(a_filters(250))
    assert [d.kind for d in stream.decisions()] == ["initial order"]
    assert "n_periods" not in last_decision(stream).detail
    stream.turn("monitoring", "by period")
    stream.turn("ordering", "best")
    stream.run(a_filters(500))
    stream.register(QUERIES[1:], "query q1 removed")
    stream.turn("monitoring", "one sample")
    stream.run(a_filters(250))
    assert last_decision(stream).kind == "queries changed"


def test_measured_costs_weigh_the_visits() -> None:
    stream = Stream(settings(visit_costs="measured", ordering="best"), profile_prob=1.0)
    stream.run(tuples(1000, seed=1, a=40, b=40))
    assert not any("weights" in d.detail for d in stream.decisions())  # not measured yet
    stream.visit_costs = {"a": 30.0, "b": 2.0, "c": 4.0, "d": 4.0}
    stream.turn("visit_costs", "equal")
    stream.turn("visit_costs", "measured")
    stream.run(tuples(250, seed=2, a=40, b=40))
    decision = last_decision(stream)
    assert decision.kind == "visit cost changed"
    assert decision.detail["weights"] == {"a": 3.0, "b": 0.2, "c": 0.4, "d": 0.4}
    assert decision.detail["cost_unit"] == "visits per tuple, weighted"
    assert decision.verdict == "switched"
    assert stream.core.plan.order.index("b") < stream.core.plan.order.index("a")
    chosen = next(p for p in decision.detail["plans"] if p["chosen"])
    assert chosen["cost"]["mean"] < chosen["visits"]  # both are shown
    stream.run(tuples(1000, seed=3, a=40, b=40))
    outcome = [i for i in stream.instructions if isinstance(i, DecisionOutcome)][-1]
    assert outcome.actual_new == pytest.approx(outcome.sample_new)
    assert outcome.counterfactual_old is not None
    assert outcome.sample_new is not None
    assert outcome.counterfactual_old > outcome.sample_new


def test_other_rules_of_arrows_are_weighed_under_hybrid_only() -> None:
    stream = Stream(settings(ordering="hybrid"))
    stream.run(a_filters(1000))
    stream.turn("min_support", 50)
    stream.run(a_filters(250))
    assert last_decision(stream).kind == "arrow rules changed"
    plain = Stream(settings())
    plain.run(a_filters(1000))
    plain.turn("min_support", 50)
    plain.run(a_filters(250))
    assert {d.kind for d in plain.decisions()} == {"initial order", "rearrangement"}


def test_hybrid_decisions_are_json_and_list_their_arrows() -> None:
    stream = Stream(settings(ordering="hybrid", stop_rule="drop"))
    stream.run(a_filters(1000))
    (decision, *_) = stream.decisions()
    json.dumps(asdict(decision), allow_nan=False)
    arrows = decision.detail["arrows"]
    assert arrows["n_established"] == len(stream.core.plan.arrows) > 0
    assert arrows["shown"][0]["support"] >= arrows["shown"][-1]["support"] >= 10
    assert decision.new is not None
    assert decision.new["n_arrows"] == arrows["n_established"]
    assert f"with {arrows['n_established']} micro-arrow" in decision.explanation
