"""Ends of a run nobody asked for: in the events, in the story, and how the run goes on."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dashboard.base import face
from dashboard.report.ending import ending_of
from dashboard.report.postmortem import story_of
from dashboard.systems import FACES
from dashboard.views.ends import (
    END,
    Checkpoint,
    command,
    ending,
    harm_commands,
    lost_words,
    with_ends,
)
from dashboard.views.knobs import restart_of
from storage.store import open_engine_writer, open_reader
from storage.tables.rows import StoredEvent
from storage.vocabulary.records import Event, Knob, LogLine, Run
from tests.contract.store_builders import START, new_run
from tests.web.recorded import record


def killed(**more: Any) -> Run:
    return replace(
        new_run(), state="interrupted", ended_at=START + 50, note="process 7 is gone", **more
    )


def resumed(at: int, **ref: Any) -> StoredEvent:
    return StoredEvent(at, at, START + at, Event("run", f"resumed at batch {at + 1}", ref=ref))


@pytest.mark.parametrize("state", ["interrupted", "failed", "ended", None])
def test_an_engine_that_died_is_an_event_before_the_run_went_on(state: str | None) -> None:
    known = {} if state is None else {"state": state, "note": "why"}
    events = [resumed(20, since=START + 10, **known)]
    told = with_ends(new_run(), events, 40)
    if state in ("ended", None):
        assert told == events
    else:
        end, after = told
        assert after == events[0]
        assert (end.event.kind, end.batch, end.time) == (END, 20, START + 10)
        assert end.event.detail == "why"


def test_a_killed_run_ends_with_it_where_its_end_is_on_screen() -> None:
    assert with_ends(killed(), [], None) == []
    (end,) = with_ends(killed(), [], 40)
    assert (end.batch, end.time) == (40, START + 50)
    assert (end.event.title, end.event.detail) == ("The engine died", "process 7 is gone")
    assert with_ends(replace(killed(), state="ended"), [], 40) == []


def test_the_command_goes_on_with_the_run_it_stands_beside() -> None:
    settings = {"file": "/a b/my.toml", "master": "local[2]", "runs": "/s/runs", "once": True}
    words = shlex.split(command(killed(settings=settings), "/s/x.db"))
    assert words[:4] == ["python3", "run.py", "backend", "/a b/my.toml"]
    assert words[4:] == ["--store", "/s/x.db", "--master", "local[2]", "--once"]
    elsewhere = {**settings, "runs": "/shared/runs", "once": False}
    words = shlex.split(command(killed(settings=elsewhere), "/s/x.db"))
    assert words[-2:] == ["--shared", "/shared"]
    assert command(killed(settings={**settings, "branch": {}}), "/s/x.db") == ""


def test_only_an_engine_at_work_can_be_killed_and_one_that_died_goes_on() -> None:
    settings = {"file": "/w/my.toml"}
    died = killed(settings=settings)
    live = replace(died, state="running", pid=7)
    resume = command(died, "/s/x.db")
    assert harm_commands(live, "/s/x.db") == {"kill": "kill -9 7", "resume": resume}
    assert harm_commands(died, "/s/x.db") == {"resume": resume}
    assert harm_commands(replace(died, state="ended"), "/s/x.db") == {}


def test_a_fixed_knob_says_how_a_run_of_its_workload_starts_with_another_value() -> None:
    face.use(FACES)
    shards = Knob("shards", "int", 2, 1, "", "", low=1, high=16)
    starts = {"/p/backend/workloads/mine.toml": "mine", "/a b/mine.toml": "'/a b/mine.toml'"}
    for file, workload in starts.items():
        run = replace(new_run(), workload="mine", settings={"file": file})
        assert restart_of(shards, run) == f"python3 run.py demo {workload} --set shards=4"
    assert restart_of(replace(shards, name="mu"), new_run()) == restart_of(shards, None) == ""


def test_a_run_in_memory_says_that_it_is_lost() -> None:
    of_run = killed(settings={"file": "/my.toml", "master": "none"})
    for batch, is_lost in ((None, False), (3, True)):
        end = ending(of_run, (), Checkpoint(batch, in_memory=True), "/s/x.db")
        assert end is not None
        assert bool(end.warning) == is_lost
        assert ("cannot go on" in end.checkpoint.words[0]) == is_lost
    assert ending(new_run(), (), Checkpoint(3), "/s/x.db") is None


def test_a_checkpoint_says_where_it_goes_on_its_size_and_how_long_that_takes() -> None:
    words = Checkpoint(3, 2048.0, 3 * 2.0**20, 1.5, 12.0).words
    assert [word.replace("\u2009", " ") for word in words] == [
        "It goes on at batch 4; batches up to 3 are on record.",
        "The last record took 1.50 ms.",
        "The checkpoint takes 3 MiB of state and 2 KiB that its units learnt.",
        "Its last start took 12 s until the first batch was recorded.",
    ]
    assert Checkpoint(None).words == ["It goes on at batch 0."]


@pytest.mark.parametrize(
    ("after", "said"),
    [(150.0, "0 tuples lost, 0 doubled"), (140.0, "10 tuples lost"), (160.0, "10 doubled")],
)
def test_what_a_gap_came_to_goes_by_both_counts(after: float, said: str) -> None:
    assert said in lost_words({4: 100.0, 5: after}, 5, 50)
    assert lost_words({5: after}, 5, 50) == lost_words({4: None, 5: after}, 5, 50) == ""


def test_a_killed_run_tells_its_end_with_its_last_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "run.db")
    with open_engine_writer(path) as writer:
        record(writer, "r1", 12, START)
        with open_reader(path) as reader:
            last = reader.batches("r1")[-1]
            earlier = reader.batches("r1")[-3]
        lines = [LogLine(earlier.time - 0.01, "WARNING", f"line {n}") for n in range(600)]
        writer.write_log("r1", [*lines, LogLine(last.time + 9, "INFO", "the last")])
        writer.set_state("r1", "interrupted", "process 7 is gone", last.time)
    with open_reader(path) as reader:
        run = reader.run("r1")
        assert run is not None
        kept = reader.log_lines("r1", 1000, None)
        assert [len(kept), kept[0].line.text, kept[-1].line.text] == [500, "line 101", "the last"]
        assert (kept[0].batch, kept[-1].batch) == (earlier.id, (last.id or 0) + 1)
        assert reader.log_lines("r1", 3, last.id)[-1].line.text == "line 599"
        end = ending_of(reader, run)
        assert end is not None
        assert [one.line.text for one in end.lines][-1] == "the last"
        assert end.checkpoint.batch == last.id
        assert f"It goes on at batch {(last.id or 0) + 1}" in end.checkpoint.words[0]
        sentence = story_of(reader, run).sentences[-1]
        assert (sentence.kind, sentence.batch) == (END, last.id)
        assert sentence.text == "The engine died: process 7 is gone."
        assert END not in {one.kind for one in story_of(reader, run, 5).sentences}
