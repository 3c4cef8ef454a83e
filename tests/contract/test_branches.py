"""Branches of recorded runs on the host of this process: the record, and the other future."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.engine.branch import read_record
from backend.engine.branching import BranchProcesses
from backend.engine.knobs import KNOBS
from backend.hosts.in_process import InProcessLaunch
from backend.hosts.spark.start.launch_settings import LaunchSettings
from backend.launch.cli import branch as run_branch
from backend.model.ids import source_id
from backend.systems.contract import Refused
from backend.workloads.spec import load_workload
from run import build_parser
from storage.reading.resume import last_state
from storage.store import Reader, open_command_writer, open_engine_writer, open_reader
from storage.vocabulary.branches import BranchOf, branch_of
from storage.vocabulary.records import Decision

N_TUPLES, BATCH = 8_000, 400
LAST = N_TUPLES // BATCH - 1
AT = 10
WORKLOAD = f"""
name = "branched"
[streams.S]
schema = "a1 int, a2 int, a3 int"
rate = 10
[streams.S.source]
format = "drift"
seed = 3
phases = [{{ distribution = "uniform", n_tuples = {N_TUPLES} }}]
[streams.T]
schema = "k int, t bigint"
timestamp = "t"
source = {{ format = "csv", path = "t.csv", header = true }}
[knobs]
max_batch_tuples = {BATCH}
lambda_tuples = 800
tau_tuples = 400
profile_prob = 0.5
no_drop_visit_cost = 1.0
[queries]
low = "Select * From S Where a1 < 20 and a2 < 60"
mid = "Select * From S Where a1 > 50 and a2 < 60 and a3 < 30"
sums = "Select k, Count(*) As n From T [Range 5] Group By k"
"""


class Recorded:
    """A run on record, with turns at batches 3 (a knob), 5 (a query more) and 14 (another knob)."""

    def __init__(self, folder: Path, workload: str = WORKLOAD) -> None:
        self.folder, self.store, self.file = folder, str(folder / "s.db"), folder / "w.toml"
        self.file.write_text(workload)
        (folder / "t.csv").write_text("k,t\n" + "".join(f"{n % 7},{n // 4}\n" for n in range(3000)))
        with open_engine_writer(self.store) as writer, open_command_writer(self.store) as commands:
            settings = LaunchSettings("none", folder, folder / "runs", True)
            launch = TurnedLaunch(load_workload(self.file, {}, KNOBS), writer, settings)

            def ask(kind: str, payload: dict[str, Any]) -> None:
                commands.append_command(launch.id, kind, payload, "me", "", time.time())

            launch.ask = ask
            assert launch.execute()
        self.id = launch.id

    def branch(self, *words: str, run: str | None = None) -> int:
        """What 'run.py branch' comes to."""
        line = ["branch", run or self.id, *words, "--store", self.store]
        return run_branch(build_parser().parse_args(line))


class TurnedLaunch(InProcessLaunch):
    """Somebody turns knobs and registers a query while it runs."""

    ask: Callable[[str, dict[str, Any]], None]
    id = ""

    def _play(self, host: Any, loop: Any) -> str:
        self.id = loop.run.id
        turns: dict[int, tuple[str, dict[str, Any]]] = {
            3: ("knob", {"knob": "mu", "value": 0.05, "scope": "asc.S", "unless_kept_s": 0.0001}),
            5: ("query_add", {"name": "more", "text": "Select * From S Where a3 = 7 and a2 > 9"}),
            7: ("knob", {"knob": "min_gain", "value": 0.02, "scope": "asc.S"}),
            14: ("knob", {"knob": "mu", "value": 0.2, "scope": "asc.S"}),
        }
        batch = 0
        while True:
            if batch in turns:
                kind, payload = turns[batch]
                self.ask(kind, payload)
            if not host.step():
                break
            batch += 1
        host.close()
        return "the stream reached its end"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("branched"))


@pytest.fixture
def reader(recorded: Recorded) -> Iterator[Reader]:
    with open_reader(recorded.store) as found:
        yield found


def newest(reader: Reader) -> tuple[str, BranchOf]:
    run = reader.runs()[0]
    told = branch_of(run)
    assert told is not None
    return run.id, told


def decided(reader: Reader, run: str) -> list[tuple[Any, ...]]:
    rows = reader.decisions(run, limit=10_000)
    return sorted(
        (one.batch, one.unit_id, one.seq, *_facts(one)) for one in (r.decision for r in rows)
    )


def _facts(one: Decision) -> tuple[Any, ...]:
    return one.kind, one.verdict, one.lhs, one.n, one.n_sample, one.rhs, str(one.new)


def matched(reader: Reader, run: str) -> list[tuple[Any, ...]]:
    rows = reader.batches(run, limit=10_000)
    return [(one.id, one.n_tuples, one.n_matched, one.n_misfits) for one in rows]


def test_with_the_recorded_value_a_branch_repeats_the_record(
    recorded: Recorded, reader: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recorded.branch("--at", str(AT), "--set", "mu=0.1") == 0
    id, told = newest(reader)
    assert (told.run, told.batch, told.knob, told.scope) == (recorded.id, AT, "mu", "asc.S")
    assert told.value == told.was == 0.1, "what was turned at batch 3 was taken back"
    assert matched(reader, id)[:AT] == matched(reader, recorded.id)[:AT]
    assert matched(reader, id) == matched(reader, recorded.id)
    assert len(decided(reader, id)) > 10
    until = 14  # there the record turns the knob, which the branch leaves alone
    mine, theirs = decided(reader, id), decided(reader, recorded.id)
    assert [one for one in mine if one[0] < until] == [one for one in theirs if one[0] < until]
    found = {k.name: k.value for k in reader.knobs(id) if k.scope == "asc.S"}
    assert (found["mu"], found["min_gain"]) == (0.1, 0.02)
    assert {e.name for e in reader.entities(id) if e.kind == "query"} == {
        "low",
        "mid",
        "sums",
        "more",
    }
    (said,) = [e.event for e in reader.events(id) if "before the branch" in e.event.title]
    n_before = sum(one[0] < AT for one in theirs)
    assert said.title == f"the {n_before} decisions before the branch came out as recorded"
    assert f"/compare?run={id}" in capsys.readouterr().out


def test_with_another_value_only_what_follows_differs(recorded: Recorded, reader: Reader) -> None:
    assert recorded.branch("--at", str(AT), "--set", "mu=0", "--unit", "asc.S") == 0
    id, told = newest(reader)
    mine, theirs = decided(reader, id), decided(reader, recorded.id)
    assert [one for one in mine if one[0] < AT] == [one for one in theirs if one[0] < AT]
    assert [one for one in mine if one[0] >= AT] != [one for one in theirs if one[0] >= AT]
    assert matched(reader, id) == matched(reader, recorded.id)
    assert (told.value, told.was, told.last) == (0, 0.1, LAST)
    run = reader.run(id)
    assert run is not None
    assert (run.state, run.note) == (
        "ended",
        f"the branch reached batch {LAST}, where {recorded.id} stands",
    )
    turns = [(c.payload["knob"], c.applied_batch) for c in reader.commands(id) if c.kind == "knob"]
    assert {("mu", AT), ("min_gain", 7)} <= set(turns)
    assert ("mu", 14) not in turns


def test_a_branch_of_the_autopilot_decides_as_it_did_and_a_threshold_takes_over(
    tmp_path: Path,
) -> None:
    piloted = Recorded(tmp_path, WORKLOAD.replace("[knobs]", '[knobs]\npolicy = "autopilot"'))
    with open_reader(piloted.store) as reader:
        assert piloted.branch("--at", "6", "--set", "caution=5", "--unit", "asc.S") == 0
        id, _ = newest(reader)
        mine, theirs = decided(reader, id), decided(reader, piloted.id)
        assert "look" in {one[3] for one in theirs if one[0] < 6}
        assert [one for one in mine if one[0] < 6] == [one for one in theirs if one[0] < 6]
        was = [k.value for k in reader.knob_history(piloted.id, "policy") if k.scope == "asc.S"]
        assert was == ["autopilot", "thresholds", "autopilot", "thresholds"]
        assert [k.value for k in reader.knob_history(id, "policy") if k.scope == "asc.S"] == was
        assert piloted.branch("--at", "5", "--set", "mu=0.3", "--unit", "asc.S") == 0
        id, _ = newest(reader)
        kinds = {one[3] for one in decided(reader, id) if one[0] >= 5}
        assert "policy changed" in kinds
        assert "look" not in kinds


def test_a_branch_is_never_what_goes_on(recorded: Recorded, reader: Reader) -> None:
    assert recorded.branch("--at", "0", "--set", "mu=0.3", run="latest") == 0
    id, told = newest(reader)
    assert told.run == recorded.id
    last = last_state(reader, "branched")
    assert last is not None
    assert last.run.id == recorded.id
    assert recorded.branch("--at", "4", "--set", "mu=0.3", run=id) == 0, "branches have branches"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "99", "--set", "mu=0.3"), f"has the batches 0..{LAST}"),
        (("--at", "-1", "--set", "mu=0.3"), f"has the batches 0..{LAST}"),
        (("--at", "3", "--set", "mu=-7"), "mu = -7 refused: allowed 0.."),
        (("--at", "3", "--set", "nu=7"), "has no knob 'nu' at batch 3; its knobs are"),
        (("--at", "3", "--set", "mu"), "written as --set KNOB=VALUE"),
        (("--at", "3", "--set", "rate=7"), "rate says when tuples come"),
        (("--at", "3", "--set", "mu=0.3", "--unit", "x"), "--unit x: a knob mu have asc.S"),
        (("--at", "3", "--set", "mu=0.3", "--workload", "no.toml"), "is gone: no.toml"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    recorded: Recorded,
    reader: Reader,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    n_runs = len(reader.runs())
    assert recorded.branch(*words) == 2
    assert said in capsys.readouterr().err
    assert len(reader.runs()) == n_runs


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a1 < 20", "a1 < 21", "query low reads otherwise in its file"),
        ("seed = 3", "seed = 4", "the source of stream S is another"),
        ('sums = "', 'others = "', "query others is new in its file"),
        ("a3 int", "a3 int, a4 int", "the schema of stream S is another"),
    ],
)
def test_a_changed_workload_is_refused(
    recorded: Recorded, capsys: pytest.CaptureFixture[str], before: str, after: str, said: str
) -> None:
    other = recorded.folder / "other.toml"
    other.write_text(WORKLOAD.replace(before, after))
    assert recorded.branch("--at", "3", "--set", "mu=0.3", "--workload", str(other)) == 2
    assert said in capsys.readouterr().err


def test_a_stream_that_gives_its_tuples_once_is_refused_by_name(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    source = '{ format = "socket", host = "localhost", port = 9 }'
    text = re.sub(r'\{ format = "csv".*\}', source, WORKLOAD)
    other = recorded.folder / "socket.toml"
    other.write_text(text)
    assert recorded.branch("--at", "3", "--set", "mu=0.3", "--workload", str(other)) == 2
    assert "stream T cannot be replayed: its source is socket" in capsys.readouterr().err


def test_which_tuples_went_by_while_a_stream_was_paused_is_unknown(
    recorded: Recorded, reader: Reader
) -> None:
    record = read_record(reader, recorded.id)
    (intake,) = [k for k in record.knobs if (k.name, k.scope) == ("intake", source_id("S"))]
    (rate,) = [k for k in record.knobs if (k.name, k.scope) == ("rate", source_id("S"))]
    assert rate.value == 10
    paused = replace(intake, value="paused", batch=4, version=7)
    back = replace(intake, batch=6, version=8)
    knobs = [*record.knobs, paused, back]
    assert replace(record, knobs=knobs).paused_at_a_rate() is None, "here streams keep no rate"
    paced = replace(record, run=replace(record.run, settings={"master": "local[2]"}))
    assert paced.paused_at_a_rate() is None
    assert replace(paced, knobs=knobs).paused_at_a_rate() == source_id("S")
    assert replace(paced, knobs=knobs[:-1]).paused_at_a_rate() is None, "it was not read again"
    slow = [k if k is not rate else replace(k, value=0.0) for k in knobs]
    assert replace(paced, knobs=slow).paused_at_a_rate() is None, "it stood still"


def test_data_that_have_changed_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Recorded(tmp_path)
    data = tmp_path / "t.csv"
    whole = data.read_text()

    def branched() -> tuple[int, str]:
        return run.branch("--at", "3", "--set", "mu=0.3"), capsys.readouterr().err

    data.write_text("k,t\n1,1\n")
    status, said = branched()
    assert status == 2
    wanted = f"the data are others now: {data} had {len(whole)} bytes when it was read, and has 8"
    assert wanted in said
    with open_reader(run.store) as reader:
        assert [one.id for one in reader.runs()] == [run.id], "no run was begun"
    data.write_text(whole.replace("3,", "x,", 1))  # as long as before: a number is none now
    status, said = branched()
    assert status == 1
    with open_reader(run.store) as reader:
        found = reader.runs()[0]
        told = [one.event for one in reader.events(found.id)]
    assert (found.state, found.note) == (
        "failed",
        "1 of 3 batches before the branch matched otherwise: the data or functions are others now",
    )
    (flag,) = [one for one in told if one.title.startswith("data files were written to")]
    assert (flag.severity, flag.detail) == ("warning", str(data))


def test_files_that_only_grew_are_flagged(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    with (tmp_path / "t.csv").open("a") as data:
        data.write("1,900\n")
    assert run.branch("--at", "3", "--set", "mu=0.3") == 0
    with open_reader(run.store) as reader:
        told = [one.event for one in reader.events(newest(reader)[0])]
    assert [one.severity for one in told if "data files were written" in one.title] == ["warning"]
    assert [one.severity for one in told if "before the branch" in one.title] == ["info"]


def test_a_record_without_its_lists_of_files_fails_where_tuples_lack(tmp_path: Path) -> None:
    run = Recorded(tmp_path)
    (tmp_path / "t.csv").write_text("k,t\n1,1\n")
    shutil.rmtree(tmp_path / "runs")  # how many tuples the file had is known no more
    assert run.branch("--at", "3", "--set", "mu=0.3") == 1
    with open_reader(run.store) as reader:
        found = reader.runs()[0]
    assert found.state == "failed"
    said = "stream T is not as recorded: in batch 0, 399 of 400 tuples are not there"
    assert found.note == said


def test_beside_a_run_one_is_computed_at_a_time(recorded: Recorded, reader: Reader) -> None:
    beside = BranchProcesses(recorded.store, recorded.folder / "branch.log")
    beside.begin(recorded.id, AT, "mu", 0.02, "asc.S")
    with pytest.raises(Refused, match="is being computed"):
        beside.begin(recorded.id, AT, "mu", 0.03, "asc.S")
    beside.wait()
    assert _news(beside) == f"the branch of {recorded.id} at batch {AT} with mu = 0.02 is ready"
    assert newest(reader)[1].value == 0.02
    beside.begin(recorded.id, 99, "mu", 0.02, "asc.S")
    beside.wait()
    assert "has failed" in _news(beside)


def _news(beside: BranchProcesses) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for one in beside.news():
            return one.title
        time.sleep(0.05)
    raise AssertionError("nothing came of it")
