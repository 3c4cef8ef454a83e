"""Inserts that may meet their own key again, in the dialect of the connection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from storage.tables.columns import Base

Insert: TypeAlias = sqlite.Insert | postgresql.Insert


def add_once(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert the rows whose key is not there yet."""
    if rows:
        connection.execute(_once(_table(model), connection.dialect.name), rows)


def put(
    connection: Connection,
    model: type[Base],
    rows: Sequence[dict[str, Any]],
    keep: tuple[str, ...] = (),
) -> None:
    """Insert the rows; a row whose key is there replaces the other columns but those to keep."""
    if rows:
        statement = _replacing(_table(model), connection.dialect.name, keep=keep)
        connection.execute(statement, rows)


def put_numbers(
    connection: Connection,
    model: type[Base],
    rows: Sequence[dict[str, float | None]],
    *,
    newest: bool = False,
) -> None:
    """As put() for columns of plain numbers, straight to the driver: a third of the time.

    newest: a row that is there stays when it is of a later batch.
    """
    text, names = _compiled(_table(model), connection.dialect.name, newest)
    if names is None:
        connection.exec_driver_sql(text, list(rows))
    else:
        connection.exec_driver_sql(text, [tuple([row[name] for name in names]) for row in rows])


@lru_cache(maxsize=64)
def _once(table: Table, dialect: str) -> Insert:
    return _insert(table, dialect).on_conflict_do_nothing()


@lru_cache(maxsize=64)
def _replacing(
    table: Table, dialect: str, newest: bool = False, keep: tuple[str, ...] = ()
) -> Insert:
    insert = _insert(table, dialect)
    names = [c.name for c in table.columns if not c.primary_key and c.name not in keep]
    others = {name: insert.excluded[name] for name in names}
    key = [column.name for column in table.primary_key]
    newer = insert.excluded["batch_id"] >= table.c["batch_id"] if newest else None
    return insert.on_conflict_do_update(index_elements=key, set_=others, where=newer)


@lru_cache(maxsize=16)
def _compiled(table: Table, dialect: str, newest: bool) -> tuple[str, tuple[str, ...] | None]:
    """Text of _replacing() for the driver, and the order of its columns; None = by name."""
    module = sqlite if dialect == "sqlite" else postgresql.psycopg
    statement = _replacing(table, dialect, newest)
    compiled: Any = statement.compile(dialect=module.dialect())
    order = compiled.positiontup
    return str(compiled), None if order is None else tuple(order)


def _insert(table: Table, dialect: str) -> Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def _table(model: type[Base]) -> Table:
    table = model.__table__
    assert isinstance(table, Table)
    return table
