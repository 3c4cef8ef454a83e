"""Tables of the plan log: logs, the plans they name, and their looks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Double, ForeignKey, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.columns import Base, BigKey, JsonText, run
from storage.tables.shapes import OBJECT


class PlanLogRow(Base):
    """A plan log of a unit: what its looks share, under a short key."""

    __tablename__ = "plan_logs"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, comment="key of the log")
    run_id: Mapped[str] = run()
    unit_id: Mapped[str] = mapped_column(Text, comment="unit whose evaluations it has")
    began: Mapped[int] = mapped_column(
        BigInteger, comment="tuples of input before it began (tuples)"
    )
    algorithm: Mapped[str] = mapped_column(Text, comment="of its first look")
    schema: Mapped[Any] = mapped_column(
        JsonText(OBJECT),
        comment='JSON {"version", "statistics": [[name, unit]], "cost_unit", "subject"?}',
    )
    __table_args__ = (UniqueConstraint("run_id", "unit_id", "began"),)


class LoggedPlanRow(Base):
    """A plan that looks of a log name."""

    __tablename__ = "plan_log_plans"
    log_id: Mapped[int] = mapped_column(
        BigKey, ForeignKey("plan_logs.id"), primary_key=True, comment="the log"
    )
    place: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="place by which looks name it, from 0"
    )
    number: Mapped[int] = mapped_column(
        BigInteger, comment="number in the log of the look that wrote it down"
    )
    form: Mapped[bytes] = mapped_column(
        LargeBinary, comment="the plan, packed (storage/tables/packed.py)"
    )
    __table_args__ = ({"sqlite_with_rowid": False},)


class LookRow(Base):
    """A look of an autopilot, or an evaluation of another core."""

    __tablename__ = "plan_log_looks"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="grows in the order of recording"
    )
    log_id: Mapped[int] = mapped_column(BigKey, ForeignKey("plan_logs.id"), comment="the log")
    seq: Mapped[int] = mapped_column(
        BigInteger, comment="number among all evaluations of the unit, from 1"
    )
    batch: Mapped[int] = mapped_column(BigInteger, comment="batch after which it was taken")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    short: Mapped[int | None] = mapped_column(
        BigInteger,
        comment="1 = kept the plan below the threshold, 0 = kept it otherwise; NULL = its "
        "decision has a row in decisions, or is left out there",
    )
    packed: Mapped[bytes] = mapped_column(
        LargeBinary, comment="its numbers, packed (storage/tables/packed.py)"
    )
    __table_args__ = (UniqueConstraint("log_id", "seq"),)
