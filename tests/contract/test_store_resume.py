"""A run that ended or was killed: how it stood, and that it goes on under its own id."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from storage.reading.resume import LastQuery, last_state
from storage.store import (
    EngineWriter,
    Reader,
    RunLives,
    UnknownRun,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.tables.rows import StoredInput
from storage.vocabulary.records import Entity, Event, Input, InputBatch, Sample, Unit
from tests.contract.store_builders import (
    START,
    SYSTEM,
    decision,
    knob,
    new_run,
    plan,
    record,
)

FLIGHTS = Input("Flights", [["a", "int"]])
ASC = Unit("asc.Flights", "asc", "Selections", ("Flights",), ("late", "far"))
GONE = Unit("asc.Gone", "asc", "Gone", ("Flights",), removed_batch=1)


def query(name: str, state: str) -> Entity:
    facts = {"text": f"Select {name}", "state": state}
    return Entity(f"query:{name}", "query", name, facts, name, unit_id=ASC.id, role="query")


@pytest.fixture
def killed(store_url: str) -> str:
    """A store whose one run was left without a word after batch 4."""
    with open_engine_writer(store_url) as writer:
        mine = replace(new_run(), pid=999_999_999, host=socket.gethostname())
        late, far = query("late", "active"), query("far", "paused")
        writer.begin_run(mine, (SYSTEM, late, far), (knob("mu", 0.1, 0, 0), knob("nu", 1, 0, 0)))
        for number in range(5):
            fine = record(
                number,
                Sample("system", "tuples_total", 10.0 * (number + 1)),
                Sample("system", "batch_ms", 5.0),
                Sample("query:late", "matched_total", float(number)),
            )
            writer.write_batch(
                replace(
                    fine,
                    units=(ASC, GONE),
                    plans=(replace(plan(number + 1, number), unit_id=ASC.id),),
                    decisions=(replace(decision(2 * number + 1, number), unit_id=ASC.id),),
                    knobs=(knob("mu", 0.2, 1, 3),) if number == 2 else (),
                    entities=(replace(far, removed_batch=4),) if number == 3 else (),
                )
            )
    return store_url


def test_a_run_that_is_to_be_alone_is_not_begun_beside_another(store_url: str) -> None:
    at_work = replace(new_run("r1"), pid=os.getppid(), host=socket.gethostname())
    beside = replace(new_run("r2"), started_at=at_work.started_at + 1)
    with open_engine_writer(store_url) as first, open_engine_writer(store_url) as second:
        first.begin_run(at_work, alone=True)
        with pytest.raises(RunLives, match=r"r1 of this workload is at work .* with --fresh"):
            second.begin_run(beside, alone=True)
        second.begin_run(replace(beside, id="r3", workload="other"), alone=True)
        second.begin_run(beside)
        first.set_state("r1", "ended", "", at_work.started_at + 2)
        second.set_state("r2", "ended", "", at_work.started_at + 2)
        first.begin_run(replace(at_work, id="r4"), alone=True)


@pytest.fixture
def writer(killed: str) -> Iterator[EngineWriter]:
    with open_engine_writer(killed) as opened:
        yield opened


@pytest.fixture
def reader(killed: str) -> Iterator[Reader]:
    with open_reader(killed) as opened:
        yield opened


def resume(writer: EngineWriter, run_id: str = "r1", time: float = START + 60) -> None:
    writer.resume_run(run_id, time, "2.0", {"rate": 7}, (FLIGHTS,), "3 tuples are read again")


def test_the_last_state_of_a_workload(writer: EngineWriter, reader: Reader) -> None:
    state = last_state(writer, "flights")
    assert state is not None
    assert state == last_state(reader, "flights")
    assert (state.run.id, state.run.state, state.last_batch) == ("r1", "running", 4)
    last, gone = state.units
    assert (gone.unit, gone.plan, gone.last_seq) == (GONE, None, 0)
    assert (last.unit, last.last_seq) == (ASC, 9)
    assert last.plan == reader.plan_at("r1", unit=ASC.id)
    assert last.plan is not None
    assert last.plan.version == 5
    assert state.unit(ASC.id) == last
    assert state.unit("asc.Nobody") is None
    assert [(k.name, k.value, k.version) for k in state.knobs] == [("mu", 0.2, 1), ("nu", 1, 0)]
    assert state.queries == (LastQuery("late", "Select late", False, ASC.id),)
    assert state.totals == {
        "system": {"tuples_total": 50.0},
        "query:late": {"matched_total": 4.0},
    }
    assert [entity.id for entity in state.entities] == ["query:late", "system"]


def test_the_newest_run_of_a_workload_counts(writer: EngineWriter) -> None:
    assert last_state(writer, "packets") is None
    writer.begin_run(replace(new_run("r0", START - 9), workload="flights"))
    writer.begin_run(replace(new_run("p1", START + 9), workload="packets"))
    writer.begin_run(new_run("r2", START + 10))
    found = [last_state(writer, name) for name in ("flights", "packets")]
    assert [state and state.run.id for state in found] == ["r2", "p1"]
    assert [state and state.last_batch for state in found] == [None, None]


def test_a_killed_run_goes_on_under_its_own_id(writer: EngineWriter, reader: Reader) -> None:
    before = reader.cursor()
    resume(writer)
    run = reader.run("r1")
    assert run is not None
    assert (run.state, run.pid, run.host) == ("starting", os.getpid(), socket.gethostname())
    assert (run.started_at, run.heartbeat_at, run.ended_at) == (START, START + 60, None)
    assert (run.version, run.settings) == ("2.0", {"rate": 7})
    (change,) = reader.changes(before)
    assert (change.kind, change.changed) == ("run", ("events", "inputs", "runs"))
    stored = reader.events("r1")[-1]
    assert (stored.batch, stored.time) == (4, START + 60)
    since = {"since": START + 5, "state": "running", "note": ""}
    told = Event("run", "resumed at batch 5", "3 tuples are read again", ref=since)
    assert stored.event == told
    assert not writer.write_batch(record(4))
    assert writer.write_batch(record(5, Sample("system", "batch_ms", 6.0), time=START + 61))
    assert reader.run("r1") == replace(run, state="running", note="", heartbeat_at=START + 61)
    series = reader.series("r1", "system", "batch_ms")
    assert series is not None
    assert series.batch.tolist() == list(range(6))
    assert writer.mark_interrupted(START + 62) == []


def test_an_ended_run_goes_on_and_answers_what_is_asked_now(
    killed: str, writer: EngineWriter, reader: Reader
) -> None:
    writer.set_state("r1", "ended", "end of the stream", START + 9)
    resume(writer)
    run = reader.run("r1")
    assert run is not None
    assert (run.state, run.ended_at) == ("starting", None)
    with open_command_writer(killed) as commands:
        asked = commands.append_command("r1", "stop", {}, "ana", "", START + 70)
    assert writer.pending_commands("r1") == (asked,)


def test_inputs_of_a_changed_workload(writer: EngineWriter, reader: Reader) -> None:
    lost = InputBatch("Flights", 0, 0, state="failed", note="gone")
    writer.write_batch(replace(record(5), inputs=(lost,)))
    wider = Input("Flights", [["a", "int"], ["b", "int"]])
    writer.resume_run("r1", START + 60, "2.0", {}, (wider,))
    assert reader.inputs("r1") == (StoredInput(wider, "open", ""),)
    writer.set_state("r1", "ended", "", START + 61)
    writer.resume_run("r1", START + 62, "2.0", {}, (Input("Packets", []),))
    states = {one.input.name: (one.state, one.note) for one in reader.inputs("r1")}
    assert states == {"Packets": ("open", ""), "Flights": ("ended", "no longer read")}


LIVING = """
import sys, time
from dataclasses import replace
import os, socket
from storage.store import open_engine_writer
from tests.contract.store_builders import new_run
with open_engine_writer(sys.argv[1]) as writer:
    run = new_run("live", time.time())
    writer.begin_run(replace(run, pid=os.getpid(), host=socket.gethostname()))
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_a_run_that_is_at_work_is_left_alone(killed: str, writer: EngineWriter) -> None:
    with pytest.raises(UnknownRun, match="'r9'"):
        resume(writer, "r9")
    command = [sys.executable, "-c", LIVING, killed]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        beat = last_state(writer, "flights")
        assert beat is not None
        with pytest.raises(RunLives, match=f"'live' is at work in process {other.pid} on"):
            resume(writer, "live", beat.run.started_at + 1)
        other.kill()
    resume(writer, "live", beat.run.started_at + 1)
    with pytest.raises(RunLives):
        resume(writer, "live", beat.run.started_at + 2)


def test_a_run_of_another_machine_is_believed_to_live_while_its_heart_beats(
    killed: str, writer: EngineWriter
) -> None:
    writer.begin_run(replace(new_run("far"), host="elsewhere"))
    writer.close()  # the locks of another machine are not seen
    with open_engine_writer(killed) as other:
        other.heartbeat("far", START + 100)
        with pytest.raises(RunLives, match="on elsewhere"):
            resume(other, "far", START + 130)
        resume(other, "far", START + 161)


def test_what_is_published_again_after_a_resumption_makes_no_new_versions(
    writer: EngineWriter, reader: Reader
) -> None:
    resume(writer)
    before = reader.cursor()
    again = (SYSTEM, query("late", "active"))
    writer.write_batch(replace(record(5), entities=again, units=(ASC,)))
    assert "entities" not in reader.changes(before)[0].changed
