"""Retention: raw samples become rows of 10 s and 1 min, the rest is thinned (``thinning``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select

from storage.tables.schema import RollupRow, SampleRow, SeriesRow
from storage.tables.schema_samples import FINE, MINUTE, SECOND
from storage.writing.thinning import (
    Transaction,
    forget_commits,
    last_before,
    roll_up_decisions,
    thin_matrices,
    tidied_until,
)
from storage.writing.upsert import put

KEEP_RAW_S: Final = 3600.0
KEEP_FINE_S: Final = 86_400.0
#: Series handled in one transaction, so that a batch waits a few milliseconds at most.
SERIES_PER_TRANSACTION: Final = 16

_Row: TypeAlias = dict[str, Any]


def apply(transaction: Transaction, run_id: str, raw: float, fine: float) -> int:
    """Roll up and thin what was recorded before ``raw``, drop rows of 10 s from before ``fine``
    (Unix s); how many raw samples went.

    What an earlier call did, in this process or another, is not looked through again.
    """
    with transaction() as connection:
        last = last_before(connection, run_id, raw)
        done = tidied_until(connection, run_id)
        series = connection.scalars(select(SeriesRow.id).where(SeriesRow.run_id == run_id)).all()
    if last is not None:
        with transaction() as connection:
            thin_matrices(connection, run_id, _whole(done.time), raw, MINUTE)
        roll_up_decisions(transaction, run_id, done.batch, last)
    gone = 0
    for start in range(0, len(series), SERIES_PER_TRANSACTION):
        chunk = series[start : start + SERIES_PER_TRANSACTION]
        with transaction() as connection:
            if last is not None:
                gone += _roll_up(connection, chunk, last)
            _forget_fine(connection, chunk, _whole(fine))
    if last is not None:
        with transaction() as connection:
            forget_commits(connection, run_id, last)
    return gone


def _forget_fine(connection: Connection, keys: Sequence[int], before: int) -> None:
    """Drop rolled up rows shorter than a minute; those of the minutes stay."""
    fine = (RollupRow.resolution_s.in_((SECOND, FINE)), RollupRow.bucket < before)
    connection.execute(delete(RollupRow).where(RollupRow.series_id.in_(keys), *fine))


def _whole(time: float) -> int:
    return int(max(time, 0.0) // MINUTE) * MINUTE


def _roll_up(connection: Connection, keys: Sequence[int], last: int) -> int:
    """Roll up all samples of the series up to batch ``last``, atomically; how many."""
    old = (SampleRow.series_id.in_(keys), SampleRow.batch_id <= last)
    table = SampleRow.__table__.c
    statement = select(table.series_id, table.batch_id, table.time, table.value).where(*old)
    samples = connection.execute(statement.order_by(table.series_id, table.batch_id)).all()
    if not samples:
        return 0
    series = np.array([row[0] for row in samples], dtype=np.int64)
    batch = np.array([row[1] for row in samples], dtype=np.int64)
    time = np.array([row[2] for row in samples], dtype=np.float64)
    value = np.array([row[3] for row in samples], dtype=np.float64)
    for resolution in (FINE, MINUTE):
        rows = _buckets(series, batch, time, value, resolution)
        put(connection, RollupRow, _merged(connection, keys, resolution, rows))
    connection.execute(delete(SampleRow).where(*old))
    return len(samples)


def _buckets(
    series: NDArray[np.int64],
    batch: NDArray[np.int64],
    time: NDArray[np.float64],
    value: NDArray[np.float64],
    resolution: int,
) -> list[_Row]:
    """One row a series and bucket; input sorted by series, then batch; NaN = unknown."""
    bucket = (time // resolution).astype(np.int64) * resolution
    order = np.lexsort((batch, bucket, series))
    series, batch, bucket = series[order], batch[order], bucket[order]
    time, value = time[order], value[order]
    new = np.r_[True, (np.diff(series) != 0) | (np.diff(bucket) != 0)]
    first = np.flatnonzero(new)
    last = np.r_[first[1:], len(series)] - 1
    known = ~np.isnan(value)
    n = np.add.reduceat(known.astype(np.int64), first)
    total = np.add.reduceat(np.where(known, value, 0.0), first)
    columns = {
        "series_id": series[first],
        "bucket": bucket[first],
        "batch_id": batch[last],
        "time": time[last],
        "n": n,
        "min": np.fmin.reduceat(value, first),
        "max": np.fmax.reduceat(value, first),
        "mean": total / np.where(n > 0, n, np.nan),
        "last": value[last],
    }
    return [{"resolution_s": resolution, **row} for row in _rows(columns)]


def _rows(columns: dict[str, NDArray[Any]]) -> Iterable[_Row]:
    plain = {name: column.tolist() for name, column in columns.items()}
    for values in zip(*plain.values(), strict=True):
        yield {k: None if v != v else v for k, v in zip(plain, values, strict=True)}


def _merged(
    connection: Connection, keys: Sequence[int], resolution: int, rows: list[_Row]
) -> list[_Row]:
    """The rows joined with what an earlier roll-up left in the same buckets."""
    table = RollupRow.__table__
    oldest = min(row["bucket"] for row in rows)
    statement = select(table).where(
        table.c.series_id.in_(keys),
        table.c.resolution_s == resolution,
        table.c.bucket >= oldest,
    )
    there = {(r.series_id, r.bucket): r._asdict() for r in connection.execute(statement)}
    return [_join(there.get((row["series_id"], row["bucket"])), row) for row in rows]


def _join(old: _Row | None, new: _Row) -> _Row:
    if old is None:
        return new
    n = old["n"] + new["n"]
    newest = new if new["batch_id"] >= old["batch_id"] else old
    mean = sum((r["mean"] or 0.0) * r["n"] for r in (old, new)) / n if n else None
    return {
        **new,
        **{name: newest[name] for name in ("batch_id", "time", "last")},
        "n": n,
        "mean": mean,
        "min": _least(min, old["min"], new["min"]),
        "max": _least(max, old["max"], new["max"]),
    }


def _least(choose: Callable[[list[float]], float], *values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None
