"""Signs of life of a run, whatever is done to the machine's clock."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.engine import upkeep
from backend.engine.upkeep import HEARTBEAT_S, Upkeep
from backend.model.schema import Schema
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
