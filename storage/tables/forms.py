"""Records to table rows and back, by one table of what differs between the two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Row as StoredRow

from storage.vocabulary.records import (
    Batch,
    Decision,
    DecisionOutcome,
    Knob,
    Matrix,
    PlanVersion,
    ResultTuple,
    Run,
    Unit,
)
from storage.vocabulary.taps import TapSample

Row: TypeAlias = dict[str, Any]
T = TypeVar("T")


class Form(NamedTuple):
    """How a record differs from its row. lists: fields that are tuples; floats: numbers whose NaN
    is NULL; renamed: field -> column; left_out: fields with rows of their own."""

    lists: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    renamed: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()


_AS_IT_IS: Final = Form()
_RECORDED: Final = {"recorded_at": "time"}
_FORMS: Final[Mapping[type, Form]] = {
    Run: Form(left_out=("inputs",)),
    Unit: Form(lists=("inputs", "queries")),
    PlanVersion: Form(lists=("order",), renamed=_RECORDED),
    Decision: Form(floats=("lhs", "rhs", "predicted_old", "predicted_new")),
    DecisionOutcome: Form(floats=("actual_new", "sample_new", "counterfactual_old")),
    Matrix: Form(lists=("rows", "columns"), renamed={"values": "cells"}),
    Knob: Form(lists=("choices",), renamed=_RECORDED),
    TapSample: Form(lists=("columns",)),
    ResultTuple: Form(lists=("query_ids",), renamed={"values": "cells"}),
}


def number(value: Any) -> float | None:
    """A plain float of any number; None for None and NaN."""
    if value is None:
        return None
    plain = float(value)
    return None if math.isnan(plain) else plain


def row_of(record: Any, **own: Any) -> Row:
    """The row of a record. own: columns that it does not have, or has otherwise."""
    form = _FORMS.get(type(record), _AS_IT_IS)
    row: Row = {}
    for name in record.__dataclass_fields__:
        if name not in form.left_out:
            value = getattr(record, name)
            if name in form.lists:
                value = list(value)
            elif name in form.floats:
                value = number(value)
            row[form.renamed.get(name, name)] = value
    return row | own


def batch_row(run_id: str, batch: Batch) -> Row:
    """The row of table batches; the batch has an id."""
    timings = {phase: round(ms, 3) for phase, ms in batch.timings_ms.items()}
    return row_of(batch, run_id=run_id, plans=dict(batch.plans), timings_ms=timings)


def record_of(kind: type[T], row: StoredRow[Any], prefix: str = "", **own: Any) -> T:
    """The record of a kind that a row has. prefix: of the names of its columns; own: fields that
    are not in the row."""
    form, mapping = _FORMS.get(kind, _AS_IT_IS), row._mapping
    fields = {}
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # records are dataclasses
        if name not in form.left_out:
            value = mapping[prefix + form.renamed.get(name, name)]
            fields[name] = tuple(value) if name in form.lists else value
    return kind(**fields, **own)
