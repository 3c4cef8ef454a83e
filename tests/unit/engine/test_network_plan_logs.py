"""Cores of a network write the plan log: what a store has of it, over kills and in an export."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from sqlalchemy import text

from backend.model.schema import Schema
from backend.systems.kmon.telling import CHOICE
from backend.systems.registry import AMRI, STREAM
from backend.systems.stream.system import NetworkSystem
from storage.store import open_reader
from storage.tables.rows import StoredLook
from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.engine import test_filter_loop as filters
from tests.web.joins_run import UNIT, JoinsRun
from tests.web.kmon_run import KMonRun

RUN = "logs"


def by_subject(looks: tuple[StoredLook, ...]) -> dict[str, list[StoredLook]]:
    return {subject: [*own] for subject, own in groupby(looks, lambda look: look.subject)}


def test_every_evaluation_of_joins_and_chains_is_in_the_log_over_kills(tmp_path: Path) -> None:
    run = JoinsRun(tmp_path / "store.db", RUN)
    for place in range(9):
        run.ticks(1, r_times=1 if place < 6 else 12)
        if place in (3, 6):
            run.kill()
            run = JoinsRun(tmp_path / "store.db", RUN, continues=True)
    logs = by_subject(run.reader.looks(RUN))
    decisions = {entry.decision.seq: entry.decision for entry in run.reader.decisions(RUN)}
    assert {"chains", "a and b and c: caches", "a and b and c: order of S"} <= logs.keys()
    assert [look.batch for look in logs["chains"]] == list(range(9))
    for subject, looks in logs.items():
        for log, own in groupby(looks, lambda look: look.record["began"]):
            assert [look.record["number"] for look in own] != [], (subject, log)
        for look in looks:
            record, decision = look.record, decisions.get(look.seq)
            assert decision is None or decision.batch == look.batch
            assert record["t"] > 0
            if decision is not None:
                assert record["cost"] == float(f"{decision.predicted_old:.6g}")
                assert (record["chosen"] != record["plan"]) == (decision.verdict == "switched")
    chains = [look.record for look in logs["chains"]]
    assert [record["number"] for record in chains] == list(range(1, 10))
    assert all(record["ran"][0] for record in chains[1:])
    seqs = sorted(look.seq for looks in logs.values() for look in looks)
    assert len(seqs) == len(set(seqs))
    with run.reader.reading() as connection:
        mean = text("SELECT avg(length(packed)) FROM plan_log_looks")
        sizes = connection.execute(mean).scalar_one()
        assert sizes < 200
    assert {look.unit_id for look in run.reader.looks(RUN)} == {UNIT}
    run.reader.export_run(RUN, tmp_path / "copy.db")
    with open_reader(str(tmp_path / "copy.db")) as copy:
        assert copy.looks(RUN) == run.reader.looks(RUN)
    run.close()


def test_choices_of_constraints_are_logged_in_bytes(tmp_path: Path) -> None:
    run = KMonRun(tmp_path / "store.db", RUN).seconds(10)
    (subject,) = (s for s in by_subject(run.reader.looks(RUN)) if s.endswith(": constraints"))
    looks = by_subject(run.reader.looks(RUN))[subject]
    assert [look.batch for look in looks] == list(range(10))
    assert {look.record["schema"]["cost_unit"] for look in looks} == {"bytes"}
    assert all(look.record["ran"][0] for look in looks[1:] if not look.record.get("replaced"))
    moved = [look.record for look in looks if look.record["chosen"] != look.record["plan"]]
    decided = run.reader.decisions(RUN, verdicts=["switched"], limit=500)
    kinds = {entry.decision.batch for entry in decided if entry.decision.kind == CHOICE}
    assert {look.batch for look in looks if look.record in moved} == kinds != set()
    assert all(record["cost"] > record["offers"][0][1] for record in moved)
    run.close()


@dataclass(frozen=True)
class OnlyAmri(NetworkSystem):
    """AMRI for queries that name no system."""

    is_default = True


def test_routes_and_indexes_of_eddies_are_logged_in_work(tmp_path: Path) -> None:
    schemas = {name: Schema.parse("x int, y int") for name in "ABC"}
    cql = "Select A.x From A [Rows 80], B [Rows 80], C [Rows 80] Where A.x = B.x and B.y = C.y"
    knobs = {"period_requests": 300, "index_bits": 6, "router": "cheapest"}
    system = OnlyAmri(AMRI.name, AMRI.title, AMRI.cores, AMRI.needs)
    run = EngineRun(tmp_path / "s.db", schemas, {"q": cql}, knobs, systems=(system, STREAM))
    rng = np.random.default_rng(3)
    for batch in range(12):
        values = (4, 60) if batch < 6 else (60, 4)
        drawn = {name: rng.integers(0, values, (60, 2)).tolist() for name in schemas}
        run.batch({n: [{"x": x, "y": y} for x, y in rows] for n, rows in drawn.items()})
    logs = by_subject(run.reader.looks(RUN_ID))
    indexes = [looks for subject, looks in logs.items() if ": index of " in subject]
    routes = [looks for subject, looks in logs.items() if ": route of B" in subject]
    assert indexes
    assert routes
    assert {look.record["schema"]["cost_unit"] for look in routes[0]} == {"work/element"}
    measured = [of.record["ran"] for looks in (*indexes, *routes) for of in looks[1:]]
    assert any(n and cost / n > 0 for n, cost in measured)
    evaluated = [e.decision for e in run.reader.decisions(RUN_ID) if e.decision.kind == "route"]
    seqs = {look.seq for looks in logs.values() for look in looks}
    assert {decision.seq for decision in evaluated} <= seqs
    run.close()


def test_every_check_of_filters_by_thresholds_is_logged_over_a_kill(tmp_path: Path) -> None:
    """Also those whose decisions are left out of the store."""
    knobs = {**filters.KNOBS, "policy": "thresholds", "reject_sample_every": 1000}
    rng = np.random.default_rng(1)

    def begun(continues: bool) -> EngineRun:
        path, schemas, texts = tmp_path / "s.db", {"S": filters.SCHEMA}, {"q": filters.TEXT}
        return EngineRun(path, schemas, texts, knobs, filters.FUNCTIONS, continues=continues)

    run = begun(False)
    for batch in range(8):
        drawn = rng.integers(0, 100, (100, 2)).tolist()
        run.batch([{"a": a, "b": b, "c": "x"} for a, b in drawn])
        if batch == 4:
            run.kill()
            run = begun(True)
    looks = run.reader.looks(RUN_ID)
    stored = run.reader.decisions(RUN_ID, limit=500)
    assert [look.record["number"] for look in looks] == list(range(1, len(looks) + 1))
    assert len(looks) > len(stored) > 0
    assert {look.subject for look in looks} == {"order by thresholds"}
    assert all(look.record["t"] == 100 * (look.batch + 1) for look in looks)
    assert {look.record["schema"]["cost_unit"] for look in looks} == {"us/tuple"}
    assert {e.decision.seq for e in stored} <= {look.seq for look in looks}
    run.close()
