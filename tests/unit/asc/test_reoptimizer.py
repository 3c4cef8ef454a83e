"""The decision core: when it looks, what it decides, what it says, and that it only computes."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from backend.model.events import (
    AdoptPlan,
    BatchExecuted,
    SelectionPlan,
)
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.matching import sample_regions, trace
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from backend.systems.asc.watch import SelectionMonitor
from storage.vocabulary.records import Decision, DecisionOutcome
from tests.oracles.selection import NaiveConstructs
from tests.unit.asc.papers import C, query
from tests.unit.asc.stream import (
    QUERIES,
    SCHEMA,
    Stream,
    a_filters,
    b_filters,
    settings,
    tuples,
)
from tests.unit.asc.test_golden_trace import drift_stream


def test_the_first_plan_comes_from_the_queries() -> None:
    core = SelectionReOptimizer(QUERIES, SCHEMA, settings())
    (adopt,) = core.start(batch_id=7)
    assert isinstance(adopt, AdoptPlan)
    assert adopt.plan == core.plan == SelectionPlan(1, "early drop", ("a", "b", "c", "d"))
    assert (adopt.batch_id, adopt.decision, adopt.predicted) == (7, None, None)
    assert "from the queries alone: minimum cover a" in adopt.reason
    assert core.monitor == SelectionMonitor(0, None, None, None, None, 0)


def test_the_initial_order_is_decided_when_the_samples_are_there() -> None:
    stream = Stream(settings(min_samples=200), profile_prob=0.5)
    assert stream.run(b_filters(250)) == []
    found = stream.run(b_filters(500))
    decision, adopt = found
    assert isinstance(decision, Decision)
    assert isinstance(adopt, AdoptPlan)
    assert (decision.seq, decision.kind, decision.verdict) == (1, "initial order", "switched")
    assert decision.n_sample >= 200
    assert decision.lhs == decision.predicted_new == adopt.predicted
    assert decision.predicted_old is not None
    least = stream.core.knobs.min_gain
    assert decision.rhs == pytest.approx((1 - least) * decision.predicted_old)
    assert decision.relation == "<="
    assert adopt.plan.order[0] == "b"
    assert adopt.batch_id == decision.batch + 1
    assert (adopt.decision, decision.plan_version, adopt.plan.version) == (1, 2, 2)


def test_predictions_are_the_mean_visits_of_the_definition() -> None:
    stream = Stream(settings(stop_rule="drop"), profile_prob=1.0)
    stream.run(b_filters(250))
    (decision,) = stream.decisions()
    naive = NaiveConstructs(QUERIES, SCHEMA)
    event = stream.events[0]
    assert isinstance(event, BatchExecuted)
    rows = [
        dict(zip(event.sample, values, strict=True))
        for values in zip(*event.sample.values(), strict=True)
    ]
    assert decision.old is not None
    assert decision.new is not None
    for plan, predicted in (
        (decision.old, decision.predicted_old),
        (decision.new, decision.predicted_new),
    ):
        assert predicted == pytest.approx(naive.mean_visits(plan["order"], rows, "drop"))
    monitor = stream.core.monitor
    assert monitor.d_init == pytest.approx(1 - event.n_matched / event.n_tuples)
    assert monitor.visits_init == decision.predicted_new


def test_every_lambda_tuples_one_evaluation() -> None:
    """Counted exactly: batches of 300 drift against λ = 1000, the checks do not."""
    stream = Stream(settings(mu=10.0))
    stream.run(a_filters(12_000), batch_tuples=300)
    checks = [d for d in stream.decisions() if d.kind == "rearrangement"]
    assert [d.batch for d in checks] == [-(-1000 * i // 300) - 1 for i in range(1, 13)]
    assert {d.verdict for d in checks} == {"below_threshold"}
    assert all(1000 <= d.n < 1300 for d in checks)
    assert [d.seq for d in stream.decisions()] == list(range(1, 14))


def test_a_large_batch_is_one_evaluation() -> None:
    stream = Stream(settings())
    stream.run(a_filters(10_000), batch_tuples=5000)
    assert [d.kind for d in stream.decisions()] == ["initial order", "rearrangement"]


def test_eq_5_misses_a_move_of_the_selective_attribute_visits_do_not() -> None:
    """The flaw of eq. 5: unmatched ratio constant, filtering attribute moves from a to b."""
    switches = {}
    for trigger in ("dropping ratio", "visits", "either"):
        stream = Stream(settings(trigger=trigger), profile_prob=0.5)
        stream.run(a_filters(4000))
        stream.run(b_filters(4000))
        checks = [d for d in stream.decisions() if d.kind == "rearrangement"]
        switches[trigger] = [d.batch for d in checks if d.verdict == "switched"]
        ratio = [d.detail["dropping_ratio"]["now"] for d in checks]
        assert max(ratio) - min(ratio) < 0.05
        if trigger == "dropping ratio":
            assert {d.verdict for d in checks} == {"below_threshold"}
            assert checks[-1].detail["visits"]["change"] > 0.4  # what eq. 5 does not look at
            assert stream.core.plan.order[0] == "a"
        else:
            assert stream.core.plan.order[0] == "b"
    assert switches == {"dropping ratio": [], "visits": [19], "either": [19]}


def test_both_inequalities_are_in_every_check() -> None:
    stream = Stream(settings())
    stream.run(a_filters(2000))
    check = list(stream.decisions())[-1]
    for quantity in ("visits", "dropping_ratio"):
        numbers = check.detail[quantity]
        assert numbers["change"] == pytest.approx(
            abs(numbers["now"] - numbers["init"]) / numbers["init"]
        )
    assert check.metric == "change of visits per tuple"
    assert (check.lhs, check.relation, check.rhs) == (check.detail["visits"]["change"], ">=", 0.1)
    interval = check.detail["visits_ci"]
    assert interval["low"] < interval["mean"] < interval["high"]
    assert interval["n"] == check.n_sample


def test_mu_zero_always_fires() -> None:
    stream = Stream(settings(mu=0.0))
    stream.run(a_filters(6000))
    assert set(stream.verdicts()) <= {"kept", "switched"}
    assert "kept" in stream.verdicts()


def test_no_change_at_all_fires_with_mu_zero_only() -> None:
    """The relation is >=: 0 >= 0 holds."""
    same = {name: [10] * 2000 for name in "abcd"}
    for mu, verdict in ((0.0, "kept"), (0.001, "below_threshold")):
        stream = Stream(settings(mu=mu))
        stream.run(same)
        check = list(stream.decisions())[-1]
        assert (check.kind, check.verdict, check.lhs) == ("rearrangement", verdict, 0.0)


def test_kept_measures_the_baselines_anew() -> None:
    stream = Stream(settings(mu=0.0))
    stream.run(a_filters(1000))
    before = stream.core.monitor
    stream.run(a_filters(1000, seed=5))
    kept = list(stream.decisions())[-1]
    assert kept.verdict == "kept"
    assert kept.plan_version is None
    assert kept.new is not None
    assert kept.new["version"] is None
    assert kept.predicted_new is not None
    assert kept.predicted_old is not None
    assert kept.predicted_new >= kept.predicted_old
    assert stream.core.monitor.visits_init == kept.predicted_old != before.visits_init


def test_switches_are_no_denser_than_the_cool_down() -> None:
    stream = Stream(settings(cooldown_tuples=2500))
    stream.run(a_filters(2000))
    stream.run(b_filters(1000))
    stream.run(a_filters(4000, seed=3))
    verdicts = [d.verdict for d in stream.decisions() if d.kind == "rearrangement"]
    assert verdicts == ["below_threshold"] * 2 + [
        "switched",
        "cooldown",
        "cooldown",
        "switched",
        "below_threshold",
    ]
    waiting = next(d for d in stream.decisions() if d.verdict == "cooldown")
    assert "only 1 000 of 2 500 cool-down tuples have passed" in waiting.explanation


def test_the_cool_down_ends_with_its_last_tuple() -> None:
    stream = Stream(settings(cooldown_tuples=1000, reject_sample_every=1000))
    stream.run(a_filters(2000))
    stream.run(b_filters(1000))
    stream.run(a_filters(1000, seed=3))
    assert stream.verdicts()[-2:] == ["switched", "switched"]
    stream.turn("cooldown_tuples", 1001)
    stream.run(b_filters(1000, seed=4))
    assert stream.verdicts()[-1] == "cooldown"  # never sampled away


def test_thin_samples_decide_nothing() -> None:
    stream = Stream(settings(min_samples=1000), profile_prob=0.1)
    stream.run(a_filters(2000))
    assert stream.verdicts() == ["thin", "thin"]
    first = next(stream.decisions())
    assert (first.lhs, first.rhs, first.metric) == (None, 0.1, "change of visits per tuple")
    assert "sampled tuples of the 1 000 needed" in first.explanation
    assert stream.core.plan.version == 1


def test_thin_when_the_trigger_fires_on_too_few() -> None:
    stream = Stream(settings())
    stream.run(a_filters(1000))
    stream.turn("min_samples", 2000)
    stream.run(b_filters(1000))
    thin = list(stream.decisions())[-1]
    assert thin.verdict == "thin"
    assert thin.lhs is not None
    assert thin.lhs >= 0.1


def test_rejected_evaluations_can_be_sampled_but_all_are_counted() -> None:
    stream = Stream(settings(reject_sample_every=4, mu=10.0))
    stream.run(a_filters(12_000))
    assert [d.seq for d in stream.decisions()] == [1, 2, 6, 10]


def test_no_early_drop_is_adopted_and_left() -> None:
    stream = Stream(settings(no_drop_visit_cost=0.6))
    stream.run(a_filters(2000))
    stream.run(tuples(2000, seed=3, a=8, b=8))
    assert stream.core.plan.kind == "no early drop"
    assert stream.core.monitor.visits_window == pytest.approx(4.0)  # its order, with early drop
    stream.run(a_filters(3000))
    assert stream.core.plan.order[0] == "a"
    left = [d for d in stream.decisions() if d.verdict == "switched"][-1]
    assert left.predicted_old == pytest.approx(4 * 0.6)
    assert left.new is not None
    assert left.new["kind"] == "early drop"
    assert "as its order would need with early drop" in left.explanation


@pytest.mark.parametrize(("turned_to", "price"), [(0.1, 0.1), (0.0, 0.12)])
def test_a_cheaper_branch_free_visit_is_weighed_at_the_next_batch(
    turned_to: float, price: float
) -> None:
    """At 0 it costs what was measured for bitmaps of this width, one word."""
    stream = Stream(settings())
    stream.run(a_filters(1000))
    stream.turn("no_drop_visit_cost", turned_to)
    decision = stream.run(a_filters(250))[0]
    assert isinstance(decision, Decision)
    assert (decision.kind, decision.verdict) == ("visit cost changed", "switched")
    assert decision.predicted_new == pytest.approx(4 * price)
    assert stream.core.plan.kind == "no early drop"
    assert f"4 branch-free visits at {price} each" in decision.explanation


def test_dropping_ratio_from_zero_is_an_unbounded_change() -> None:
    """Erratum 17; JSON has no infinity, so the record says unbounded."""
    stream = Stream(
        settings(trigger="dropping ratio", mu=10.0), [query("q", C("a", "<", 50), C("b", "<", 50))]
    )
    stream.run(tuples(2000, seed=1, a=10, b=10))
    assert stream.core.monitor.d_init == 0
    assert list(stream.decisions())[-1].lhs == 0
    stream.run(tuples(1000, seed=2))
    fired = list(stream.decisions())[-1]
    assert fired.lhs is None
    assert fired.detail["dropping_ratio"]["unbounded"] is True
    assert fired.verdict in {"kept", "switched"}
    assert "from zero, more than any μ" in fired.explanation


def test_outcomes_are_exact_and_compare_both_plans() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    stream.run(a_filters(2000))
    stream.run(b_filters(1000))
    switch = list(stream.decisions())[-1]
    assert switch.verdict == "switched"
    assert switch.old is not None
    after = b_filters(1000, seed=9)
    stream.run(after)
    (outcome,) = [i for i in stream.instructions if isinstance(i, DecisionOutcome)]
    constructs = build_constructs(QUERIES, SCHEMA)
    regions = sample_regions(constructs, after)
    old, new = (
        trace(constructs, regions, o, "resolved").visits.mean()
        for o in (switch.old["order"], stream.core.plan.order)
    )
    assert outcome.decision == switch.seq
    assert (outcome.n, outcome.n_sample) == (1000, 1000)
    assert outcome.actual_new == outcome.sample_new == pytest.approx(new)
    assert outcome.counterfactual_old == pytest.approx(old)


def test_a_second_switch_ends_the_measurement_of_the_first() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    stream.run(b_filters(500))
    assert stream.core.plan.version == 2
    found = stream.register(QUERIES[:2], "queries q3, q4 removed")
    outcome, adopt = found
    assert isinstance(outcome, DecisionOutcome)
    assert (outcome.decision, outcome.n) == (1, 250)
    assert isinstance(adopt, AdoptPlan)


def test_batches_of_an_older_plan_do_not_count() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    late = stream.executed(b_filters(250))
    stream.run(b_filters(250))
    assert stream.core.plan.version == 2
    assert stream.core.monitor.n_window == 0
    stream.core.handle(late)  # still ran under version 1
    monitor = stream.core.monitor
    assert monitor.n_window == 0
    assert monitor.window_tuples == 500  # its sample is as good as any


def test_min_samples_beyond_the_window_means_a_full_window() -> None:
    stream = Stream(settings(min_samples=5000, tau_tuples=150))
    stream.run(a_filters(1000))
    assert stream.verdicts()[0] in {"kept", "switched"}


def test_the_same_events_give_the_same_instructions() -> None:
    recorded = drift_stream()
    first = recorded.events[0]
    assert isinstance(first, BatchExecuted)
    replayed = SelectionReOptimizer(
        QUERIES, SCHEMA, settings(cooldown_tuples=1000, no_drop_visit_cost=0.6)
    )
    found = replayed.start()
    for event in recorded.events:
        found += replayed.handle(event)
    assert found == recorded.instructions


def test_decisions_are_json() -> None:
    for decision in drift_stream().decisions():
        json.dumps(asdict(decision), allow_nan=False)
