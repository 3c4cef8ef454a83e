"""The loop around a pipeline of filters, with a real store and no Spark."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.cql import parse_query
from backend.engine.control import Refused
from backend.engine.filters import FilterEngine
from backend.engine.knobs import FILTER_RUN_KNOBS, SELECTION_RUN_KNOBS
from backend.engine.loop import Engine, StreamJob
from backend.model.functions import Function, Functions, Parameter
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from storage.store import (
    CommandWriter,
    Reader,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.vocabulary.records import Command, Input, Run
from tests.oracles.filter_batches import execute

SCHEMA = Schema.parse("a int, b int, c string")
RUN_ID = "filter-run"


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


def a_run() -> Run:
    inputs = (Input("S", []),)
    return Run(RUN_ID, "test", "starting", time.time(), {}, 1, "here", "0", inputs=inputs)


class Bench:
    """An engine, its store, and both ends of it."""

    def __init__(self, path: Path) -> None:
        query = parse_query("q", TEXT, {"S": SCHEMA}, FUNCTIONS)
        run = Run(
            RUN_ID, "test", "starting", time.time(), {}, 1, "here", "0", inputs=(Input("S", []),)
        )
        settings = KnobSettings.defaults(FILTER_RUN_KNOBS, KNOBS)
        job = StreamJob("S", SCHEMA, (query,), {"format": "memory"}, {"path": "out"}, FUNCTIONS)
        self.engine = FilterEngine(run, job, settings, open_engine_writer(str(path)))
        self.engine.start()
        self.commands: CommandWriter = open_command_writer(str(path))
        self.reader: Reader = open_reader(str(path))
        self.rng = random.Random(5)
        self.rows: list[dict[str, Any]] = []
        self.batch_id = 0

    def batch(self, n: int = 100) -> None:
        rows = [
            {
                "a": self.rng.randint(0, 99),
                "b": self.rng.randint(0, 99),
                "c": self.rng.choice(["x", "y", "z", "n", "bad", None]),
            }
            for _ in range(n)
        ]
        self.rows += rows
        snapshot = self.engine.begin_batch(self.batch_id)
        self.engine.end_batch(execute(rows, snapshot, SCHEMA, FUNCTIONS))
        self.batch_id += 1

    def ask(self, kind: str, payload: dict[str, Any]) -> Command:
        return self.commands.append_command(RUN_ID, kind, payload, "tester", "", time.time(), None)

    def answer(self, command: Command) -> Command:
        found = self.reader.command(RUN_ID, command.id)
        assert found is not None
        return found

    def order(self) -> tuple[str, ...]:
        return self.reader.plans(RUN_ID)[-1].order


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.reader.close()
    made.commands.close()
    made.engine.writer.close()


def test_counts_matches_and_tuples_kept_aside_are_those_of_the_tuples(bench: Bench) -> None:
    for _ in range(4):
        bench.batch()
    left = [r for r in bench.rows if r["a"] >= 10 and r["a"] % 10 and r["b"] < 10]
    matched = [r for r in left if r["c"] in ("x", "y", "z")]
    aside = [r for r in left if r["c"] == "bad"]
    values = bench.reader.values(RUN_ID)
    assert values["query:q"]["matched_total"] == len(matched) > 0
    assert values["system"]["misfits_total"] == len(aside) > 0
    assert values["system"]["tuples_total"] == 400 - len(aside)
    assert (values["filter:fragile"]["raised_total"] or 0) >= len(aside)
    stored = bench.reader.misfits(RUN_ID, 200)
    assert {m.error for m in stored} == {"fragile: ValueError: cannot read bad"}
    assert len(stored) == len(aside)


def test_the_slow_filter_goes_last_and_the_decision_says_why(bench: Bench) -> None:
    for _ in range(6):
        bench.batch()
    assert bench.order() == ("filter:a", "filter:rare", "filter:fragile", "filter:busy")
    plan = bench.reader.plans(RUN_ID)[-1]
    assert plan.evidence["native"] == ["a"]
    runs_in = {n["name"]: n.get("properties", {}).get("runs_in") for n in plan.graph["nodes"]}
    assert runs_in["a"] == "expression"
    assert runs_in["rare"] == "Arrow operator"
    (entry,) = [e for e in bench.reader.decisions(RUN_ID) if e.decision.verdict == "switched"][:1]
    decision = entry.decision
    assert decision.algorithm == "a-greedy"
    assert decision.detail["cost_unit"] == "us per tuple"
    assert "busy" in {decision.detail["pair"]["filter"], decision.detail["pair"]["challenger"]}


def test_what_is_published_of_filters_queues_and_the_monitor(bench: Bench) -> None:
    for _ in range(5):
        bench.batch()
    entities = {e.id: e for e in bench.reader.entities(RUN_ID)}
    assert entities["filter:busy"].properties["runs_in"] == "Arrow operator"
    assert entities["filter:a"].properties["kind"] == "native"
    assert entities["query:q"].properties["filters"] == ["a", "busy", "fragile", "rare"]
    values = bench.reader.values(RUN_ID)
    for name in ("a", "busy", "fragile", "rare"):
        assert set(values[f"filter:{name}"]) == {
            "reached_tuples",
            "drop_prob",
            "survival_prob",
            "cost_us",
            "rank",
            "window_drop_prob",
            "raised_total",
        }
        assert values[f"queue:{name}"]["flow_tuples"] is not None
    assert (values["filter:busy"]["cost_us"] or 0) > 15
    shares = [v for k, v in values["monitor:profile"].items() if k.startswith("share_")]
    assert sum(s or 0 for s in shares) == pytest.approx(1)
    assert values["monitor:profile"]["window_tuples"] == 300
    matrix = bench.reader.matrix(RUN_ID, "view:q")
    assert matrix is not None
    assert matrix.matrix.kind == "view"
    assert [f"filter:{n}" for n in matrix.matrix.rows] == list(bench.order())
    assert bench.reader.matrix(RUN_ID, "view_drop_prob:q") is not None
    assert bench.reader.matrix(RUN_ID, "view_rank:q") is not None


def test_a_filter_is_removed_while_running(bench: Bench) -> None:
    for _ in range(4):
        bench.batch()
    bench.ask("query_remove", {"name": "q"})
    added = bench.ask("query_add", {"name": "q", "text": FEWER})
    bench.batch()
    assert bench.answer(added).state == "applied"
    assert bench.order() == ("filter:a", "filter:rare", "filter:busy")
    live = {e.id for e in bench.reader.entities(RUN_ID)}
    assert "filter:fragile" not in live
    before = bench.reader.values(RUN_ID)["system"]["misfits_total"]
    bench.batch()
    assert bench.reader.values(RUN_ID)["system"]["misfits_total"] == before


def test_a_paused_query_emits_nothing(bench: Bench) -> None:
    bench.batch()
    bench.ask("query_pause", {"name": "q"})
    bench.batch()
    values = bench.reader.values(RUN_ID)
    assert values["system"]["n_matched"] == 0
    assert values["system"]["n_tuples"] == 100
    bench.ask("query_resume", {"name": "q"})
    bench.batch(400)
    assert (bench.reader.values(RUN_ID)["system"]["n_matched"] or 0) > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Select * From S Where rare(b)", "this run orders the filters of one query, 'q'"),
        ("Select * From S Where rear(b)", "unknown function 'rear'; did you mean 'rare'?"),
        ("Select * From S Where rare(c)", "c is a string attribute and rare wants an int as b"),
    ],
)
def test_a_query_that_cannot_run_here_is_refused(bench: Bench, text: str, said: str) -> None:
    command = bench.ask("query_add", {"name": "q2", "text": text})
    bench.batch()
    answered = bench.answer(command)
    assert answered.state == "refused"
    assert said in answered.answer


def test_switching_the_algorithm_is_an_event_that_says_what_was_flushed(bench: Bench) -> None:
    for _ in range(4):
        bench.batch()
    bench.ask("knob", {"knob": "filter_algorithm", "value": "local swaps"})
    bench.batch()
    bench.ask("knob", {"knob": "filter_algorithm", "value": "a-greedy"})
    bench.batch()
    told = [e.event for e in bench.reader.events(RUN_ID) if e.event.kind == "algorithm"]
    assert [e.title for e in told][-1].endswith("→ a-greedy") or len(told) == 2
    assert all("flushed because not every filter was asked" in e.detail for e in told)


def test_a_selection_run_refuses_filters(tmp_path: Path) -> None:
    query = parse_query("q", TEXT, {"S": SCHEMA}, FUNCTIONS)
    run = a_run()
    job = StreamJob("S", SCHEMA, (query,), {}, {}, FUNCTIONS)
    writer = open_engine_writer(str(tmp_path / "s.db"))
    with pytest.raises(Refused, match="calls functions or looks into a window"):
        Engine(run, job, KnobSettings.defaults(SELECTION_RUN_KNOBS), writer)
    writer.close()
