"""Stores that are held by others, moved, replaced, folders, or may not be written."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from storage import writer
from storage.store import (
    NotAStore,
    Reader,
    StoreBusy,
    StoreError,
    StoreMissing,
    UnknownRun,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.tables import database
from tests import two_units
from tests.contract.store_builders import begin

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    open_engine_writer(str(path)).close()
    return path


def hold(path: Path) -> sqlite3.Connection:
    """Another program has the store to itself."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    return other


def test_the_engine_waits_for_a_store_that_others_hold(
    store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.1)
    with open_engine_writer(str(store)) as engine, closing(hold(store)) as other:
        timer = threading.Timer(0.6, lambda: other.execute("ROLLBACK"))
        timer.start()
        begin(engine, "r1")
        timer.join()
        assert "is held by another process; waiting for it" in caplog.text
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(writer, "PATIENCE_S", 0.2)
        with pytest.raises(StoreBusy, match="is held by another process; end it or try again"):
            engine.mark_interrupted()
        other.execute("ROLLBACK")
        assert [run.id for run in open_reader(str(store)).runs()] == ["r1"]


def test_a_store_that_was_moved_or_replaced_is_not_written_into_nowhere(store: Path) -> None:
    """Neither readers nor writers go on with a file that others do not see."""
    with (
        open_engine_writer(str(store)) as engine,
        open_reader(str(store)) as reader,
        open_command_writer(str(store)) as commands,
    ):
        uses: list[Callable[[], object]] = [
            reader.cursor,
            engine.mark_interrupted,
            lambda: commands.append_command("r1", "stop", {}, "me", "", 0.0),
        ]
        begin(engine, "r1")
        moved = store.rename(store.with_name("moved.db"))
        for use in uses:
            with pytest.raises(StoreMissing, match=r"run\.db was moved or deleted; put it back"):
                use()
        shutil.copy(moved, store)
        for use in uses:
            with pytest.raises(StoreMissing, match=r"run\.db was replaced by another"):
                use()


def test_a_folder_and_damaged_text_are_no_stores(store: Path, tmp_path: Path) -> None:
    for address in (str(tmp_path), f"sqlite:///{tmp_path}"):
        for open_it in (open_reader, open_engine_writer, open_command_writer):
            with pytest.raises(NotAStore, match="is a folder; name a store's file with --store"):
                open_it(address)
    with open_engine_writer(str(store)) as engine:
        begin(engine, "r1")
    with closing(sqlite3.connect(store)) as raw, raw:
        raw.execute("UPDATE runs SET note = CAST(x'22ff' AS TEXT)")
    with open_reader(str(store)) as reader, pytest.raises(NotAStore, match=r"\(or is damaged\)"):
        reader.runs()


CODE = """
import os
import sys
from storage.store import *
from pathlib import Path
folder = Path(sys.argv[1])
open_reader(str(folder / "run.db")).runs()  # all that is imported late
os.setgroups([])
os.setuid(int(sys.argv[2]))
print(open_reader(str(folder / "run.db")).cursor())
for what in (
    lambda: open_engine_writer(str(folder / "run.db")).set_state("r1", "ended", "", 1.0),
    lambda: open_engine_writer(str(folder / "deep" / "new.db")),
    lambda: open_reader(str(folder / "run.db")).export_run("r1", folder / "out.db"),
):
    try:
        what()
    except StoreReadOnly as error:
        print(str(error).replace(str(folder), "F"))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without rights")
def test_a_folder_that_may_only_be_read(store: Path) -> None:
    with open_engine_writer(str(store)) as engine:
        begin(engine, "r1")
    folder = Path("/tmp") / f"read-only-{os.getpid()}"
    folder.mkdir()
    try:
        (Path(shutil.copy(store, folder))).chmod(0o644)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(folder), str(NOBODY)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    finally:
        shutil.rmtree(folder)
    said = done.stdout.splitlines()
    assert said[0].startswith("Cursor(commit=1"), done.stderr
    assert said[1].startswith("F/run.db may only be read; copy it somewhere writable")
    assert "or look at it with `serve --read-only`" in said[1]
    assert said[2] == "the folder F/deep cannot be made: Permission denied"
    assert said[3] == "F/out.db cannot be made: Permission denied"


def test_a_store_is_its_owners_alone(tmp_path: Path) -> None:
    """A new one, its logs, a copy of a run, and one that was open to all before."""
    path, old = tmp_path / "new.db", tmp_path / "old.db"
    mask = os.umask(0)
    try:
        with open_engine_writer(str(path)) as engine:
            begin(engine, "r1")
            engine.export_run("r1", tmp_path / "run.planwatch")
            engine.export_run("r1", tmp_path / "run.planwatch.gz")
            files = sorted(tmp_path.iterdir())
            assert [file.name for file in files] == [
                *(
                    "new.db",
                    "new.db-locks",
                    "new.db-shm",
                    "new.db-wal",
                    "run.planwatch",
                    "run.planwatch.gz",
                )
            ]
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        shutil.copy(path, old)
        old.chmod(0o644)
        open_reader(str(old)).close()
        assert old.stat().st_mode & 0o777 == 0o644
        open_command_writer(str(old)).close()
        assert old.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(mask)


def test_a_damaged_store_is_blamed_for_what_cannot_be_copied(store: Path, tmp_path: Path) -> None:
    """Not the file to be made; and the sentence quotes nothing of what is in the store."""
    with open_engine_writer(str(store)) as engine:
        begin(engine, "r1")
    with closing(sqlite3.connect(store)) as raw, raw:
        raw.execute("UPDATE runs SET note = CAST(x'5365637265742cff0122' AS TEXT)")
    with open_reader(str(store)) as reader, pytest.raises(NotAStore) as refused:
        reader.export_run("r1", tmp_path / "copy.db")
    assert str(refused.value) == (
        f"{store} is not a Planwatch store (or is damaged); name another file with --store "
        "(Could not decode to UTF-8 column 'note')"
    )
    assert not list(tmp_path.glob("*copy*"))


@pytest.mark.parametrize("seed", range(20))
def test_a_store_with_damaged_places_is_named_without_its_bytes(tmp_path: Path, seed: int) -> None:
    """One to forty places, or an end cut off: what can be read is, the rest is a sentence."""
    path, chance = tmp_path / "hurt.db", random.Random(seed)
    two_units.write(path)
    content = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 40)):
        place = chance.randrange(200, len(content))
        content[place : place + 16] = chance.randbytes(16)
    path.write_bytes(content[: len(content) // 2] if seed % 5 == 0 else content)
    run = two_units.RUN
    uses: list[Callable[[Reader], object]] = [
        *(Reader.runs, lambda r: r.entities(run), lambda r: r.values(run), lambda r: r.plans(run)),
        *(lambda r: r.decisions(run), lambda r: r.events(run), lambda r: r.results(run)),
        *(lambda r: r.commands(run), lambda r: r.batches(run), lambda r: r.inputs(run)),
        lambda r: r.export_run(run, tmp_path / "copy.db"),
    ]
    for use in uses:
        try:
            with open_reader(str(path)) as reader:
                use(reader)
        except UnknownRun:
            continue
        except StoreError as error:
            said = str(error)
            assert "hurt.db" in said
            assert said.isascii()
            assert said.isprintable()
