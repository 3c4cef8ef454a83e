"""Runs on Spark: native sources beside replayed ones, crashes, stops, and what cannot be read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from backend.hosts.agreement import Upcoming, spark_upcoming
from backend.hosts.contract import InputsFailed, InputSource
from backend.hosts.networks import HostJob
from backend.hosts.spark.run.parcel import Parcel, Shipping
from backend.hosts.spark.run.runner import STATUS_S, RunFailed, RunHost
from backend.hosts.spark.run.source_log import CHECKPOINT
from backend.hosts.spark.start.warming import warm_workers
from backend.model.knobs import KnobValue
from backend.model.schema import Schema
from backend.operators.contract import BatchResult, Chunk, Emitted
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.shard import NetworkTask
from backend.operators.selection.operator import SelectionOperator
from backend.operators.task import TaskInput, TaskJob
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.vocabulary.kinds import Phase
from tests.contract.test_hosts import CARS, PARTS, cars, kept_aside, parsed, selection, source, sunk
from tests.loops import FixedLoop
from tests.spark.killed_run import BATCH, N_TUPLES

ROOT = Path(__file__).resolve().parents[2]


def native(name: str, schema: Schema, format: str, path: Path, **options: str) -> InputSource:
    spec = SourceSpec(format, {"path": str(path), **options})
    return InputSource(StreamSpec(name, schema, spec))


def csv_folder(folder: Path) -> Path:
    """Two files; the second has a line that does not fit."""
    folder.mkdir()
    (folder / "one.csv").write_text("id,kind\n1,x\n2,y\n3,x\n")
    (folder / "two.csv").write_text("id,kind\n4,x\nfive,x\n6,\n")
    return folder


KINDS = parsed("kind", "Select * From Parts Where kind = 'x'")


def in_time() -> NetworkJob:
    """Ids of cars, which are their timestamps."""
    id = CARS.attributes[:1]
    plan = NetworkPlan(
        (PlannedOperator("Cars", StreamInput("Cars", (0,)), (), id),),
        {"ids": PlannedAnswer("Cars", True)},
        (ShardGroup(("Cars",), {}, "no key"),),
    )
    return NetworkJob(plan, {"Cars": CARS}, {"Cars": StreamTime("id")})


def test_native_sources_and_a_replayed_one_are_one_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "a.json").write_text('{"id": 7, "kind": "x"}\n{"id": "no"}\n{"id": 8}\n')
    inputs = [
        native("Parts", PARTS, "csv", csv_folder(tmp_path / "csv"), header="true"),
        native("Other", PARTS, "json", tmp_path / "json"),
        source(CARS, cars(), "Cars", None),
        native("Absent", PARTS, "parquet", tmp_path / "nothing"),
    ]
    unit = selection([KINDS], PARTS)
    everything = selection([parsed("all", "Select * From Cars Where id >= 0")], CARS)
    operators = {"Parts": {"p": unit}, "Other": {"o": unit}, "Cars": {"c": everything}}
    loop = FixedLoop(operators, networks=lambda batch_id: {"n": in_time()})
    out = tmp_path / "out"
    ended = RunHost(spark, loop, inputs, SinkSpec(str(out)), tmp_path / "run", True).run()
    assert ended.startswith("the stream reached its end; Absent: source 'parquet': ")
    assert all("Path does not exist" in r.inputs["Absent"].failure for r in loop.results)
    assert sunk(out / "stream=Parts") == {k: ["kind"] for k in (1, 3, 4)}
    assert sunk(out / "stream=Other") == {7: ["kind"]}
    assert len(sunk(out / "stream=Cars")) == 500
    assert kept_aside(out / "stream=Parts") == [("five,x", "does not fit the schema")]
    assert kept_aside(out / "stream=Other") == [('{"id": "no"}', "does not fit the schema")]
    assert loop.total("Cars", "n_tuples") == 500
    assert loop.matched_by_query("n") == {"ids": 500}  # no tick of it is left waiting
    assert (loop.total("Parts", "n_tuples"), loop.total("Other", "n_misfits")) == (5, 1)


def test_one_native_source(spark: SparkSession, tmp_path: Path) -> None:
    inputs = [native("Parts", PARTS, "csv", csv_folder(tmp_path / "csv"), header="true")]
    loop = FixedLoop({"Parts": {"p": selection([KINDS], PARTS)}})
    sink = SinkSpec(str(tmp_path / "out"))
    RunHost(spark, loop, inputs, sink, tmp_path / "run", True).run()
    assert len(loop.results) == 2  # a file a batch
    assert sunk(tmp_path / "out" / "stream=Parts") == {k: ["kind"] for k in (1, 3, 4)}
    absent = [native("Absent", PARTS, "parquet", tmp_path / "nothing")]
    with pytest.raises(InputsFailed, match=r"Absent: .*does not exist"):
        RunHost(spark, loop, absent, sink, tmp_path / "other", True).run()


def test_time_goes_on_to_the_end_of_native_sources_taken_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, sink = tmp_path / "csv", SinkSpec(str(tmp_path / "out"))
    folder.mkdir()
    inputs = [native("Cars", CARS, "csv", folder, header="true")]
    answered: list[int] = []
    for first, last in ((0, 7), (7, 20)):
        rows = "".join(f"{id}{',' * (len(CARS.names) - 1)}\n" for id in range(first, last))
        (folder / f"{first}.csv").write_text(f"{','.join(CARS.names)}\n{rows}")
        loop = FixedLoop({}, networks=lambda batch_id: {"n": in_time()})
        RunHost(spark, loop, inputs, sink, tmp_path / "run", True).run()
        answered.append(loop.matched_by_query("n").get("ids", 0))
    assert answered == [7, 13]  # no tick waits for a later one, and later ones are not late


class Raising:
    """An operator that cannot do its work."""

    selects = True

    def open(self, batch_id: int, partition: int) -> Raising:
        return self

    def take(self, chunk: Chunk) -> Emitted:
        raise ZeroDivisionError("no such thing")

    def report(self) -> bytes:
        return b""

    def merged(self, reports: Any) -> None:
        return None


class Slow(Raising):
    """An operator that takes its time."""

    def open(self, batch_id: int, partition: int) -> Slow:
        return self

    def take(self, chunk: Chunk) -> Emitted:
        time.sleep(2 * STATUS_S)
        return super().take(chunk)


def run_until_told(host: RunHost, loop: FixedLoop, phase: Phase) -> None:
    """Run until the engine does this, then stop."""
    thread = threading.Thread(target=host.run)
    thread.start()
    deadline = time.monotonic() + 60
    while phase not in [name for name, _ in loop.phases]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    host.stopping.set()
    thread.join(timeout=60)


class Endless(Raising):
    """An operator that is not done before a stop."""

    def take(self, chunk: Chunk) -> Emitted:
        time.sleep(600)
        return super().take(chunk)


def test_a_batch_that_a_stop_cuts_off_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    loop, inputs = FixedLoop({"Cars": {"c": Endless()}}), [source(CARS, cars(), "Cars", None)]
    host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", False)
    run_until_told(host, loop, "its job runs")
    assert (loop.n_abandoned, loop.results) == (1, [])
    checkpoint = tmp_path / "run" / "checkpoint"
    assert spark_upcoming(checkpoint) == Upcoming(0, True)


def test_what_lasts_is_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    loop = FixedLoop({"Cars": {"c": Slow()}})
    inputs = [source(CARS, cars(), "Cars", None)]
    with pytest.raises(RunFailed):
        RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", True).run()
    names = [name for name, _ in loop.phases]
    first = names.index("the batch is planned")
    assert names[0] == "Spark starts the query"
    assert names[first + 1] == "its job runs"
    assert time.monotonic() - loop.phases[first + 1][1] >= 2 * STATUS_S
    held, inputs = HeldLoop(2), [source(CARS, cars(), "Cars", None)]
    host = RunHost(spark, held, inputs, SinkSpec(None), tmp_path / "held", False)
    run_until_told(host, held, "Spark plans the batch")
    names = [name for name, _ in held.phases]
    done = names.index("results are written")
    assert names[done - 2 : done] == ["the batch is planned", "its job runs"]
    assert names[done + 1] == "Spark commits the batch"


def test_a_stream_without_tuples_waits_for_input(spark: SparkSession, tmp_path: Path) -> None:
    loop, inputs = (
        FixedLoop({}, {("Cars", "intake"): "paused"}),
        [source(CARS, cars(), "Cars", None)],
    )
    host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", False)
    run_until_told(host, loop, "waits for input")


def test_a_batch_that_fails_ends_the_run_with_its_cause(
    spark: SparkSession, tmp_path: Path
) -> None:
    loop = FixedLoop({"Cars": {"c": Raising()}})
    inputs = [source(CARS, cars(), "Cars", None)]
    host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", True)
    with pytest.raises(RunFailed, match=r"^ZeroDivisionError: no such thing$"):
        host.run()
    assert (loop.n_abandoned, loop.in_batch) == (1, False)


class Losing(FixedLoop):
    """Loses the folder of the tuples that wait, as to a cleaner of temporary files."""

    def __init__(self, spool: Path) -> None:
        knobs = {("Cars", "max_batch_tuples"): 100}
        super().__init__({}, knobs, networks=lambda batch_id: {"n": in_time()})
        self._spool = spool

    def end_batch(self, result: BatchResult) -> None:
        super().end_batch(result)
        shutil.rmtree(self._spool, ignore_errors=True)


@pytest.mark.timeout(90)
def test_a_run_whose_tuples_can_be_kept_nowhere_ends(spark: SparkSession, tmp_path: Path) -> None:
    loop = Losing(tmp_path / "run" / "spool")
    inputs = [source(CARS, cars(), "Cars", None)]
    host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", False)
    with pytest.raises((InputsFailed, RunFailed), match=r"No such file|does not exist"):
        host.run()


def test_a_live_run_is_stopped_from_outside_and_by_command(
    spark: SparkSession, tmp_path: Path
) -> None:
    for turn, by_command in enumerate((False, True)):
        knobs: dict[tuple[str, str], KnobValue] = {
            ("Cars", "rate"): 500.0,
            ("Cars", "at_end"): "loop",
        }
        loop = FixedLoop({}, knobs)
        inputs = [source(CARS, cars(), "Cars", None)]
        host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / str(turn), False)
        ended: list[str] = []
        thread = threading.Thread(target=lambda host=host, ended=ended: ended.append(host.run()))
        thread.start()
        deadline = time.monotonic() + 60
        while loop.results[1:] == [] or loop.total("Cars", "n_tuples") < 600:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        (loop.stop_requested if by_command else host.stopping).set()
        thread.join(timeout=20)
        assert ended == ["stopped by command" if by_command else "stopped"]
        assert loop.last_words == ("" if by_command else "stopped")
        assert loop.n_between > 0
        assert loop.results[-1].inputs["Cars"].backlog_tuples is not None


class HeldLoop(FixedLoop):
    """Held after its first batches until ``held`` is cleared."""

    def __init__(self, n_batches: int) -> None:
        super().__init__({}, {("Cars", "max_batch_tuples"): 100})
        self.n_batches, self.held = n_batches, threading.Event()
        self.held.set()

    def may_begin(self) -> bool:
        return not self.held.is_set() or len(self.begun) < self.n_batches


class ClockSetBack(FixedLoop):
    """In each batch the clock of the machine is set back by an hour."""

    def __init__(self) -> None:
        super().__init__({}, {("Cars", "max_batch_tuples"): 100})
        self.back_s = 0.0

    def end_batch(self, result: BatchResult) -> None:
        self.back_s += 3600.0
        super().end_batch(result)


def test_batches_are_spaced_by_a_clock_that_nobody_sets(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, clock = ClockSetBack(), time.time
    monkeypatch.setattr(time, "time", lambda: clock() - loop.back_s)
    inputs = [source(CARS, cars(), "Cars", None)]
    host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", True)
    thread = threading.Thread(target=host.run)
    thread.start()
    thread.join(timeout=60)
    host.stopping.set()
    assert loop.total("Cars", "n_tuples") == 500


def test_a_held_run_takes_nothing_and_loses_nothing_when_it_is_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    seen: dict[int, int] = {}
    for n_batches in (2, 0):
        loop, inputs = HeldLoop(n_batches), [source(CARS, cars(), "Cars", None)]
        host = RunHost(spark, loop, inputs, SinkSpec(None), tmp_path / "run", False)
        thread = threading.Thread(target=host.run)
        thread.start()
        deadline = time.monotonic() + 60
        while len(loop.begun) < n_batches or loop.n_idle < 20:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert len(loop.begun) == n_batches
        if n_batches:
            host.stopping.set()
        else:
            loop.held.clear()
        thread.join(timeout=60)
        assert not thread.is_alive()
        # the batch that runs at the stop may come again, with its tuples
        seen |= {one.batch_id: one.inputs["Cars"].n_tuples for one in loop.results}
    assert sum(seen.values()) == 500


def test_a_killed_run_goes_on_and_loses_or_doubles_nothing(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.spark.killed_run", str(tmp_path), *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert run("end_batch", "2").returncode == -9  # published, and not told
    assert run("recorded", "14").returncode == -9  # told, and not committed
    assert run("begin_batch", "26").returncode == -9
    done = run()
    assert done.stdout.strip() == "the stream reached its end", done.stderr
    found = sunk(tmp_path / "out" / "stream=Parts")
    assert found == {k: ["kind"] for k in range(1, N_TUPLES, 2)}
    lines = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    last = {batch_id: (n, matched) for batch_id, n, matched in lines}
    assert [n for n, _ in last.values()] == [BATCH] * (N_TUPLES // BATCH)
    assert sum(matched for _, matched in last.values()) == N_TUPLES // 2
    assert sorted(last) == list(range(len(last)))
    assert len(lines) - len(last) <= 1  # batch 14 came again
    assert len(list((tmp_path / "run" / "spool").glob("*.ipc"))) < 5
    notes = list((tmp_path / "run" / CHECKPOINT).glob("sources/*/*.compact"))
    newest = max(notes, key=lambda path: int(path.stem)).read_text().splitlines()
    assert 0 < len(newest) < N_TUPLES // BATCH // 2  # not one of each file that there was


@pytest.mark.parametrize("has_networks", [False, True])
def test_workers_are_warmed_by_a_match_and_a_rehearsal(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, has_networks: bool
) -> None:
    with caplog.at_level("DEBUG", logger="backend.hosts.spark.start.warming"):
        (thread := warm_workers(spark, has_networks)).join(timeout=120)
    assert not thread.is_alive()
    assert caplog.messages == []


def test_what_is_large_is_sent_once(spark: SparkSession) -> None:
    first, second = selection([KINDS], PARTS), selection([KINDS], PARTS)
    shipping = Shipping(spark)

    def sent(operator: SelectionOperator) -> Parcel:
        inputs = {"Parts": TaskInput(0, PARTS, None, {"p": operator})}
        parcel = shipping.parcel(HostJob(TaskJob(0, 1, inputs, "", "parquet")))
        (unpacked,) = parcel.unpacked().tasks.inputs["Parts"].operators.values()
        assert isinstance(unpacked, SelectionOperator)
        assert unpacked.profile_prob == operator.profile_prob
        assert unpacked.plan.names.sorted == ("kind",)
        return parcel

    before, turned = sent(first), sent(replace(first, profile_prob=0.125))
    assert before.large.keys() == turned.large.keys()
    assert len(before.job) < 2000
    other = sent(second)
    assert len(other.large) == 1
    assert other.large.keys() != before.large.keys()

    def scheduled(load: float) -> NetworkTask:
        job = replace(network, schedule=Schedule(load=load))
        task = NetworkTask("u", 0, job, "v", frozenset(), "", "parquet")
        parcel = shipping.parcel(HostJob(TaskJob(0, 1, {}, "", "parquet"), (task,)))
        (unpacked,) = parcel.unpacked().networks
        assert unpacked == task
        return unpacked

    network = in_time()
    assert scheduled(0.5).job.plan is scheduled(0.75).job.plan
    shipping.close()
