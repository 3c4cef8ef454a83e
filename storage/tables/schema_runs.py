"""Tables of runs, their inputs and units, entities, batches and commits."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Double, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.columns import Base, BigKey, JsonText, added, run, run_key
from storage.tables.shapes import NUMBERS, OBJECT, PAIRS, TEXTS
from storage.vocabulary.kinds import EntityKind, InputState, RunState, listed
from storage.vocabulary.registry import KNOWN


class MetaRow(Base):
    """Facts about the store itself, on servers that have no PRAGMA user_version."""

    __tablename__ = "meta"
    key: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the fact")
    value: Mapped[str] = mapped_column(Text, comment="its value; 'schema_version': the layout")


class RunRow(Base):
    """One execution of a workload, with its state and heartbeat."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(Text, primary_key=True, comment="run id")
    workload: Mapped[str] = mapped_column(Text, comment="name of the workload")
    state: Mapped[str] = mapped_column(Text, comment=listed(RunState))
    started_at: Mapped[float] = mapped_column(Double, comment="begin of the run (Unix s)")
    ended_at: Mapped[float | None] = mapped_column(
        Double, comment="end of the run (Unix s); NULL while it lasts"
    )
    heartbeat_at: Mapped[float | None] = mapped_column(
        Double, comment="last sign of life of the engine (Unix s)"
    )
    settings: Mapped[Any] = mapped_column(
        JsonText(OBJECT), comment="JSON: sink, source, rate..., to show; of a branch, what of"
    )
    pid: Mapped[int] = mapped_column(BigInteger, comment="process id of the engine")
    host: Mapped[str] = mapped_column(Text, comment="host name of the engine")
    version: Mapped[str] = mapped_column(Text, comment="Planwatch version that ran it")
    note: Mapped[str] = mapped_column(Text, comment="what the engine does; then why the run ended")


class InputRow(Base):
    """A stream a run reads, and whether it still gives tuples."""

    __tablename__ = "inputs"
    run_id: Mapped[str] = run_key()
    name: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the stream")
    place: Mapped[int] = mapped_column(BigInteger, comment="place among the run's inputs, from 0")
    schema: Mapped[Any] = mapped_column(JsonText(PAIRS), comment="JSON [[attribute, type], ...]")
    source: Mapped[Any] = mapped_column(
        JsonText(OBJECT), comment="JSON: facts about its source, to show"
    )
    timestamp: Mapped[str] = mapped_column(
        Text, comment="attribute that carries its time; '' = the arrival number"
    )
    state: Mapped[str] = mapped_column(Text, comment=f"latest state: {listed(InputState)}")
    note: Mapped[str] = mapped_column(Text, comment="why it is in that state, or ''")


class InputBatchRow(Base):
    """What a batch took from one input."""

    __tablename__ = "input_batches"
    run_id: Mapped[str] = run_key()
    batch_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, comment="the batch")
    input: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the stream")
    n_tuples: Mapped[int] = mapped_column(BigInteger, comment="its tuples in the batch (tuples)")
    n_misfits: Mapped[int] = mapped_column(BigInteger, comment="kept aside as misfits (tuples)")
    backlog_tuples: Mapped[int | None] = mapped_column(
        BigInteger, comment="waiting for a batch (tuples); NULL = unknown"
    )
    stream_time: Mapped[str] = mapped_column(Text, comment="largest timestamp seen, as text, or ''")
    state: Mapped[str] = mapped_column(Text, comment=listed(InputState))
    note: Mapped[str] = mapped_column(Text, comment="why it is in that state, or ''")


class UnitRow(Base):
    """An adaptive part of a run: an instance of a system; the latest version of its facts."""

    __tablename__ = "units"
    run_id: Mapped[str] = run_key()
    id: Mapped[str] = mapped_column(Text, primary_key=True, comment="unit id, unique in the run")
    system: Mapped[str] = mapped_column(Text, comment="name of the system")
    title: Mapped[str] = mapped_column(Text, comment="name to show")
    inputs: Mapped[Any] = mapped_column(
        JsonText(TEXTS), comment="JSON list of the streams it reads"
    )
    queries: Mapped[Any] = mapped_column(
        JsonText(TEXTS), comment="JSON list of the queries it answers"
    )
    since_batch: Mapped[int] = mapped_column(BigInteger, comment="first batch with the unit")
    removed_batch: Mapped[int | None] = mapped_column(
        BigInteger, comment="first batch without it; NULL while it lives"
    )


class UnitStateRow(Base):
    """What a unit that learns between plans knew last, for the run to go on from after a kill."""

    __tablename__ = "unit_states"
    run_id: Mapped[str] = run_key()
    unit_id: Mapped[str] = mapped_column(Text, primary_key=True, comment="the unit")
    batch_id: Mapped[int] = mapped_column(BigInteger, comment="batch that changed it last")
    state: Mapped[str] = mapped_column(Text, comment="JSON that the unit's system alone reads")


class LogRow(Base):
    """A line of the engine's log; the last 500 of a run."""

    __tablename__ = "log_lines"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="grows in the order of the log"
    )
    run_id: Mapped[str] = run()
    time: Mapped[float] = mapped_column(Double, comment="when it was written (Unix s)")
    level: Mapped[str] = mapped_column(Text, comment="INFO, WARNING, ERROR or CRITICAL")
    text: Mapped[str] = mapped_column(Text, comment="the line, or several with an exception")
    __table_args__ = (Index("log_lines_by_run", "run_id", "id"), {"sqlite_autoincrement": True})


class EntityRow(Base):
    """A version of an entity; the newest version up to a batch is the one known there."""

    __tablename__ = "entities"
    run_id: Mapped[str] = run_key()
    id: Mapped[str] = mapped_column(Text, primary_key=True, comment="entity id, unique in the run")
    batch_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="batch that published this version; -1 = at the start"
    )
    kind: Mapped[str] = mapped_column(Text, comment=listed(EntityKind))
    name: Mapped[str] = mapped_column(Text, comment="name to show")
    properties: Mapped[Any] = mapped_column(JsonText(OBJECT), comment="JSON of static properties")
    query: Mapped[str] = mapped_column(Text, comment="query it belongs to; '' when shared")
    since_batch: Mapped[int] = mapped_column(BigInteger, comment="first batch with the entity")
    removed_batch: Mapped[int | None] = mapped_column(
        BigInteger, comment="first batch without it; NULL while it lives"
    )
    unit_id: Mapped[str] = added("unit it belongs to; '' = the engine's")
    role: Mapped[str] = added("what it is for: " + listed(KNOWN.roles) + "; '' = nothing special")


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
    stream_time: Mapped[str] = mapped_column(Text, comment="largest timestamp seen, as text, or ''")
    timings_ms: Mapped[Any] = mapped_column(JsonText(NUMBERS), comment="JSON {phase: ms}")
    plans: Mapped[Any] = mapped_column(
        JsonText(NUMBERS),
        server_default=text("'{}'"),
        comment="JSON {unit: plan version it ran under}",
    )
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
    changed: Mapped[Any] = mapped_column(JsonText(TEXTS), comment="JSON list of what changed")
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
