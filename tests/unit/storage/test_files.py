"""Store files people meet: missing, foreign, damaged, newer, older, full, busy, read-only."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from storage import writer as store_writer
from storage.exchange.locks import FILE as LOCKS
from storage.reading.resume import last_state
from storage.store import (
    EngineWriter,
    NotAStore,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    StoreTooOld,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.tables import database, migrations
from storage.tables.schema import SCHEMA_VERSION
from storage.vocabulary.records import Json, Sample
from tests.contract.store_builders import START, begin, new_run, record
from tests.golden import store_v4 as golden

ROOT = Path(__file__).parents[3]
OPENERS = (open_reader, open_command_writer, open_engine_writer)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one batch, closed."""
    path = tmp_path / "run.db"
    with open_engine_writer(str(path)) as writer:
        begin(writer)
        writer.write_batch(record(0, Sample("system", "batch_ms", 5.0)))
    return path


@pytest.mark.parametrize("opener", OPENERS[:2])
def test_a_missing_store(opener: type, tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match=r"no store at .*nowhere\.db; check --store"):
        opener(str(tmp_path / "nowhere.db"))
    assert list(tmp_path.iterdir()) == []


def test_the_engine_makes_its_store_and_folder(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "what? #1 100%.db"
    with open_engine_writer(str(path)) as writer:
        begin(writer)
    with open_reader(str(path)) as reader:
        assert [run.id for run in reader.runs()] == ["r1"]
    assert path.exists()


def test_a_url_names_a_file_too(store: Path) -> None:
    with open_reader(f"sqlite:///{store}") as reader:
        assert reader.where == str(store)
        assert reader.last_batch("r1") == 0


@pytest.mark.parametrize("opener", OPENERS)
def test_a_file_that_is_no_database(opener: type, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("buy milk\n" * 100)
    with pytest.raises(NotAStore, match=r"notes\.db is not a Planwatch store"):
        opener(str(path))
    assert path.read_text().startswith("buy milk")


@pytest.mark.parametrize("opener", OPENERS)
def test_a_database_of_another_program(opener: type, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (id INTEGER)")
    connection.close()
    with pytest.raises(NotAStore, match="another program"):
        opener(str(path))


@pytest.mark.parametrize("opener", OPENERS[:2])
def test_an_empty_file(opener: type, tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(NotAStore, match="is empty"):
        opener(str(path))


@pytest.mark.parametrize("opener", OPENERS)
def test_a_store_of_a_later_version(opener: type, store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(
        StoreTooNew, match=rf"later Planwatch \(layout {SCHEMA_VERSION + 1}, .* update Planwatch"
    ):
        opener(str(store))


def add_mood(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE runs ADD COLUMN mood TEXT"))


def test_writers_climb_the_ladder_readers_say_so(store: Path) -> None:
    engine = database.open_for_reading(database.parse_url(str(store)))
    with pytest.raises(StoreTooOld, match="layout 4, this Planwatch reads layout 5"):
        migrations.check(engine, str(store), version=5)
    engine.dispose()
    engine = database.open_for_writing(database.parse_url(str(store)), create=False)
    for _ in range(2):
        migrations.prepare(engine, str(store), version=5, steps={4: add_mood})
    migrations.check(engine, str(store), version=5)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT mood FROM runs")).all() == [(None,)]
    engine.dispose()


def test_a_layout_that_nothing_upgrades_is_refused(store: Path) -> None:
    with closing(sqlite3.connect(store)) as old:
        old.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreTooOld, match=r"layout 1, .* reads layout 4; no version upgrades it"):
        open_engine_writer(str(store))


def test_a_step_that_fails_leaves_the_store_as_it_was(store: Path) -> None:
    def fail(connection: Connection) -> None:
        add_mood(connection)
        raise ZeroDivisionError

    engine = database.open_for_writing(database.parse_url(str(store)), create=False)
    with pytest.raises(ZeroDivisionError):
        migrations.prepare(engine, str(store), version=5, steps={4: fail})
    migrations.check(engine, str(store))
    engine.dispose()
    with open_reader(str(store)) as reader:
        assert reader.last_batch("r1") == 0


def test_the_store_of_this_version_opens() -> None:
    with open_reader(str(golden.PATH)) as reader:
        run = reader.run("golden")
        assert run is not None
        assert (run.state, run.ended_at, run.note) == (
            "ended",
            golden.START + 6,
            "end of the stream",
        )
        assert reader.last_batch("golden") == 4
        assert reader.values("golden", 3)["query:late"]["matched_tuples"] == 3.0
        assert reader.plans("golden") == golden.PLANS
        entry = reader.decision("golden", 2)
        assert entry is not None
        assert entry.outcome == golden.OUTCOME
        matrix = reader.matrix("golden", "regions:dep_delay")
        assert matrix is not None
        assert matrix.matrix == golden.MATRIX
        (command,) = reader.commands("golden")
        assert (command.state, command.answer) == ("applied", "mu = 0.05")
    assert sorted(p.name for p in golden.PATH.parent.glob("store_v4.db*")) == ["store_v4.db"]


def test_the_store_of_this_version_has_the_layout_of_the_schema(tmp_path: Path) -> None:
    def layout(path: Path) -> set[tuple[str, str]]:
        connection = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
        try:
            rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL")
            return {(name, " ".join(sql.split())) for name, sql in rows}
        finally:
            connection.close()

    fresh = tmp_path / "fresh.db"
    open_engine_writer(str(fresh)).close()
    assert layout(fresh) == layout(golden.PATH)


@pytest.mark.parametrize(("layout", "state"), [(2, {}), (3, {"seen": 4})])
def test_stores_of_the_versions_before_climb(tmp_path: Path, layout: int, state: Json) -> None:
    path = tmp_path / "store.db"
    shutil.copy(golden.PATH.with_name(f"store_v{layout}.db"), path)
    with pytest.raises(StoreTooOld, match=f"layout {layout}, this Planwatch reads layout 4"):
        open_reader(str(path))
    with open_engine_writer(str(path)) as writer:
        last = last_state(writer, golden.RUN.workload)
        assert last is not None
        (unit,) = last.units
        assert (unit.plan, unit.state) == (golden.PLANS[-1], state)
        record = replace(golden.records()[-1], batch=replace(golden.records()[-1].batch, id=5))
        writer.resume_run(golden.RUN.id, golden.START + 9, "1", {}, golden.RUN.inputs)
        writer.write_batch(replace(record, plans=(), decisions=(), outcomes=(), events=()))
        again = last_state(writer, golden.RUN.workload)
    assert again is not None
    assert again.units[0].state == {"seen": 4}


def fill(writer: EngineWriter) -> None:
    for number in range(10_000):
        samples = [Sample("system", "batch_ms", float(number))]
        writer.write_batch(record(number, *samples))


def test_a_full_disk(store: Path) -> None:
    with open_engine_writer(str(store)) as writer:
        with writer._engine.begin() as connection:
            pages = int(database.pragma(connection, "page_count"))
            assert database.pragma(connection, f"max_page_count = {pages + 1}") == pages + 1
        with pytest.raises(StoreFull, match="the disk is full; free some space"):
            fill(writer)
    with open_reader(str(store)) as reader:
        last = reader.last_batch("r1")
        assert last is not None
        assert reader.values("r1")["system"]["batch_ms"] == (last or 5.0)


def test_a_busy_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(store_writer, "PATIENCE_S", 0.5)
    with open_engine_writer(str(store)) as writer:
        other = sqlite3.connect(store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="held by another process"):
            writer.write_batch(record(1))
        other.execute("ROLLBACK")
        other.close()
        assert writer.write_batch(record(1))


def test_a_store_knows_its_size(store: Path) -> None:
    with open_engine_writer(str(store)) as writer:
        log = store.with_name(f"{store.name}-wal")
        sizes = [one.stat().st_size for one in (store, log) if one.exists()]
        assert writer.n_bytes == sum(sizes) > 0


def test_readers_go_on_while_a_writer_holds_the_store(store: Path) -> None:
    with open_engine_writer(str(store)), open_reader(str(store)) as reader:
        other = sqlite3.connect(store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert reader.last_batch("r1") == 0
        other.execute("ROLLBACK")
        other.close()


RECORDING = """
import sys
from dataclasses import replace
from storage.vocabulary.records import Event, Sample
from storage.store import open_engine_writer
from tests.contract.store_builders import record
with open_engine_writer(sys.argv[1]) as writer:
    for number in range(1, 100_000):
        full = record(number, Sample("system", "batch_ms", float(number)))
        writer.write_batch(replace(full, events=(Event("run", str(number)),)))
        print(number, flush=True)
"""


def test_a_killed_engine_leaves_whole_batches(store: Path) -> None:
    command = [sys.executable, "-c", RECORDING, str(store)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        while int(engine.stdout.readline()) < 20:
            pass
        engine.kill()
    with open_reader(str(store)) as reader:
        last = reader.last_batch("r1") or 0
        assert last >= 20
        assert [batch.id for batch in reader.batches("r1")] == list(range(last + 1))
        series = reader.series("r1", "system", "batch_ms")
        assert series is not None
        assert series.batch.tolist() == list(range(last + 1))
        assert [int(e.event.title) for e in reader.events("r1")] == list(range(1, last + 1))
        assert reader.cursor().commit == last + 2


@pytest.fixture
def locked(store: Path) -> Iterator[Path]:
    """The store as on read-only media: nothing beside it, nothing may be written."""
    store.with_name(f"{store.name}{LOCKS}").unlink()
    assert [p.name for p in store.parent.iterdir()] == ["run.db"]
    store.chmod(0o444)
    store.parent.chmod(0o555)
    yield store
    store.parent.chmod(0o755)


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user who may write nothing here; root, who may write anywhere, becomes one."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def open_the_way_to(path: Path) -> None:
    """Let everybody pass the temporary folders, which pytest keeps to their owner."""
    for folder in path.parents:
        if folder.stat().st_uid == os.geteuid() and folder != path.parent:
            folder.chmod(folder.stat().st_mode | 0o011)
        if folder.name.startswith("pytest-of-"):
            return


def test_a_store_on_read_only_media_is_read_and_not_written(locked: Path) -> None:
    open_the_way_to(locked)
    with as_nobody():
        with open_reader(str(locked)) as reader:
            assert reader.last_batch("r1") == 0
            assert reader.values("r1") == {"system": {"batch_ms": 5.0}}
        with pytest.raises(StoreReadOnly, match=r"run\.db may only be read"):
            open_command_writer(str(locked))
    assert [p.name for p in locked.parent.iterdir()] == ["run.db"]


def test_a_write_through_a_reading_connection_is_refused(store: Path) -> None:
    with (
        open_reader(str(store)) as reader,
        pytest.raises(Exception, match="readonly"),
        reader._engine.begin() as connection,
    ):
        connection.execute(text("DELETE FROM runs"))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://user:secret@host/db", r"mysql://user:\*\*\*@host/db is not supported"),
        ("sqlite://", "is not supported; allowed: a file path"),
        ("not a url://", "cannot be read"),
    ],
)
def test_addresses_that_are_none(address: str, words: str) -> None:
    with pytest.raises(NotAStore, match=words):
        open_engine_writer(address)


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(
        StoreMissing, match=r"the database server of postgresql.* cannot be reached; start it"
    ):
        open_reader(f"postgres://user:secret@/db?host={tmp_path}")


def test_export_refuses_an_existing_file_and_an_unknown_run(store: Path, tmp_path: Path) -> None:
    with open_reader(str(store)) as reader:
        with pytest.raises(StoreError, match=r"run\.db exists"):
            reader.export_run("r1", store)
        with pytest.raises(StoreError, match="'r9' is not in the store"):
            reader.export_run("r9", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_export_takes_one_run_of_several_while_it_is_written(store: Path, tmp_path: Path) -> None:
    with open_engine_writer(str(store)) as writer:
        writer.begin_run(new_run("r2", START + 9))
        writer.write_batch(record(0, Sample("system", "batch_ms", 1.0), run_id="r2"))
        stop = threading.Event()

        def work() -> None:
            number = 1
            while not stop.wait(0.002):
                writer.write_batch(record(number, Sample("system", "batch_ms", float(number))))
                number += 1

        thread = threading.Thread(target=work)
        thread.start()
        writer.export_run("r1", tmp_path / "one.db")
        stop.set()
        thread.join()
    with open_reader(str(tmp_path / "one.db")) as reader:
        assert [run.id for run in reader.runs()] == ["r1"]
        last = reader.last_batch("r1")
        assert reader.values("r1")["system"]["batch_ms"] == (last or 5.0)
        assert reader.values("r2") == {}
    with open_engine_writer(str(tmp_path / "one.db")) as again:
        assert again.write_batch(record((last or 0) + 1))
