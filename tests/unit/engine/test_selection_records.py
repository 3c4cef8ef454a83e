"""What adaptive selection leaves in the store: regret, hybrid plans and their arrows, costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.cql import parse_query
from backend.engine.describe import plan_hash
from backend.engine.visit_costs import VisitCostMeter, measure_visit_costs
from backend.model.events import MicroArrow, SelectionPlan
from backend.systems.asc.constructs import build_constructs
from tests.unit.engine.test_loop import KNOB_VALUES, RUN_ID, SCHEMA, TEXTS, Bench

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
    made.reader.close()
    made.commands.close()
    made.engine.writer.close()


def test_the_regret_of_the_plan_is_recorded(bench: Bench) -> None:
    for _ in range(6):
        bench.batch()
    system = bench.reader.values(RUN_ID)["system"]
    known = {name: v for name, v in system.items() if name.startswith("regret") and v is not None}
    assert set(known) >= {"regret_first", "regret_saved_total"}
    assert known["regret_saved_se"] == 0  # every tuple is sampled
    assert known["regret_best"] <= known["regret_running"]
    assert system["micro_ratio"] is None


def test_a_hybrid_plan_is_recorded_with_its_arrows(bench: Bench) -> None:
    bench.ask("knob", {"knob": "stop_rule", "value": "drop"})
    bench.ask("knob", {"knob": "ordering", "value": "hybrid"})
    for _ in range(6):
        bench.batch()
    plan = bench.reader.plans(RUN_ID)[-1]
    assert plan.kind == "hybrid"
    system = bench.reader.values(RUN_ID)["system"]
    assert 0 <= (system["micro_ratio"] or 0) <= 1
    assert (system["relative_cost"] or 0) > 0
    stored = bench.reader.matrix(RUN_ID, "arrows")
    assert stored is not None
    support = stored.matrix.row_stats["support"]
    assert sum(s is not None for s in support) == len(bench.engine.core.plan.arrows) > 0
    decision = bench.reader.decisions(RUN_ID)[-1].decision
    assert {"values", "steps", "end"} == set(decision.detail["paths"][0])


def test_a_hash_tells_micro_arrows_apart() -> None:
    plain = SelectionPlan(1, "hybrid", ("a", "b"))
    arrow = SelectionPlan(1, "hybrid", ("a", "b"), (MicroArrow("a", 1, "b", 9, 0.5),))
    again = SelectionPlan(7, "hybrid", ("a", "b"), (MicroArrow("a", 1, "b", 4, 0.1),))
    assert plan_hash(plain) != plan_hash(arrow) == plan_hash(again)


def test_visits_are_timed_only_when_wanted_and_due() -> None:
    constructs = build_constructs(QUERIES, SCHEMA)
    times = measure_visit_costs(constructs, SAMPLE, rounds=2)
    assert set(times) == {"a", "b", "c"}
    assert min(times.values()) > 0
    assert measure_visit_costs(constructs, {a: v[:9] for a, v in SAMPLE.items()}) == {}
    assert measure_visit_costs(constructs, {"a": SAMPLE["a"]}) == {}


def test_the_meter_reads_when_the_knob_asks(bench: Bench) -> None:
    constructs, meter = build_constructs(QUERIES, SCHEMA), VisitCostMeter()
    equal = bench.engine.settings
    measured = equal.changed("visit_costs", "measured")
    assert KNOB_VALUES.get("visit_costs", "equal") == "equal"
    assert meter.read(equal, constructs, SAMPLE) == {}
    assert meter.read(measured, constructs, SAMPLE)
    assert meter.read(measured, constructs, SAMPLE) == {}  # measured just now
    assert meter.read(measured, build_constructs(QUERIES[:1], SCHEMA), SAMPLE)


def test_of_large_batches_no_more_are_sampled_than_the_window_keeps(bench: Bench) -> None:
    bench.ask("knob", {"knob": "tau_tuples", "value": 60})
    assert bench.engine.begin_batch(0).profile_prob == 1.0
    bench.engine.abandon_batch()
    bench.batch(300)
    assert bench.engine.begin_batch(1).profile_prob == pytest.approx(60 / 300)


def test_monitoring_by_period_samples_for_all_its_periods(bench: Bench) -> None:
    bench.ask("knob", {"knob": "tau_tuples", "value": 60})
    bench.ask("knob", {"knob": "monitoring", "value": "by period"})
    bench.batch(300)
    n_periods = len(bench.engine.core.constructs.attributes) - 1
    assert n_periods > 1
    assert bench.engine.begin_batch(1).profile_prob == pytest.approx(n_periods * 60 / 300)
