"""Recordings whose columns hold what they may not: refused as they are opened, by table and row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import Table

from storage.errors import NotAStore, WrongValue
from storage.reader import Reader, open_reader
from storage.store import open_engine_writer
from storage.tables import soundness
from storage.tables.rows import Cursor
from storage.vocabulary.records import Sample
from tests.contract.store_builders import SYSTEM, begin, decision, knob, new_run, record
from tests.golden import store_v4 as golden
from tests.wrong_values import BROKEN, TABLES, changed, some_wrong, untyped, wrong_types

RUN: Final = golden.RUN.id
USES: Final[list[Callable[[Reader], object]]] = [
    *(Reader.cursor, Reader.runs, lambda r: r.changes(Cursor()), lambda r: r.run(RUN)),
    *(lambda r: r.inputs(RUN), lambda r: r.input_batches(RUN), lambda r: r.units(RUN)),
    *(lambda r: r.entities(RUN), lambda r: r.values(RUN), lambda r: r.values(RUN, 2)),
    *(lambda r: r.batches(RUN), lambda r: r.last_batch(RUN), lambda r: r.find_batch(RUN, 2e9)),
    *(lambda r: r.plans(RUN), lambda r: r.decisions(RUN), lambda r: r.decision_counts(RUN)),
    *(lambda r: r.matrix_keys(RUN), lambda r: r.matrix(RUN, golden.MATRIX.name)),
    *(lambda r: r.events(RUN), lambda r: r.knobs(RUN), lambda r: r.commands(RUN)),
    *(lambda r: r.results(RUN), lambda r: r.misfits(RUN), lambda r: r.looks(RUN)),
    lambda r: r.taps(RUN, golden.TAP.entity, 2),
    lambda r: r.series(RUN, "system", "n_tuples"),
]
#: Tables whose columns are read as records, each time whole.
RECORDS: Final = [
    *("runs", "inputs", "input_batches", "units", "entities", "batches", "commits"),
    *("plan_versions", "decisions", "decision_outcomes", "matrices", "events", "knobs"),
    *("commands", "command_answers", "results", "taps", "misfits"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wrong") / "stranger.db"
    golden.write(path)
    untyped(path)
    return path


@pytest.fixture(scope="module")
def raw(store: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        yield connection


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_value_of_another_type_is_refused_by_table_row_and_column(
    store: Path, raw: sqlite3.Connection, table: Table
) -> None:
    """Every column with every type that is not its own; and as it was the store opens."""
    for column in table.columns:
        for wrong in wrong_types(column):
            with changed(raw, column, wrong) as key, pytest.raises(WrongValue) as refused:
                open_reader(str(store))
            error, said = refused.value, str(refused.value)
            assert (error.table, error.column) == (table.name, column.name), wrong
            names = [part.name for part in table.primary_key]
            whole = ", ".join(f"{name} = {value!r}" for name, value in zip(names, key, strict=True))
            assert error.row == whole.replace("None", "nothing (NULL)").replace(
                repr(b"\0\xff"), "bytes"
            )
            assert said.startswith(
                f"{store} is not a Planwatch store (or is damaged); name another"
            )
            assert f"table {error.table}, row {error.row}, column {error.column} holds" in said
            assert said.isascii()
            assert said.isprintable()
    open_reader(str(store)).close()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_is_wrong_only_later_is_told_in_a_sentence(
    store: Path, raw: sqlite3.Connection, table: Table
) -> None:
    """Of an open store, whatever is read: also where JSON goes on otherwise than it began."""
    tried = ((column, wrong) for column in table.columns for wrong in some_wrong(column))
    with open_reader(str(store)) as reader:
        for column, wrong in tried:
            reader._series_ids.clear()
            with changed(raw, column, wrong):
                told = [error for use in USES if (error := refusal(use, reader)) is not None]
            assert all(str(store) in str(error) for error in told)
            named = {(e.table, e.column) for e in told if isinstance(e, WrongValue)}
            is_found = not column.primary_key and column.name != "run_id" and wrong is not None
            if table.name in RECORDS and is_found:
                assert (table.name, column.name) in named, wrong


def refusal(use: Callable[[Reader], object], reader: Reader) -> NotAStore | None:
    try:
        use(reader)
    except NotAStore as error:
        return error
    return None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "UPDATE runs SET pid = 'soon'",
            "runs, row id = 'golden', column pid holds a text; allowed is a whole number",
        ),
        (
            "UPDATE batches SET time = NULL WHERE id = 3",
            "batches, row run_id = 'golden', id = 3, column time holds nothing (NULL); allowed is "
            "a number",
        ),
        (
            "UPDATE latest SET value = x'00'",
            "latest, row series_id = 1, column value holds bytes; allowed is a number or NULL",
        ),
        (
            f"UPDATE units SET queries = '{BROKEN}'",
            "units, row run_id = 'golden', id = 'asc.Flights', column queries holds a text that is "
            "no JSON; allowed is JSON of a list of texts",
        ),
        (
            "UPDATE events SET ref = '[1]' WHERE id = 1",
            "events, row id = 1, column ref holds JSON of a list; allowed is JSON of an object",
        ),
    ],
)
def test_the_sentence_says_what_is_there_and_what_is_allowed(
    raw: sqlite3.Connection, tmp_path: Path, change: str, words: str
) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as copy, copy:
        raw.backup(copy)
        copy.execute(change)
    with pytest.raises(WrongValue) as refused:
        open_reader(str(path))
    assert str(refused.value).endswith(f"(table {words})")


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ("UPDATE knobs SET value = '\"much\"'", "JSON of a value of kind 'float'"),
        ("UPDATE matrices SET cells = '[[1, 2]]'", "as many rows and columns as have labels"),
        (
            "UPDATE commands SET kind = 'keep', payload = '{}'",
            "JSON of what is asked by a command of kind keep",
        ),
        ("UPDATE inputs SET schema = '[[\"a\"]]'", "JSON of a list of pairs of texts"),
    ],
)
def test_what_does_not_fit_its_own_row_is_told_as_it_is_read(
    raw: sqlite3.Connection, tmp_path: Path, change: str, allowed: str
) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as copy, copy:
        raw.backup(copy)
        copy.execute(change)
    with open_reader(str(path)) as reader:
        told = [error for use in USES if (error := refusal(use, reader)) is not None]
    assert {error.allowed for error in told if isinstance(error, WrongValue)} == {allowed}


def test_of_a_very_large_store_the_first_rows_are_looked_at(
    raw: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong further on is told when it is read."""
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as copy, copy:
        raw.backup(copy)
        several = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        copy.execute(f"INSERT INTO samples {several} SELECT 1, i, 17e8, 0.5 FROM n")
        copy.execute("UPDATE samples SET value = 'much' WHERE batch_id = 4900")
        copy.execute("UPDATE samples SET value = x'ff' WHERE batch_id = 4950")
    with pytest.raises(WrongValue, match="table samples, row series_id = 1, batch_id = 4900, col"):
        open_reader(str(path))
    monkeypatch.setattr(soundness, "MOST_STEPS", 20_000)
    monkeypatch.setattr(soundness, "_STEPS_AT_ONCE", 1_000)
    with open_reader(str(path)) as reader:
        assert reader.cursor().commit
        with pytest.raises(WrongValue, match="batch_id = 4900, column value holds a text"):
            reader.series(RUN, "system", "visits_per_tuple")


def test_no_store_of_the_engine_is_refused(tmp_path: Path) -> None:
    """Numbers that are none, or without end; texts of all kinds; JSON as deep as any request's."""
    path, deep = tmp_path / "run.db", 1
    for _ in range(90):
        deep = [deep]  # type: ignore[assignment]  # nested on purpose
    odd = replace(decision(1, 0), lhs=float("nan"), rhs=float("inf"), old=deep, detail=None)
    samples = [Sample("system", "batch_ms", value) for value in (float("inf"),)]
    texts = Sample("system", "n_tuples", float("nan"))
    with open_engine_writer(str(path)) as writer:
        begin(writer)
        settings = {"é": "\U0001f600", '"': "{", "far": float("inf"), "deep": deep}
        writer.begin_run(replace(new_run("r2"), settings=settings), (SYSTEM,))
        batch = replace(record(0, *samples, texts), decisions=(odd,), knobs=(knob("k", 1, 0, 0),))
        assert writer.write_batch(batch)
    with closing(sqlite3.connect(path)) as raw:
        assert json.loads(raw.execute("SELECT settings FROM runs WHERE id = 'r2'").fetchone()[0])
    with open_reader(str(path)) as reader:
        assert len(reader.runs()) == 2
        assert reader.decisions("r1")[0].decision.rhs == float("inf")
        assert reader.knobs("r1")
