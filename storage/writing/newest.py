"""What a run keeps the newest of: misfits, and lines of the engine's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, insert, select

from storage.tables.forms import row_of
from storage.tables.schema import LogRow, MisfitRow
from storage.vocabulary.records import BatchRecord, LogLine

MISFITS_PER_RUN: Final = 200
LOG_LINES_PER_RUN: Final = 500


def write_misfits(connection: Connection, record: BatchRecord, position: int) -> None:
    """Add tuples kept aside; the oldest of many go."""
    run = record.run_id
    last = record.misfits[-MISFITS_PER_RUN:]
    connection.execute(insert(MisfitRow), [row_of(m, run_id=run, batch_id=position) for m in last])
    _keep_last(connection, MisfitRow, run, MISFITS_PER_RUN)


def write_log(connection: Connection, run: str, lines: Sequence[LogLine]) -> None:
    """Add lines of the engine's log; the oldest of many go."""
    rows = [row_of(line, run_id=run) for line in lines[-LOG_LINES_PER_RUN:]]
    connection.execute(insert(LogRow), rows)
    _keep_last(connection, LogRow, run, LOG_LINES_PER_RUN)


def _keep_last(
    connection: Connection, model: type[MisfitRow] | type[LogRow], run: str, n: int
) -> None:
    """Drop all but the last ``n`` rows of a run."""
    newest = select(model.id).where(model.run_id == run).order_by(model.id.desc())
    oldest_kept = connection.execute(newest.limit(1).offset(n - 1)).scalar()
    if oldest_kept is not None:
        connection.execute(delete(model).where(model.run_id == run, model.id < oldest_kept))
