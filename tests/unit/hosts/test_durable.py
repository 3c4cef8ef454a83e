"""durable = true: what a batch commits is flushed before the batch is over, and else nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backend.hosts.agreement import Mark
from backend.hosts.compact import FILES_TOGETHER
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.publish import FolderSink
from backend.hosts.spark.run.taken import TakenSoFar, flush_plan
from backend.operators.parts import sink_schema
from backend.workloads.replay import Feeder
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, WorkloadError, load_workload
from storage.store import open_engine_writer
from storage.tables.database import pragma
from tests.loops import FixedLoop
from tests.unit.hosts.test_agreement import MEMORY, S, network


class Flushed(set[int]):
    """The inodes that were flushed."""

    def has(self, path: Path) -> bool:
        return path.stat().st_ino in self


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> Flushed:
    found, fsync = Flushed(), os.fsync

    def noted(file: int) -> None:
        found.add(os.fstat(file).st_ino)
        fsync(file)

    monkeypatch.setattr(os, "fsync", noted)
    return found


def run(folder: Path, durable: bool) -> None:
    loop = FixedLoop({}, networks=lambda batch_id: {"u": network()})
    inputs = [InputSource(MEMORY, MemorySource([[a] for a in range(30)], S))]
    sink = SinkSpec(str(folder / "out"), durable=durable)
    LocalHost(loop, inputs, sink, 10, once=True, folder=folder / "r").run()


def test_what_a_batch_commits_is_flushed_where_it_is_asked_for(
    tmp_path: Path, flushed: Flushed
) -> None:
    run(tmp_path / "no", durable=False)
    assert not flushed
    own = tmp_path / "yes"
    run(own, durable=True)
    published = [*(own / "out").glob("*/batch-*")]
    state = [path for path in (own / "r" / "state").rglob("*") if path.is_file()]
    assert len(published) > 1
    assert {path.parent.name for path in state} >= {"segments", "inputs", "jobs"}
    files = [*published, *state, own / "r" / "mark.json"]
    missed = [path for path in files if not (flushed.has(path) and flushed.has(path.parent))]
    assert missed == []


def test_what_spark_needs_for_the_batch_in_flight_is_flushed(
    tmp_path: Path, flushed: Flushed
) -> None:
    for name in ("offsets/3", "commits/2", "sources/0/7", "sources/1/0"):
        (tmp_path / "checkpoint" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkpoint" / name).touch()
    spool, listed = tmp_path / "spool", tmp_path / "files-S.jsonl"
    spool.mkdir()
    listed.touch()
    source = MemorySource([[1]], S)
    feeder = Feeder(source, spool, lambda: 0.0, lambda: "stop", durable=True)
    feeder.start()
    while not feeder.finished:
        pass
    feeder.stop()
    TakenSoFar(spool / "_taken.json", True).write(Mark(3, ("u",)), {"S": 1}, (), ())
    flush_plan(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 7
    missed = [path for path in files if not (flushed.has(path) and flushed.has(path.parent))]
    assert missed == []


def test_merged_files_are_flushed_before_single_ones_go(tmp_path: Path, flushed: Flushed) -> None:
    folder = tmp_path / "stream=S"
    sink = FolderSink(str(folder), "parquet", sink_schema(S), durable=True)
    for batch in range(3):
        (folder / "_staging" / str(batch)).mkdir(parents=True)
        FolderSink(str(tmp_path / "x"), "parquet", sink_schema(S)).publish(0, ())
        (tmp_path / "x" / "batch-00000000-00000.parquet").rename(
            folder / "_staging" / str(batch) / "matched-1.parquet"
        )
        sink.publish(batch, ("matched-1.parquet",))
    assert sink.compactor is not None
    assert FILES_TOGETHER > 3
    sink.compactor.compact(3)
    assert flushed.has(folder / "batches-00000000-00000002.parquet")
    assert flushed.has(folder)
    assert flushed.has(tmp_path)


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_the_store_waits_for_the_disk_where_it_is_asked_for(
    tmp_path: Path, durable: bool, level: int
) -> None:
    with (
        open_engine_writer(str(tmp_path / "s.db"), durable) as writer,
        writer.reading() as connection,
    ):
        assert pragma(connection, "synchronous") == level


def test_it_is_a_setting_of_the_workload(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    stream = '[streams.S]\nschema = "a int"\nsource = { format = "memory", rows = [[1]] }\n'
    for text, durable in (("", False), ("durable = true\n", True), ("durable = false\n", False)):
        path.write_text(text + stream)
        assert load_workload(path).sink.durable is durable
    path.write_text('durable = "yes"\n' + stream)
    with pytest.raises(WorkloadError, match="durable must be true or false, not"):
        load_workload(path)
