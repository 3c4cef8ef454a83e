"""Copying one run to a single SQLite file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, insert, select

from storage.database import describe, open_for_writing, parse_url
from storage.errors import StoreError, UnknownRun, translated
from storage.migrations import prepare
from storage.schema import (
    METADATA,
    AnswerRow,
    CommandRow,
    LatestRow,
    MetaRow,
    RollupRow,
    RunRow,
    SampleRow,
    SeriesRow,
)

_ROWS_AT_ONCE: Final = 10_000
_BY_SERIES: Final = (SampleRow, LatestRow, RollupRow)


def copy_run(source: Connection, run_id: str, path: Path) -> None:
    """Copy one run to a new file at ``path``, which appears only when it is complete.

    source: a connection in one consistent read. Raises UnknownRun, and StoreError when the file
    exists.
    """
    if source.execute(select(RunRow.id).where(RunRow.id == run_id)).first() is None:
        raise UnknownRun(f"run {run_id!r} is not in the store; pick one of its runs")
    if path.exists():
        raise StoreError(f"{path} exists; name a file that does not")
    path = path.absolute()
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with translated(str(path)):
            _write_copy(source, run_id, partial)
        os.replace(partial, path)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def _write_copy(source: Connection, run_id: str, path: Path) -> None:
    address = parse_url(str(path))
    engine = open_for_writing(address, create=True)
    try:
        prepare(engine, describe(address))
        with engine.begin() as target:
            for table in METADATA.sorted_tables:
                if table.name != MetaRow.__tablename__:
                    for rows in _chunks(source, _of_run(table, run_id)):
                        target.execute(insert(table), rows)
        with engine.raw_connection() as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
    finally:
        engine.dispose()


def _of_run(table: Table, run_id: str) -> Select[Any]:
    if table.name == RunRow.__tablename__:
        return select(table).where(table.c.id == run_id)
    if table.name in {model.__tablename__ for model in _BY_SERIES}:
        mine = select(SeriesRow.id).where(SeriesRow.run_id == run_id)
        return select(table).where(table.c.series_id.in_(mine))
    if table.name == AnswerRow.__tablename__:
        mine = select(CommandRow.id).where(CommandRow.run_id == run_id)
        return select(table).where(table.c.command.in_(mine))
    return select(table).where(table.c.run_id == run_id)


def _chunks(source: Connection, statement: Select[Any]) -> Iterator[list[dict[str, Any]]]:
    result = source.execution_options(yield_per=_ROWS_AT_ONCE).execute(statement)
    for part in result.mappings().partitions(_ROWS_AT_ONCE):
        yield [dict(row) for row in part]
