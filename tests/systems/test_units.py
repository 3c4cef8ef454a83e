"""What the units of single systems keep to, beside the contract of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.events import QueriesChanged
from backend.operators.selection.operator import SelectionOperator
from backend.systems.agreedy.system import SYSTEM as AGREEDY
from backend.systems.asc.system import SYSTEM as ASC
from backend.systems.contract import Recorded, Refused
from tests.systems.running import Bench, executed, query, tuples


def selection_operator(bench: Bench) -> SelectionOperator:
    """What the next batch runs."""
    found = bench.unit.operator(bench.batch)
    assert isinstance(found, SelectionOperator)
    return found


def test_of_large_batches_no_more_is_sampled_than_the_window_keeps() -> None:
    bench = Bench(ASC, {"profile_prob": 1.0, "tau_tuples": 60})
    assert selection_operator(bench).profile_prob == 1.0
    bench.run(tuples(300, seed=1))
    assert selection_operator(bench).profile_prob == pytest.approx(60 / 300)
    bench.turn("monitoring", "by period")
    bench.run(tuples(300, seed=1))
    assert selection_operator(bench).profile_prob == pytest.approx(2 * 60 / 300)


def test_batches_of_about_one_size_keep_the_operator() -> None:
    bench = Bench(ASC, {"profile_prob": 1.0, "tau_tuples": 60, "lambda_tuples": 10**6})
    bench.run(tuples(300, seed=1))  # the first order is measured
    first = selection_operator(bench)
    bench.run(tuples(310, seed=2))
    assert selection_operator(bench) is first
    bench.run(tuples(600, seed=3))
    assert selection_operator(bench).profile_prob == pytest.approx(60 / 600)


def test_the_arrays_of_a_plan_are_made_once() -> None:
    bench = Bench(ASC)
    first = selection_operator(bench)
    bench.turn("profile_prob", 0.25)
    assert selection_operator(bench).plan is first.plan
    bench.turn("stop_rule", "drop")
    assert selection_operator(bench).plan is not first.plan


def test_measured_visits_are_timed_by_the_clock_that_was_given() -> None:
    bench = Bench(ASC, {"visit_costs": "measured", "profile_prob": 1.0})
    found = [d for _ in range(3) for d in bench.run(tuples(300, seed=1)).decisions]
    weights = next(d.detail["weights"] for d in found if "weights" in d.detail)
    assert list(weights.values()) == pytest.approx(
        [1.0] * len(weights)
    )  # the clock goes on by a millisecond a look


def test_entities_of_untouched_queries_stay_the_same_objects() -> None:
    bench = Bench(ASC)
    before = {e.id: e for e in bench.unit.entities({})}
    assert bench.unit.entities({}) is bench.unit.entities({})
    paused = bench.queries[-1]
    bench.register([q for q in bench.queries if q is not paused], "paused")
    after = {e.id: e for e in bench.unit.entities({paused.name: paused})}
    queries = [id for id, e in after.items() if e.role == "query"]
    changed = {after[id].name for id in queries if after[id] is not before[id]}
    assert changed == {paused.name}


def _member(rows: int) -> ContinuousQuery:
    window = WindowMember("a", "T", "b", rows)
    return replace(query("calls"), filters=(*query("calls").filters, window))


def test_a_window_that_nobody_opened_is_refused_with_a_sentence() -> None:
    bench = Bench(AGREEDY)
    plan = bench.unit.plan_version
    with pytest.raises(Refused, match="a window cannot come to a run that has begun"):
        bench.unit.changed(QueriesChanged((_member(5),), 1, "registered"))
    assert bench.unit.plan_version == plan
    assert executed(bench.unit, 0, tuples(100, seed=1)).n_tuples == 100


def test_the_race_has_entities_samples_and_a_matrix() -> None:
    bench = Bench(AGREEDY, {"race": "all", "profile_prob": 1.0, "confidence": 0.9})
    found = Recorded()
    for seed in (1, 2, 3, 4, 5, 6):
        found = found.then(bench.run(tuples(400, seed)))
    racing = [e for e in bench.unit.entities({}) if e.role == "race"]
    assert {e.name for e in racing} >= {"a-greedy", "sweep", "static"}
    assert [e.name for e in racing if e.properties["in_force"]] == ["a-greedy"]
    samples = {(s.entity, s.property) for o in bench.observations for s in o.samples}
    assert all((e.id, "race_cost_us") in samples for e in racing)
    assert found.decisions
    assert any(m.kind == "race" for o in bench.observations for m in o.matrices)
