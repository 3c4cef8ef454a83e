"""What a run keeps the newest of: misfits, lines of the log, samples of what was tapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select

from storage.tables.forms import row_of
from storage.tables.schema import LogRow, MisfitRow, TapRow
from storage.vocabulary.records import BatchRecord, LogLine
from storage.vocabulary.taps import TapSample
from storage.writing.upsert import add_once

MISFITS_PER_RUN: Final = 200
LOG_LINES_PER_RUN: Final = 500
#: The batches with so many of the newest samples are kept whole.
TAPS_PER_RUN: Final = 2_000


def write_misfits(connection: Connection, record: BatchRecord, position: int) -> None:
    """Add tuples kept aside; the oldest of many go."""
    run = record.run_id
    last = record.misfits[-MISFITS_PER_RUN:]
    connection.execute(insert(MisfitRow), [row_of(m, run_id=run, batch_id=position) for m in last])
    _keep_last(connection, MisfitRow, MisfitRow.id, run, MISFITS_PER_RUN)


def write_log(connection: Connection, run: str, lines: Sequence[LogLine]) -> None:
    """Add lines of the engine's log; the oldest of many go."""
    rows = [row_of(line, run_id=run) for line in lines[-LOG_LINES_PER_RUN:]]
    connection.execute(insert(LogRow), rows)
    _keep_last(connection, LogRow, LogRow.id, run, LOG_LINES_PER_RUN)


def write_taps(
    connection: Connection, run: str, batch_id: int, samples: Sequence[TapSample]
) -> None:
    """Add samples of what went through tapped operators in a batch; the oldest of many go."""
    add_once(connection, TapRow, [row_of(s, run_id=run, batch_id=batch_id) for s in samples])
    _keep_last(connection, TapRow, TapRow.batch_id, run, TAPS_PER_RUN)


def _keep_last(
    connection: Connection,
    model: type[MisfitRow] | type[LogRow] | type[TapRow],
    age: Any,
    run: str,
    n: int,
) -> None:
    """Drop the rows of a run that are older than the last ``n``. age: the column that tells."""
    newest = select(age).where(model.run_id == run).order_by(age.desc())
    oldest_kept = connection.execute(newest.limit(1).offset(n - 1)).scalar()
    if oldest_kept is not None:
        connection.execute(delete(model).where(model.run_id == run, age < oldest_kept))
