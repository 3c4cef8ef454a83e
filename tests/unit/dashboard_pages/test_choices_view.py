"""What other values would have planned, as the engine records it and as the page sums it up."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations as permuted

import pytest

from backend.adaptive.stats import thinned
from backend.systems.asc import choices
from backend.systems.asc.choices import TRIED
from backend.systems.asc.cost import CostModel, PlanShape, expected_visits, sample_costs
from backend.systems.asc.matching import Regions
from backend.systems.asc.trials import MOST_TUPLES
from dashboard.base.face import told as told_of
from dashboard.views.choices import RecordedChoices, read_choices
from dashboard.views.effects import of_choices
from dashboard.views.numbers import FEWEST
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Decision
from tests.unit.asc.stream import Stream, b_filters, settings, tuples
from tests.unit.stream_system.test_chaining import Watched, counts


def stored(decisions: list[Decision]) -> list[DecisionEntry]:
    return [
        DecisionEntry(replace(one, detail=json.loads(json.dumps(one.detail))), 0.0, None)
        for one in decisions
    ]


@pytest.mark.parametrize("ordering", ["macro", "sas"])
def test_other_orderings_are_tried_in_turn_on_the_sample_of_the_evaluation(ordering: str) -> None:
    knobs = settings(ordering=ordering, mu=0.0, lambda_tuples=4000)
    stream = Stream(knobs, profile_prob=0.4)
    for part in (tuples(24_000, 5), b_filters(24_000)):
        stream.run(part)
    found = read_choices(stored(list(stream.decisions())), "ordering")
    tried = [value for one in found for value in one.costs]
    others = [one for one in TRIED if one != ordering]
    assert tried[: len(others)] == others
    assert all(one.now > 0 and all(cost > 0 for cost in one.costs.values()) for one in found)
    off = Stream(settings(what_if=False, mu=0.0), profile_prob=0.4)
    off.run(tuples(6000, 5))
    assert not read_choices(stored(list(off.decisions())), "ordering")


def test_an_ordering_that_is_dear_to_plan_gets_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "_MOST_STEPS", 300_000)
    monkeypatch.setattr(choices, "_HYBRID_TIMES", 20)
    stream = Stream(settings(ordering="macs", mu=0.0), profile_prob=0.4)
    for seed in range(30):
        stream.run(tuples(2000, seed))
    found = read_choices(stored(list(stream.decisions())), "ordering")
    assert {value for one in found for value in one.costs} == set(TRIED) - {"macs"}


def last_choice(stream: Stream, knob: str) -> tuple[Decision, RecordedChoices, Regions]:
    """The last decision, what it says of the knob, and the sample both plans were costed on."""
    *_, decision = stream.decisions()
    (found,) = read_choices(stored([decision]), knob)
    return decision, found, thinned(stream.core.profile_regions[-1000:], MOST_TUPLES)


def test_the_other_stop_rule_plans_and_counts_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "TRIED", ("macro",))
    stream = Stream(settings(mu=10.0), profile_prob=1.0)
    stream.run(tuples(6000, 5))
    decision, found, sample = last_choice(stream, "stop_rule")
    assert list(found.costs) == ["drop"]
    constructs, order = stream.core.constructs, decision.old["order"]
    now = expected_visits(constructs, sample, order, "resolved").value
    assert found.now == pytest.approx(now)
    least = min(expected_visits(constructs, sample, one, "drop").value for one in permuted(order))
    assert found.costs["drop"] >= least - 1e-9
    assert any(
        found.costs["drop"] == pytest.approx(expected_visits(constructs, sample, one, "drop").value)
        for one in permuted(order)
    )
    assert found.costs["drop"] > found.now, "it goes on where the rule in force stops"


def test_both_visit_costs_are_compared_by_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choices, "TRIED", ("macro",))
    monkeypatch.setattr(choices, "get_args", lambda _: ())
    stream = Stream(settings(mu=10.0), profile_prob=1.0)
    stream.visit_costs = {"a": 30.0, "b": 2.0, "c": 4.0, "d": 4.0}
    stream.run(tuples(6000, 5))
    decision, found, sample = last_choice(stream, "visit_costs")
    constructs, order = stream.core.constructs, decision.old["order"]
    weights = {"a": 3.0, "b": 0.2, "c": 0.4, "d": 0.4}
    model = CostModel("resolved", 1.0, weights)
    costs = {
        one: float(sample_costs(constructs, model, PlanShape("early drop", one), sample).mean())
        for one in permuted(order)
    }
    assert found.now == pytest.approx(costs[tuple(order)])
    assert found.costs["measured"] in [pytest.approx(cost) for cost in costs.values()]


def test_micro_arrows_are_compared_in_the_other_way() -> None:
    knobs = settings(ordering="hybrid", stop_rule="drop", mu=0.0, lambda_tuples=4000)
    stream = Stream(knobs, profile_prob=0.4)
    for seed in range(30):
        stream.run(tuples(2000, seed, b=20 + 40 * (seed % 2)))
    found = read_choices(stored(list(stream.decisions())), "hybrid_compare")
    assert found
    assert all(list(one.costs) == ["global"] and one.costs["global"] > 0 for one in found)


def test_schedulers_are_told_where_paths_end_in_answers() -> None:
    watched = Watched()
    decisions = [watched.batch(counts(500, 100)) for _ in range(6)]
    found = read_choices(stored(decisions), "scheduler")
    assert len(found) == 5, "of the first batch no chains were in force"
    for one, decision in zip(found, decisions[1:], strict=True):
        assert one.now == decision.predicted_old
        assert one.costs["chain"] == pytest.approx(decision.predicted_new)
        assert one.costs["chain"] <= one.costs["fifo"]
    assert not read_choices(stored([Watched("round_robin").batch(counts(500, 100))]), "scheduler")


def test_the_share_is_of_what_ran_on_the_same_samples() -> None:
    told = [RecordedChoices(i, 4.0 + i % 2, {"b": 3.0 + i % 2}, 100) for i in range(FEWEST)]
    would = of_choices(told, "b", "visits").preview(100)
    assert would.share is not None
    assert would.share.mean == pytest.approx(-FEWEST / sum(one.now for one in told))
    assert would.words.endswith("planned anew at each evaluation (paired)")
    did = of_choices(told, "b", "visits").judged(100)
    assert did.share is not None
    assert did.share.mean > 0
    assert of_choices(told[1:], "b", "visits").preview(100).share is None
    assert of_choices(told, "c", "visits").both == []
    selections = {"ordering", "stop_rule", "visit_costs", "hybrid_compare"}
    assert set(told_of("chosen")) == {*selections, "scheduler", "join_order", "caching"}
