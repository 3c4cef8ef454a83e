"""Queries of people on the store: they read, and their answers are bounded; both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.reading import sql
from storage.reading.sql import SqlRefused
from storage.store import Reader, open_command_writer, open_engine_writer, open_reader
from tests.contract.store_builders import START, new_run, record

NEVER_ENDS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"


@pytest.fixture
def reader(store_url: str) -> Iterator[Reader]:
    with open_engine_writer(store_url) as writer:
        writer.begin_run(new_run())
        for number in range(5):
            writer.write_batch(record(number))
    with open_reader(store_url) as opened:
        yield opened


def test_a_select_is_answered_with_its_columns(reader: Reader) -> None:
    text = (
        "SELECT id AS batch, n_tuples FROM batches WHERE run_id = :run AND id <= :at ORDER BY id;"
    )
    found = reader.ask(text, {"run": "r1", "at": 2})
    assert found.columns == ("batch", "n_tuples")
    assert found.rows == [(0, 10), (1, 10), (2, 10)]
    assert not found.is_cut
    assert reader.ask("SELECT 'a % b' AS x -- the end", {}).rows == [("a % b",)]


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM runs",
        "UPDATE runs SET state = 'ended'",
        "DROP TABLE runs",
        "SELECT 1; DELETE FROM runs",
        "SELECT 1) AS asked; DELETE FROM runs; SELECT * FROM (SELECT 1",
        "WITH gone AS (DELETE FROM runs RETURNING id) SELECT * FROM gone",
        "PRAGMA user_version = 9",
        "ATTACH 'other.db' AS other",
        "SELECT nothing FROM nowhere",
        "SELECT :unknown",
        "  ",
    ],
)
def test_anything_but_a_right_select_is_refused(reader: Reader, text: str) -> None:
    with pytest.raises(SqlRefused, match=r"\w{3}"):
        reader.ask(text, {"run": "r1", "at": 2})
    assert [run.workload for run in reader.runs()] == ["flights"]


def test_a_query_that_never_ends_is_broken_off(reader: Reader) -> None:
    with pytest.raises(SqlRefused, match=r"took longer than 0\.2 s"):
        sql.ask(reader._engine, NEVER_ENDS, {}, time_s=0.2)
    assert reader.last_batch("r1") == 4


@pytest.mark.parametrize(
    "text",
    [
        "SELECT json_extract('not json', '$.a')",
        "SELECT json('x')",
        'SELECT nope."not a database"',
        'SELECT "database disk image is malformed" FROM runs, nowhere',
        "SELECT abs(-9223372036854775808)",
    ],
)
def test_a_mistake_is_not_a_damaged_store(reader: Reader, text: str) -> None:
    with pytest.raises(SqlRefused, match=r"\w{3}"):
        reader.ask(text, {})


@pytest.mark.parametrize(
    "words", ["interrupted", "disk is full", "not authorized", "read-only", "statement timeout"]
)
def test_words_of_a_query_are_no_reason(reader: Reader, words: str) -> None:
    with pytest.raises(SqlRefused, match=words):
        reader.ask(f'SELECT runs."{words}" FROM runs', {})


def test_rows_are_capped(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "MOST_ROWS", 3)
    found = reader.ask("SELECT id FROM batches ORDER BY id", {})
    assert (found.rows, found.is_cut) == ([(0,), (1,), (2,)], True)
    monkeypatch.setattr(sql, "MOST_BYTES", 8)
    assert reader.ask("SELECT id FROM batches", {}).is_cut


def test_what_people_write_down_waits_for_nobody(store_url: str, reader: Reader) -> None:
    with open_command_writer(store_url) as commands:
        saved = commands.append_command(
            "r1", "sql", {"name": "all", "body": {"text": "SELECT 1"}}, "page", "", START
        )
        other = commands.append_command("r1", "note", {"name": "n", "body": {}}, "page", "", START)
        with open_engine_writer(store_url) as writer:
            assert writer.pending_commands("r1") == ()
        assert reader.noted("sql") == (saved,)
        assert reader.noted("sql")[0].state == "recorded"
        commands.append_command("r1", "forget", {"command": saved.id}, "page", "", START)
    assert reader.noted("sql", "r1") == ()
    assert [one.id for one in reader.noted("note", "r1")] == [other.id]
    assert len(reader.commands("r1")) == 3
