"""What workers do with rows, without Spark: paths of spool files, tuples of several streams."""

from __future__ import annotations

import gc
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from backend.hosts.networks import HostJob
from backend.hosts.spark.run import tasks
from backend.hosts.spark.run.tasks import PLACE, TARGET, RowSource, run_task, tag_in, tag_of
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.shard import NetworkTask, Places
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.reports import TaskReport, merged
from backend.operators.task import TaskInput, TaskJob
from backend.workloads.contract import CORRUPT
from backend.workloads.replay import Feeder, write_spooled
from backend.workloads.sources import MemorySource

A, B = Schema.parse("id int"), Schema.parse("name string")


def job() -> HostJob:
    inputs = {"A": TaskInput(0, A, None, {}), "B b": TaskInput(1, B, None, {})}
    return HostJob(TaskJob(3, 1, inputs, "", "parquet"))


def feed(spool: Path, name: str, source: MemorySource, slice_tuples: int) -> None:
    feeder = Feeder(
        source, spool, lambda: 0.0, lambda: "stop", slice_tuples=slice_tuples, prefix=tag_of(name)
    )
    feeder.start()
    deadline = time.monotonic() + 10
    while not feeder.finished:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    feeder.stop()


@pytest.fixture
def rows(tmp_path: Path) -> RowSource:
    feed(tmp_path, "A", MemorySource([[k] for k in range(95)] + [["x"]] * 5, A), 7)
    feed(tmp_path, "B b", MemorySource([["n"]] * 40, B), 10)
    return RowSource(tmp_path, {tag_of(name): name for name in ("A", "B b")}, (), False)


def paths(rows: RowSource) -> list[str]:
    return [f"file:{path}" for path in sorted(rows.spool.iterdir(), reverse=True)]


def told(rows: RowSource, found: list[str]) -> TaskReport:
    batches = [pa.record_batch({"path": found[:5]}), pa.record_batch({"path": found[5:]})]
    (packed,) = run_task(job(), rows, 2, batches)
    report: TaskReport = pickle.loads(packed)
    assert report.partition == 2
    return report


def test_names_of_spool_files_tell_the_stream() -> None:
    for name in ("A", "B b", "a-b", "Straße"):
        assert tag_in(f"{tag_of(name)}000000000012.ipc") == tag_of(name)
    assert len({tag_of(name) for name in ("a b", "a_b", "a-b", "a-20-b")}) == 4


def test_files_of_several_streams(rows: RowSource) -> None:
    report = told(rows, paths(rows))
    a, b = report.inputs["A"], report.inputs["B b"]
    assert (a.n_rows, a.n_misfits, a.through) == (100, 5, 100)
    assert [kept.raw for kept in a.misfits] == ['["x"]'] * 5
    assert (b.n_rows, b.n_misfits, b.through) == (40, 0, 40)


@pytest.mark.parametrize("damage", ["torn", "gone", "other"])
def test_a_file_that_cannot_be_read_ends_its_stream_alone(rows: RowSource, damage: str) -> None:
    found = paths(rows)
    path = rows.spool / f"{tag_of('A')}000000000021.ipc"
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "gone":
        path.unlink()
    else:
        path.unlink()
        write_spooled(pa.table({"id": [1]}), path)
    report = told(rows, found)
    failed = [path.name in one.failure for one in report.inputs.values()]
    assert failed == [name == "A" for name in report.inputs]
    assert report.inputs["B b"].n_rows == 40
    assert report.inputs["A"].n_rows < 100


def test_the_collector_is_spared_what_a_network_loads(
    rows: RowSource, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_FROZEN", set())
    told(rows, paths(rows))
    loaded = [[0]]
    told(rows, paths(rows))
    assert is_looked_at(loaded)
    placed(rows, with_network(2), tmp_path_factory.mktemp("network"), True)
    assert not is_looked_at(loaded)


def is_looked_at(one: object) -> bool:
    """By the collector."""
    return any(other is one for other in gc.get_objects())


def test_tuples_of_several_streams() -> None:
    a = pa.array([{"id": 1, CORRUPT: None}, None, {"id": None, CORRUPT: "torn"}, None])
    b = pa.array([None, {"name": None, CORRUPT: None}, None, None])
    batch = pa.record_batch(
        {"path": pa.nulls(4, pa.string()), "_stream": ["A", "B b", "A", None], "A": a, "B b": b}
    )
    batch = batch.set_column(2, "A", batch.column("A").cast(_struct(A)))
    batch = batch.set_column(3, "B b", batch.column("B b").cast(_struct(B)))
    rows = RowSource(Path(), {}, ("A", "B b"), True)
    (packed,) = run_task(job(), rows, 0, [batch])
    report: TaskReport = pickle.loads(packed)
    assert [(one.n_rows, one.n_misfits) for one in report.inputs.values()] == [(2, 1), (1, 0)]


def _struct(schema: Schema) -> pa.DataType:
    from backend.workloads.contract import arrow_schema

    return pa.struct(list(arrow_schema(schema)))


def with_network(n_shards: int) -> HostJob:
    inputs = {"A": TaskInput(0, A, None, {}), "B b": TaskInput(1, B, None, {})}
    reads = [
        PlannedOperator(name, StreamInput(name, (0,)), (), schema.attributes)
        for name, schema in (("A", A), ("B b", B))
    ]
    plan = NetworkPlan(tuple(reads), groups=(ShardGroup(("A", "B b"), {}, "no key"),))
    streams = {"A": StreamTime(None), "B b": StreamTime(None)}
    network = NetworkJob(plan, {"A": A, "B b": B}, streams, n_shards=n_shards)
    task = NetworkTask("u", 3, network, "v", frozenset(), "", "parquet")
    return HostJob(TaskJob(3, 1, inputs, "", "parquet"), (task,))


def placed(rows: RowSource, job: HostJob, folder: Path, own: bool) -> list[Any]:
    """What a partition that is given all files tells."""
    found = paths(rows)
    batch = pa.record_batch({"path": found, TARGET: [1 if own else 2] * len(found)})
    job = replace(job, places=Places(str(folder / "log"), str(folder / "arenas")))
    return [pickle.loads(one) for one in run_task(job, rows, 1, [batch])]


def test_a_shard_takes_what_others_count(
    rows: RowSource, tmp_path_factory: pytest.TempPathFactory
) -> None:
    report, shard = placed(rows, with_network(2), tmp_path_factory.mktemp("one"), False)
    assert not report.inputs
    assert isinstance(shard, ShardReport)
    assert (shard.unit, shard.shard) == ("u", 1)
    narrow = with_network(2)
    plan = NetworkPlan(
        narrow.networks[0].job.plan.operators[:1], groups=(ShardGroup(("A",), {}, ""),)
    )
    schemas, streams = {"A": A}, {"A": StreamTime(None)}
    job = replace(narrow.networks[0].job, plan=plan, schemas=schemas, streams=streams)
    narrow = replace(narrow, networks=(replace(narrow.networks[0], job=job),))
    (rows.spool / f"{tag_of('B b')}000000000010.ipc").unlink()  # nobody here reads it
    report, _ = placed(rows, narrow, tmp_path_factory.mktemp("narrow"), False)
    assert not report.inputs
    (alone,) = placed(rows, with_network(1), tmp_path_factory.mktemp("two"), True)
    assert alone.inputs["A"].n_rows == 100


def test_a_marked_end_ends_a_stream_unless_tuples_follow(
    rows: RowSource, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def heartbeat(name: str) -> int:
        (rows.spool / name).write_text("end")
        _, shard = placed(rows, with_network(2), tmp_path_factory.mktemp("own"), True)
        assert isinstance(shard, ShardReport)
        return shard.network.heartbeat

    assert heartbeat(f"{tag_of('A')}000000000063.end") == 40
    assert heartbeat(f"{tag_of('B b')}000000000040.end") == 95


@pytest.mark.parametrize(("end", "ended"), [(100, True), (63, False)])
def test_an_end_is_told_where_no_network_reads_the_stream(
    rows: RowSource, end: int, ended: bool
) -> None:
    """Its mark and the last tuples may come to several tasks; tuples may follow it."""
    mark = rows.spool / f"{tag_of('A')}{end:012d}.end"
    mark.write_text("end")
    found = [path for path in paths(rows) if not path.endswith(mark.name)]
    reports = [told(rows, found), told(rows, [f"file:{mark}"])]
    assert merged(reports, "A", A, None, {}).ended == ended
    assert not merged(reports[:1], "A", A, None, {}).ended
    assert not merged(reports, "B b", B, None, {}).ended


def test_shards_take_tuples_of_native_sources_in_their_order(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Rows come through a shuffle in any order; the task's work is done where they belong."""
    folder = tmp_path_factory.mktemp("native")
    plan = NetworkPlan(
        (PlannedOperator("A", StreamInput("A", (0,)), (), A.attributes),),
        {"q": PlannedAnswer("A", True)},
        (ShardGroup(("A",), {}, "no key"),),
    )
    base = with_network(1)
    network = replace(
        base.networks[0].job, plan=plan, schemas={"A": A}, streams={"A": StreamTime(None)}
    )
    places = Places(str(folder / "log"), str(folder / "arenas"))
    job = replace(base, networks=(replace(base.networks[0], job=network),), places=places)
    rows = RowSource(Path(), {}, ("A",), False)
    batches = [
        pa.record_batch(
            {
                "id": pa.array(ids, pa.int32()),
                CORRUPT: pa.nulls(3, pa.string()),
                PLACE: ids,
                TARGET: [k % 2 for k in ids],
            }
        )
        for ids in ([4, 3, 5], [1, 0, 2])
    ]
    report, shard = (pickle.loads(one) for one in run_task(job, rows, 0, batches))
    assert report.inputs["A"].n_rows == 3
    told = [(one.values["id"], one.tau) for one in shard.network.recent["q"]]
    assert told == [(k, k) for k in range(6)]
