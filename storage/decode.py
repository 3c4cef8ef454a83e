"""Table rows to records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from storage.rows import (
    Change,
    DecisionEntry,
    StoredEvent,
    StoredMatrix,
    StoredMisfit,
    StoredResult,
)
from storage.vocabulary.records import (
    Batch,
    Command,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Knob,
    Matrix,
    PlanVersion,
    Run,
)

_DECISION = tuple(Decision.__dataclass_fields__)
_OUTCOME = tuple(DecisionOutcome.__dataclass_fields__)
_BATCH = tuple(Batch.__dataclass_fields__)
_ENTITY = tuple(Entity.__dataclass_fields__)
_RUN = tuple(Run.__dataclass_fields__)
_ANSWER = ("applied_batch", "answered_at", "answer", "old_value")
_REQUEST = ("id", "run_id", "kind", "payload", "actor", "reason", "requested_at")


def run(row: Row[Any]) -> Run:
    """The record of a row of runs."""
    return Run(**_pick(row, _RUN))


def entity(row: Row[Any]) -> Entity:
    """The record of a row of entities."""
    return Entity(**_pick(row, _ENTITY))


def batch(row: Row[Any]) -> Batch:
    """The record of a row of batches."""
    return Batch(**_pick(row, _BATCH))


def change(row: Row[Any]) -> Change:
    """The change of a row of commits."""
    return Change(row.id, row.run_id, row.batch_id, row.kind, tuple(row.changed), row.time)


def plan(row: Row[Any]) -> PlanVersion:
    """The record of a row of plan_versions."""
    names = ("version", "batch", "kind", "graph", "hash", "reason", "decision", "evidence")
    fields = _pick(row, names)
    return PlanVersion(**fields, order=tuple(row.order), recorded_at=row.time)


def decision(row: Row[Any]) -> DecisionEntry:
    """The entry of a row of decisions joined with its outcome (columns outcome_*, or NULL)."""
    mapping = row._mapping
    outcome = None
    if mapping["outcome_decision"] is not None:
        outcome = DecisionOutcome(**{name: mapping[f"outcome_{name}"] for name in _OUTCOME})
    return DecisionEntry(Decision(**_pick(row, _DECISION)), row.time, outcome)


def matrix(row: Row[Any]) -> StoredMatrix:
    """The matrix of a row of matrices."""
    names = ("name", "kind", "unit", "n", "row_stats", "column_stats")
    record = Matrix(
        **_pick(row, names),
        rows=tuple(row.rows),
        columns=tuple(row.columns),
        values=row.cells,
    )
    return StoredMatrix(row.batch_id, row.time, record)


def event(row: Row[Any]) -> StoredEvent:
    """The event of a row of events."""
    record = Event(row.kind, row.title, row.detail, row.severity, row.ref)
    return StoredEvent(row.id, row.batch_id, row.time, record)


def knob(row: Row[Any]) -> Knob:
    """The record of a row of knobs."""
    names = [n for n in Knob.__dataclass_fields__ if n not in ("choices", "recorded_at")]
    return Knob(**_pick(row, tuple(names)), choices=tuple(row.choices), recorded_at=row.time)


def command(row: Row[Any]) -> Command:
    """The record of a row of commands joined with its answer (columns NULL when unanswered)."""
    fields = _pick(row, (*_REQUEST, "expected_version"))
    if row.state is None:
        return Command(**fields)
    return Command(**fields, state=row.state, **_pick(row, _ANSWER))


def result(row: Row[Any]) -> StoredResult:
    """The result of a row of results."""
    return StoredResult(row.id, row.batch_id, row.cells, tuple(row.query_ids))


def misfit(row: Row[Any]) -> StoredMisfit:
    """The misfit of a row of misfits."""
    return StoredMisfit(row.id, row.batch_id, row.raw, row.error)


def _pick(row: Row[Any], names: tuple[str, ...]) -> dict[str, Any]:
    mapping = row._mapping
    return {name: mapping[name] for name in names}
