"""Reading the values of all properties at one moment: index look-ups, never over history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select

from storage.tables.allowed import NUMBER, TEXT, WHOLE, WHOLE_OR_NONE, hold
from storage.tables.rows import RollupSpan
from storage.tables.schema import BatchRow, LatestRow, RollupRow, SampleRow, SeriesRow
from storage.tables.schema_samples import FINE, MINUTE, SECOND
from storage.vocabulary import registry

Values: TypeAlias = dict[str, dict[str, float | None]]

#: Properties that count from the beginning of a run are named so, and the standard errors of such.
TOTALS: Final = ("_total", "_se")

_SERIES = SeriesRow.__table__
_LATEST = LatestRow.__table__
_SAMPLES = SampleRow.__table__
_ROLLUPS = RollupRow.__table__
_BATCHES = BatchRow.__table__
_OF_RUN = _SERIES.c.run_id == bindparam("run")


class _Value(NamedTuple):
    """A value of a property as of a batch; None = none by then."""

    entity: str
    name: str
    batch: int | None
    value: float | None


def read(connection: Connection, run_id: str, at: int | None) -> Values:
    """Entity -> property -> value, the newest or as of the end of batch ``at``.

    A property that is only written when not 0 is 0 when its newest value is of an earlier batch.
    Where raw samples were rolled up, values are those of stretch(): averages per batch, of totals
    what they came to at its end.
    """
    now = last_batch(connection, run_id)
    if at is None or now is None or at >= now:
        at = now if at is None else at
        return _told(_values(connection.execute(_NEWEST, {"run": run_id})), at)
    values = _values(connection.execute(_AS_OF, {"run": run_id, "at": at}))
    if all(row.batch is not None for row in values):
        return _told(values, at)
    over = stretch(connection, run_id, at)
    if over is not None:
        return _told(_averages(connection, run_id, over), over.last_batch)
    missing = {row[:2] for row in values if row.batch is None}
    rows = _rolled_up(connection, run_id, at).items()
    values += [_Value(*key, row.batch_id, row.last) for key, row in rows if key in missing]
    return _told(values, at)


def tuples_before(connection: Connection, run_id: str, batch_id: int) -> int:
    """As Reader.tuples_before(): the last total kept of an earlier batch, and the batches since."""
    upto = {"run": run_id, "at": batch_id - 1}
    moment = connection.execute(_TIME_OF, upto).scalar()
    if moment is None:
        return 0
    kept = [connection.execute(_TOTAL, upto).first()]
    for length in _LENGTHS:
        of_it = {**upto, "moment": moment, "length": length}
        kept.append(connection.execute(_ROLLED_TOTAL, of_it).first())
    since, total = max(((row[0], row[1]) for row in kept if row is not None), default=(-1, 0))
    later = connection.execute(_TUPLES, {**upto, "since": since}).scalar()
    return int(total or 0) + int(later or 0)


def stretch(connection: Connection, run_id: str, at: int | None) -> RollupSpan | None:
    """Over what the values of a batch were rolled up; None where they are its own."""
    now = last_batch(connection, run_id)
    moment = {"run": run_id, "at": at}
    if at is None or now is None or at >= now or connection.execute(_RAW_BY, moment).first():
        return None
    time = connection.execute(_TIME_OF, moment).scalar()
    if time is None:
        return None
    begins = {f"of_{length}": int(time // length) * length for length in _LENGTHS}
    rows = connection.execute(_STRETCHES, {"run": run_id, **begins}).all()
    spans = {row.resolution_s: (row.bucket, row.last_batch) for row in rows}
    length = next((length for length in _LENGTHS if length in spans), None)
    if length is None:
        return None
    since, last = spans[length]
    within = {"run": run_id, "since": since, "until": since + length, "last": last}
    n = connection.execute(_COUNT_BATCHES, within).scalar_one()
    return RollupSpan(float(since), length, n, last)


def _averages(connection: Connection, run_id: str, over: RollupSpan) -> list[_Value]:
    """What is known by the end of a stretch, per batch where it is of the stretch itself."""
    zero = _written_when_not_0()
    averages = []
    for (entity, name), row in _rolled_up(connection, run_id, over.last_batch, over).items():
        within = (row.bucket, row.resolution_s) == (over.since, over.length_s)
        value = row.last if name.endswith(TOTALS) or not within else row.mean
        if within and name in zero and row.n:
            value = row.mean * row.n / max(over.n_batches, 1)
        batch = over.last_batch if within else row.batch_id
        averages.append(_Value(entity, name, batch, value))
    return averages


def _told(values: Iterable[_Value], now: int | None) -> Values:
    zero = _written_when_not_0()
    by_entity: Values = {}
    for entity, name, batch, value in values:
        if batch is not None:
            gone = batch != now and name in zero
            by_entity.setdefault(entity, {})[name] = 0.0 if gone else value
    return by_entity


def _written_when_not_0() -> set[str]:
    return {name for name, about in registry.KNOWN.properties.items() if about.absent_is_zero}


def _values(rows: Iterable[Any]) -> list[_Value]:
    values = [_Value(*row) for row in rows]
    hold(values, TEXT, TEXT, WHOLE_OR_NONE, NUMBER)
    return values


def last_batch(connection: Connection, run_id: str) -> int | None:
    """The newest executed batch of the run, None before the first."""
    last = connection.execute(_LAST_BATCH, {"run": run_id}).scalar()
    hold([(last,)], WHOLE_OR_NONE)
    return last


def _rolled_up(
    connection: Connection, run_id: str, at: int, over: RollupSpan | None = None
) -> dict[tuple[str, str], Any]:
    """(Entity, property) -> the row of ``over``, else the last one that ended by batch ``at``."""
    moment = connection.execute(_TIME_OF, {"run": run_id, "at": at}).scalar()
    rows = connection.execute(_AS_OF_ROLLED, {"run": run_id, "at": at, "moment": moment}).all()
    hold(rows, TEXT, TEXT, WHOLE, NUMBER, NUMBER, WHOLE, WHOLE, WHOLE)
    of_it = None if over is None else (over.since, over.length_s)
    ordered = sorted(rows, key=lambda r: ((r.bucket, r.resolution_s) == of_it, r.batch_id))
    return {(row.entity_id, row.property): row for row in ordered}


def _newest() -> Select[Any]:
    return (
        select(_SERIES.c.entity_id, _SERIES.c.property, _LATEST.c.batch_id, _LATEST.c.value)
        .join_from(_SERIES, _LATEST, _LATEST.c.series_id == _SERIES.c.id)
        .where(_OF_RUN)
    )


def _as_of() -> Select[Any]:
    """One look-up a series: its last sample up to batch :at."""
    twin = _SAMPLES.alias("twin")
    place = (
        select(func.max(twin.c.batch_id))
        .where(twin.c.series_id == _SERIES.c.id, twin.c.batch_id <= bindparam("at"))
        .correlate(_SERIES)
        .scalar_subquery()
    )
    same = and_(_SAMPLES.c.series_id == _SERIES.c.id, _SAMPLES.c.batch_id == place)
    return (
        select(_SERIES.c.entity_id, _SERIES.c.property, _SAMPLES.c.batch_id, _SAMPLES.c.value)
        .join_from(_SERIES, _SAMPLES, same, isouter=True)
        .where(_OF_RUN)
    )


def _as_of_rolled() -> Select[Any]:
    """As _as_of(), from the last row of every length up to batch :at."""

    def place(resolution_s: int) -> Any:
        twin = _ROLLUPS.alias(f"twin_{resolution_s}")
        return (
            select(twin.c.bucket)
            .where(
                twin.c.series_id == _SERIES.c.id,
                twin.c.resolution_s == resolution_s,
                twin.c.bucket <= bindparam("moment"),
                twin.c.batch_id <= bindparam("at"),
            )
            .order_by(twin.c.bucket.desc())
            .limit(1)
            .correlate(_SERIES)
            .scalar_subquery()
        )

    def row(resolution_s: int) -> Any:
        return and_(
            _ROLLUPS.c.series_id == _SERIES.c.id,
            _ROLLUPS.c.resolution_s == resolution_s,
            _ROLLUPS.c.bucket == place(resolution_s),
        )

    columns = (
        *(_SERIES.c.entity_id, _SERIES.c.property),
        *(_ROLLUPS.c[name] for name in ("batch_id", "last", "mean", "n", "bucket", "resolution_s")),
    )
    minutes, *finer = (
        select(*columns).join_from(_SERIES, _ROLLUPS, row(resolution)).where(_OF_RUN)
        for resolution in (MINUTE, FINE, SECOND)
    )
    return minutes.union_all(*finer)  # type: ignore[return-value]  # typed as a wider select


def _stretches() -> Select[Any]:
    """The rows of the run that begin where those with batch :at would, by their length."""
    places = [
        and_(_ROLLUPS.c.resolution_s == length, _ROLLUPS.c.bucket == bindparam(f"of_{length}"))
        for length in _LENGTHS
    ]
    columns = (_ROLLUPS.c.resolution_s, _ROLLUPS.c.bucket)
    last = func.max(_ROLLUPS.c.batch_id).label("last_batch")
    same = and_(_ROLLUPS.c.series_id == _SERIES.c.id, or_(*places))
    joined = select(*columns, last).join_from(_SERIES, _ROLLUPS, same)
    return joined.where(_OF_RUN).group_by(*columns)


#: Of rows of samples that were rolled up (s), the finest first.
_LENGTHS: Final = (SECOND, FINE, MINUTE)
_NEWEST: Final = _newest()
_AS_OF: Final = _as_of()
_AS_OF_ROLLED: Final = _as_of_rolled()
_LAST_BATCH: Final = select(func.max(_BATCHES.c.id)).where(_BATCHES.c.run_id == bindparam("run"))
_STRETCHES: Final = _stretches()
_RAW_BY: Final = (
    select(_SAMPLES.c.batch_id)
    .join_from(_SERIES, _SAMPLES, _SAMPLES.c.series_id == _SERIES.c.id)
    .where(_OF_RUN, _SAMPLES.c.batch_id <= bindparam("at"))
    .limit(1)
)
_OF_TUPLES: Final = (_OF_RUN, _SERIES.c.entity_id == "system", _SERIES.c.property == "tuples_total")
_TOTAL: Final = (
    select(_SAMPLES.c.batch_id, _SAMPLES.c.value)
    .join_from(_SERIES, _SAMPLES, _SAMPLES.c.series_id == _SERIES.c.id)
    .where(*_OF_TUPLES, _SAMPLES.c.batch_id <= bindparam("at"))
    .order_by(_SAMPLES.c.batch_id.desc())
    .limit(1)
)
_ROLLED_TOTAL: Final = (
    select(_ROLLUPS.c.batch_id, _ROLLUPS.c.last)
    .join_from(_SERIES, _ROLLUPS, _ROLLUPS.c.series_id == _SERIES.c.id)
    .where(*_OF_TUPLES, _ROLLUPS.c.resolution_s == bindparam("length"))
    .where(_ROLLUPS.c.bucket <= bindparam("moment"), _ROLLUPS.c.batch_id <= bindparam("at"))
    .order_by(_ROLLUPS.c.bucket.desc())
    .limit(1)
)
_TUPLES: Final = select(func.sum(_BATCHES.c.n_tuples)).where(
    _BATCHES.c.run_id == bindparam("run"),
    _BATCHES.c.id > bindparam("since"),
    _BATCHES.c.id <= bindparam("at"),
)
_COUNT_BATCHES: Final = select(func.count()).where(
    _BATCHES.c.run_id == bindparam("run"),
    _BATCHES.c.time >= bindparam("since"),
    _BATCHES.c.time < bindparam("until"),
    _BATCHES.c.id <= bindparam("last"),
)
_TIME_OF: Final = (
    select(_BATCHES.c.time)
    .where(_BATCHES.c.run_id == bindparam("run"), _BATCHES.c.id <= bindparam("at"))
    .order_by(_BATCHES.c.id.desc())
    .limit(1)
)
