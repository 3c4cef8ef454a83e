"""Tables of runs, entities, samples, batches and commits."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Double, ForeignKey, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.columns import Base, BigKey, JsonText, batch, run, run_key


class MetaRow(Base):
    """Facts about the store itself, on servers that have no PRAGMA user_version."""

    __tablename__ = "meta"
    key: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the fact")
    value: Mapped[str] = mapped_column(Text, comment="its value; 'schema_version': the layout")


class RunRow(Base):
    """One execution of one stream of a workload, with its state and heartbeat."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(Text, primary_key=True, comment="run id")
    workload: Mapped[str] = mapped_column(Text, comment="name of the workload")
    stream: Mapped[str] = mapped_column(Text, comment="name of the stream")
    state: Mapped[str] = mapped_column(
        Text, comment="starting, running, ended, interrupted or failed"
    )
    started_at: Mapped[float] = mapped_column(Double, comment="begin of the run (Unix s)")
    ended_at: Mapped[float | None] = mapped_column(
        Double, comment="end of the run (Unix s); NULL while it lasts"
    )
    heartbeat_at: Mapped[float | None] = mapped_column(
        Double, comment="last sign of life of the engine (Unix s)"
    )
    schema: Mapped[Any] = mapped_column(JsonText, comment="JSON [[attribute, type], ...]")
    settings: Mapped[Any] = mapped_column(JsonText, comment="JSON: sink, source, rate..., to show")
    pid: Mapped[int] = mapped_column(BigInteger, comment="process id of the engine")
    host: Mapped[str] = mapped_column(Text, comment="host name of the engine")
    version: Mapped[str] = mapped_column(Text, comment="Planwatch version that ran it")
    note: Mapped[str] = mapped_column(Text, comment="last progress line, or why the run ended")


class EntityRow(Base):
    """A version of an entity; the newest version up to a batch is the one known there."""

    __tablename__ = "entities"
    run_id: Mapped[str] = run_key()
    id: Mapped[str] = mapped_column(Text, primary_key=True, comment="entity id, such as asc:origin")
    batch_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="batch that published this version; -1 = at the start"
    )
    kind: Mapped[str] = mapped_column(Text, comment="query, operator, queue, monitor, system, ...")
    name: Mapped[str] = mapped_column(Text, comment="name to show")
    properties: Mapped[Any] = mapped_column(JsonText, comment="JSON of static properties")
    query: Mapped[str] = mapped_column(Text, comment="query it belongs to; '' when shared")
    since_batch: Mapped[int] = mapped_column(BigInteger, comment="first batch with the entity")
    removed_batch: Mapped[int | None] = mapped_column(
        BigInteger, comment="first batch without it; NULL while it lives"
    )


class SeriesRow(Base):
    """A property of an entity of a run, under a short key."""

    __tablename__ = "series"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, comment="key of the series")
    run_id: Mapped[str] = run()
    entity_id: Mapped[str] = mapped_column(Text, comment="entity the property belongs to")
    property: Mapped[str] = mapped_column(Text, comment="name of the property")
    unit: Mapped[str] = mapped_column(Text, comment="unit of its values; '' = a plain number")
    __table_args__ = (UniqueConstraint("run_id", "entity_id", "property"),)


class SampleRow(Base):
    """A value of a property as of the end of a batch; clustered by series, then batch."""

    __tablename__ = "samples"
    series_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("series.id"), primary_key=True, comment="the series"
    )
    batch_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="batch the value is of; -1 = before the first"
    )
    time: Mapped[float] = mapped_column(Double, comment="when the batch was recorded (Unix s)")
    value: Mapped[float | None] = mapped_column(
        Double, comment="the value, in the unit of the series; NULL = unknown"
    )
    __table_args__ = ({"sqlite_with_rowid": False},)


class LatestRow(Base):
    """The newest value of each series."""

    __tablename__ = "latest"
    series_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("series.id"), primary_key=True, comment="the series"
    )
    batch_id: Mapped[int] = batch("batch the value is of; -1 = before the first")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    value: Mapped[float | None] = mapped_column(
        Double, comment="the value, in the unit of the series; NULL = unknown"
    )


class RollupRow(Base):
    """What raw samples became: one row a series and second, and one a series and minute."""

    __tablename__ = "rollups"
    series_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("series.id"), primary_key=True, comment="the series"
    )
    resolution_s: Mapped[int] = mapped_column(
        Integer, primary_key=True, comment="length of the bucket (s): 1 or 60"
    )
    bucket: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="begin of the bucket (Unix s)"
    )
    batch_id: Mapped[int] = batch("last batch in the bucket")
    time: Mapped[float] = mapped_column(Double, comment="when that batch was recorded (Unix s)")
    n: Mapped[int] = mapped_column(BigInteger, comment="known values in the bucket (count)")
    min: Mapped[float | None] = mapped_column(Double, comment="least value (unit of the series)")
    max: Mapped[float | None] = mapped_column(Double, comment="greatest value (unit of the series)")
    mean: Mapped[float | None] = mapped_column(Double, comment="mean value (unit of the series)")
    last: Mapped[float | None] = mapped_column(Double, comment="last value (unit of the series)")
    __table_args__ = ({"sqlite_with_rowid": False},)


class BatchRow(Base):
    """An executed micro-batch."""

    __tablename__ = "batches"
    run_id: Mapped[str] = run_key()
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, comment="batch number, from 0")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    duration_ms: Mapped[float] = mapped_column(Double, comment="duration of the batch (ms)")
    n_tuples: Mapped[int] = mapped_column(BigInteger, comment="tuples in the batch (tuples)")
    n_matched: Mapped[int] = mapped_column(BigInteger, comment="satisfying >= 1 query (tuples)")
    n_misfits: Mapped[int] = mapped_column(BigInteger, comment="kept aside as misfits (tuples)")
    plan_version: Mapped[int] = mapped_column(BigInteger, comment="plan the batch ran under")
    stream_time: Mapped[str] = mapped_column(Text, comment="largest timestamp seen, as text, or ''")
    timings_ms: Mapped[Any] = mapped_column(JsonText, comment="JSON {phase: ms}")
    __table_args__ = (Index("batches_by_time", "run_id", "time"),)


class CommitRow(Base):
    """One transaction of the engine: its key is the cursor readers follow."""

    __tablename__ = "commits"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="cursor; grows with each commit"
    )
    run_id: Mapped[str] = run()
    batch_id: Mapped[int | None] = mapped_column(BigInteger, comment="the batch; NULL = no batch")
    kind: Mapped[str] = mapped_column(Text, comment="batch, boundary, run or state")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    changed: Mapped[Any] = mapped_column(JsonText, comment="JSON list of what changed")
    __table_args__ = (
        UniqueConstraint("run_id", "batch_id"),
        Index(
            "commits_boundary",
            "run_id",
            "time",
            unique=True,
            sqlite_where=text("kind = 'boundary'"),
            postgresql_where=text("kind = 'boundary'"),
        ),
        {"sqlite_autoincrement": True},
    )
