"""Native filters by Arrow compute: comparisons and null tests under And and Or.

Three-valued, as in backend.model.conditions; NaN compares like NULL. Numbers are compared exactly:
Arrow would compare BIGINT with DOUBLE as doubles, which merges neighbours beyond 2^53, so the bound
is moved to the attribute's own type instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.model.conditions import And, Comparison, Condition, NullTest, attributes_of
from backend.model.filters import DROPPED, PASSED
from backend.operators.filters.evaluators import Rows, Verdicts
from backend.operators.values import ArrowColumn

#: bool, NULL where it is unknown.
Truth: TypeAlias = Any

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_COMPARE: Final[dict[str, Callable[..., Any]]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
#: What an operator comes to where no value equals the constant, and all lie below, or all above.
_ALL_BELOW: Final = frozenset({"<>", "<", "<="})
_ALL_ABOVE: Final = frozenset({"<>", ">", ">="})
#: The same comparison where the bound is the least value above the constant.
_FROM_ABOVE: Final = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}


@dataclass
class NativeEvaluator:
    """A filter that is a condition on attributes; unknown does not select."""

    condition: Condition

    def prepare(self, batch: pa.RecordBatch) -> None:
        """Nothing."""

    def evaluate(self, batch: pa.RecordBatch, rows: Rows) -> Verdicts:
        """Never raises for a tuple."""
        names = attributes_of(self.condition)
        columns = {name: batch.column(name) for name in names}
        if len(rows) < len(batch):
            columns = {name: column.take(pa.array(rows)) for name, column in columns.items()}
        truth = _truth(self.condition, columns, len(rows)).fill_null(False)
        passes = truth.to_numpy(zero_copy_only=False)
        return Verdicts(np.where(passes, PASSED, DROPPED).astype(np.int8))


def _truth(condition: Condition, columns: dict[str, ArrowColumn], n: int) -> Truth:
    if isinstance(condition, Comparison):
        return _comparison(columns[condition.attribute], condition)
    if isinstance(condition, NullTest):
        column = columns[condition.attribute]
        is_float = pa.types.is_floating(column.type)
        is_null = pc.is_null(column, nan_is_null=is_float)
        return pc.invert(is_null) if condition.negated else is_null
    parts = [_truth(part, columns, n) for part in condition.parts]
    is_and = isinstance(condition, And)
    empty = pa.array(np.full(n, is_and))
    return reduce(pc.and_kleene if is_and else pc.or_kleene, parts, empty)


def _comparison(column: ArrowColumn, atom: Comparison) -> Truth:
    constant: Any = atom.constant
    if pa.types.is_integer(column.type):
        return _against_integers(column, atom.op, constant)
    if pa.types.is_floating(column.type):
        column = pc.cast(column, pa.float64())
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
        return _against_doubles(column, atom.op, constant)
    if pa.types.is_boolean(column.type):
        column, constant = pc.cast(column, pa.uint8()), int(constant)
    if pa.types.is_timestamp(column.type):
        assert isinstance(constant, datetime)
        constant = constant if constant.tzinfo else constant.replace(tzinfo=UTC)
    return _COMPARE[atom.op](column, pa.scalar(constant, column.type))


def _against_integers(column: ArrowColumn, op: str, constant: float) -> Truth:
    if constant in (math.inf, -math.inf):
        return _everywhere(column, op in (_ALL_BELOW if constant > 0 else _ALL_ABOVE))
    bound = math.ceil(constant)
    if bound > _LONG_MAX or bound < _LONG_MIN:
        return _everywhere(column, op in (_ALL_BELOW if bound > 0 else _ALL_ABOVE))
    return _bounded(pc.cast(column, pa.int64()), op, bound, bound == constant)


def _against_doubles(column: ArrowColumn, op: str, constant: float) -> Truth:
    try:
        nearest = float(constant)
    except OverflowError:
        nearest = math.inf if constant > 0 else -math.inf
    if nearest == constant:
        return _bounded(column, op, nearest, True)
    above = nearest if nearest > constant else math.nextafter(nearest, math.inf)
    return _bounded(column, op, above, False)


def _bounded(column: ArrowColumn, op: str, bound: float, is_constant: bool) -> Truth:
    """bound: the constant, or else the least value above it."""
    if is_constant:
        return _COMPARE[op](column, pa.scalar(bound, column.type))
    if op in ("=", "<>"):
        return _everywhere(column, op == "<>")
    return _COMPARE[_FROM_ABOVE[op]](column, pa.scalar(bound, column.type))


def _everywhere(column: ArrowColumn, truth: bool) -> Truth:
    """The same for every value, unknown for NULL."""
    return pc.if_else(column.is_valid(), truth, pa.scalar(None, pa.bool_()))
