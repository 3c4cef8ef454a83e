"""Whether the columns of a file of SQLite hold what they are declared to hold.

Rows are looked at by SQLite itself, table by table, the short tables first: about 0.2 s for a
million samples. Of very large stores it looks at the first rows; the others are held to their
types as they are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Table,
    and_,
    case,
    false,
    func,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.exc import OperationalError

from storage.errors import StoreError, WrongValue, translated
from storage.tables.allowed import allowed_in, wrong_value
from storage.tables.migrations import check
from storage.tables.schema import METADATA, MetaRow

#: Steps of SQLite's machine for a whole store: those of some three million samples.
MOST_STEPS: Final = 50_000_000
_STEPS_AT_ONCE: Final = 100_000
#: Tables that grow with every batch, which come last.
_GROWING: Final = (
    *("batches", "commits", "input_batches", "decisions", "matrices"),
    *("plan_log_plans", "plan_log_looks"),
    *("rollups", "samples", "taps"),
)
#: What typeof() calls what is there, and json_type().
_FOUND: Final = {
    "null": "nothing (NULL)",
    "integer": "a whole number",
    "real": "a number",
    "text": "a text",
    "blob": "bytes",
}
_FOUND_JSON: Final = {
    **{"null": "null", "true": "true", "false": "false", "array": "a list", "object": "an object"},
    **{"integer": "a whole number", "real": "a number", "text": "a text"},
}
#: What reading wrong values comes to.
_SYMPTOMS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def check_store(engine: Engine, where: str) -> None:
    """Raise as check(), and WrongValue for the first row, of those looked at, that is wrong."""
    check(engine, where)
    with engine.connect() as connection:
        wrong = find_wrong(connection, MOST_STEPS)
    if wrong is not None:
        raise wrong


@contextmanager
def one_read(engine: Engine, where: str) -> Iterator[Connection]:
    """A connection for one short transaction that reads; errors are those of the store there."""
    with translated(where), engine.connect() as connection, blamed(connection):
        yield connection


@contextmanager
def blamed(connection: Connection) -> Iterator[None]:
    """Raise what goes wrong in the block as WrongValue where a value of the store is to blame."""
    try:
        yield
    except (*_SYMPTOMS, WrongValue) as error:
        wrong = error if isinstance(error, WrongValue) else None
        if wrong is None and not isinstance(error, StoreError):
            wrong = find_wrong(connection, None)
        if wrong is None:
            raise
        if not connection.closed:  # a statement that ended half-way would hold the state it read
            connection.invalidate()
        raise wrong from (None if wrong is error else error)


def find_wrong(connection: Connection, most_steps: int | None) -> WrongValue | None:
    """What is wrong with the first such row; None when there is none, on a server, and when
    ``most_steps`` are over."""
    if connection.dialect.name != "sqlite":
        return None
    with _stopped_after(connection, most_steps):
        for table in _tables():
            row = connection.exec_driver_sql(_first_wrong(table)).first()
            if row is not None:
                return _told(table, row)
    return None


@contextmanager
def _stopped_after(connection: Connection, most_steps: int | None) -> Iterator[None]:
    """Leave the block when SQLite has taken so many steps in it."""
    own: Any = connection.connection.driver_connection
    left = iter(range((most_steps or 0) // _STEPS_AT_ONCE))
    if most_steps is not None:
        own.set_progress_handler(lambda: next(left, None) is None, _STEPS_AT_ONCE)
    try:
        yield
    except OperationalError as error:
        if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            raise
    finally:
        own.set_progress_handler(None, 0)


@cache
def _tables() -> tuple[Table, ...]:
    here = [table for table in METADATA.sorted_tables if table.name != MetaRow.__tablename__]
    return tuple(sorted(here, key=lambda t: _GROWING.index(t.name) if t.name in _GROWING else -1))


@cache
def _first_wrong(table: Table) -> str:
    """Asks for the key of the first wrong row, and of each column whether it is right and what it
    holds; as text, since an engine would compile it anew for each store that is opened."""
    fits = {column.name: _fits(column) for column in table.columns}
    marks: list[Any] = [fit.label(f"is_right_{name}") for name, fit in fits.items()]
    marks += [_kind(column).label(f"kind_{column.name}") for column in table.columns]
    keys = [column.label(f"key_{column.name}") for column in table.primary_key]
    query = select(*keys, *marks).where(not_(and_(*fits.values()))).limit(1)
    return str(query.compile(dialect=dialect(), compile_kwargs={"literal_binds": True}))


def _fits(column: Any) -> ColumnElement[bool]:
    allowed, stored = allowed_in(column), func.typeof(column)
    fits = or_(*(stored == kind for kind in allowed.stored))
    if allowed.shape is not None:
        kinds = allowed.shape.kinds
        whole = func.json_type(column).in_(kinds) if kinds else true()
        broken = func.json_valid(column) == 0
        fits = case((not_(fits), false()), (broken, false()), else_=whole)
    return or_(column.is_(None), fits) if allowed.nullable else fits


def _kind(column: Any) -> ColumnElement[str]:
    """What typeof() or json_type() calls it, with a mark which of them; '' for broken JSON."""
    stored = func.typeof(column)
    if allowed_in(column).shape is None:
        return stored
    is_json = case((stored == "text", func.json_valid(column)), else_=0)
    broken = case((stored == "text", ""), else_=stored)
    return case((is_json == 1, "JSON " + func.json_type(column)), else_=broken)


def _told(table: Table, row: Row[Any]) -> WrongValue:
    mapping = row._mapping
    column = next(c for c in table.columns if not mapping[f"is_right_{c.name}"])
    key = {part.name: mapping[f"key_{part.name}"] for part in table.primary_key}
    _, mark, kind = str(mapping[f"kind_{column.name}"]).rpartition("JSON ")
    held = f"JSON of {_FOUND_JSON[kind]}" if mark else _FOUND.get(kind, "a text that is no JSON")
    return wrong_value(table, key, column.name, held, allowed_in(column).words)
