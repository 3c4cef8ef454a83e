"""Queries of people that are out to hurt: each ends soon, in bounded memory, and takes a place."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from storage.reading import sql
from storage.reading.sql import SqlBusy, SqlRefused
from storage.store import NotAStore, Reader, open_reader
from tests import two_units

#: Generous: the machine of a test may be busy. What ran on before took 24 s and more.
SOON_S = 8.0
LONG = "printf('%.*c', 400000, 'a')"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000)"
NASTY = (
    "SELECT printf('%.*c', 1000000000, 'x')",
    "SELECT format('%.*c', 2147483647, 'x')",
    "SELECT printf('%0*d', 2147483647, 1)",
    f"SELECT instr({LONG}, substr({LONG}, 1, 200000) || 'b')",
    "SELECT " + ", ".join([f"instr({LONG}, substr({LONG}, 1, 200000) || 'b')"] * 90),
    f"SELECT trim({LONG}, {LONG} || 'b')",
    f"SELECT replace({LONG}, 'a', {LONG})",
    f"SELECT {LONG} LIKE '%' || substr({LONG}, 1, 190) || '%b'",
    f"SELECT {LONG} GLOB '*' || replace(substr({LONG}, 1, 90), 'a', 'a*') || 'b'",
    "SELECT " + ", ".join([f"{LONG} LIKE '%a%' || substr({LONG}, 1, 150) || 'b'"] * 100),
    "SELECT zeroblob(2147483647), randomblob(1000000000)",
    f"SELECT hex(hex({LONG})), quote({LONG}), upper({LONG}), unicode({LONG})",
    f"{NUMBERS} SELECT group_concat(i, {LONG}) FROM n",
    f"{NUMBERS} SELECT count(*) FROM (SELECT i, randomblob(400000) AS b FROM n ORDER BY b)",
    f"{NUMBERS} SELECT count(DISTINCT randomblob(100000)) FROM n",
    f"{NUMBERS} SELECT i, {LONG} FROM n",
    f"{NUMBERS} SELECT json_group_array(i) FROM n",
    f"SELECT json_valid('[' || replace({LONG}, 'a', '[') || ']')",
    f"{NUMBERS} SELECT sum(a.i * b.i) FROM n a, n b",
)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    two_units.write(tmp_path / "store.db")
    with open_reader(str(tmp_path / "store.db")) as opened:
        yield opened


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_query_ends_soon_and_takes_little_memory(reader: Reader, text: str) -> None:
    begun = time.monotonic()
    with suppress(SqlRefused):
        reader.ask(text, {})
    assert time.monotonic() - begun < SOON_S
    assert reader.ask("SELECT count(*) FROM runs", {}).rows == [(1,)]


def test_only_so_many_are_answered_at_once(reader: Reader) -> None:
    """The others are told at once, and keep no thread."""
    said: list[str] = []

    def ask() -> None:
        try:
            sql.ask(reader._engine, f"{NUMBERS} SELECT sum(i) FROM n", {}, time_s=1.0)
        except SqlBusy as busy:
            said.append(str(busy))
        except SqlRefused as refused:
            said.append(str(refused)[:4])

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("4 other queries are being answered; try again in a moment") == 8
    assert len(said) == 12
    assert reader.ask("SELECT 1", {}).rows == [(1,)]


def test_of_an_answer_that_is_too_long_the_first_rows_are_given(reader: Reader) -> None:
    answer = reader.ask(f"{NUMBERS} SELECT i, substr({LONG}, 1, 4000) FROM n", {})
    assert answer.is_cut
    assert sql.MOST_BYTES // 2 < sum(len(str(text)) for _, text in answer.rows) <= sql.MOST_BYTES


@pytest.mark.parametrize("what", ["MOST_MEMORY", "MOST_SCRATCH"])
def test_what_needs_too_much_memory_is_refused(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(sql, what, 2**20)
    rows = "SELECT i, randomblob(4000) AS b FROM n LIMIT 60000"
    sorted_rows = f"SELECT i FROM ({rows}) ORDER BY b"
    text = f"{NUMBERS} {rows if what == 'MOST_MEMORY' else sorted_rows}"
    with pytest.raises(SqlRefused, match=r"memory.*; narrow it"):
        sql.ask(reader._engine, text, {}, time_s=60)


def test_a_damaged_store_is_said_to_be_so(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "store.db"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(NotAStore, match=r"store\.db is not a Planwatch store \(or is damaged\)"):
        reader.ask("SELECT * FROM batches", {})
