"""Inserts that may meet their own key again, in the dialect of the connection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite

from storage.columns import Base


def add_once(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> int:
    """Insert the rows whose key is not there yet; how many were (exact for one row)."""
    if not rows:
        return 0
    statement = _insert_once(_table(model), connection.dialect.name)
    return connection.execute(statement, rows).rowcount


def put(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert the rows; a row whose key is there replaces the other columns."""
    if rows:
        connection.execute(_insert_or_replace(_table(model), connection.dialect.name), rows)


def put_newest(connection: Connection, model: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """As put(), unless the row that is there is of a later batch."""
    if rows:
        connection.execute(_insert_if_newer(_table(model), connection.dialect.name), rows)


def insert_into(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what to do on conflict."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


@lru_cache(maxsize=64)
def _insert_once(table: Table, dialect: str) -> Executable:
    return insert_into(table, dialect).on_conflict_do_nothing()


@lru_cache(maxsize=64)
def _insert_or_replace(table: Table, dialect: str) -> Executable:
    insert = insert_into(table, dialect)
    return insert.on_conflict_do_update(index_elements=_key(table), set_=_others(table, insert))


@lru_cache(maxsize=64)
def _insert_if_newer(table: Table, dialect: str) -> Executable:
    insert = insert_into(table, dialect)
    newer = insert.excluded["batch_id"] >= table.c["batch_id"]
    return insert.on_conflict_do_update(
        index_elements=_key(table), set_=_others(table, insert), where=newer
    )


def _table(model: type[Base]) -> Table:
    table = model.__table__
    assert isinstance(table, Table)
    return table


def _key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key]


def _others(table: Table, insert: sqlite.Insert | postgresql.Insert) -> dict[str, Any]:
    return {c.name: insert.excluded[c.name] for c in table.columns if not c.primary_key}
