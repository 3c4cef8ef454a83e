"""Samples of what went through tapped operators: the last of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, select

from storage.tables.forms import row_of
from storage.tables.schema import TapRow
from storage.vocabulary.taps import TapSample
from storage.writing.upsert import add_once

#: The batches with so many of the newest samples are kept whole, older ones go.
TAPS_PER_RUN: Final = 2_000


def write_taps(
    connection: Connection, run: str, batch_id: int, samples: Sequence[TapSample]
) -> None:
    """Write the samples of a batch, and forget the oldest."""
    add_once(connection, TapRow, [row_of(s, run_id=run, batch_id=batch_id) for s in samples])
    table = TapRow.__table__.c
    of_run = select(table.batch_id).where(table.run_id == run).order_by(table.batch_id.desc())
    oldest_kept = connection.execute(of_run.limit(1).offset(TAPS_PER_RUN - 1)).scalar()
    if oldest_kept is not None:
        connection.execute(delete(TapRow).where(table.run_id == run, table.batch_id < oldest_kept))
