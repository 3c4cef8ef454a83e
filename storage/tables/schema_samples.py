"""Tables of series, samples and what they are rolled up to."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Double, ForeignKey, Integer, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.columns import Base, BigKey, batch, run

#: Seconds in a row of rolled up samples; SECOND is what earlier versions made in place of FINE.
SECOND: Final = 1
FINE: Final = 10
MINUTE: Final = 60


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
    """What raw samples became: one row a series and ten seconds, and one a series and minute."""

    __tablename__ = "rollups"
    series_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("series.id"), primary_key=True, comment="the series"
    )
    resolution_s: Mapped[int] = mapped_column(
        Integer,
        primary_key=True,
        comment="length of the bucket (s): 10 or 60; 1 in rows of earlier versions",
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
