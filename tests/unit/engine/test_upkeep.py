"""Signs of life of a run, whatever is done to the machine's clock; and space given back."""

from __future__ import annotations

import sqlite3
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.engine import upkeep
from backend.engine.upkeep import HEARTBEAT_S, Upkeep
from backend.model.schema import Schema
from storage.tables import database
from storage.vocabulary.kinds import Phase
from tests.engine_runs import RUN_ID, EngineRun

SCHEMAS = {"S": Schema.parse("a int")}
TEXTS = {"q": "Select * From S Where a < 5"}


class Clock:
    """Goes on as it is told. set_back_s: by how much it was."""

    def __init__(self) -> None:
        self.passed_s, self.set_back_s = 0.0, 0.0
        self._begun = time.time()

    def monotonic(self) -> float:
        return self.passed_s

    def time(self) -> float:
        return self._begun + self.passed_s - self.set_back_s


def test_a_clock_set_back_stops_no_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, clock = EngineRun(tmp_path / "store.db", SCHEMAS, TEXTS), Clock()
    monkeypatch.setattr(upkeep, "time", SimpleNamespace(time=clock.time, monotonic=clock.monotonic))
    kept = Upkeep(made.writer, RUN_ID)
    kept.look()
    clock.set_back_s = 3600.0
    for _ in range(3):
        clock.passed_s += HEARTBEAT_S
        kept.look()
        (run,) = made.reader.runs()
        assert run.heartbeat_at == pytest.approx(clock.time(), abs=1e-3)
    made.close()


def test_what_the_engine_does_is_told_when_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, clock = EngineRun(tmp_path / "store.db", SCHEMAS, TEXTS), Clock()
    monkeypatch.setattr(upkeep, "time", SimpleNamespace(time=clock.time, monotonic=clock.monotonic))
    kept, told = Upkeep(made.writer, RUN_ID), []
    phases: list[tuple[float, Phase]] = [(0.0, "its job runs"), (1.5, "units decide")]
    for before_s, phase in (*phases, (0.0, "units decide")):
        clock.passed_s += before_s
        kept.begins(phase)
        clock.passed_s += HEARTBEAT_S - before_s
        kept.look()
        told.append(made.reader.runs()[0].note)
    assert told == ["its job runs", "", "units decide"]
    made.writer.set_state(RUN_ID, "ended", "stopped by command", time.time())
    clock.passed_s += HEARTBEAT_S
    kept.look()
    assert made.reader.runs()[0].note == "stopped by command"
    made.close()


def test_the_space_of_what_went_is_given_back_a_step_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, clock = EngineRun(tmp_path / "store.db", SCHEMAS, TEXTS), Clock()
    monkeypatch.setattr(upkeep, "time", SimpleNamespace(time=clock.time, monotonic=clock.monotonic))
    kept = Upkeep(made.writer, RUN_ID)
    kept.look()
    engine = database.open_for_writing(database.parse_url(str(tmp_path / "store.db")), create=False)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE ballast AS SELECT randomblob(8000000) AS bytes")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE ballast")
    engine.dispose()
    sizes = []
    for passed_s in (upkeep.TIDY_S, *[0.1] * 3, upkeep.TIDY_S, *[0.1] * 20):
        clock.passed_s += passed_s
        kept.look()
        sizes.append(pages(tmp_path / "store.db"))
    steps = [before - after for before, after in pairwise(sizes)]
    assert all(0 <= step <= 257 for step in steps)
    assert steps[0] >= 256
    assert steps[3] == 0  # old rows come first
    assert sizes[-1] == sizes[-2] < sizes[0] / 2
    made.close()


def pages(path: Path) -> int:
    """Of the store, free ones included."""
    connection = sqlite3.connect(path)
    n = int(connection.execute("PRAGMA page_count").fetchone()[0])
    connection.close()
    return n
