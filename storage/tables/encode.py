"""Records to table rows."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from storage.vocabulary.records import (
    Batch,
    CommandAnswer,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Input,
    InputBatch,
    Knob,
    Matrix,
    Misfit,
    PlanVersion,
    ResultTuple,
    Run,
    Unit,
)

Row: TypeAlias = dict[str, Any]


def number(value: Any) -> float | None:
    """A plain float of any number; None for None and NaN."""
    if value is None:
        return None
    plain = float(value)
    return None if math.isnan(plain) else plain


def run_row(run: Run) -> Row:
    """The row of table runs; its inputs are rows of their own."""
    return {name: value for name, value in _fields(run).items() if name != "inputs"}


def input_row(run_id: str, place: int, one: Input) -> Row:
    """The row of table inputs, while the input gives tuples."""
    return {**_fields(one), "run_id": run_id, "place": place, "state": "open", "note": ""}


def input_batch_row(run_id: str, batch_id: int, one: InputBatch) -> Row:
    """The row of table input_batches."""
    return {**_fields(one), "run_id": run_id, "batch_id": batch_id}


def unit_row(run_id: str, unit: Unit) -> Row:
    """The row of table units."""
    lists = {"inputs": list(unit.inputs), "queries": list(unit.queries)}
    return {**_fields(unit), **lists, "run_id": run_id}


def entity_row(run_id: str, position: int, entity: Entity) -> Row:
    """The row of table entities for a version published at batch ``position``."""
    return {**_fields(entity), "run_id": run_id, "batch_id": position}


def batch_row(run_id: str, batch: Batch) -> Row:
    """The row of table batches; the batch has an id."""
    timings = {phase: round(ms, 3) for phase, ms in batch.timings_ms.items()}
    mappings = {"plans": dict(batch.plans), "timings_ms": timings}
    return {**_fields(batch), **mappings, "run_id": run_id}


def plan_row(run_id: str, time: float, plan: PlanVersion) -> Row:
    """The row of table plan_versions."""
    row = {**_fields(plan), "run_id": run_id, "time": time, "order": list(plan.order)}
    del row["recorded_at"]
    return row


def decision_row(run_id: str, time: float, decision: Decision) -> Row:
    """The row of table decisions."""
    row = {**_fields(decision), "run_id": run_id, "time": time}
    for name in ("lhs", "rhs", "predicted_old", "predicted_new"):
        row[name] = number(row[name])
    return row


def outcome_row(run_id: str, time: float, outcome: DecisionOutcome) -> Row:
    """The row of table decision_outcomes."""
    row = {**_fields(outcome), "run_id": run_id, "time": time}
    for name in ("actual_new", "sample_new", "counterfactual_old"):
        row[name] = number(row[name])
    return row


def matrix_row(run_id: str, position: int, time: float, matrix: Matrix) -> Row:
    """The row of table matrices as of batch ``position``."""
    row = {**_fields(matrix), "run_id": run_id, "batch_id": position, "time": time}
    row["cells"] = row.pop("values")
    return {**row, "rows": list(matrix.rows), "columns": list(matrix.columns)}


def event_row(run_id: str, position: int, time: float, event: Event) -> Row:
    """The row of table events, its id left to the database."""
    return {**_fields(event), "run_id": run_id, "batch_id": position, "time": time}


def knob_row(run_id: str, time: float, knob: Knob) -> Row:
    """The row of table knobs."""
    row = {**_fields(knob), "run_id": run_id, "time": time, "choices": list(knob.choices)}
    del row["recorded_at"]
    return row


def answer_row(answer: CommandAnswer) -> Row:
    """The row of table command_answers."""
    return _fields(answer)


def result_row(run_id: str, batch_id: int, number_: int, result: ResultTuple) -> Row:
    """The row of table results under its number in the run."""
    return {
        "run_id": run_id,
        "id": number_,
        "batch_id": batch_id,
        "cells": result.values,
        "query_ids": list(result.query_ids),
        "input": result.input,
    }


def misfit_row(run_id: str, batch_id: int, misfit: Misfit) -> Row:
    """The row of table misfits, its id left to the database."""
    return {**_fields(misfit), "run_id": run_id, "batch_id": batch_id}


def _fields(record: Any) -> Row:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
