"""The file of a store shrinks after retention, in steps, while others read it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from storage.store import EngineWriter, open_engine_writer, open_reader
from storage.tables import database
from storage.vocabulary.records import Matrix
from tests.contract.store_builders import START, begin, record

N = 60
KILOBYTES = 60
LABELS = tuple(map(str, range(KILOBYTES)))


def filled(path: Path) -> EngineWriter:
    """A store with matrices of one minute."""
    writer = open_engine_writer(str(path))
    begin(writer)
    for number in range(N):
        cells = [[f"{number:04}" * 256] * KILOBYTES]
        matrix = Matrix("selectivity", "selectivity", ("a",), LABELS, cells)
        one = record(number, time=START + 40 + number / 2)
        writer.write_batch(replace(one, matrices=(matrix,)))
    return writer


def folded(path: Path) -> int:
    """The size of the file once its log is folded in."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size


def test_the_file_shrinks_step_by_step_and_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with filled(path) as writer, open_reader(str(path)) as reader:
        full = folded(path)
        assert not writer.give_back()
        assert folded(path) == full
        writer.retention("r1", START + 1000, keep_raw_s=1.0)
        kept = reader.matrix("r1", "selectivity")
        steps = 0
        while writer.give_back():
            steps += 1
            assert reader.matrix("r1", "selectivity") == kept
        assert steps > 1
        assert folded(path) < full / 4
        assert reader.last_batch("r1") == N - 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_step_is_small(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with filled(path) as writer:
        writer.retention("r1", START + 1000, keep_raw_s=1.0)
        before = pages(path)
        assert writer.give_back()
        assert before - pages(path) in (256, 257)  # one may have said what others hold


def test_it_is_left_for_later_while_another_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.1)
    path = tmp_path / "store.db"
    with filled(path) as writer:
        writer.retention("r1", START + 1000, keep_raw_s=1.0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not writer.give_back()
        other.execute("ROLLBACK")
        other.close()
        assert writer.give_back()


def pages(path: Path) -> int:
    """Of the store, free ones included."""
    connection = sqlite3.connect(path)
    n = int(connection.execute("PRAGMA page_count").fetchone()[0])
    connection.close()
    return n


def test_a_file_of_before_stays_as_long_and_uses_its_free_pages_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA auto_vacuum = NONE")
    connection.execute("VACUUM")
    connection.close()
    with open_engine_writer(str(path)) as writer:
        full = folded(path)
        writer.retention("r1", START + 1000, keep_raw_s=1.0)
        assert not writer.give_back()
        assert folded(path) == full
