"""Evaluations of columns, put together: comparisons, SQL's three-valued logic, LIKE, functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np

from backend.operators.filters.evaluators import CallEvaluator
from backend.operators.network.core.blocks import Block, Bools, Column64, Ints
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions import arithmetic
from backend.operators.network.expressions.arithmetic import both, column
from backend.operators.network.expressions.arrow import arrow_column
from backend.operators.values import python_values

#: The value of an expression for each element of a block.
Evaluate: TypeAlias = Callable[[Block], Column64]
_LIKE: Final = re.compile(r"\\[%_\\]|.", re.DOTALL)


def fixed(value: float, dtype: Any) -> Evaluate:
    """The same for every element."""
    return lambda block: Column64(np.full(len(block), value, dtype))


def null(block: Block) -> Column64:
    """NULL for every element."""
    return Column64(np.zeros(len(block), np.int64), np.zeros(len(block), np.bool_))


def doubles(inside: Evaluate) -> Evaluate:
    """Numbers as doubles."""

    def evaluate(block: Block) -> Column64:
        operand = inside(block)
        return Column64(operand.values.astype(np.float64), operand.valid)

    return evaluate


def computed(op: str, left: Evaluate, right: Evaluate) -> Evaluate:
    """Arithmetic of two columns of one dtype."""

    def evaluate(block: Block) -> Column64:
        left_column, right_column = left(block), right(block)
        result = arithmetic.computed(op, left_column.values, right_column.values)
        return column(
            result.values, both(result.valid, both(left_column.valid, right_column.valid))
        )

    return evaluate


def span(start: Evaluate, end: Evaluate, times: int, over: int) -> Evaluate:
    """``(end - start) * times / over``, rounded down."""

    def evaluate(block: Block) -> Column64:
        first, last = start(block), end(block)
        length = (last.values - first.values) * times // over
        return column(length, both(first.valid, last.valid))

    return evaluate


def chosen(conditions: Sequence[Evaluate], values: Sequence[Evaluate], dtype: Any) -> Evaluate:
    """The value of the first condition that is true; the last value where none is."""

    def evaluate(block: Block) -> Column64:
        last = values[-1](block)
        result, valid = last.values.astype(dtype), last.is_valid.copy()
        for condition, value in reversed([*zip(conditions, values, strict=False)]):
            truths, column_of = condition(block), value(block)
            holds = truths.is_valid & (truths.values == 1)
            result = np.where(holds, column_of.values.astype(dtype), result)
            valid = np.where(holds, column_of.is_valid, valid)
        return column(result, valid)

    return evaluate


# ---------------------------------------------------------------------- truths


def truth(values: Bools, valid: Bools | None) -> Column64:
    """A column of truths."""
    return column(values.astype(np.int64), valid)


def compared(op: str, left: Evaluate, right: Evaluate) -> Evaluate:
    """A comparison of numbers, of codes of strings for equality, of two days or two moments."""

    def evaluate(block: Block) -> Column64:
        left_column, right_column = left(block), right(block)
        valid = both(left_column.valid, right_column.valid)
        valid = both(valid, arithmetic.is_known(left_column.values))
        valid = both(valid, arithmetic.is_known(right_column.values))
        return truth(arithmetic.compared(op, left_column.values, right_column.values), valid)

    return evaluate


def strings_compared(op: str, left: Evaluate, right: Evaluate, strings: Strings) -> Evaluate:
    """An order of strings, by code point."""

    def evaluate(block: Block) -> Column64:
        left_column, right_column = left(block), right(block)
        ranks = strings.ranks() if len(strings) else np.zeros(1, np.int64)
        truths = arithmetic.compared(op, ranks[left_column.values], ranks[right_column.values])
        return truth(truths, both(left_column.valid, right_column.valid))

    return evaluate


def days_compared(op: str, days: Evaluate, moments: Evaluate) -> Evaluate:
    """A date compared with a timestamp, as its first microsecond."""

    def evaluate(block: Block) -> Column64:
        day_column, moment_column = days(block), moments(block)
        sign = arithmetic.days_beside_moments(day_column.values, moment_column.values)
        return truth(arithmetic.signed(op, sign), both(day_column.valid, moment_column.valid))

    return evaluate


def compared_with_large(op: str, left: Evaluate, large: int) -> Evaluate:
    """A comparison with an integer of more than 64 bits: integers lie on one side of it; doubles
    are compared with the double next to it, and what equals that one lies on one side."""
    try:
        nearest = float(large)
    except OverflowError:
        nearest = np.inf if large > 0 else -np.inf
    aside = (nearest > large) - (nearest < large)

    def evaluate(block: Block) -> Column64:
        left_column = left(block)
        if left_column.values.dtype == np.int64:
            sign = np.full(len(block), np.int8(-1 if large > 0 else 1))
        else:
            sign = (left_column.values > nearest).astype(np.int8) - (left_column.values < nearest)
            sign = np.where(left_column.values == nearest, np.int8(aside), sign)
        return truth(
            arithmetic.signed(op, sign),
            both(left_column.valid, arithmetic.is_known(left_column.values)),
        )

    return evaluate


def negated(inside: Evaluate) -> Evaluate:
    """NOT: unknown stays unknown."""

    def evaluate(block: Block) -> Column64:
        operand = inside(block)
        return column(1 - operand.values, operand.valid)

    return evaluate


def all_of(parts: Sequence[Evaluate]) -> Evaluate:
    """AND: false where a part is false, else unknown where one is."""

    def evaluate(block: Block) -> Column64:
        return reduce(_and, (part(block) for part in parts))

    return evaluate


def _and(left: Column64, right: Column64) -> Column64:
    values = left.values & right.values
    if left.valid is None and right.valid is None:
        return Column64(values)
    false = (left.is_valid & (left.values == 0)) | (right.is_valid & (right.values == 0))
    return column(values, false | (values == 1))


def any_of(parts: Sequence[Evaluate]) -> Evaluate:
    """OR: true where a part is true, else unknown where one is."""

    def evaluate(block: Block) -> Column64:
        return reduce(_or, (part(block) for part in parts))

    return evaluate


def _or(left: Column64, right: Column64) -> Column64:
    values = left.values | right.values
    if left.valid is None and right.valid is None:
        return Column64(values)
    return column(values, (values == 1) | (left.is_valid & right.is_valid))


def is_null(inside: Evaluate, expected: bool) -> Evaluate:
    """Whether a value is NULL, or NaN, is as expected."""

    def evaluate(block: Block) -> Column64:
        operand = inside(block)
        valid = both(operand.valid, arithmetic.is_known(operand.values))
        missing = np.zeros(len(block), np.bool_) if valid is None else ~valid
        return Column64((missing == expected).astype(np.int64))

    return evaluate


# ---------------------------------------------------------------------- strings and functions


def like(subject: Evaluate, pattern: Evaluate, strings: Strings) -> Evaluate:
    """Whether strings match patterns, each pair looked at once."""
    known: dict[tuple[int, int], bool] = {}

    def matches(code: int, pattern_code: int) -> bool:
        pair = code, pattern_code
        if pair not in known:
            expression = _regular(strings.text(pattern_code))
            known[pair] = expression.fullmatch(strings.text(code)) is not None
        return known[pair]

    def evaluate(block: Block) -> Column64:
        text_column, pattern_column = subject(block), pattern(block)
        valid = both(text_column.valid, pattern_column.valid)
        places = slice(None) if valid is None else np.flatnonzero(valid)
        n = len(strings)
        pairs, which = np.unique(
            text_column.values[places] * n + pattern_column.values[places], return_inverse=True
        )
        verdicts = np.array([matches(*divmod(pair, n)) for pair in pairs.tolist()], np.int64)
        truths = np.zeros(len(block), np.int64)
        truths[places] = verdicts[which]
        return Column64(truths, valid)

    return evaluate


def _regular(pattern: str) -> re.Pattern[str]:
    """% stands for any text, _ for one character, a backslash before these for themselves.

    What stands between two % is taken where it is found first, for good: another place could only
    leave less of the text to the rest. So time grows with text times pattern.
    """
    pieces = [""]
    for part in _LIKE.findall(pattern):
        if part == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if part == "_" else re.escape(part[-1])
    first, *rest = pieces
    if rest:
        *middle, last = rest
        first += "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + last
    return re.compile(first, re.DOTALL)


def called(
    function: CallEvaluator, varying: Sequence[tuple[Evaluate, str]], strings: Strings
) -> Evaluate:
    """A function; unknown where an argument is NULL, where it raises, or answers neither true nor
    false. One of whole columns that raises is asked element by element. varying: its arguments that
    are no constants, in the order of their names, and their types.
    """
    names = [name for name in function.arguments if name is not None]

    def evaluate(block: Block) -> Column64:
        columns = [inside(block) for inside, _ in varying]
        valid = reduce(both, (argument.valid for argument in columns), None)
        places = np.flatnonzero(np.ones(len(block), np.bool_) if valid is None else valid)
        given = {
            name: arrow_column(Column64(argument.values[places]), kind, strings)
            for name, argument, (_, kind) in zip(names, columns, varying, strict=True)
        }
        answers = np.full(len(block), -1, np.int64)
        answers[places] = _answers(function, given, len(places))
        return truth(answers == 1, answers >= 0)

    return evaluate


def _answers(function: CallEvaluator, columns: Mapping[str, Any], n: int) -> Ints:
    """int64[n]: 1 or 0; -1: unknown. columns: Arrow's, by name of the argument."""
    if function.whole_columns:
        try:
            return np.fromiter(map(_truth_of, function.answers(columns, n)), np.int64, n)
        except Exception:  # of any kind: the function is the workload's
            pass
    lists = {name: python_values(column) for name, column in columns.items()}
    pairs = zip(function.arguments, function.fixed, strict=True)
    given = [repeat(value, n) if name is None else lists[name] for name, value in pairs]
    tuples = zip(*given, strict=True) if given else repeat((), n)
    return np.fromiter((_answer(function, values) for values in tuples), np.int64, n)


def _answer(function: CallEvaluator, values: tuple[Any, ...]) -> int:
    """As ``_answers``, of one tuple."""
    try:
        return _truth_of(function.one(values))
    except Exception:
        return -1


def _truth_of(returned: Any) -> int:
    return int(returned) if isinstance(returned, bool | np.bool_) else -1
