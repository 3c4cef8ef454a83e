"""Reading properties over time, thinned to what a chart can show, extremes kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, tuple_

from storage.retention import MINUTE, SECOND
from storage.rows import SeriesData
from storage.schema import BatchRow, RollupRow, SampleRow, SeriesRow

Key: TypeAlias = tuple[str, str]
Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]

_FAR: Final = 2**62
_SERIES = SeriesRow.__table__.c
_SAMPLES = SampleRow.__table__.c
_ROLLUPS = RollupRow.__table__.c
_BATCHES = BatchRow.__table__.c


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a run: batches first..last and times (Unix s), all inclusive; None = open."""

    since_batch: int | None = None
    until_batch: int | None = None
    since: float | None = None
    until: float | None = None


class _Bounds(NamedTuple):
    """A span as ranges of both keys: batches, and times (Unix s)."""

    first: int
    last: int
    since: float
    until: float
    length_s: float


class _Points(NamedTuple):
    """Equally long arrays, oldest first; fields as in SeriesData."""

    batch: Array
    time: Array
    value: Array
    low: Array
    high: Array
    n: Array


def read(
    connection: Connection, run_id: str, keys: Sequence[Key], span: Span, max_points: int
) -> dict[Key, SeriesData]:
    """The series of (entity, property) ``keys`` within ``span``; unknown keys are left out."""
    ids = _ids(connection, run_id, keys)
    if not ids:
        return {}
    bounds = _bounds(connection, run_id, span)
    numbers = sorted(number for number, _ in ids.values())
    raw = _raw(connection, numbers, bounds)
    rolled = _rolled(connection, numbers, bounds, max_points)
    found = {}
    for key, (number, unit) in ids.items():
        points = _joined(rolled.get(number), raw.get(number))
        thin = _thinned(points, max_points)
        found[key] = SeriesData(*key, unit, *thin, thinned=bool((thin.n > 1).any()))
    return found


def _ids(connection: Connection, run_id: str, keys: Sequence[Key]) -> dict[Key, tuple[int, str]]:
    """(entity, property) -> (key, unit) of the series that exist, in the order asked."""
    statement = select(_SERIES.entity_id, _SERIES.property, _SERIES.id, _SERIES.unit).where(
        _SERIES.run_id == run_id, tuple_(_SERIES.entity_id, _SERIES.property).in_(list(keys))
    )
    there = {(row[0], row[1]): (row[2], row[3]) for row in connection.execute(statement)}
    return {key: there[key] for key in dict.fromkeys(keys) if key in there}


def keys_of(connection: Connection, run_id: str, name: str) -> list[Key]:
    """The keys of all series of property ``name``, by entity."""
    statement = select(_SERIES.entity_id, _SERIES.property).where(
        _SERIES.run_id == run_id, _SERIES.property == name
    )
    return [(row[0], row[1]) for row in connection.execute(statement.order_by(_SERIES.entity_id))]


def _bounds(connection: Connection, run_id: str, span: Span) -> _Bounds:
    first = -1 if span.since_batch is None else span.since_batch
    last = _FAR if span.until_batch is None else span.until_batch
    if span.since is not None:
        first = max(first, _batch_near(connection, run_id, span.since, later=False, default=-1))
    if span.until is not None:
        last = min(last, _batch_near(connection, run_id, span.until, later=True, default=_FAR))
    begin = _time_of(connection, run_id, first, later=True)
    end = _time_of(connection, run_id, last, later=False)
    since = 0.0 if span.since is None else span.since
    until = float(_FAR) if span.until is None else span.until
    length = 0.0 if begin is None or end is None else min(end, until) - max(begin, since)
    return _Bounds(first, last, since, until, length)


def _batch_near(
    connection: Connection, run_id: str, time: float, *, later: bool, default: int
) -> int:
    """The nearest batch recorded strictly before (after) ``time``."""
    side = _BATCHES.time > time if later else _BATCHES.time < time
    order = _BATCHES.time if later else _BATCHES.time.desc()
    statement = select(_BATCHES.id).where(_BATCHES.run_id == run_id, side).order_by(order).limit(1)
    found = connection.execute(statement).scalar()
    return default if found is None else int(found)


def _time_of(connection: Connection, run_id: str, batch: int, *, later: bool) -> float | None:
    """When ``batch``, or else the nearest later (earlier) one, was recorded (Unix s)."""
    side = _BATCHES.id >= batch if later else _BATCHES.id <= batch
    order = _BATCHES.id if later else _BATCHES.id.desc()
    statement = select(_BATCHES.time).where(_BATCHES.run_id == run_id, side)
    found: float | None = connection.execute(statement.order_by(order).limit(1)).scalar()
    return found


def _raw(connection: Connection, ids: Sequence[int], bounds: _Bounds) -> dict[int, _Points]:
    statement = select(_SAMPLES.series_id, _SAMPLES.batch_id, _SAMPLES.time, _SAMPLES.value).where(
        _SAMPLES.series_id.in_(ids),
        _SAMPLES.batch_id.between(bounds.first, bounds.last),
        _SAMPLES.time.between(bounds.since, bounds.until),
    )
    order = (_SAMPLES.series_id, _SAMPLES.batch_id)
    found = connection.execute(statement.order_by(*order)).all()
    if not found:
        return {}
    series, batch, time, value = zip(*found, strict=True)
    values = np.array(value, dtype=np.float64)
    n = (~np.isnan(values)).astype(np.int64)
    points = _Points(
        np.array(batch, np.int64), np.array(time, np.float64), values, values, values, n
    )
    return _split(np.array(series, np.int64), points)


def _rolled(
    connection: Connection, ids: Sequence[int], bounds: _Bounds, max_points: int
) -> dict[int, _Points]:
    """Rolled up points: 1 s where they exist and are not far too many, else 1 min."""
    fine = bounds.length_s <= 4 * max_points
    statement = select(RollupRow.__table__).where(
        _ROLLUPS.series_id.in_(ids),
        _ROLLUPS.resolution_s.in_((SECOND, MINUTE) if fine else (MINUTE,)),
        _ROLLUPS.bucket.between(int(bounds.since) - MINUTE, int(bounds.until)),
        _ROLLUPS.batch_id.between(bounds.first, bounds.last),
        _ROLLUPS.time.between(bounds.since, bounds.until),
    )
    order = (_ROLLUPS.series_id, _ROLLUPS.resolution_s.desc(), _ROLLUPS.bucket)
    found = connection.execute(statement.order_by(*order)).all()
    if not found:
        return {}
    columns: dict[str, tuple[Any, ...]] = dict(
        zip(found[0]._fields, zip(*found, strict=True), strict=True)
    )
    numbers = [np.array(columns[name], np.float64) for name in ("time", "mean", "min", "max")]
    counts = np.array(columns["n"], np.int64)
    points = _Points._make((np.array(columns["batch_id"], np.int64), *numbers, counts))
    series = np.array(columns["series_id"], np.int64)
    end = np.array(columns["bucket"], np.int64) + np.array(columns["resolution_s"], np.int64)
    keep = _uncovered(series, np.array(columns["resolution_s"], np.int64), end)
    return _split(series[keep], _Points._make(column[keep] for column in points))


def _uncovered(series: Ints, resolution: Ints, end: Ints) -> NDArray[np.bool_]:
    """Which rows to show: all 1 s rows, and 1 min rows that end before the first of them."""
    keep = np.ones(len(series), dtype=np.bool_)
    for number in np.unique(series):
        mine = series == number
        fine = mine & (resolution == SECOND)
        if fine.any():
            keep &= ~(mine & (resolution == MINUTE) & (end > end[fine].min() - SECOND))
    return keep


def _split(series: Ints, points: _Points) -> dict[int, _Points]:
    """The points of each series; rows of one series stand together."""
    numbers, starts = np.unique(series, return_index=True)
    ends = [*starts[1:].tolist(), len(series)]
    return {
        int(number): _Points._make(column[start:end] for column in points)
        for number, start, end in zip(numbers, starts.tolist(), ends, strict=True)
    }


def _joined(rolled: _Points | None, raw: _Points | None) -> _Points:
    parts = [part for part in (rolled, raw) if part is not None]
    if not parts:
        none, nobody = np.empty(0, np.float64), np.empty(0, np.int64)
        return _Points(nobody, none, none, none, none, nobody)
    return _Points._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _thinned(points: _Points, max_points: int) -> _Points:
    """At most ``max_points`` points: means of neighbours with their extremes."""
    length = len(points.batch)
    if length <= max_points:
        return points
    first = np.arange(0, length, -(-length // max(max_points, 1)))
    last = np.r_[first[1:], length] - 1
    n = np.add.reduceat(points.n, first)
    total = np.add.reduceat(np.where(points.n > 0, points.value * points.n, 0.0), first)
    return _Points(
        points.batch[last],
        points.time[last],
        np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0),
        np.fmin.reduceat(points.low, first),
        np.fmax.reduceat(points.high, first),
        n,
    )
