"""Reading properties over time, thinned to what a chart can show, extremes kept."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Double, Select, bindparam, func, literal, select

from storage.reading.values import stretch
from storage.tables.allowed import TEXT, WHOLE, hold
from storage.tables.rows import SeriesData
from storage.tables.schema import BatchRow, RollupRow, SampleRow, SeriesRow
from storage.tables.schema_samples import FINE, MINUTE, SECOND

Key: TypeAlias = tuple[str, str]
Array: TypeAlias = NDArray[Any]

_FAR: Final = 2**62
#: Columns of a raw value.
_N_RAW: Final = 4
#: Stands for a value that is not known on the way from the database, where all are numbers then.
_UNKNOWN: Final = -sys.float_info.max
#: Points shorter than a minute are read while they are at most this many times those asked for.
_FINE_PER_POINT: Final = 4
_SERIES = SeriesRow.__table__.c
_SAMPLES = SampleRow.__table__.c
_ROLLUPS = RollupRow.__table__.c
_BATCHES = BatchRow.__table__.c


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a run: batches and times (Unix s), all inclusive; None = open."""

    since_batch: int | None = None
    until_batch: int | None = None
    since: float | None = None
    until: float | None = None


class SeriesId(NamedTuple):
    """The key of a series in the store, and its unit."""

    number: int
    unit: str


class _Points(NamedTuple):
    """Equally long arrays, oldest first; fields as in SeriesData."""

    batch: Array
    time: Array
    value: Array
    low: Array
    high: Array
    n: Array


def ids(connection: Connection, run_id: str) -> dict[Key, SeriesId]:
    """All series of a run by (entity, property)."""
    rows = connection.execute(_IDS, {"run": run_id}).all()
    hold(rows, TEXT, TEXT, WHOLE, TEXT)
    return {(row[0], row[1]): SeriesId(row[2], row[3]) for row in rows}


def read(
    connection: Connection,
    run_id: str,
    series: Mapping[Key, SeriesId],
    span: Span,
    max_points: int,
    *,
    sampled: bool = False,
) -> dict[Key, SeriesData]:
    """The points of ``series`` within ``span``, at most ``max_points`` of each.

    Where the values of the last batch were rolled up, the last point is of the whole stretch.
    sampled: of more, values as they were in batches evenly spread, for a tenth of the time of means
    and extremes.
    """
    if not series:
        return {}
    bounds = _bounds(connection, run_id, span)
    over = stretch(connection, run_id, span.until_batch)
    until = bounds["last"]
    bounds["last"] = until if over is None else max(until, over.last_batch)
    bounds["ids"] = sorted({wanted.number for wanted in series.values()})
    rolled = _rolled(connection, bounds, max_points)
    raw = _sampled(connection, bounds, max_points) if sampled else _raw(connection, bounds)
    data = {}
    for key, (number, unit) in series.items():
        points = _thinned(_joined(rolled.get(number), raw.get(number)), max_points)
        arrays = points._replace(batch=np.minimum(points.batch, until))._asdict()
        data[key] = SeriesData(*key, unit, **arrays, thinned=bool((points.n > 1).any()))
    return data


def _bounds(connection: Connection, run_id: str, span: Span) -> dict[str, Any]:
    """The span as parameters of the statements below, times narrowed to batches."""
    first = -1 if span.since_batch is None else span.since_batch
    last = _FAR if span.until_batch is None else span.until_batch
    since = 0.0 if span.since is None else span.since
    until = float(_FAR) if span.until is None else span.until
    run = {"run": run_id}
    if span.since is not None:
        before = connection.execute(_BATCH_BEFORE, {**run, "time": since}).scalar()
        first = first if before is None else max(first, before)
    if span.until is not None:
        after = connection.execute(_BATCH_AFTER, {**run, "time": until}).scalar()
        last = last if after is None else min(last, after)
    return {"first": first, "last": last, "since": since, "until": until}


def _sampled(
    connection: Connection, bounds: Mapping[str, Any], max_points: int
) -> dict[int, _Points]:
    """Every k-th batch, and the last one; all where a series has too few values in those."""
    probe = {**bounds, "id": bounds["ids"][0]}
    first, last = (connection.execute(end, probe).scalar() or 0 for end in (_FIRST, _LAST))
    step = -(-(last - first + 1) // max_points)
    if step > 1:
        some = _raw(connection, {**bounds, "step": step, "offset": last % step}, _EVERY)
        enough = [number for number, points in some.items() if len(points.batch) >= max_points // 4]
        if enough == bounds["ids"]:
            return some
    return _raw(connection, bounds)


def _raw(
    connection: Connection, bounds: Mapping[str, Any], statement: Select[Any] | None = None
) -> dict[int, _Points]:
    tuples = _tuples(connection, _RAW if statement is None else statement, bounds)
    if not tuples:
        return {}
    numbers = np.fromiter(chain.from_iterable(tuples), np.float64, _N_RAW * len(tuples))
    series, batch, time, value = numbers.reshape(-1, _N_RAW).T.copy()
    value[value == _UNKNOWN] = np.nan
    known = (~np.isnan(value)).astype(np.int64)
    points = _Points(batch.astype(np.int64), time, value, value, value, known)
    return _split(series.astype(np.int64), points)


def _tuples(
    connection: Connection, statement: Select[Any], parameters: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """The rows as the driver gives them: plain numbers, for a third of the time."""
    cursor: Any = connection.execute(statement, parameters).cursor
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _columns(rows: Sequence[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    return zip(*rows, strict=True)


def _rolled(
    connection: Connection, bounds: Mapping[str, Any], max_points: int
) -> dict[int, _Points]:
    """Rolled up points: shorter ones where they exist and are not far too many, else 1 min."""
    earliest = {"bucket": int(bounds["since"]) - MINUTE}
    minutes = _tuples(connection, _ROLLED, {**bounds, **earliest, "resolution": MINUTE})
    rolled = _split(*_rollup_points(minutes)) if minutes else {}
    n_minutes = max((len(points.batch) for points in rolled.values()), default=0)
    for length in (SECOND, FINE):
        if n_minutes * MINUTE / length > _FINE_PER_POINT * max_points:
            continue
        rows = _tuples(connection, _ROLLED, {**bounds, **earliest, "resolution": length})
        for number, fine in (_split(*_rollup_points(rows)) if rows else {}).items():
            begin = int(fine.time[0]) // MINUTE * MINUTE
            coarse = rolled.get(number)
            if coarse is not None:
                coarse = _Points._make(column[coarse.time < begin] for column in coarse)
            rolled[number] = _joined(coarse, fine)
    return rolled


def _rollup_points(rows: Sequence[tuple[Any, ...]]) -> tuple[Array, _Points]:
    series, batch, time, mean, low, high, n = _columns(rows)
    numbers = [np.array(column, np.float64) for column in (time, mean, low, high)]
    points = _Points._make((np.array(batch, np.int64), *numbers, np.array(n, np.int64)))
    return np.array(series, np.int64), points


def _split(series: Array, points: _Points) -> dict[int, _Points]:
    """The points of each series; rows of one series stand together."""
    numbers, starts = np.unique(series, return_index=True)
    ends = [*starts[1:].tolist(), len(series)]
    return {
        number: _Points._make(column[start:end] for column in points)
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True)
    }


def _joined(rolled: _Points | None, raw: _Points | None) -> _Points:
    parts = [part for part in (rolled, raw) if part is not None]
    if not parts:
        none, nobody = np.empty(0, np.float64), np.empty(0, np.int64)
        return _Points(nobody, none, none, none, none, nobody)
    if len(parts) == 1:
        return parts[0]
    return _Points._make(np.concatenate(pair) for pair in zip(*parts, strict=True))


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


def _raw_statement() -> Select[Any]:
    value = func.coalesce(_SAMPLES.value, literal(_UNKNOWN, Double))
    chosen = select(_SAMPLES.series_id, _SAMPLES.batch_id, _SAMPLES.time, value).where(
        _SAMPLES.series_id.in_(bindparam("ids", expanding=True)),
        _SAMPLES.batch_id.between(bindparam("first"), bindparam("last")),
        _SAMPLES.time.between(bindparam("since"), bindparam("until")),
    )
    return chosen.order_by(_SAMPLES.series_id, _SAMPLES.batch_id)


def _rolled_statement() -> Select[Any]:
    names = ("series_id", "batch_id", "time", "mean", "min", "max", "n")
    chosen = select(*(_ROLLUPS[name] for name in names)).where(
        _ROLLUPS.series_id.in_(bindparam("ids", expanding=True)),
        _ROLLUPS.resolution_s == bindparam("resolution"),
        _ROLLUPS.bucket >= bindparam("bucket"),
        _ROLLUPS.batch_id.between(bindparam("first"), bindparam("last")),
        _ROLLUPS.time.between(bindparam("since"), bindparam("until")),
    )
    return chosen.order_by(_ROLLUPS.series_id, _ROLLUPS.bucket)


_IDS: Final = select(_SERIES.entity_id, _SERIES.property, _SERIES.id, _SERIES.unit).where(
    _SERIES.run_id == bindparam("run")
)
_RAW: Final = _raw_statement()
_EVERY: Final = _RAW.where(_SAMPLES.batch_id % bindparam("step") == bindparam("offset"))
_OF_ONE: Final = select(_SAMPLES.batch_id).where(
    _SAMPLES.series_id == bindparam("id"),
    _SAMPLES.batch_id.between(bindparam("first"), bindparam("last")),
)
_FIRST: Final = _OF_ONE.order_by(_SAMPLES.batch_id).limit(1)
_LAST: Final = _OF_ONE.order_by(_SAMPLES.batch_id.desc()).limit(1)
_ROLLED: Final = _rolled_statement()
_BATCH_BEFORE: Final = (
    select(_BATCHES.id)
    .where(_BATCHES.run_id == bindparam("run"), _BATCHES.time < bindparam("time"))
    .order_by(_BATCHES.time.desc())
    .limit(1)
)
_BATCH_AFTER: Final = (
    select(_BATCHES.id)
    .where(_BATCHES.run_id == bindparam("run"), _BATCHES.time > bindparam("time"))
    .order_by(_BATCHES.time)
    .limit(1)
)
