"""Writing: one transaction a batch, once each; nothing half, nothing twice, nothing unknown."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.store import (
    BadRecord,
    CommandWriter,
    EngineWriter,
    Reader,
    RunExists,
    UnknownRun,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.tables.rows import Cursor
from storage.vocabulary.records import (
    CommandAnswer,
    Entity,
    Event,
    Matrix,
    Misfit,
    ResultTuple,
    Sample,
)
from tests.contract.store_builders import START, SYSTEM, begin, decision, new_run, plan, record

ROOT = Path(__file__).parents[2]
BATCH_MS = Sample("system", "batch_ms", 5.0)


@pytest.fixture
def writer(store_url: str) -> Iterator[EngineWriter]:
    with open_engine_writer(store_url) as opened:
        begin(opened)
        yield opened


@pytest.fixture
def reader(store_url: str, writer: EngineWriter) -> Iterator[Reader]:
    with open_reader(store_url) as opened:
        yield opened


@pytest.fixture
def commands(store_url: str, writer: EngineWriter) -> Iterator[CommandWriter]:
    with open_command_writer(store_url) as opened:
        yield opened


def ask(commands: CommandWriter, number: int = 0) -> int:
    return commands.append_command("r1", "knob", {"knob": "mu"}, "ana", "why", START + number).id


def test_a_batch_is_recorded_once(writer: EngineWriter, reader: Reader) -> None:
    first = replace(record(0, BATCH_MS), events=(Event("run", "again"),))
    assert writer.write_batch(first)
    before = (reader.cursor(), reader.events("r1"), reader.values("r1"))
    assert not writer.write_batch(first)
    other = replace(record(0, Sample("system", "batch_ms", 9.0)), decisions=(decision(1, 0),))
    assert not writer.write_batch(other)
    assert (reader.cursor(), reader.events("r1"), reader.values("r1")) == before
    assert reader.decisions("r1") == ()


def test_a_boundary_without_data_is_recorded_once_and_counts_to_the_batch_before(
    writer: EngineWriter, reader: Reader
) -> None:
    early = record(None, Sample("system", "backlog_tuples", 3.0), time=START + 0.5)
    assert writer.write_batch(early)
    assert not writer.write_batch(early)
    assert reader.values("r1", at=-1) == {"system": {"backlog_tuples": 3.0}}
    writer.write_batch(record(0, Sample("system", "backlog_tuples", 4.0)))
    late = record(None, Sample("system", "backlog_tuples", 7.0), time=START + 1.5)
    assert writer.write_batch(replace(late, events=(Event("knob", "mu"),)))
    assert not writer.write_batch(late)
    assert reader.values("r1", at=0) == {"system": {"backlog_tuples": 7.0}}
    assert [stored.batch for stored in reader.events("r1")] == [0]
    assert reader.last_batch("r1") == 0


def test_two_runs_keep_apart(writer: EngineWriter, reader: Reader) -> None:
    begin(writer, "r2")
    writer.write_batch(record(0, BATCH_MS))
    writer.write_batch(record(0, Sample("system", "batch_ms", 8.0), run_id="r2"))
    assert reader.values("r1") == {"system": {"batch_ms": 5.0}}
    assert reader.values("r2") == {"system": {"batch_ms": 8.0}}
    assert len(reader.runs()) == 2


def test_a_run_begins_once(writer: EngineWriter) -> None:
    with pytest.raises(RunExists, match="r1"):
        begin(writer)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (Sample("system", "batch_s", 1.0), "unknown property 'batch_s'; known are"),
        (Sample("system", "batch_ms", 1.0, "s"), "its unit is 'ms'"),
        (Sample("system", "drop_prob", 1.0), "only operator entities have it"),
    ],
)
def test_a_sample_outside_the_vocabulary_is_refused_and_nothing_is_written(
    writer: EngineWriter, reader: Reader, sample: Sample, words: str
) -> None:
    before = reader.cursor()
    with pytest.raises(BadRecord, match=words):
        writer.write_batch(record(0, BATCH_MS, sample))
    assert reader.cursor() == before
    assert reader.last_batch("r1") is None
    assert writer.write_batch(record(0, BATCH_MS))
    assert reader.values("r1") == {"system": {"batch_ms": 5.0}}


def test_a_boundary_has_no_tuples_and_batches_no_negative_number(writer: EngineWriter) -> None:
    with pytest.raises(BadRecord, match="no results"):
        writer.write_batch(replace(record(None), results=(ResultTuple({}, ("q",)),)))
    with pytest.raises(BadRecord, match=r"no .*misfits"):
        writer.write_batch(replace(record(None), misfits=(Misfit("x", "y"),)))
    with pytest.raises(BadRecord, match="count from 0"):
        writer.write_batch(record(-1))


def test_an_unknown_run_is_refused(writer: EngineWriter, commands: CommandWriter) -> None:
    with pytest.raises(UnknownRun, match="'r9'"):
        writer.write_batch(record(0, run_id="r9"))
    with pytest.raises(UnknownRun, match="'r9'"):
        writer.set_state("r9", "ended", "", START)
    with pytest.raises(UnknownRun, match="'r9'"):
        commands.append_command("r9", "stop", {}, "ana", "", START)


@pytest.mark.parametrize("bad", ["\ud800", "a\0"], ids=ascii)
@pytest.mark.parametrize("part", ["run_id", "kind", "payload", "key", "actor", "reason"])
def test_a_command_with_text_that_cannot_be_stored_is_refused(
    commands: CommandWriter, reader: Reader, part: str, bad: str
) -> None:
    asked: dict[str, Any] = {"run_id": "r1", "kind": "knob", "payload": {"knob": "mu"}}
    asked |= {"actor": "me", "reason": ""}
    if part == "key":
        asked["payload"] = {"list": [{bad: 1}]}
    else:
        asked[part] = {"knob": ["mu", bad]} if part == "payload" else bad
    with pytest.raises(BadRecord, match=r"U\+(D800|0000) is no character that can be stored"):
        commands.append_command(**asked, requested_at=START)
    assert reader.commands("r1") == ()


def test_state_follows_the_run(
    writer: EngineWriter, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.reader.time.time", lambda: START + 10)

    def state() -> tuple[Any, ...]:
        run = reader.run("r1")
        assert run is not None
        return run.state, run.note, run.ended_at, run.heartbeat_at

    writer.set_state("r1", "starting", "Java found", START + 0.1)
    assert state() == ("starting", "Java found", None, None)
    writer.heartbeat("r1", START + 0.5)
    writer.write_batch(record(None, time=START + 0.7))
    assert state() == ("starting", "Java found", None, START + 0.7)
    writer.write_batch(record(0))
    assert state() == ("running", "", None, START + 1)
    before = reader.cursor()
    writer.heartbeat("r1", START + 9)
    assert reader.cursor() == before
    writer.heartbeat("r1", START + 9, "its job runs")
    writer.heartbeat("r1", START + 9)
    assert state() == ("running", "its job runs", None, START + 9)
    writer.set_state("r1", "failed", "disk full", START + 10)
    writer.heartbeat("r1", START + 9, "units decide")
    assert state() == ("failed", "disk full", START + 10, START + 9)
    (change,) = reader.changes(before)
    assert (change.kind, change.changed) == ("state", ("runs",))


def test_pending_commands_are_those_without_an_answer(
    writer: EngineWriter, commands: CommandWriter, reader: Reader
) -> None:
    begin(writer, "r2")
    first, second = ask(commands, 1), ask(commands, 2)
    commands.append_command("r2", "stop", {}, "ana", "", START)
    assert [command.id for command in writer.pending_commands("r1")] == [first, second]
    refusal = CommandAnswer(first, "refused", None, START + 3, "mu = 7 refused: allowed 0..1")
    answered = replace(record(None, time=START + 3), answers=(refusal,))
    assert writer.write_batch(answered)
    assert [command.id for command in writer.pending_commands("r1")] == [second]
    stored = reader.command("r1", first)
    assert stored is not None
    assert (stored.state, stored.answer) == ("refused", refusal.answer)
    writer.write_batch(replace(answered, batch=record(None, time=START + 4).batch))
    assert reader.command("r1", first) == stored


def test_what_a_run_leaves_unanswered_is_refused_when_it_ends(
    writer: EngineWriter, commands: CommandWriter, reader: Reader
) -> None:
    number = ask(commands)
    writer.set_state("r1", "ended", "end of the stream", START + 5)
    command = reader.command("r1", number)
    assert command is not None
    assert (command.state, command.answered_at) == ("refused", START + 5)
    assert command.answer == "not applied: the run ended before the next batch boundary"
    assert reader.changes(Cursor(1, number))[-1].changed == ("commands", "runs")


def test_an_answer_to_nobody_is_refused_with_the_whole_batch(
    writer: EngineWriter, reader: Reader
) -> None:
    answer = CommandAnswer(99, "applied", 0, START, "")
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        writer.write_batch(replace(record(0, BATCH_MS), answers=(answer,)))
    assert reader.last_batch("r1") is None


def test_entities_have_versions(writer: EngineWriter, reader: Reader) -> None:
    query = Entity("query:q", "query", "q", {"state": "active"}, "q", since_batch=2)
    writer.write_batch(replace(record(1), entities=(query,)))
    paused = replace(query, properties={"state": "paused"})
    writer.write_batch(replace(record(3), entities=(paused,)))
    writer.write_batch(replace(record(5), entities=(replace(paused, removed_batch=6),)))
    writer.write_batch(record(7))
    alive = [[e for e in reader.entities("r1", at) if e.kind == "query"] for at in range(8)]
    gone = replace(paused, removed_batch=6)
    assert alive == [[], [], [query], [paused], [paused], [gone], [], []]
    assert reader.entities("r1") == (SYSTEM,)


def test_repeats_of_entities_and_matrices_change_nothing(
    writer: EngineWriter, reader: Reader
) -> None:
    matrix = Matrix("selectivity", "selectivity", ("a",), ("q",), [[0.5]], n=10)
    writer.write_batch(replace(record(0), entities=(SYSTEM,), matrices=(matrix,)))
    before = reader.cursor()
    writer.write_batch(replace(record(1), entities=(SYSTEM,), matrices=(matrix,)))
    assert reader.changes(before)[0].changed == ("batches",)
    writer.write_batch(replace(record(2), matrices=(replace(matrix, n=20),)))
    stored = [reader.matrix("r1", "selectivity", at) for at in (1, 2)]
    assert [s.batch for s in stored if s] == [0, 2]


def test_content_changed_in_place_is_noticed(writer: EngineWriter, reader: Reader) -> None:
    properties = {"state": "active"}
    query = Entity("query:q", "query", "q", properties)
    writer.write_batch(replace(record(0), entities=(query,)))
    properties["state"] = "paused"
    writer.write_batch(replace(record(1), entities=(query,)))
    assert [e.properties["state"] for e in reader.entities("r1") if e.id == "query:q"] == ["paused"]


def test_unknown_numbers_stay_unknown(writer: EngineWriter, reader: Reader) -> None:
    nan = float("nan")
    odd = replace(decision(1, 0), lhs=nan, rhs=float("inf"), detail={"ci": [nan, 1.0]})
    writer.write_batch(
        replace(record(0, Sample("system", "d_init", nan)), decisions=(odd,), plans=(plan(1, 0),))
    )
    assert reader.values("r1") == {"system": {"d_init": None}}
    entry = reader.decision("r1", 1)
    assert entry is not None
    assert (entry.decision.lhs, entry.decision.rhs) == (None, float("inf"))
    assert entry.decision.detail == {"ci": [None, 1.0]}


def test_a_late_batch_does_not_replace_newer_values(writer: EngineWriter, reader: Reader) -> None:
    writer.write_batch(record(0, BATCH_MS))
    writer.write_batch(record(2, Sample("system", "batch_ms", 7.0)))
    writer.write_batch(record(1, Sample("system", "batch_ms", 6.0)))
    assert [reader.values("r1", at)["system"]["batch_ms"] for at in (None, 0, 1, 2)] == [7, 5, 6, 7]
    assert reader.last_batch("r1") == 2


def test_what_is_no_json_is_refused(writer: EngineWriter, reader: Reader) -> None:
    odd = ResultTuple({"a": {1, 2}}, ("q",))
    with pytest.raises(BadRecord, match="set is no JSON; allowed: dict, list"):
        writer.write_batch(replace(record(0), results=(odd,)))
    entity = Entity("query:q", "query", "q", {"a": object()})
    with pytest.raises(BadRecord, match="object is no JSON"):
        writer.write_batch(replace(record(0), entities=(entity,)))
    day = ResultTuple({"day": date(2013, 1, 1), "n": np.int64(3), "x": np.nan}, ("q",))
    writer.write_batch(replace(record(0), results=(day,)))
    (result,) = reader.results("r1")
    assert result.values == {"day": "2013-01-01", "n": 3, "x": None}


def test_each_query_keeps_its_last_twenty_results_as_of_each_recent_batch(
    store_url: str, writer: EngineWriter, reader: Reader
) -> None:
    def results(first: int, n: int, *queries: str) -> tuple[ResultTuple, ...]:
        return tuple(ResultTuple({"a": first + i}, queries) for i in range(n))

    writer.write_batch(replace(record(0), results=results(0, 30, "often")))
    writer.write_batch(replace(record(1), results=results(100, 3, "often", "rare")))
    with open_engine_writer(store_url) as restarted:
        restarted.write_batch(replace(record(2), results=results(200, 25, "often")))
        restarted.write_batch(replace(record(3), results=results(300, 1)))
    often = reader.results("r1", "often")
    assert [result.values["a"] for result in often] == list(range(224, 204, -1))
    assert [result.values["a"] for result in reader.results("r1", "rare")] == [102, 101, 100]
    assert len(reader.results("r1", limit=99)) == 20 + 3 + 20


def test_a_run_keeps_its_last_two_hundred_misfits(writer: EngineWriter, reader: Reader) -> None:
    for number in range(3):
        misfits = tuple(Misfit(f"{number}/{i}", "odd") for i in range(90))
        writer.write_batch(replace(record(number), misfits=misfits))
    kept = reader.misfits("r1", limit=999)
    assert len(kept) == 200
    assert (kept[0].raw, kept[-1].raw) == ("2/89", "0/70")


def test_a_restarted_writer_goes_on_where_the_first_one_stopped(
    store_url: str, writer: EngineWriter, reader: Reader
) -> None:
    writer.write_batch(record(0, BATCH_MS))
    with open_engine_writer(store_url) as restarted:
        assert not restarted.write_batch(record(0, BATCH_MS))
        assert restarted.write_batch(record(1, Sample("system", "batch_ms", 6.0)))
        assert restarted.write_batch(record(None, time=START + 3))
    series = reader.series("r1", "system", "batch_ms")
    assert series is not None
    assert series.value.tolist() == [5.0, 6.0]


def test_a_follower_of_the_cursor_misses_nothing_of_two_runs_written_side_by_side(
    store_url: str, writer: EngineWriter, reader: Reader
) -> None:
    begin(writer, "r2")
    seen: list[tuple[str, int]] = []
    cursor = reader.cursor()
    with open_engine_writer(store_url) as other:

        def work(engine: EngineWriter, run_id: str) -> None:
            for number in range(30):
                engine.write_batch(record(number, BATCH_MS, run_id=run_id))

        threads = [
            threading.Thread(target=work, args=job) for job in ((writer, "r1"), (other, "r2"))
        ]
        for thread in threads:
            thread.start()
        while len(seen) < 60:
            alive = any(thread.is_alive() for thread in threads)
            changes = reader.changes(cursor)
            seen += [(c.run_id, c.batch_id or 0) for c in changes]
            cursor = Cursor(changes[-1].id, 0) if changes else cursor
            if not alive and not changes:
                break
        for thread in threads:
            thread.join()
    assert sorted(seen) == sorted((run, n) for run in ("r1", "r2") for n in range(30))


ASKING = """
import sys
from storage.store import open_command_writer
with open_command_writer(sys.argv[1]) as commands:
    for n in range(40):
        commands.append_command("r1", "knob", {"n": n}, "other process", "", float(n))
"""


def test_the_dashboard_asks_from_another_process_while_the_engine_records(
    store_url: str, writer: EngineWriter, reader: Reader
) -> None:
    with subprocess.Popen([sys.executable, "-c", ASKING, store_url], cwd=ROOT) as dashboard:
        number = 0
        while dashboard.poll() is None:
            writer.write_batch(record(number, BATCH_MS))
            writer.pending_commands("r1")
            number += 1
            time.sleep(0.01)
    assert dashboard.returncode == 0
    assert [c.payload["n"] for c in writer.pending_commands("r1")] == list(range(40))
    assert reader.last_batch("r1") == number - 1


def test_begin_run_records_its_first_entities_in_one_commit(
    writer: EngineWriter, reader: Reader
) -> None:
    before = reader.cursor()
    writer.begin_run(new_run("r2"), (SYSTEM,))
    (change,) = reader.changes(before)
    assert (change.run_id, change.kind, change.changed) == ("r2", "run", ("entities", "runs"))
    assert [run.id for run in reader.runs()] == ["r1", "r2"]
