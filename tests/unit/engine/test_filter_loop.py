"""The loop around a pipeline of filters, with a real store and no Spark."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.model.functions import Function, Functions, Parameter
from backend.model.ids import entity_id, profile_id
from backend.model.schema import Schema
from tests.engine_runs import RUN_ID, EngineRun

SCHEMA = Schema.parse("a int, b int, c string")
UNIT = "agreedy.q"


def fragile(c: str) -> bool:
    """Raises for 'bad'."""
    if c == "bad":
        raise ValueError("cannot read bad")
    return c != "n"


def busy(a: int) -> bool:
    """Takes a while, and lets most pass."""
    until = time.perf_counter() + 20e-6
    while time.perf_counter() < until:
        pass
    return a % 10 != 0


FUNCTIONS = Functions(
    {
        "fragile": Function("fragile", (Parameter("c", "string"),), fragile),
        "busy": Function("busy", (Parameter("a", "int"),), busy),
        "rare": Function("rare", (Parameter("b", "int"),), lambda b: b < 10),
    }
)
TEXT = "Select * From S Where a >= 10 and busy(a) and fragile(c) and rare(b)"
FEWER = "Select * From S Where a >= 10 and busy(a) and rare(b)"
KNOBS = {"profile_prob": 1.0, "min_samples": 50, "window_tuples": 300}


def id_of(role: str, name: str) -> str:
    """An entity of the unit."""
    return entity_id(UNIT, role, name)


class Bench(EngineRun):
    """One query with filters."""

    def __init__(self, path: Path, continues: bool = False) -> None:
        super().__init__(path, {"S": SCHEMA}, {"q": TEXT}, KNOBS, FUNCTIONS, continues=continues)
        self.rng = random.Random(5)
        self.rows: list[dict[str, Any]] = []

    def random_batch(self, n: int = 100) -> None:
        rows = [
            {
                "a": self.rng.randint(0, 99),
                "b": self.rng.randint(0, 99),
                "c": self.rng.choice(["x", "y", "z", "n", "bad", None]),
            }
            for _ in range(n)
        ]
        self.rows += rows
        self.batch(rows)

    def order(self) -> tuple[str, ...]:
        """The names of the filters in the newest plan's order."""
        plan = self.reader.plans(RUN_ID)[-1]
        names = {node["id"]: node["name"] for node in plan.graph["nodes"]}
        return tuple(names[id] for id in plan.order)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.close()


def test_exceptions_are_counted_on_after_a_kill(tmp_path: Path) -> None:
    counts = []
    for continues in (False, True):
        run = Bench(tmp_path / "store.db", continues)
        for _ in range(4 - 3 * continues):
            run.random_batch()
        counts.append(run.reader.values(RUN_ID)[id_of("filter", "fragile")]["raised_total"] or 0)
        run.kill()
    assert 0 < counts[0] < counts[1]


def test_counts_matches_and_tuples_kept_aside_are_those_of_the_tuples(bench: Bench) -> None:
    for _ in range(4):
        bench.random_batch()
    left = [r for r in bench.rows if r["a"] >= 10 and r["a"] % 10 and r["b"] < 10]
    matched = [r for r in left if r["c"] in ("x", "y", "z")]
    aside = [r for r in left if r["c"] == "bad"]
    values = bench.reader.values(RUN_ID)
    assert values[id_of("query", "q")]["matched_total"] == len(matched) > 0
    assert values["system"]["misfits_total"] == len(aside) > 0
    assert values["system"]["tuples_total"] == 400 - len(aside)
    assert (values[id_of("filter", "fragile")]["raised_total"] or 0) >= len(aside)
    stored = bench.reader.misfits(RUN_ID, 200)
    assert {m.error for m in stored} == {"fragile: ValueError: cannot read bad"}
    assert len(stored) == len(aside)


def test_the_slow_filter_goes_last_and_the_decision_says_why(bench: Bench) -> None:
    for _ in range(6):
        bench.random_batch()
    assert bench.order() == ("a", "rare", "fragile", "busy")
    plan = bench.reader.plans(RUN_ID)[-1]
    assert plan.evidence["algorithm"] == "a-greedy"
    (entry,) = [e for e in bench.reader.decisions(RUN_ID) if e.decision.verdict == "switched"][:1]
    decision = entry.decision
    assert decision.algorithm == "a-greedy"
    assert decision.detail["cost_unit"] == "us per tuple"
    assert "busy" in {decision.detail["pair"]["filter"], decision.detail["pair"]["challenger"]}


def test_what_is_published_of_filters_queues_and_the_monitor(bench: Bench) -> None:
    for _ in range(5):
        bench.random_batch()
    entities = {e.id: e for e in bench.reader.entities(RUN_ID)}
    assert entities[id_of("filter", "a")].properties["kind"] == "native"
    assert entities[id_of("query", "q")].properties["filters"] == ["a", "busy", "fragile", "rare"]
    values = bench.reader.values(RUN_ID)
    for name in ("a", "busy", "fragile", "rare"):
        assert set(values[id_of("filter", name)]) == {
            "reached_tuples",
            "drop_prob",
            "survival_prob",
            "cost_us",
            "call_us",
            "rank",
            "window_drop_prob",
            "raised_total",
        }
        assert values[id_of("queue", name)]["flow_tuples"] is not None
    assert (values[id_of("filter", "busy")]["cost_us"] or 0) > 15
    shares = [v for k, v in values[profile_id(UNIT)].items() if k.startswith("share_")]
    assert sum(s or 0 for s in shares) == pytest.approx(1)
    assert values[profile_id(UNIT)]["window_tuples"] == 300
    matrix = bench.reader.matrix(RUN_ID, "view:q")
    assert matrix is not None
    assert matrix.matrix.kind == "view"
    assert list(matrix.matrix.rows) == list(bench.order())
    assert bench.reader.matrix(RUN_ID, "view_drop_prob:q") is not None
    assert bench.reader.matrix(RUN_ID, "view_rank:q") is not None


def test_a_filter_is_removed_while_running(bench: Bench) -> None:
    for _ in range(4):
        bench.random_batch()
    bench.ask("query_remove", {"name": "q"})
    added = bench.ask("query_add", {"name": "q", "text": FEWER})
    bench.random_batch()
    assert bench.answer(added).state == "applied"
    assert bench.order() == ("a", "rare", "busy")
    live = {e.name for e in bench.reader.entities(RUN_ID)}
    assert "fragile" not in live
    before = bench.reader.values(RUN_ID)["system"]["misfits_total"]
    bench.random_batch()
    assert bench.reader.values(RUN_ID)["system"]["misfits_total"] == before


def test_a_paused_query_emits_nothing(bench: Bench) -> None:
    bench.random_batch()
    bench.ask("query_pause", {"name": "q"})
    bench.random_batch()
    values = bench.reader.values(RUN_ID)
    assert values["system"]["n_matched"] == 0
    assert values["system"]["n_tuples"] == 100
    bench.ask("query_resume", {"name": "q"})
    bench.random_batch(400)
    assert (bench.reader.values(RUN_ID)["system"]["n_matched"] or 0) > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Select * From S Where rear(b)", "unknown function 'rear'; did you mean 'rare'?"),
        ("Select * From S Where rare(c)", "c is a string attribute and rare wants an int as b"),
    ],
)
def test_a_query_that_cannot_run_here_is_refused(bench: Bench, text: str, said: str) -> None:
    command = bench.ask("query_add", {"name": "q2", "text": text})
    bench.random_batch()
    answered = bench.answer(command)
    assert answered.state == "refused"
    assert said in answered.answer


def test_switching_the_algorithm_is_an_event_that_says_what_was_flushed(bench: Bench) -> None:
    for _ in range(4):
        bench.random_batch()
    bench.ask("knob", {"knob": "filter_algorithm", "value": "local swaps"})
    bench.random_batch()
    bench.ask("knob", {"knob": "filter_algorithm", "value": "a-greedy"})
    bench.random_batch()
    told = [e.event for e in bench.reader.events(RUN_ID) if e.event.kind == "algorithm"]
    assert [e.title for e in told][-1].endswith("→ a-greedy") or len(told) == 2
    assert all("flushed because not every filter was asked" in e.detail for e in told)


def test_another_query_with_filters_has_a_unit_of_its_own(bench: Bench) -> None:
    bench.random_batch()
    bench.ask("query_add", {"name": "more", "text": "Select * From S Where rare(b) and busy(a)"})
    for _ in range(3):
        bench.random_batch()
    units = {unit.id: unit.queries for unit in bench.reader.units(RUN_ID)}
    assert units == {UNIT: ("q",), "agreedy.more": ("more",)}
    matched = [r for r in bench.rows[100:] if r["b"] < 10 and r["a"] % 10]
    total = bench.reader.values(RUN_ID)[entity_id("agreedy.more", "query", "more")]
    assert total["matched_total"] == len(matched) > 0
