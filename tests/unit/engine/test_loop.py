"""The loop around selections on one stream, in this process, with a real store."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.cql import parse_query
from backend.model.ids import entity_id
from backend.model.schema import Schema
from backend.systems.asc.unit import SelectionUnit
from tests.engine_runs import RUN_ID, EngineRun
from tests.oracles import selection as oracle

SCHEMA = Schema.parse("a int, b int, c string")
UNIT = "asc.S"
TEXTS = {
    "q1": "Select * From S Where a < 20 and b < 50",
    "q2": "Select * From S Where b >= 90",
    "q3": "Select * From S Where a > 95 and c = 'x'",
}


def query_id(name: str) -> str:
    """The entity of a selection query."""
    return entity_id(UNIT, "query", name)


class Bench(EngineRun):
    """Selections on one stream."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, {"S": SCHEMA}, TEXTS)
        self.rng = random.Random(5)
        self.rows: list[dict[str, Any]] = []

    @property
    def unit(self) -> SelectionUnit:
        found = self.loop.unit(UNIT)
        assert isinstance(found, SelectionUnit)
        return found

    def random_batch(self, n: int = 100, low: int = 0) -> None:
        """One batch of random tuples, a in low..99."""
        rows = [
            {
                "a": self.rng.randint(low, 99),
                "b": self.rng.randint(0, 99),
                "c": self.rng.choice(["x", "y", None]),
            }
            for _ in range(n)
        ]
        self.rows += rows
        self.batch(rows)

    def order(self) -> tuple[str, ...]:
        """The names of the operators in the newest plan's order."""
        plan = self.reader.plans(RUN_ID)[-1]
        names = {node["id"]: node["name"] for node in plan.graph["nodes"]}
        return tuple(names[id] for id in plan.order)

    def query_states(self) -> dict[str, str]:
        entities = self.reader.entities(RUN_ID)
        return {e.name: e.properties["state"] for e in entities if e.kind == "query"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.close()


def test_counts_and_matches_are_those_of_the_tuples(bench: Bench) -> None:
    for _ in range(3):
        bench.random_batch()
    values = bench.reader.values(RUN_ID)
    queries = [parse_query(n, t, {"S": SCHEMA}) for n, t in TEXTS.items()]
    matches = [oracle.matches(queries, row, SCHEMA) for row in bench.rows]
    assert values["system"]["tuples_total"] == 300
    assert values["system"]["matched_total"] == sum(map(bool, matches))
    for name in TEXTS:
        assert values[query_id(name)]["matched_total"] == sum(name in m for m in matches)


def test_the_first_order_is_measured_and_the_decision_says_why(bench: Bench) -> None:
    for _ in range(3):
        bench.random_batch()
    first = bench.reader.plans(RUN_ID)[0]
    assert (first.version, first.batch) == (1, 0)
    decision = bench.reader.decision(RUN_ID, 1)
    assert decision is not None
    assert decision.decision.kind == "initial order"
    assert decision.decision.n_sample >= 50


def test_a_knob_is_applied_at_the_next_boundary(bench: Bench) -> None:
    bench.random_batch()
    command = bench.ask("knob", {"knob": "mu", "value": 0.4})
    assert bench.answer(command).state == "requested"
    bench.random_batch()
    answered = bench.answer(command)
    assert (answered.state, answered.applied_batch, answered.old_value) == ("applied", 1, 0.1)
    (mu,) = [k for k in bench.reader.knobs(RUN_ID) if k.name == "mu"]
    assert (mu.value, mu.version, mu.batch) == (0.4, 1, 1)


def test_a_knob_is_applied_on_a_silent_stream(bench: Bench) -> None:
    bench.random_batch()
    command = bench.ask("knob", {"knob": "rate", "value": 50})
    bench.loop.idle()
    assert bench.answer(command).applied_batch == 1
    assert bench.loop.input_knob("S", "rate") == 50


@pytest.mark.parametrize(
    ("payload", "version", "said"),
    [
        ({"knob": "mu", "value": 99}, None, "0..10"),
        ({"knob": "trigger", "value": "luck"}, None, "one of visits"),
        ({"knob": "nothing", "value": 1}, None, "knobs are"),
        ({"knob": "mu", "value": 0.2}, 7, "changed meanwhile"),
    ],
)
def test_a_refused_knob_says_why(
    bench: Bench, payload: dict[str, Any], version: int | None, said: str
) -> None:
    command = bench.ask("knob", payload, version)
    bench.random_batch()
    answered = bench.answer(command)
    assert answered.state == "refused"
    assert said in answered.answer
    assert bench.loop.settings.scopes[UNIT].values["mu"] == 0.1


def test_queries_come_pause_and_go_while_running(bench: Bench) -> None:
    bench.random_batch()
    bench.ask("query_add", {"name": "q4", "text": "Select * From S Where c is null"})
    bench.random_batch()
    assert "c" in bench.order()
    assert bench.query_states()["q4"] == "active"
    bench.ask("query_pause", {"name": "q1"})
    bench.random_batch()
    assert bench.query_states()["q1"] == "paused"
    before = bench.reader.values(RUN_ID)[query_id("q1")]["matched_total"]
    bench.random_batch()
    assert bench.reader.values(RUN_ID)[query_id("q1")]["matched_total"] == before
    bench.ask("query_resume", {"name": "q1"})
    bench.ask("query_remove", {"name": "q3"})
    bench.ask("query_remove", {"name": "q4"})
    bench.random_batch()
    assert bench.query_states() == {"q1": "active", "q2": "active"}
    assert "c" not in bench.order()
    assert [p.version for p in bench.reader.plans(RUN_ID)] == sorted(
        p.version for p in bench.reader.plans(RUN_ID)
    )


def test_bad_queries_are_refused_with_the_place(bench: Bench) -> None:
    wrong = bench.ask("query_add", {"name": "q9", "text": "Select * From S Where zz > 1"})
    twice = bench.ask("query_add", {"name": "q1", "text": "Select * From S"})
    twin = bench.ask("query_add", {"name": "Q1", "text": "Select * From S"})
    named = bench.ask("query_add", {"name": "a/b", "text": "Select * From S"})
    gone = bench.ask("query_remove", {"name": "q7"})
    bench.random_batch()
    assert "query 'a/b' is a path" in bench.answer(named).answer
    assert "line 1" in bench.answer(wrong).answer
    assert "registered already" in bench.answer(twice).answer
    assert "'Q1' and the registered query 'q1' differ only by case" in bench.answer(twin).answer
    assert "no query is named" in bench.answer(gone).answer
    assert set(bench.query_states()) == set(TEXTS)


def test_a_batch_written_twice_changes_nothing(bench: Bench) -> None:
    bench.random_batch()
    result = bench.batch(bench.rows, 1)
    before = bench.reader.values(RUN_ID)
    bench.loop.end_batch(result)
    assert bench.reader.values(RUN_ID) == before


def test_a_command_that_stops(bench: Bench) -> None:
    command = bench.ask("stop", {})
    bench.loop.idle()
    assert bench.loop.stop_requested.is_set()
    assert bench.answer(command).state == "applied"


def test_a_command_that_breaks_off_is_refused_and_undone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench.random_batch()
    handle, seen = bench.unit.core.handle, []

    def breaking(event: Any) -> Any:
        found = handle(event)
        seen.append(event)
        if len(seen) == 1:
            raise ZeroDivisionError("half done \ud800")
        return found

    monkeypatch.setattr(bench.unit.core, "handle", breaking)
    broken = bench.ask("query_add", {"name": "q4", "text": "Select * From S Where c is null"})
    after = bench.ask("knob", {"knob": "mu", "value": 0.3})
    bench.random_batch()
    answered = bench.answer(broken)
    assert (answered.state, answered.applied_batch) == ("refused", None)
    assert answered.answer == "the engine could not carry it out: ZeroDivisionError: half done ?"
    assert "broke off" in caplog.text
    assert bench.answer(after).state == "applied"
    assert set(bench.query_states()) == set(TEXTS)
    assert "c" in bench.order()  # q3 asks for c
    bench.random_batch()
    assert set(bench.unit.core.constructs.names_slots) == set(TEXTS)


HOSTILE = {
    "blanks": "Select * From S Where a = 1" + " " * 7000 + "or a = 2",
    "not": "Select * From S Where " + "not " * 1900 + "a = 1",
    "normal form": "Select * From S Where " + " and ".join(["(a = 1 or b = 2)"] * 300),
    "many attributes": "Select * From S Where " + " or ".join(f"a = {n}" for n in range(700)),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_query_ends_or_stops_the_run(bench: Bench, name: str) -> None:
    bench.random_batch()
    command = bench.ask("query_add", {"name": "p", "text": HOSTILE[name]})
    bench.random_batch()
    assert bench.answer(command).state in ("applied", "refused")


def test_a_poisoned_command_of_an_old_store_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.random_batch()
    command = bench.ask("query_add", {"name": "p", "text": "Select * From S"})
    with sqlite3.connect(bench.path) as store:
        payload = r'{"name": "\ud800", "text": "\ud800"}'
        store.execute("UPDATE commands SET payload = ? WHERE id = ?", (payload, command.id))
    store.close()
    bench.random_batch()
    bench.random_batch()
    assert "line 1, column 1: found '?'" in bench.answer(command).answer
