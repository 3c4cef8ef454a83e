"""Table rows to records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from storage.tables.rows import (
    Change,
    DecisionEntry,
    StoredEvent,
    StoredInput,
    StoredInputBatch,
    StoredMatrix,
    StoredMisfit,
    StoredResult,
)
from storage.vocabulary.records import (
    NOTED,
    Batch,
    Command,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Input,
    InputBatch,
    Knob,
    Matrix,
    PlanVersion,
    Run,
    Unit,
)

_DECISION = tuple(Decision.__dataclass_fields__)
_OUTCOME = tuple(DecisionOutcome.__dataclass_fields__)
_BATCH = tuple(Batch.__dataclass_fields__)
_ENTITY = tuple(Entity.__dataclass_fields__)
_RUN = tuple(name for name in Run.__dataclass_fields__ if name != "inputs")
_INPUT = tuple(Input.__dataclass_fields__)
_INPUT_BATCH = tuple(InputBatch.__dataclass_fields__)
_ANSWER = ("applied_batch", "answered_at", "answer", "old_value")
_REQUEST = ("id", "run_id", "kind", "payload", "actor", "reason", "requested_at")


def run(row: Row[Any], inputs: tuple[Input, ...] = ()) -> Run:
    """The record of a row of runs and its inputs."""
    return Run(**_pick(row, _RUN), inputs=inputs)


def input_(row: Row[Any]) -> StoredInput:
    """The input of a row of inputs, with its latest state."""
    return StoredInput(Input(**_pick(row, _INPUT)), row.state, row.note)


def input_batch(row: Row[Any]) -> StoredInputBatch:
    """The record of a row of input_batches, with its batch."""
    return StoredInputBatch(row.batch_id, InputBatch(**_pick(row, _INPUT_BATCH)))


def unit(row: Row[Any]) -> Unit:
    """The record of a row of units."""
    fields = _pick(row, ("id", "system", "title", "since_batch", "removed_batch"))
    return Unit(**fields, inputs=tuple(row.inputs), queries=tuple(row.queries))


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
    names = [n for n in PlanVersion.__dataclass_fields__ if n not in ("order", "recorded_at")]
    fields = _pick(row, tuple(names))
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
    names = ("name", "kind", "unit", "n", "row_stats", "column_stats", "unit_id")
    record = Matrix(
        **_pick(row, names),
        rows=tuple(row.rows),
        columns=tuple(row.columns),
        values=row.cells,
    )
    return StoredMatrix(row.batch_id, row.time, record)


def event(row: Row[Any]) -> StoredEvent:
    """The event of a row of events."""
    record = Event(row.kind, row.title, row.detail, row.severity, row.ref, row.unit_id)
    return StoredEvent(row.id, row.batch_id, row.time, record)


def knob(row: Row[Any]) -> Knob:
    """The record of a row of knobs."""
    names = [n for n in Knob.__dataclass_fields__ if n not in ("choices", "recorded_at")]
    return Knob(**_pick(row, tuple(names)), choices=tuple(row.choices), recorded_at=row.time)


def command(row: Row[Any]) -> Command:
    """The record of a row of commands joined with its answer (columns NULL when unanswered)."""
    fields = _pick(row, (*_REQUEST, "expected_version"))
    if row.state is None:
        return Command(**fields, state="recorded" if row.kind in NOTED else "requested")
    return Command(**fields, state=row.state, **_pick(row, _ANSWER))


def result(row: Row[Any]) -> StoredResult:
    """The result of a row of results."""
    return StoredResult(row.id, row.batch_id, row.cells, tuple(row.query_ids), row.input)


def misfit(row: Row[Any]) -> StoredMisfit:
    """The misfit of a row of misfits."""
    return StoredMisfit(row.id, row.batch_id, row.raw, row.error, row.input)


def _pick(row: Row[Any], names: tuple[str, ...]) -> dict[str, Any]:
    mapping = row._mapping
    return {name: mapping[name] for name in names}
