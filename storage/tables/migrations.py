"""Making a store, and the ladder from earlier layouts to this one.

The layout version is ``PRAGMA user_version`` on SQLite and meta.schema_version on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Connection, Engine, Table, insert, inspect, select, update

from storage.errors import NotAStore, StoreTooNew, StoreTooOld
from storage.tables.columns import Base
from storage.tables.database import pragma
from storage.tables.schema import (
    METADATA,
    SCHEMA_VERSION,
    LoggedPlanRow,
    LogRow,
    LookRow,
    MetaRow,
    PlanLogRow,
    TapRow,
    UnitStateRow,
)

Step = Callable[[Connection], None]


def _keep_states(connection: Connection) -> None:
    """Units keep what they learn between plans."""
    _add(connection, UnitStateRow)


def _keep_logs(connection: Connection) -> None:
    """Looks have tables of their own; those of before stay in their decisions, and are read. The
    last lines of the engine's log are kept, what went through tapped operators, and places of
    misfits."""
    _add(connection, PlanLogRow, LoggedPlanRow, LookRow, LogRow, TapRow)
    connection.exec_driver_sql("ALTER TABLE misfits ADD COLUMN place TEXT DEFAULT '' NOT NULL")


def _add(connection: Connection, *models: type[Base]) -> None:
    tables = [METADATA.tables[model.__tablename__] for model in models]
    METADATA.create_all(connection, tables=tables)


#: Layout version -> what leads from it to the next one, within one transaction. Layout 1 was never
#: released, and is refused.
STEPS: Final[dict[int, Step]] = {2: _keep_states, 3: _keep_logs}

#: 'Plan' in ASCII: marks a SQLite file as a Planwatch store.
APPLICATION_ID: Final = 0x506C616E
_VERSION_KEY: Final = "schema_version"
_OLD: Final = "has layout {}, this Planwatch reads layout {}"


def prepare(
    engine: Engine,
    where: str,
    version: int = SCHEMA_VERSION,
    steps: Mapping[int, Step] = STEPS,
) -> None:
    """Make the tables in an empty database, or climb to ``version``. Raises as check()."""
    with engine.begin() as connection:
        _lock(connection)
        stored = found_version(connection, where)
        if stored is None:
            METADATA.create_all(connection, tables=_tables(connection))
            _set_version(connection, version)
            return
        _refuse_newer(stored, where, version)
        for rung in range(stored, version):
            if rung not in steps:
                raise StoreTooOld(f"{where} {_OLD.format(stored, version)}; no version upgrades it")
            steps[rung](connection)
        if stored < version:
            _set_version(connection, version)


def check(engine: Engine, where: str, version: int = SCHEMA_VERSION) -> None:
    """Raise NotAStore, StoreTooNew or StoreTooOld unless the store has exactly this layout."""
    with engine.connect() as connection:
        stored = found_version(connection, where)
    if stored is None:
        raise NotAStore(f"{where} is empty, not a Planwatch store; start a run on it first")
    _refuse_newer(stored, where, version)
    if stored < version:
        raise StoreTooOld(
            f"{where} {_OLD.format(stored, version)}; "
            "open it once with `python3 run.py serve --store ...`, which upgrades it"
        )


def found_version(connection: Connection, where: str) -> int | None:
    """The layout version of the store, None for an empty database. Raises NotAStore."""
    if connection.dialect.name == "sqlite":
        if pragma(connection, "application_id") == APPLICATION_ID:
            return int(pragma(connection, "user_version"))
        if not inspect(connection).get_table_names():
            return None
        raise NotAStore(f"{where} is a database of another program; name another file with --store")
    tables = inspect(connection).get_table_names()
    if MetaRow.__tablename__ in tables and "commits" in tables:
        row = connection.execute(select(MetaRow.value).where(MetaRow.key == _VERSION_KEY))
        return int(row.scalar_one())
    if {"runs", "samples", "meta"} & set(tables):
        raise NotAStore(f"{where} has tables of another program; name an empty database")
    return None


def _refuse_newer(stored: int, where: str, version: int) -> None:
    if stored > version:
        raise StoreTooNew(
            f"{where} was written by a later Planwatch (layout {stored}, this one knows up to "
            f"{version}); update Planwatch, or name another file with --store"
        )


def _tables(connection: Connection) -> list[Table]:
    skip = MetaRow.__tablename__ if connection.dialect.name == "sqlite" else ""
    return [table for table in METADATA.sorted_tables if table.name != skip]


def _set_version(connection: Connection, version: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        return
    done = connection.execute(
        update(MetaRow).where(MetaRow.key == _VERSION_KEY).values(value=str(version))
    )
    if not done.rowcount:
        connection.execute(insert(MetaRow).values(key=_VERSION_KEY, value=str(version)))


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
