"""Expressions of a query over blocks of elements, column by column.

SQL's three values: a column of truths is 0 or 1, and NULL where unknown. NaN compares like NULL, as
in all conditions. Integers have 64 bits; what has more is NULL, and so is what is divided by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

import numpy as np

from backend.cql import nodes
from backend.cql.types import has_more_bits, type_of
from backend.model.conditions import FLIPPED
from backend.model.functions import Functions
from backend.model.schema import Attribute
from backend.operators.filters.evaluators import CallEvaluator
from backend.operators.network.core.blocks import Column64, dtype_of
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions import evaluation
from backend.operators.network.expressions.arithmetic import DAY_US
from backend.operators.network.expressions.conversions import converted
from backend.operators.network.expressions.evaluation import Evaluate

_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


def compile_expression(
    node: nodes.Node,
    fields: Sequence[Attribute],
    strings: Strings,
    functions: Functions | None = None,
) -> Evaluate:
    """What computes an expression for blocks with the columns of ``fields``.

    node: columns are At. functions: those it calls; one that raises, or answers neither true nor
    false, is unknown. Raises ValueError for what is not allowed in an operator network, KeyError
    for a function that is not there.
    """
    return _Compiler(fields, strings, functions or Functions()).value(node)


class _Compiler:
    def __init__(self, fields: Sequence[Attribute], strings: Strings, functions: Functions) -> None:
        self._fields, self._strings, self._functions = fields, strings, functions

    def value(self, node: nodes.Node) -> Evaluate:
        rule = _RULES.get(type(node))
        if rule is None:
            raise ValueError(f"{type(node).__name__} is not allowed in an operator network")
        return rule(self, node)

    def _at(self, node: nodes.At) -> Evaluate:
        if not 0 <= node.index < len(self._fields):
            raise ValueError(f"column {node.index} of {len(self._fields)}")
        field = self._fields[node.index]
        if dtype_of(field.type) != dtype_of(node.type):
            raise ValueError(f"column {node.index} is {field.type}, not {node.type}")
        index = node.index
        return lambda block: block.columns[index]

    def _literal(self, node: nodes.Literal) -> Evaluate:
        value = node.value
        if value is None:
            return evaluation.null
        if isinstance(value, str):
            return self._text(value)
        number = _number(value)
        if isinstance(number, float):
            return evaluation.fixed(number + 0.0, np.float64)
        if has_more_bits(node):
            raise ValueError(f"{number} has more than 64 bits")
        return evaluation.fixed(number, np.int64)

    def _text(self, text: str) -> Evaluate:
        """Its code, when first asked for: expressions that are never used remember no strings."""
        strings = self._strings
        return lambda block: Column64(np.full(len(block), strings.code(text), np.int64))

    # ------------------------------------------------------------------ numbers

    def _widened(self, node: nodes.Widened) -> Evaluate:
        inside, given = self.value(node.operand), type_of(node.operand)
        if dtype_of(given) != dtype_of(node.type):
            return evaluation.doubles(inside)
        if (given, node.type) != ("date", "timestamp"):
            return inside
        return evaluation.computed("*", inside, evaluation.fixed(DAY_US, np.int64))

    def _arithmetic(self, node: nodes.Arithmetic) -> Evaluate:
        left, right = self.value(node.left), self.value(node.right)
        if type_of(node) == "double" and node.op != "/":
            left, right = evaluation.doubles(left), evaluation.doubles(right)
        return evaluation.computed(node.op, left, right)

    def _negative(self, node: nodes.Negative) -> Evaluate:
        zero = evaluation.fixed(0, dtype_of(type_of(node)))
        return evaluation.computed("-", zero, self.value(node.operand))

    def _span(self, node: nodes.ColumnSpan) -> Evaluate:
        return evaluation.span(self.value(node.start), self.value(node.end), node.times, node.over)

    def _instant(self, node: nodes.ElementTime) -> Evaluate:
        times, over = node.times, node.over
        return lambda block: Column64(block.tau * times // over)

    def _converted(self, node: nodes.Converted) -> Evaluate:
        given = type_of(node.operand)
        if given == "null":
            return evaluation.null
        return converted(self.value(node.operand), given, node.type, self._strings)

    def _case(self, node: nodes.Case) -> Evaluate:
        conditions = [self.value(condition) for condition in node.conditions]
        values = [self.value(value) for value in node.values]
        return evaluation.chosen(conditions, values, dtype_of(type_of(node)))

    # ------------------------------------------------------------------ truths

    def _compare(self, node: nodes.Compare) -> Evaluate:
        op, left, right = node.op, node.left, node.right
        if has_more_bits(left):
            op, left, right = FLIPPED[op], right, left
        if has_more_bits(right):
            assert isinstance(right, nodes.Literal)
            assert isinstance(right.value, int)
            return evaluation.compared_with_large(op, self.value(left), right.value)
        left_value, right_value = self.value(left), self.value(right)
        kinds = type_of(left), type_of(right)
        if "null" in kinds:
            return evaluation.null
        if op not in ("=", "<>") and "string" in kinds:
            return evaluation.strings_compared(op, left_value, right_value, self._strings)
        if kinds == ("date", "timestamp"):
            return evaluation.days_compared(op, left_value, right_value)
        if kinds == ("timestamp", "date"):
            return evaluation.days_compared(FLIPPED[op], right_value, left_value)
        return evaluation.compared(op, left_value, right_value)

    def _member(self, node: nodes.Member) -> Evaluate:
        evaluate = evaluation.any_of(
            [self._compare(nodes.Compare(node.at, "=", node.subject, item)) for item in node.items]
        )
        return evaluation.negated(evaluate) if node.negated else evaluate

    def _between(self, node: nodes.Between) -> Evaluate:
        low = self._compare(nodes.Compare(node.at, ">=", node.subject, node.low))
        high = self._compare(nodes.Compare(node.at, "<=", node.subject, node.high))
        evaluate = evaluation.all_of([low, high])
        return evaluation.negated(evaluate) if node.negated else evaluate

    def _is_null(self, node: nodes.IsNull) -> Evaluate:
        return evaluation.is_null(self.value(node.subject), not node.negated)

    def _like(self, node: nodes.Like) -> Evaluate:
        if "null" in (type_of(node.subject), type_of(node.pattern)):
            return evaluation.null
        evaluate = evaluation.like(
            self.value(node.subject), self.value(node.pattern), self._strings
        )
        return evaluation.negated(evaluate) if node.negated else evaluate

    def _not(self, node: nodes.Not) -> Evaluate:
        return evaluation.negated(self.value(node.part))

    def _logic(self, node: nodes.Logic) -> Evaluate:
        parts = [self.value(part) for part in node.parts]
        return evaluation.all_of(parts) if node.word == "and" else evaluation.any_of(parts)

    def _call(self, node: nodes.Call) -> Evaluate:
        function = self._functions.functions[node.name]
        names: list[str | None] = []
        constants: list[Any] = []
        varying: list[tuple[Evaluate, str]] = []
        for place, argument in enumerate(node.arguments):
            is_constant = isinstance(argument, nodes.Literal | nodes.Table)
            names.append(None if is_constant else str(place))
            constants.append(self._constant(argument) if is_constant else None)
            if not is_constant:
                varying.append((self.value(argument), type_of(argument)))
        evaluator = CallEvaluator(
            function.call, function.whole_columns, tuple(names), tuple(constants), False
        )
        return evaluation.called(evaluator, varying, self._strings)

    def _constant(self, node: nodes.Node) -> Any:
        if isinstance(node, nodes.Table):
            return self._functions.tables[node.name]
        assert isinstance(node, nodes.Literal)
        return node.value


_RULES: Final[dict[type, Callable[[_Compiler, Any], Evaluate]]] = {
    nodes.At: _Compiler._at,
    nodes.Literal: _Compiler._literal,
    nodes.Widened: _Compiler._widened,
    nodes.Arithmetic: _Compiler._arithmetic,
    nodes.Negative: _Compiler._negative,
    nodes.Converted: _Compiler._converted,
    nodes.Case: _Compiler._case,
    nodes.ColumnSpan: _Compiler._span,
    nodes.ElementTime: _Compiler._instant,
    nodes.Compare: _Compiler._compare,
    nodes.Member: _Compiler._member,
    nodes.Between: _Compiler._between,
    nodes.IsNull: _Compiler._is_null,
    nodes.Like: _Compiler._like,
    nodes.Not: _Compiler._not,
    nodes.Logic: _Compiler._logic,
    nodes.Call: _Compiler._call,
}


def _number(value: float | date) -> int | float:
    """As columns hold it: booleans 0 and 1, days and microseconds since 1970."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    return int(value) if isinstance(value, int) else value
