"""What adaptive selection leaves in the store: regret, hybrid plans and their arrows, costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.cql import parse_query
from backend.model.events import MicroArrow, SelectionPlan
from backend.model.ids import unit_entity
from backend.operators.contract import Operator
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.published import plan_graph
from backend.systems.asc.visit_costs import VisitCostMeter, measure_visit_costs
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_loop import SCHEMA, TEXTS, UNIT, Bench

QUERIES = [parse_query(name, text, {"S": SCHEMA}) for name, text in TEXTS.items()]
SAMPLE: dict[str, list[Any]] = {
    "a": [1, 50, 97] * 40,
    "b": [2, 95, 60] * 40,
    "c": ["x", None, "y"] * 40,
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.close()


def test_the_regret_of_the_plan_is_recorded(bench: Bench) -> None:
    for _ in range(6):
        bench.random_batch()
    system = bench.reader.values(RUN_ID)[unit_entity(UNIT)]
    known = {name: v for name, v in system.items() if name.startswith("regret") and v is not None}
    assert set(known) >= {"regret_first", "regret_saved_total"}
    assert known["regret_saved_se"] == 0  # every tuple is sampled
    assert known["regret_best"] <= known["regret_running"]
    assert system["micro_ratio"] is None


def test_a_hybrid_plan_is_recorded_with_its_arrows(bench: Bench) -> None:
    bench.ask("knob", {"knob": "stop_rule", "value": "drop"})
    bench.ask("knob", {"knob": "ordering", "value": "hybrid"})
    for _ in range(6):
        bench.random_batch()
    plan = bench.reader.plans(RUN_ID)[-1]
    assert plan.kind == "hybrid"
    system = bench.reader.values(RUN_ID)[unit_entity(UNIT)]
    assert 0 <= (system["micro_ratio"] or 0) <= 1
    assert (system["relative_cost"] or 0) > 0
    stored = bench.reader.matrix(RUN_ID, "arrows")
    assert stored is not None
    support = stored.matrix.row_stats["support"]
    assert sum(s is not None for s in support) == len(bench.unit.core.plan.arrows) > 0
    decision = bench.reader.decisions(RUN_ID)[-1].decision
    assert {"values", "steps", "end"} == set(decision.detail["paths"][0])


def test_a_hash_tells_micro_arrows_apart() -> None:
    plain = SelectionPlan(1, "hybrid", ("a", "b"))
    arrow = SelectionPlan(1, "hybrid", ("a", "b"), (MicroArrow("a", 1, "b", 9, 0.5),))
    again = SelectionPlan(7, "hybrid", ("a", "b"), (MicroArrow("a", 1, "b", 4, 0.1),))
    digests = [plan_graph(plan, UNIT, "S").digest for plan in (plain, arrow, again)]
    assert digests[0] != digests[1] == digests[2]


def test_visits_are_timed_only_when_wanted_and_due() -> None:
    constructs = build_constructs(QUERIES, SCHEMA)
    times = measure_visit_costs(constructs, SAMPLE, time.perf_counter, rounds=2)
    assert set(times) == {"a", "b", "c"}
    assert min(times.values()) > 0
    assert (
        measure_visit_costs(constructs, {a: v[:9] for a, v in SAMPLE.items()}, time.perf_counter)
        == {}
    )
    assert measure_visit_costs(constructs, {"a": SAMPLE["a"]}, time.perf_counter) == {}


def test_the_meter_reads_when_it_is_wanted() -> None:
    constructs, meter = build_constructs(QUERIES, SCHEMA), VisitCostMeter(time.perf_counter)
    assert meter.read(False, constructs, SAMPLE) == {}
    assert meter.read(True, constructs, SAMPLE)
    assert meter.read(True, constructs, SAMPLE) == {}  # measured just now
    assert meter.read(True, build_constructs(QUERIES[:1], SCHEMA), SAMPLE)


def profile_prob(bench: Bench, batch_id: int) -> float:
    """With what probability the batch's tuples are sampled."""
    operator: Operator = bench.loop.begin_batch(batch_id).operators["S"][UNIT]
    bench.loop.abandon_batch()
    assert isinstance(operator, SelectionOperator)
    return operator.profile_prob


def test_of_large_batches_no_more_are_sampled_than_the_window_keeps(bench: Bench) -> None:
    bench.ask("knob", {"knob": "tau_tuples", "value": 60})
    assert profile_prob(bench, 0) == 1.0
    bench.random_batch(300)
    assert profile_prob(bench, 1) == pytest.approx(60 / 300)


def test_monitoring_by_period_samples_for_all_its_periods(bench: Bench) -> None:
    bench.ask("knob", {"knob": "tau_tuples", "value": 60})
    bench.ask("knob", {"knob": "monitoring", "value": "by period"})
    bench.random_batch(300)
    n_periods = len(bench.unit.core.constructs.attributes) - 1
    assert n_periods > 1
    assert profile_prob(bench, 1) == pytest.approx(n_periods * 60 / 300)
