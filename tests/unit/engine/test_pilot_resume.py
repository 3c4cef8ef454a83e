"""The autopilot of a run that is killed again and again, on the engine without Spark."""

from __future__ import annotations

from pathlib import Path

from backend.systems.asc.unit import SelectionUnit
from storage.vocabulary.records import Json
from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.asc.stream import SCHEMA, Columns, a_filters, b_filters
from tests.web.engine_run import TEXTS, UNIT

KNOBS = {"policy": "autopilot", "stop_rule": "drop", "min_samples": 100}
SIZE = 100


def begun(path: Path, continues: bool) -> EngineRun:
    return EngineRun(path, {"S": SCHEMA}, TEXTS, KNOBS, continues=continues)


def batches(*streams: Columns) -> list[list[dict[str, int]]]:
    rows = [
        dict(zip(columns, row, strict=True))
        for columns in streams
        for row in zip(*columns.values(), strict=True)
    ]
    return [rows[start : start + SIZE] for start in range(0, len(rows), SIZE)]


def looked(run: EngineRun) -> list[tuple[int, Json]]:
    """Batch and record of each look."""
    return [(look.batch, look.record) for look in run.reader.looks(RUN_ID, unit=UNIT)]


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
