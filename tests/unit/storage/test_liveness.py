"""Runs whose process is gone are marked at the next start; living ones are left alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from storage.exchange.liveness import Signs, is_gone, process_exists
from storage.store import EngineWriter, open_command_writer, open_engine_writer, open_reader
from storage.vocabulary.records import Run
from tests.contract.store_builders import new_run, record

HERE = socket.gethostname()


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "run.db")


@pytest.fixture
def earlier(address: str) -> Iterator[EngineWriter]:
    """A writer of an engine that dies when it is closed."""
    with open_engine_writer(address) as writer:
        yield writer


@pytest.fixture
def sleeper() -> Iterator[int]:
    """The id of a process that lives."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def dead() -> int:
    """The id of a process that lived."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def run_of(pid: int, host: str = HERE, started_at: float | None = None) -> Run:
    return replace(new_run(), pid=pid, host=host, started_at=started_at or time.time())


def marked(address: str, now: float | None = None) -> list[str]:
    with open_engine_writer(address) as writer:
        return writer.mark_interrupted(now)


def test_a_run_of_a_dead_process_is_interrupted_at_its_last_sign_of_life(
    address: str, earlier: EngineWriter, dead: int
) -> None:
    run = run_of(dead)
    earlier.begin_run(run)
    earlier.write_batch(record(0, time=run.started_at + 5))
    with open_command_writer(address) as commands:
        commands.append_command("r1", "knob", {"knob": "mu", "value": 1}, "ana", "", 0.0)
        commands.append_command("r1", "stop", {}, "ana", "", 0.0)
    assert marked(address) == []
    earlier.close()
    assert marked(address) == ["r1"]
    assert marked(address) == []
    with open_reader(address) as reader:
        found = reader.run("r1")
        stop, knob = reader.commands("r1")
    assert found is not None
    assert (found.state, found.ended_at) == ("interrupted", run.started_at + 5)
    assert found.note == f"the process {dead} on {HERE} is gone"
    assert stop.answer == "not applied: the run was interrupted before the next batch boundary"
    assert knob.state == "requested"


def test_what_waits_for_an_interrupted_run_is_refused_when_another_one_begins(
    address: str, earlier: EngineWriter, dead: int
) -> None:
    elsewhere = replace(run_of(dead), id="other", workload="other")
    for run in (run_of(dead), elsewhere):
        earlier.begin_run(run)
        with open_command_writer(address) as commands:
            commands.append_command(run.id, "query_pause", {"name": "late"}, "ana", "", 0.0)
    earlier.close()
    with open_engine_writer(address) as writer, open_reader(address) as reader:
        writer.mark_interrupted()
        before = reader.cursor()
        writer.begin_run(replace(new_run(), id="r2"))
        (gone,), (waits,) = reader.commands("r1"), reader.commands("other")
        news = {c.run_id for c in reader.changes(before) if "commands" in c.changed}
    assert (gone.state, waits.state) == ("refused", "requested")
    assert gone.answer == "not applied: the run was interrupted, and a new one was started"
    assert news == {"r1"}


def test_a_run_that_never_lived_ends_as_it_began(
    address: str, earlier: EngineWriter, dead: int
) -> None:
    run = run_of(dead)
    earlier.begin_run(run)
    earlier.close()
    assert marked(address) == ["r1"]
    with open_reader(address) as reader:
        found = reader.run("r1")
    assert found is not None
    assert found.ended_at == run.started_at


def test_a_living_run_is_left_alone(address: str, earlier: EngineWriter, sleeper: int) -> None:
    earlier.begin_run(run_of(sleeper))
    assert marked(address) == []


def test_a_reused_process_id_does_not_keep_a_run_alive(
    address: str, earlier: EngineWriter, sleeper: int
) -> None:
    earlier.begin_run(run_of(sleeper))
    assert marked(address) == []
    earlier.close()
    assert marked(address) == ["r1"]


def test_where_locks_tell_nothing_signs_of_life_do(sleeper: int, dead: int) -> None:
    run = replace(run_of(sleeper), heartbeat_at=1000.0)
    assert not is_gone(run, 1059.0)
    assert is_gone(run, 1061.0)
    assert is_gone(replace(run, pid=dead), 1059.0)


def test_a_run_with_this_process_id_was_begun_by_another_process(
    address: str, earlier: EngineWriter
) -> None:
    earlier.begin_run(run_of(os.getpid()))
    assert earlier.mark_interrupted() == []
    earlier.close()
    assert marked(address) == ["r1"]


def test_runs_of_other_hosts_and_ended_runs_are_left_alone(
    address: str, earlier: EngineWriter, dead: int
) -> None:
    earlier.begin_run(run_of(dead, host="elsewhere"))
    earlier.begin_run(replace(run_of(dead), id="r2"))
    earlier.set_state("r2", "ended", "end of the stream", time.time())
    assert marked(address) == []


def test_a_process_of_another_user_counts_as_living() -> None:
    assert process_exists(1)
    assert not process_exists(0)
    assert not process_exists(-1)


def seen(address: str) -> Run:
    with open_reader(address) as reader:
        (run,) = reader.runs()
        assert reader.run(run.id) == run
        return run


def test_a_dead_run_is_never_seen_running_though_nobody_marked_it(
    address: str, earlier: EngineWriter, dead: int, sleeper: int
) -> None:
    run = run_of(dead)
    earlier.begin_run(run)
    earlier.write_batch(record(0, time=run.started_at + 5))
    found = seen(address)
    assert (found.state, found.ended_at) == ("interrupted", run.started_at + 5)
    assert found.note == f"the process {dead} on {HERE} is gone"


@pytest.mark.parametrize("host", [HERE, "elsewhere"])
def test_a_silent_run_is_seen_as_interrupted_until_it_speaks(
    address: str, earlier: EngineWriter, sleeper: int, host: str
) -> None:
    run = run_of(sleeper, host, time.time() - 90)
    earlier.begin_run(run)
    assert seen(address).state == "interrupted"
    assert seen(address).note.startswith(f"no sign of life from process {sleeper} on {host}")
    earlier.heartbeat(run.id, time.time())
    assert seen(address).state == "starting"
    earlier.write_batch(record(0, time=time.time()))
    assert (seen(address).state, seen(address).note) == ("running", "")


def test_who_sets_the_clock_ends_no_run_and_keeps_none_alive(
    address: str, sleeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steady, clock = time.monotonic, time.time
    passed, day = [0.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: steady() + passed[0])
    monkeypatch.setattr(time, "time", lambda: clock() + passed[0] + day[0])

    def state() -> str:
        run = reader.run("r1")
        assert run is not None
        return run.state

    with open_engine_writer(address) as writer, open_reader(address) as reader:
        writer.begin_run(replace(run_of(sleeper), id="r1"))
        assert state() == "starting"
        for day[0] in (3600.0, -7200.0):
            assert state() == "starting"
            passed[0] += 50.0
            writer.heartbeat("r1", time.time())
            assert state() == "starting"
        passed[0] += 59.0
        assert state() == "starting"
        passed[0] += 10.0
        assert state() == "interrupted"


@pytest.mark.parametrize(
    ("looks", "silent_s"),
    [
        ([(1000.0, 0.0, 0.0)], 0.0),
        ([(1000.0, 0.0, 0.0), (1210.0, 210.0, 0.0)], 210.0),
        ([(1000.0, 0.0, 0.0), (1500.0, 500.0, 290.0)], 210.0),  # a sign between two rare looks
        ([(1000.0, 0.0, 0.0), (1500.0, 500.0, 290.0), (1510.0, 510.0, 290.0)], 220.0),
        ([(1000.0, 0.0, 0.0), (9e6, 5.0, 4.0)], 5.0),  # a clock that was set
        ([(1000.0, 0.0, 0.0), (200.0, 300.0, 299.0)], 0.0),  # and set back
    ],
)
def test_who_looks_now_and_then_sees_silence_in_time(
    looks: list[tuple[float, float, float]], silent_s: float
) -> None:
    """looks: time of day, a steady clock, and the moment of the newest sign of life after 1000."""
    signs = Signs()
    for now, at, beat_at in looks:
        run = replace(new_run(started_at=900.0), heartbeat_at=1000.0 + beat_at)
        silent = signs.silent_s(run, now, at)
    assert silent == silent_s


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0, 15.0])
def test_who_is_on_another_machine_goes_by_the_clock_of_the_engine(
    address: str, sleeper: int, ahead_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ahead_s: the clock of who looks."""
    true = time.time
    with open_engine_writer(address) as writer, open_reader(address) as reader:
        writer.begin_run(run_of(sleeper, "elsewhere", true()))
        monkeypatch.setattr(time, "time", lambda: true() + ahead_s)
        reader.runs()
        writer.heartbeat("r1", true())
        run = reader.run("r1")
        assert run is not None
        assert run.state == "starting"
        assert reader.now_of(run) == pytest.approx(true(), abs=2)
