"""Stores that another program has changed: every column takes every value, and some are wrong."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column, Double, LargeBinary, Table, Text

from storage.tables.columns import JsonText
from storage.tables.schema import METADATA, MetaRow

TABLES: Final = [t for t in METADATA.sorted_tables if t.name != MetaRow.__tablename__]
#: A row of a table that recordings of a few batches do not have.
_ROLLUP: Final = "INSERT INTO rollups SELECT id, 10, 1700000000, 0, 17e8, 1, 1, 1, 1, 1 FROM series"
_KEY: Final = {"commits": ("run_id", "batch_id"), "series": ("run_id", "entity_id", "property")}
_JSON: Final[list[Any]] = [None, True, 5, "text", [], [1], [[1]], {}, {"a": [1]}]
BROKEN: Final = '{"a": 1'


def untyped(path: Path) -> None:
    """Let each column of a store take any value, and each table have a row."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute(_ROLLUP)
        for table in TABLES:
            names = ", ".join(f'"{column.name}"' for column in table.columns)
            raw.execute(f'CREATE TABLE "new" ({names})')
            raw.execute(f'INSERT INTO "new" SELECT {names} FROM "{table.name}"')
            raw.execute(f'DROP TABLE "{table.name}"')
            raw.execute(f'ALTER TABLE "new" RENAME TO "{table.name}"')
            keys = ", ".join(f'"{column.name}"' for column in table.primary_key)
            raw.execute(f'CREATE INDEX "key_{table.name}" ON "{table.name}" ({keys})')


def wrong_types(column: Column[Any]) -> list[Any]:
    """Values that SQLite keeps otherwise than the column says, and JSON that is none or begins
    otherwise."""
    wrong: list[Any] = [b"\x00\xff"] if column.nullable else [None, b"\x00\xff"]
    if isinstance(column.type, JsonText):
        kinds = column.type.shape.kinds
        whole = [value for value in _JSON if kinds and _kind(value) not in kinds]
        return [*wrong, 5, BROKEN, *map(json.dumps, whole)]
    if isinstance(column.type, Text):
        return [*wrong, 5, 1.5]
    if isinstance(column.type, LargeBinary):
        return [None, 5, "text"]
    return [*wrong, "text"] if isinstance(column.type, Double) else [*wrong, "text", 1.5]


def some_wrong(column: Column[Any]) -> list[Any]:
    """One of those types, another for other columns, and one such JSON."""
    chance = random.Random(f"{column.table}.{column.name}")
    return [chance.choice(wrong_types(column)), *wrong_parts(column)[-1:]]


def all_wrong(column: Column[Any]) -> list[Any]:
    """All those types, and such JSON."""
    return [*wrong_types(column), *wrong_parts(column)]


def wrong_parts(column: Column[Any]) -> list[str]:
    """JSON that begins as the column says and goes on otherwise."""
    if not isinstance(column.type, JsonText):
        return []
    shape = column.type.shape
    return [
        json.dumps(value)
        for value in _JSON
        if _kind(value) in shape.kinds and not shape.fits(value)
    ]


def _kind(value: Any) -> str:
    """What json_type() of SQLite calls it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return {int: "integer", str: "text", list: "array", dict: "object"}[type(value)]


@contextmanager
def changed(raw: sqlite3.Connection, column: Column[Any], value: Any) -> Iterator[tuple[Any, ...]]:
    """The table of the column with another value in it, in one row where it is part of a key, else
    in all rows; the key of the first such row. Afterwards the table is as it was."""
    table = column.table
    assert isinstance(table, Table)
    keys = [part.name for part in table.primary_key]
    rows = raw.execute(f'SELECT rowid, * FROM "{table.name}" ORDER BY rowid').fetchall()
    last = column.name in (*keys, *_KEY.get(table.name, ()))
    of = f"rowid {'=' if last else '<='} {rows[-1][0]}"
    raw.execute(f'UPDATE "{table.name}" SET "{column.name}" = ? WHERE {of}', (value,))
    parts = ", ".join(f'"{key}"' for key in keys)
    (key, *_) = raw.execute(f'SELECT {parts} FROM "{table.name}" WHERE {of} ORDER BY rowid')
    try:
        yield key
    finally:
        place = list(table.columns.keys()).index(column.name) + 1
        raw.executemany(
            f'UPDATE "{table.name}" SET "{column.name}" = ? WHERE rowid = ?',
            [(row[place], row[0]) for row in rows],
        )
