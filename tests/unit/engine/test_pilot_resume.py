"""The autopilot of a run that is killed again and again, on the engine without Spark."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backend.systems.asc.unit import SelectionUnit
from backend.systems.contract import Refused
from storage.vocabulary.records import Json
from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.asc.stream import SCHEMA, Columns, a_filters, b_filters
from tests.web.engine_run import TEXTS, UNIT

KNOBS = {"policy": "autopilot", "stop_rule": "drop", "min_samples": 100}
SIZE = 100
Learned = dict[str, list[Json]]


def begun(path: Path, continues: bool, learned: Learned | None = None) -> EngineRun:
    schemas = {"S": SCHEMA}
    return EngineRun(path, schemas, TEXTS, KNOBS, continues=continues, learned=learned)


def batches(*streams: Columns) -> list[list[dict[str, int]]]:
    rows = [
        dict(zip(columns, row, strict=True))
        for columns in streams
        for row in zip(*columns.values(), strict=True)
    ]
    return [rows[start : start + SIZE] for start in range(0, len(rows), SIZE)]


def looked(run: EngineRun) -> list[tuple[int, Json]]:
    """Batch and record of each look of the autopilot."""
    looks = run.reader.looks(RUN_ID, unit=UNIT)
    return [(look.batch, look.record) for look in looks if not look.subject]


def forget(run: EngineRun) -> None:
    unit = run.loop.unit(UNIT)
    assert isinstance(unit, SelectionUnit)
    unit.core.pilot.forget()


def test_a_run_killed_at_every_batch_takes_the_looks_of_one_that_was_not(tmp_path: Path) -> None:
    """What a batch sampled suffices for a look here, so that nothing is lost that a look asks
    for but the older tuples of its search; the other run forgets those, too."""
    stream = batches(b_filters(1_500), a_filters(2_500))
    killed, whole = begun(tmp_path / "killed.db", False), begun(tmp_path / "whole.db", False)
    for rows in stream:
        killed.batch(rows)
        killed.kill()
        killed = begun(tmp_path / "killed.db", True)
        whole.batch(rows)
        forget(whole)
    mine, theirs = looked(killed), looked(whole)
    assert mine == theirs
    assert len(mine) >= 3
    assert all(record["t"] == (batch + 1) * SIZE for batch, record in mine)
    assert any(record["chosen"] != record["plan"] for _, record in mine)
    assert killed.loop.unit(UNIT).plan_version == whole.loop.unit(UNIT).plan_version
    killed.close()
    whole.close()


def test_a_run_on_record_without_a_policy_goes_on_by_thresholds(tmp_path: Path) -> None:
    """As runs of before there was an autopilot are, whatever the workload file says by now."""
    path = tmp_path / "before.db"
    run = begun(path, False)
    first, *later = batches(b_filters(500), a_filters(1_000))
    run.batch(first)
    run.kill()
    with closing(sqlite3.connect(path)) as store, store:
        assert store.execute("delete from knobs where name = 'policy'").rowcount == 1
    run = begun(path, True)
    assert run.loop.settings.scopes[UNIT].word("policy") == "thresholds"
    n_looks = len(looked(run))
    for rows in later:
        run.batch(rows)
    assert len(looked(run)) == n_looks
    assert {row.decision.kind for row in run.reader.decisions(RUN_ID) if row.decision.batch > 0}
    run.close()


def learned_of(path: Path) -> Learned:
    """The log of a run of its own, in a store of its own."""
    run = begun(path, False)
    for rows in batches(b_filters(1_500), a_filters(2_500)):
        run.batch(rows)
    looks = [look.record for look in run.reader.looks(RUN_ID, unit=UNIT)]
    run.close()
    return {UNIT: looks}


def test_a_run_that_learnt_goes_on_after_a_kill_as_one_that_was_not_killed(tmp_path: Path) -> None:
    learned = learned_of(tmp_path / "first.db")
    killed, whole = (begun(tmp_path / f"{name}.db", False, learned) for name in ("killed", "whole"))
    for place, rows in enumerate(batches(b_filters(1_500), a_filters(2_500))):
        killed.batch(rows)
        if place % 3 == 1:
            killed.kill()
            killed = begun(tmp_path / "killed.db", True, learned)
        whole.batch(rows)
        if place % 3 == 1:
            forget(whole)
    mine, theirs = looked(killed), looked(whole)
    assert mine == theirs
    numbers = [record["number"] for _, record in mine]
    first = learned[UNIT][-1]["number"] + 1
    assert numbers == list(range(first, first + len(mine)))
    assert [("state" in record) for _, record in mine] == [n == first for n in numbers]
    said = [each.event.title for each in whole.reader.events(RUN_ID, unit=UNIT)]
    assert "the plan log of another run is known" in said
    killed.close()
    whole.close()


def test_a_log_of_other_statistics_or_units_is_refused_with_a_sentence(tmp_path: Path) -> None:
    learned = learned_of(tmp_path / "first.db")
    other = [
        {**look, "schema": {**look["schema"], "cost_unit": "us/tuple"}} for look in learned[UNIT]
    ]
    for logs, why in (
        ({UNIT: other}, f"unit {UNIT} cannot learn from that run: the log's cost_unit is"),
        ({"asc.Other": learned[UNIT]}, "has logs of asc.Other; this run's units are asc.S"),
    ):
        with pytest.raises(Refused, match=why):
            begun(tmp_path / "refused.db", False, logs)
