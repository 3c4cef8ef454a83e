"""Many units in one run: selections and filters over two streams, one batch, one record of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.cql import parse_query
from backend.engine.planner import place
from backend.model.ids import entity_id, source_id
from backend.systems.contract import Recorded, Refused
from storage.vocabulary.graph import PlanGraph, merged
from tests.engine_runs import RUN_ID, EngineRun
from tests.systems.running import FUNCTIONS, SCHEMA

TEXTS = {
    "low": "Select * From S Where a < 20 and b < 60",
    "late": "Select * From S Where b >= 90 or a = 7",
    "calls": "Select * From S Where common(a) and fragile(c) and rare(b)",
    "other": "Select * From T Where rare(b) and common(a)",
}
#: The same in Python.
HOLDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "low": lambda r: r["a"] < 20 and r["b"] < 60,
    "late": lambda r: r["b"] >= 90 or r["a"] == 7,
    "calls": lambda r: r["a"] % 10 != 0 and r["c"] not in ("n", None) and r["b"] < 10,
    "other": lambda r: r["b"] < 10 and r["a"] % 10 != 0,
}
UNITS = {"asc.S": ("low", "late"), "agreedy.calls": ("calls",), "agreedy.other": ("other",)}


class Bench(EngineRun):
    """Three units over the streams S and T."""

    def __init__(self, path: Path, **options: Any) -> None:
        schemas = {"S": SCHEMA, "T": SCHEMA}
        super().__init__(path, schemas, TEXTS, functions=FUNCTIONS, **options)
        self.rng = random.Random(5 + self.batch_id)
        self.rows: dict[str, list[dict[str, Any]]] = {"S": [], "T": []}

    def random_batch(self, n: int = 200) -> None:
        given = {stream: [self._row() for _ in range(n)] for stream in self.rows}
        for stream, rows in given.items():
            self.rows[stream] += rows
        self.batch(given)

    def _row(self) -> dict[str, Any]:
        rng = self.rng
        return {"a": rng.randrange(100), "b": rng.randrange(100), "c": rng.choice(["x", "n", None])}

    def matched(self, name: str) -> list[dict[str, Any]]:
        """The tuples so far that satisfy the query."""
        stream = "T" if name == "other" else "S"
        return [row for row in self.rows[stream] if HOLDS[name](row)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db", sink=tmp_path / "out")
    yield made
    made.close()


def query_id(name: str) -> str:
    unit = next(unit for unit, names in UNITS.items() if name in names)
    return entity_id(unit, "query", name)


def test_one_run_has_all_units_and_counts_each_query(bench: Bench) -> None:
    for _ in range(4):
        bench.random_batch()
    reader = bench.reader
    assert {unit.id: unit.queries for unit in reader.units(RUN_ID)} == UNITS
    values = reader.values(RUN_ID)
    for name in TEXTS:
        assert values[query_id(name)]["matched_total"] == len(bench.matched(name)) > 0
    assert values["system"]["tuples_total"] == 2 * 4 * 200
    assert values[source_id("T")]["reached_tuples"] == 200
    any_query = [r for r in bench.rows["S"] if any(HOLDS[n](r) for n in ("low", "late", "calls"))]
    assert values["system"]["matched_total"] == len(any_query) + len(bench.matched("other"))


def test_the_sink_has_each_tuple_once_with_the_queries_of_all_units(
    bench: Bench, tmp_path: Path
) -> None:
    for _ in range(3):
        bench.random_batch()
    found = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table()
    rows = [r for r in found.to_pylist() if r["stream"] == "S"]
    wanted = [
        {**r, "query_ids": names}
        for r in bench.rows["S"]
        if (names := sorted(n for n in ("low", "late", "calls") if HOLDS[n](r)))
    ]
    key = repr
    assert sorted(({k: r[k] for k in wanted[0]} for r in rows), key=key) == sorted(wanted, key=key)


def test_plans_decisions_knobs_and_matrices_are_told_apart_by_unit(bench: Bench) -> None:
    for _ in range(6):
        bench.random_batch()
    reader = bench.reader
    plans = reader.plans(RUN_ID)
    assert {plan.unit_id for plan in plans} == set(UNITS)
    assert all(plan.version == 1 for plan in plans[:3])
    whole = merged(PlanGraph.from_json(plan.graph) for plan in plans[:3])
    roles = [node.role for node in whole.nodes]
    assert (roles.count("source"), roles.count("output")) == (2, 2)
    assert {"selection", "filter"} <= set(roles)
    knobs = [k for k in reader.knobs(RUN_ID) if k.name == "profile_prob"]
    assert {k.scope for k in knobs} == set(UNITS)
    assert {d.decision.unit_id for d in reader.decisions(RUN_ID)} == set(UNITS)
    (batch,) = reader.batches(RUN_ID, None, 50)[-1:]
    assert set(batch.plans) == set(UNITS)


def test_a_knob_that_several_units_have_needs_its_scope(bench: Bench) -> None:
    bench.random_batch()
    vague = bench.ask("knob", {"knob": "profile_prob", "value": 0.5})
    exact = bench.ask("knob", {"knob": "profile_prob", "value": 0.5, "scope": "agreedy.other"})
    wrong = bench.ask("knob", {"knob": "mu", "value": 0.5, "scope": "agreedy.other"})
    nobody = bench.ask("knob", {"knob": "mu", "value": 0.5, "scope": "asc.U"})
    bench.random_batch()
    assert bench.answer(vague).answer.startswith("say which 'profile_prob' is meant")
    assert bench.answer(exact).state == "applied"
    assert "has no knob 'mu'" in bench.answer(wrong).answer
    said = bench.answer(nobody).answer
    assert said.startswith("nothing with knobs is called 'asc.U'; ")
    assert said.endswith(("write asc.S/mu", "did you mean 'asc.S'?"))
    knobs = {k.scope: k.value for k in bench.reader.knobs(RUN_ID) if k.name == "profile_prob"}
    assert knobs["agreedy.other"] == 0.5
    assert knobs["asc.S"] == 1.0


def test_units_come_with_queries_and_go_with_the_last_one(bench: Bench) -> None:
    bench.random_batch()
    bench.ask("query_add", {"name": "new", "text": "Select * From T Where a > 90"})
    bench.random_batch()
    assert "asc.T" in {unit.id for unit in bench.reader.units(RUN_ID)}
    bench.ask("query_remove", {"name": "other"})
    bench.random_batch()
    live = {unit.id for unit in bench.reader.units(RUN_ID)}
    assert live == {"asc.S", "asc.T", "agreedy.calls"}
    assert "other" not in {e.name for e in bench.reader.entities(RUN_ID) if e.kind == "query"}
    bench.ask("query_add", {"name": "other", "text": TEXTS["other"]})
    bench.random_batch()
    versions = [p.version for p in bench.reader.plans(RUN_ID) if p.unit_id == "agreedy.other"]
    assert versions == sorted(set(versions))
    assert len(versions) > 1


def test_a_query_no_system_can_run_is_refused_with_every_reason(bench: Bench) -> None:
    query = parse_query("q", TEXTS["calls"], {"S": SCHEMA}, FUNCTIONS)
    with pytest.raises(Refused, match="no system can run query 'q'"):
        place(query, systems=())


def test_a_unit_that_refuses_to_come_back_stays_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.random_batch()
    unit = bench.loop.unit("agreedy.other")
    bench.ask("query_remove", {"name": "other"})
    bench.random_batch()

    def refuse(event: object) -> Recorded:
        raise Refused("not today")

    monkeypatch.setattr(unit, "changed", refuse)
    again = bench.ask("query_add", {"name": "other", "text": TEXTS["other"]})
    bench.random_batch()
    assert bench.answer(again).answer == "not today"
    assert "agreedy.other" not in {one.id for one in bench.reader.units(RUN_ID)}
    monkeypatch.undo()
    again = bench.ask("query_add", {"name": "other", "text": TEXTS["other"]})
    bench.random_batch()
    assert bench.answer(again).state == "applied"
    knob = bench.ask("knob", {"knob": "alpha", "value": 0.5, "scope": "agreedy.other"})
    bench.random_batch()
    assert bench.answer(knob).state == "applied"
