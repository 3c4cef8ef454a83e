"""Copying one run to a single SQLite file of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Table, Text, insert, select, type_coerce

from storage.errors import StoreError, StoreReadOnly, UnknownRun, translated
from storage.exchange.liveness import process_exists
from storage.exchange.recordings import PACKED, pack
from storage.tables.columns import JsonText
from storage.tables.database import create_private, describe, open_for_writing, parse_url
from storage.tables.migrations import prepare
from storage.tables.schema import (
    METADATA,
    CommandRow,
    MetaRow,
    PlanLogRow,
    RunRow,
    SeriesRow,
)

_ROWS_AT_ONCE: Final = 10_000
#: Tables whose rows belong to a run by way of another, and which column says how.
_BY_WAY_OF: Final[Mapping[str, tuple[str, type[SeriesRow | CommandRow | PlanLogRow]]]] = {
    **dict.fromkeys(("samples", "latest", "rollups"), ("series_id", SeriesRow)),
    **dict.fromkeys(("plan_log_plans", "plan_log_looks"), ("log_id", PlanLogRow)),
    "command_answers": ("command", CommandRow),
}


def copy_run(source: Connection, where: str, run_id: str, path: Path) -> None:
    """Copy one run to a new file at ``path``, which appears only when it is complete; a name that
    ends in .gz makes a compressed one.

    source: a connection in one consistent read; where: its store, for what is wrong with it. The
    file is its owner's alone. Raises UnknownRun, and StoreError when the file exists.
    """
    if source.execute(select(RunRow.id).where(RunRow.id == run_id)).first() is None:
        raise UnknownRun(f"run {run_id!r} is not in the store; pick one of its runs")
    if path.exists():
        raise StoreError(f"{path} exists; name a file that does not")
    path = path.absolute()
    _clear_left(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_private(partial)
        with translated(str(path)):
            _write_copy(source, where, run_id, partial)
        if path.suffix == PACKED:
            _pack_in_place(partial)
        os.replace(partial, path)
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be made: {error.strerror or error}") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal", PACKED):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def _clear_left(path: Path) -> None:
    """Remove what copies to this path left that were killed; also one under this process's id."""
    begin = f".{path.name}."
    for left in path.parent.glob(f"{escape(begin)}*.partial*"):
        pid = left.name.removeprefix(begin).partition(".")[0]
        if pid.isdecimal() and (int(pid) == os.getpid() or not process_exists(int(pid))):
            left.unlink(missing_ok=True)


def _pack_in_place(path: Path) -> None:
    packed = path.with_name(path.name + PACKED)
    create_private(packed)
    with path.open("rb") as recording, packed.open("wb") as out:
        pack(recording, out)
    os.replace(packed, path)


def _write_copy(source: Connection, where: str, run_id: str, path: Path) -> None:
    address = parse_url(str(path))
    engine = open_for_writing(address, create=True)
    try:
        prepare(engine, describe(address))
        with engine.begin() as target:
            for table in METADATA.sorted_tables:
                if table.name != MetaRow.__tablename__:
                    _copy(_rows(source, where, table, run_id), target, table)
        with engine.raw_connection() as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
    finally:
        engine.dispose()


def _copy(blocks: Iterable[Sequence[Row[Any]]], target: Connection, table: Table) -> None:
    """Copy rows as the drivers give and take them: texts and numbers, JSON unread."""
    text = str(insert(table).compile(dialect=target.dialect))
    for rows in blocks:
        target.exec_driver_sql(text, [tuple(row) for row in rows])


def _rows(
    source: Connection, where: str, table: Table, run_id: str
) -> Iterator[Sequence[Row[Any]]]:
    """The rows of the run, in blocks; what is wrong with them is the fault of their store."""
    with translated(where):
        options = {"yield_per": _ROWS_AT_ONCE}
        yield from source.execute(_of_run(table, run_id), execution_options=options).partitions()


def _of_run(table: Table, run_id: str) -> Select[Any]:
    unread = [type_coerce(c, Text) if isinstance(c.type, JsonText) else c for c in table.columns]
    everything = select(*unread)
    if table.name == RunRow.__tablename__:
        return everything.where(table.c.id == run_id)
    if table.name in _BY_WAY_OF:
        name, other = _BY_WAY_OF[table.name]
        mine = select(other.id).where(other.run_id == run_id)
        return everything.where(table.c[name].in_(mine))
    return everything.where(table.c.run_id == run_id)
