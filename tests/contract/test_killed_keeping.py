"""kill -9 while a sink or a store is tidied, while a store climbs, while a run is exported."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sqlalchemy import Connection, text

from backend.hosts import compact
from backend.hosts.compact import compact_one
from backend.hosts.publish import FolderSink
from backend.model.schema import Schema
from backend.operators.parts import Parts, sink_schema
from storage.store import open_engine_writer, open_reader
from storage.tables import database, migrations
from storage.tables.schema import METADATA, SCHEMA_VERSION
from storage.vocabulary.records import Sample
from tests.contract.store_builders import START, begin, record
from tests.golden import store_v4 as golden

SCHEMA = sink_schema(Schema.parse("id bigint"))
#: Of batches and their samples.
N_BATCHES, PER_BATCH = 300, 12
FAR = 1e11
KILLS = 12


def forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return child


def seconds(work: Callable[[], object]) -> float:
    """What it takes when it is left alone."""
    since = time.monotonic()
    assert os.waitpid(forked(work), 0)[1] == 0
    return time.monotonic() - since


def killed(work: Callable[[], object], after_s: float) -> bool:
    """Kill a process that does this; whether it was still at it."""
    child = forked(work)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def far(folder: Path) -> int:
    """How many batches the sink was told to hold."""
    at = folder / "_at"
    return int(at.read_text()) if at.exists() else 0


def publish(folder: Path) -> None:
    """Go on with a sink that merges all the time, to its end; ``_at`` says how far it was told."""
    sink, at = FolderSink(f"{folder}/stream=S", "parquet", SCHEMA), folder / "_at"
    assert sink.compactor is not None
    for batch in range(far(folder), 100):
        parts = Parts(f"{folder}/stream=S", "parquet", SCHEMA, batch, 0)
        rows = [{"id": 10 * batch + k, "query_ids": ["q"]} for k in range(10)]
        parts.add(pa.RecordBatch.from_pylist(rows, SCHEMA))
        sink.publish(batch, parts.close())
        compact_one([sink.compactor], batch)
        hidden = folder / "_next"
        hidden.write_text(str(batch + 1))
        hidden.replace(at)


def test_a_sink_whose_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "FILES_TOGETHER", 2)
    own, rng = tmp_path / "killed", random.Random(1)
    own.mkdir()
    for _ in range(KILLS):
        child, until = forked(lambda: publish(own)), far(own) + rng.randrange(100 // KILLS)
        while far(own) < until:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.01))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    publish(own)
    found = ds.dataset(own / "stream=S", format="parquet").to_table().column("id").to_pylist()
    assert sorted(found) == list(range(1000))


def store_of_many(path: Path) -> None:
    """A closed store with one run."""
    with open_engine_writer(str(path)) as writer:
        begin(writer)
        for number in range(N_BATCHES):
            samples = [Sample(f"e{k}", "n_tuples", 1.0) for k in range(PER_BATCH)]
            writer.write_batch(record(number, *samples, time=START + number))


def counted(path: Path) -> tuple[int, int]:
    """Raw samples, and those in rows of a minute; the file is whole."""
    with closing(sqlite3.connect(path)) as store:
        assert store.execute("pragma integrity_check").fetchall() == [("ok",)]
        (raw,) = store.execute("select count(*) from samples").fetchone()
        (rolled,) = store.execute(
            "select coalesce(sum(n), 0) from rollups where resolution_s = 60"
        ).fetchone()
        return int(raw), int(rolled)


def tidy(path: Path) -> None:
    with open_engine_writer(str(path)) as writer:
        writer.retention("r1", FAR, 0.0, FAR)
        while writer.give_back():
            pass


def test_a_store_whose_samples_are_rolled_up(tmp_path: Path) -> None:
    whole, own, rng = tmp_path / "whole.db", tmp_path / "s.db", random.Random(2)
    store_of_many(whole)
    everything = N_BATCHES * PER_BATCH
    shutil.copy(whole, tmp_path / "alone.db")
    lasts_s = seconds(lambda: tidy(tmp_path / "alone.db"))
    shutil.copy(whole, own)
    n_between = 0
    for _ in range(KILLS):
        killed(lambda: tidy(own), rng.uniform(0.0, lasts_s))
        raw, rolled = counted(own)
        assert raw + rolled == everything
        n_between += 0 < rolled < everything
        if not raw:
            shutil.copy(whole, own)
    tidy(own)
    assert counted(own) == counted(tmp_path / "alone.db")


def lift(connection: Connection) -> None:
    """A step to another layout: every table gets a column and all its rows are written."""
    for table in METADATA.sorted_tables:
        if table.name != "meta":
            connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN mood TEXT"))
            connection.execute(text(f"UPDATE {table.name} SET mood = 'calm'"))


def test_a_store_that_climbs(tmp_path: Path) -> None:
    rng, own, alone = random.Random(3), tmp_path / "s.db", tmp_path / "alone.db"
    old = tmp_path / "old.db"
    shutil.copy(golden.PATH, old)

    def climb(path: Path) -> None:
        engine = database.open_for_writing(database.parse_url(str(path)), create=False)
        migrations.prepare(engine, str(path), SCHEMA_VERSION + 1, {SCHEMA_VERSION: lift})
        engine.dispose()

    shutil.copy(old, alone)
    lasts_s = seconds(lambda: climb(alone))
    versions = set()
    for _ in range(KILLS):
        shutil.copy(old, own)
        killed(lambda: climb(own), rng.uniform(0.0, lasts_s))
        with closing(sqlite3.connect(own)) as store:
            versions.add(store.execute("pragma user_version").fetchone()[0])
        climb(own)
        assert dump(own) == dump(alone)
    assert versions <= {SCHEMA_VERSION, SCHEMA_VERSION + 1}


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as store:
        return sorted(store.iterdump())


@pytest.mark.parametrize("name", ["run.db", "run.db.gz"])
def test_a_run_that_is_exported(tmp_path: Path, name: str) -> None:
    whole, path, rng = tmp_path / "whole.db", tmp_path / "out" / name, random.Random(4)
    store_of_many(whole)
    path.parent.mkdir()

    def export() -> None:
        with open_engine_writer(str(whole)) as writer:
            writer.export_run("r1", path)

    lasts_s = seconds(export)
    path.unlink()
    for _ in range(KILLS):
        killed(export, rng.uniform(0.0, lasts_s))
        if path.exists():  # it was done
            assert n_batches(path) == N_BATCHES
            path.unlink()
    export()
    assert [one.name for one in path.parent.iterdir()] == [name]
    assert n_batches(path) == N_BATCHES


def n_batches(path: Path) -> int:
    """Of an exported run."""
    if path.suffix == ".gz":
        unpacked = path.parents[1] / "unpacked.db"
        unpacked.write_bytes(gzip.decompress(path.read_bytes()))
        path = unpacked
    with open_reader(str(path)) as reader:
        return len(reader.batches("r1", None, 1000))
