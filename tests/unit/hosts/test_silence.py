"""Streams that fall silent: for how long queries wait for them, and what comes of it."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path

import pytest

from backend.hosts.contract import InputSource
from backend.hosts.silence import Silences
from backend.model.schema import Schema
from backend.workloads.spec import SourceSpec, StreamSpec
from tests.unit.hosts.test_disturbances import WORKLOAD, going, last_of, put, wait_for

SCHEMA = Schema.parse("t bigint")


def silences(now: list[float], **limits: float | None) -> Silences:
    streams = [
        StreamSpec(name, SCHEMA, SourceSpec("csv"), "t", idle_after=limit)
        for name, limit in limits.items()
    ]
    return Silences([InputSource(stream) for stream in streams], lambda: now[0])


def test_a_stream_is_left_after_its_time_until_it_speaks(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    listened = silences(now, A=30.0, B=5.0, C=None)
    now[0] += 4.9
    assert not listened.over()
    with caplog.at_level(logging.WARNING):
        now[0] += 0.1
        assert listened.over() == listened.over() == {"B"}
        assert ["stream B has been silent for 5 s" in one for one in caplog.messages] == [True]
    listened.heard("BC")
    assert not listened.over()
    now[0] += 500.0
    assert listened.over() == {"A", "B"}


def test_nobody_is_silent_while_the_run_is_held() -> None:
    now = [0.0]
    listened = silences(now, A=5.0)
    now[0] += 60.0
    listened.hold()
    assert not listened.over()


def test_queries_go_on_without_a_stream_once_it_was_silent_for_long(tmp_path: Path) -> None:
    """What it gives of the time until then is late, and kept aside."""
    quiet = 'path = "Q", header = true }\nidle_after = "3 seconds"\n'
    workload = WORKLOAD.replace('path = "Q", header = true }\n', quiet)
    put(tmp_path, "S/a.csv", [(t, t % 7) for t in range(200)])
    put(tmp_path, "Q/a.csv", [(t, t % 7) for t in range(50)])
    with going(tmp_path, workload) as started:
        wait_for(lambda: last_of(tmp_path, "both") >= 75, started)
        put(tmp_path, "Q/b.csv", [(t, t % 7) for t in range(60, 90)])
        aside = tmp_path / "out"
        wait_for(lambda: list(aside.glob("run=*/stream=Q/_misfits/*.json")), started)
        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=60) == 0
    files = aside.glob("run=*/stream=Q/_misfits/*.json")
    kept = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert len(kept) == 30
    assert all(one["error"].startswith("late: its time is tick") for one in kept)
