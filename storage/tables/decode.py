"""Table rows to what readers hand out: records with the place they were stored at."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from storage.tables.forms import record_of
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
    Command,
    Decision,
    DecisionOutcome,
    Event,
    Input,
    InputBatch,
    Matrix,
)

_ANSWER = ("applied_batch", "answered_at", "answer", "old_value")
_REQUEST = ("id", "run_id", "kind", "payload", "actor", "reason", "requested_at")


def input_(row: Row[Any]) -> StoredInput:
    """The input of a row of inputs, with its latest state."""
    return StoredInput(record_of(Input, row), row.state, row.note)


def input_batch(row: Row[Any]) -> StoredInputBatch:
    """The record of a row of input_batches, with its batch."""
    return StoredInputBatch(row.batch_id, record_of(InputBatch, row))


def change(row: Row[Any]) -> Change:
    """The change of a row of commits."""
    return Change(row.id, row.run_id, row.batch_id, row.kind, tuple(row.changed), row.time)


def decision(row: Row[Any]) -> DecisionEntry:
    """The entry of a row of decisions joined with its outcome (columns outcome_*, or NULL)."""
    known = row._mapping["outcome_decision"] is not None
    outcome = record_of(DecisionOutcome, row, "outcome_") if known else None
    return DecisionEntry(record_of(Decision, row), row.time, outcome)


def matrix(row: Row[Any]) -> StoredMatrix:
    """The matrix of a row of matrices."""
    return StoredMatrix(row.batch_id, row.time, record_of(Matrix, row))


def event(row: Row[Any]) -> StoredEvent:
    """The event of a row of events."""
    return StoredEvent(row.id, row.batch_id, row.time, record_of(Event, row))


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
