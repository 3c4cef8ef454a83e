"""Reading the values of all properties at one moment: index look-ups, never over history."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Select, and_, bindparam, func, select

from storage.retention import FINE, MINUTE, SECOND
from storage.schema import BatchRow, LatestRow, RollupRow, SampleRow, SeriesRow
from storage.vocabulary import registry

Values: TypeAlias = dict[str, dict[str, float | None]]

_SERIES = SeriesRow.__table__
_LATEST = LatestRow.__table__
_SAMPLES = SampleRow.__table__
_ROLLUPS = RollupRow.__table__
_BATCHES = BatchRow.__table__
_OF_RUN = _SERIES.c.run_id == bindparam("run")


def read(connection: Connection, run_id: str, at: int | None) -> Values:
    """Entity -> property -> value, the newest or as of the end of batch ``at``.

    A property that is only written when not 0 is 0 when its newest value is of an earlier batch.
    Where raw samples were rolled up, a value is that of the last ten seconds (minute) that ended
    by ``at``.
    """
    now = last_batch(connection, run_id) if at is None else at
    rows: list[Any]
    if at is None:
        rows = list(connection.execute(_NEWEST, {"run": run_id}))
    else:
        rows = list(connection.execute(_AS_OF, {"run": run_id, "at": at}))
        missing = {(row[0], row[1]) for row in rows if row[2] is None}
        rows += _rolled_up(connection, run_id, at, missing) if missing else []
    zero = {n for n, p in registry.KNOWN.properties.items() if p.absent_is_zero}
    found: Values = {}
    for entity, name, batch, value in rows:
        if batch is not None:
            gone = batch != now and name in zero
            found.setdefault(entity, {})[name] = 0.0 if gone else value
    return found


def last_batch(connection: Connection, run_id: str) -> int | None:
    """The newest executed batch of the run, None before the first."""
    return connection.execute(_LAST_BATCH, {"run": run_id}).scalar()


def _rolled_up(
    connection: Connection, run_id: str, at: int, wanted: set[tuple[str, str]]
) -> list[Any]:
    moment = connection.execute(_TIME_OF, {"run": run_id, "at": at}).scalar()
    if moment is None:
        return []
    rows = connection.execute(_AS_OF_ROLLED, {"run": run_id, "at": at, "moment": moment})
    found = sorted((row for row in rows if (row[0], row[1]) in wanted), key=lambda row: row[2])
    return [
        # the last stretch that ended stands for the batch, also of what is only written when not 0
        (entity, name, at if bucket + 2 * length > moment else batch, value)
        for entity, name, batch, value, bucket, length in found
    ]


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
        *(_ROLLUPS.c[name] for name in ("batch_id", "last", "bucket", "resolution_s")),
    )
    minutes, *finer = (
        select(*columns).join_from(_SERIES, _ROLLUPS, row(resolution)).where(_OF_RUN)
        for resolution in (MINUTE, FINE, SECOND)
    )
    return minutes.union_all(*finer)  # type: ignore[return-value]  # typed as a wider select


_NEWEST: Final = _newest()
_AS_OF: Final = _as_of()
_AS_OF_ROLLED: Final = _as_of_rolled()
_LAST_BATCH: Final = select(func.max(_BATCHES.c.id)).where(_BATCHES.c.run_id == bindparam("run"))
_TIME_OF: Final = (
    select(_BATCHES.c.time)
    .where(_BATCHES.c.run_id == bindparam("run"), _BATCHES.c.id <= bindparam("at"))
    .order_by(_BATCHES.c.id.desc())
    .limit(1)
)
