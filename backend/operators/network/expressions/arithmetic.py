"""Arithmetic and comparisons of whole columns, exact for 64-bit integers beside doubles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Bools, Column64, Values

DAY_US: Final = 86_400_000_000
_LEAST: Final = -(2**63)
#: Doubles beyond these have no integer of 64 bits.
_BEYOND: Final = 2.0**63
_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def column(values: Values, valid: Bools | None) -> Column64:
    """A column in its normal form: 0 where NULL, no -0.0, one NaN."""
    if values.dtype == np.float64:
        values = np.where(np.isnan(values), np.nan, values + 0.0)
    if valid is None or valid.all():
        return Column64(values)
    return Column64(np.where(valid, values, values.dtype.type(0)), valid)


def both(left: Bools | None, right: Bools | None) -> Bools | None:
    """True where both are; None is true everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def is_known(values: Values) -> Bools | None:
    """False for NaN, which compares like NULL."""
    if values.dtype != np.float64:
        return None
    nan = np.isnan(values)
    return ~nan if nan.any() else None


def compared(op: str, left: Values, right: Values) -> Bools:
    """``left op right`` by exact value; int64[n] or float64[n], no NaN among those that matter."""
    if left.dtype == right.dtype:
        truths: Bools = _COMPARE[op](left, right)
        return truths
    if left.dtype == np.float64:
        return signed(op, -_sign(right, left))
    return signed(op, _sign(left, right))


def signed(op: str, sign: Values) -> Bools:
    """``op`` where sign is -1, 0 or 1 as the left side is less, equal or greater."""
    truths: Bools = _COMPARE[op](sign, 0)
    return truths


def _sign(integers: Values, doubles: Values) -> Values:
    """-1, 0, 1: the integer is less than the double, equal, greater. Rounding keeps the order, so
    only what rounds to the same has to be looked at again."""
    rounded = integers.astype(np.float64)
    sign = (rounded > doubles).astype(np.int8) - (rounded < doubles)
    close = np.flatnonzero(rounded == doubles)
    inside = close[doubles[close] < _BEYOND]
    exact, whole = integers[inside], doubles[inside].astype(np.int64)
    sign[close] = -1
    sign[inside] = (exact > whole).astype(np.int8) - (exact < whole)
    return sign


def days_beside_moments(days: Values, moments: Values) -> Values:
    """-1, 0, 1: the day (as its first microsecond) is before the moment, at it, after it."""
    day, rest = np.divmod(moments, DAY_US)
    sign = (days > day).astype(np.int8) - (days < day)
    return np.where(sign == 0, -(rest > 0).astype(np.int8), sign)


def computed(op: str, left: Values, right: Values) -> Column64:
    """``left op right`` of one dtype, or negated ``right`` for a left side of zeros and '-'. NULL:
    what has more than 64 bits, and what is divided by zero. ``/`` is of doubles."""
    with np.errstate(all="ignore"):
        return column(*_OPERATIONS[op](left, right))


def _sum(left: Values, right: Values) -> tuple[Values, Bools | None]:
    sums = left + right
    if sums.dtype == np.float64:
        return sums, None
    return sums, ((left ^ sums) & (right ^ sums)) >= 0


def _difference(left: Values, right: Values) -> tuple[Values, Bools | None]:
    differences = left - right
    if differences.dtype == np.float64:
        return differences, None
    return differences, ((left ^ right) & (left ^ differences)) >= 0


def _product(left: Values, right: Values) -> tuple[Values, Bools | None]:
    products = left * right
    if products.dtype == np.float64:
        return products, None
    roughly = left.astype(np.float64) * right.astype(np.float64)
    fits = np.abs(roughly) < _BEYOND / 2
    for place in np.flatnonzero(~fits):
        fits[place] = _LEAST <= int(left[place]) * int(right[place]) < -_LEAST
    return products, fits


def _quotient(left: Values, right: Values) -> tuple[Values, Bools | None]:
    return left.astype(np.float64) / right.astype(np.float64), right != 0


def _remainder(left: Values, right: Values) -> tuple[Values, Bools | None]:
    """With the sign of the left side."""
    return np.fmod(left, np.where(right == 0, right.dtype.type(1), right)), right != 0


_OPERATIONS: Final = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
}
