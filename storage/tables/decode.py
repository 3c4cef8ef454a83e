"""Table rows to what readers hand out: records with the place they were stored at."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Row

from storage.tables.allowed import RowCheck
from storage.tables.forms import record_of
from storage.tables.rows import (
    Change,
    DecisionEntry,
    StoredEvent,
    StoredInput,
    StoredInputBatch,
    StoredLine,
    StoredLook,
    StoredMatrix,
    StoredMisfit,
    StoredResult,
    StoredTap,
)
from storage.tables.schema import (
    AnswerRow,
    BatchRow,
    CommandRow,
    CommitRow,
    DecisionRow,
    EntityRow,
    EventRow,
    InputBatchRow,
    InputRow,
    KnobRow,
    LogRow,
    MatrixRow,
    MisfitRow,
    OutcomeRow,
    PlanRow,
    ResultRow,
    RunRow,
    TapRow,
    UnitRow,
)
from storage.tables.shapes import is_number, is_text
from storage.vocabulary.planlog import RECORD
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
    LogLine,
    Matrix,
    PlanVersion,
    Run,
    Unit,
)
from storage.vocabulary.taps import LED, TapSample

_ANSWER = ("applied_batch", "answered_at", "answer", "old_value")
_REQUEST = ("id", "run_id", "kind", "payload", "actor", "reason", "requested_at")
_LOOK = ("unit_id", "seq", "batch", "time", "detail")

_RUNS: Final = RowCheck(RunRow.__table__)
_INPUTS: Final = RowCheck(InputRow.__table__)
_INPUT_BATCHES: Final = RowCheck(InputBatchRow.__table__)
_UNITS: Final = RowCheck(UnitRow.__table__)
_ENTITIES: Final = RowCheck(EntityRow.__table__)
_BATCHES: Final = RowCheck(BatchRow.__table__)
_COMMITS: Final = RowCheck(CommitRow.__table__)
_PLANS: Final = RowCheck(PlanRow.__table__)
_DECISIONS: Final = RowCheck(DecisionRow.__table__)
_LOOKS: Final = RowCheck(DecisionRow.__table__, *_LOOK)
_OUTCOMES: Final = RowCheck(OutcomeRow.__table__)
_MATRICES: Final = RowCheck(MatrixRow.__table__)
_EVENTS: Final = RowCheck(EventRow.__table__)
_KNOBS: Final = RowCheck(KnobRow.__table__)
_COMMANDS: Final = RowCheck(CommandRow.__table__)
_REQUESTS: Final = RowCheck(CommandRow.__table__, "id", "run_id", "requested_at")
_ANSWERS: Final = RowCheck(AnswerRow.__table__, "state", *_ANSWER)
_RESULTS: Final = RowCheck(ResultRow.__table__)
_TAPS: Final = RowCheck(TapRow.__table__)
_MISFITS: Final = RowCheck(MisfitRow.__table__)
_LOG: Final = RowCheck(LogRow.__table__)


def run(row: Row[Any], inputs: tuple[Input, ...] = ()) -> Run:
    """The run of a row of runs, with its inputs."""
    _RUNS.check(row)
    return record_of(Run, row, inputs=inputs)


def unit(row: Row[Any]) -> Unit:
    """The unit of a row of units."""
    _UNITS.check(row)
    return record_of(Unit, row)


def entity(row: Row[Any]) -> Entity:
    """The version of an entity of a row of entities."""
    _ENTITIES.check(row)
    return record_of(Entity, row)


def batch(row: Row[Any]) -> Batch:
    """The batch of a row of batches."""
    _BATCHES.check(row)
    return record_of(Batch, row)


def plan(row: Row[Any]) -> PlanVersion:
    """The plan of a row of plan_versions."""
    _PLANS.check(row)
    return record_of(PlanVersion, row)


def knob(row: Row[Any]) -> Knob:
    """The knob of a row of knobs."""
    _KNOBS.check(row)
    fits = _KNOB_VALUES.get(row.kind, is_text)
    for name in ("value", "default"):
        if not fits(row._mapping[name]):
            raise _KNOBS.wrong(row, name, allowed=f"JSON of a value of kind {row.kind[:20]!a}")
    return record_of(Knob, row)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


#: By the kind of a knob, which values it has; all others are texts.
_KNOB_VALUES: Final = {"float": is_number, "int": is_number, "bool": _is_bool}


def input_(row: Row[Any]) -> StoredInput:
    """The input of a row of inputs, with its latest state."""
    _INPUTS.check(row)
    return StoredInput(record_of(Input, row), row.state, row.note)


def input_batch(row: Row[Any]) -> StoredInputBatch:
    """The record of a row of input_batches, with its batch."""
    _INPUT_BATCHES.check(row)
    return StoredInputBatch(row.batch_id, record_of(InputBatch, row))


def change(row: Row[Any]) -> Change:
    """The change of a row of commits."""
    _COMMITS.check(row)
    return Change(row.id, row.run_id, row.batch_id, row.kind, tuple(row.changed), row.time)


def request(row: Row[Any]) -> Change:
    """The change that a row of commands is, of those columns that it has."""
    _REQUESTS.check(row)
    return Change(row.id, row.run_id, None, "command", ("commands",), row.requested_at)


def decision(row: Row[Any]) -> DecisionEntry:
    """The entry of a row of decisions joined with its outcome (columns outcome_*, or NULL)."""
    _DECISIONS.check(row)
    outcome = None
    if row._mapping["outcome_decision"] is not None:
        _OUTCOMES.check(row, "outcome_")
        outcome = record_of(DecisionOutcome, row, "outcome_")
    return DecisionEntry(record_of(Decision, row), row.time, outcome)


def matrix(row: Row[Any]) -> StoredMatrix:
    """The matrix of a row of matrices."""
    _MATRICES.check(row)
    if not _fits_its_labels(row):
        raise _MATRICES.wrong(row, "cells", allowed="as many rows and columns as have labels")
    return StoredMatrix(row.batch_id, row.time, record_of(Matrix, row))


def _fits_its_labels(row: Row[Any]) -> bool:
    return len(row.cells) == len(row.rows) and all(len(c) == len(row.columns) for c in row.cells)


def event(row: Row[Any]) -> StoredEvent:
    """The event of a row of events."""
    _EVENTS.check(row)
    return StoredEvent(row.id, row.batch_id, row.time, record_of(Event, row))


def command(row: Row[Any]) -> Command:
    """The record of a row of commands joined with its answer (columns NULL when unanswered)."""
    _COMMANDS.check(row)
    if not _fits_its_kind(row.kind, row.payload):
        allowed = f"JSON of what is asked by a command of kind {row.kind}"
        raise _COMMANDS.wrong(row, "payload", allowed=allowed)
    fields = _pick(row, (*_REQUEST, "expected_version"))
    if row.state is None:
        return Command(**fields, state="recorded" if row.kind in NOTED else "requested")
    _ANSWERS.check(row)
    return Command(**fields, state=row.state, **_pick(row, _ANSWER))


def _fits_its_kind(kind: str, payload: Any) -> bool:
    """Whether a payload has what is looked up in those of its kind."""
    if kind in ("keep", "forget"):
        return type(payload.get("command")) is int
    named = isinstance(payload.get("name"), str) and isinstance(payload.get("body"), dict)
    return named or kind not in NOTED


def result(row: Row[Any]) -> StoredResult:
    """The result of a row of results."""
    _RESULTS.check(row)
    return StoredResult(row.id, row.batch_id, row.cells, tuple(row.query_ids), row.input)


def tap(row: Row[Any]) -> StoredTap:
    """The sample of a row of taps."""
    _TAPS.check(row)
    if any(len(element) != LED + len(row.columns) for element in row.rows):
        raise _TAPS.wrong(row, "rows", allowed="as many values as there are columns")
    return StoredTap(row.batch_id, record_of(TapSample, row))


def misfit(row: Row[Any]) -> StoredMisfit:
    """The misfit of a row of misfits."""
    _MISFITS.check(row)
    return StoredMisfit(row.id, row.batch_id, row.raw, row.error, row.input, row.place)


def log_line(row: Row[Any]) -> StoredLine:
    """The line of a row of log_lines, with the batch it was in."""
    _LOG.check(row)
    return StoredLine(row.batch, record_of(LogLine, row))


def look(row: Row[Any]) -> StoredLook | None:
    """The look of a row of decisions, of those columns that it has; None where it wrote nothing."""
    _LOOKS.check(row)
    if RECORD not in (row.detail or {}):
        return None
    return StoredLook(row.unit_id, row.seq, row.batch, row.time, row.detail[RECORD])


def _pick(row: Row[Any], names: tuple[str, ...]) -> dict[str, Any]:
    mapping = row._mapping
    return {name: mapping[name] for name in names}
