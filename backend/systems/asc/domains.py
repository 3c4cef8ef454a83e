"""Attribute domains: which constants and values belong to a type, and how they compare.

Comparison is exact: integers against floats as real numbers, strings by code point (which is
UTF-8 byte order), -0.0 equals 0.0. NaN and values of another type count as NULL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Constant
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, Attribute
from backend.systems.asc.normal_form import QueryError

_EXPECTED = {
    "string": "a string",
    "boolean": "true or false",
    "date": "a date",
    "timestamp": "a timestamp",
}


def comparable(value: Any, type_name: str) -> Constant | None:
    """The value as it is compared with constants; None when NULL, NaN or not of the type.

    An integer attribute takes integral floats (5.0 is 5) but no 5.5; booleans are no numbers.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type_name in INTEGER_TYPES:
        return _as_integer(value)
    if type_name in FLOAT_TYPES:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return cast("Constant", value) if is_number and value == value else None
    wanted: type = {"string": str, "boolean": bool, "date": date, "timestamp": datetime}[type_name]
    if not isinstance(value, wanted) or (type_name == "date" and isinstance(value, datetime)):
        return None
    return cast("Constant", value)


def _as_integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def check_constant(query: str, attribute: Attribute, constant: Constant) -> None:
    """Refuse a constant that cannot be compared with the attribute. Raises QueryError."""
    as_type = "double" if attribute.is_numeric else attribute.type
    if comparable(constant, as_type) is None:
        expected = _EXPECTED.get(attribute.type, "a number")
        raise QueryError(
            f"query {query!r} compares attribute {attribute.name!r} ({attribute.type}) with "
            f"{constant!r}; expected {expected}"
        )


def sorted_constants(attribute: Attribute, constants: Iterable[Constant]) -> tuple[Constant, ...]:
    """Distinct constants in ascending order; of equal numbers the integer is kept, -0.0 is 0.

    Raises QueryError when timestamps with and without time zone meet on one attribute.
    """
    distinct: dict[Constant, Constant] = {}
    for constant in constants:
        if constant not in distinct or isinstance(distinct[constant], float):
            distinct[constant] = 0.0 if constant == 0 and isinstance(constant, float) else constant
    check_zones(attribute.name, distinct.values())
    kept = list[Any](distinct.values())
    return tuple(sorted(kept))


def check_zones(attribute: str, constants: Iterable[Constant]) -> None:
    """Refuse timestamps with and without time zone on one attribute. Raises QueryError."""
    zones = {c.tzinfo is None for c in constants if isinstance(c, datetime)}
    if len(zones) > 1:
        raise QueryError(
            f"attribute {attribute!r} is compared with timestamps both with and without a time "
            "zone; use one kind"
        )


def reachable_regions(type_name: str, constants: tuple[Constant, ...]) -> NDArray[np.bool_]:
    """bool[2m+2]: regions a value of the type can hit; row 0 (NULL) always.

    Only integers and booleans have empty ones: no integer lies in (5, 6) or equals 5.5.
    """
    reachable = np.ones(2 * len(constants) + 2, dtype=np.bool_)
    if type_name == "boolean":
        reachable[1::2] = False
        if len(constants) < 2:
            reachable[1] = constants != (False,)
            reachable[-1] = constants != (True,)
    if type_name in INTEGER_TYPES:
        numbers = cast("tuple[int | float, ...]", constants)
        for p, constant in enumerate(numbers, start=1):
            reachable[2 * p] = _as_integer(constant) is not None
        for p, (low, high) in enumerate(pairwise(numbers), start=1):
            reachable[2 * p + 1] = _integer_between(low, high)
        if numbers:
            reachable[1] = numbers[0] != -math.inf
            reachable[-1] = numbers[-1] != math.inf
    return reachable


def _integer_between(low: float, high: float) -> bool:
    """Whether an integer lies strictly between two numbers."""
    if abs(low) == math.inf or abs(high) == math.inf:
        return True
    return math.floor(low) + 1 < high


def constant_text(constant: Constant) -> str:
    """A constant as people read it in a region label: 60, 'JFK', true, 2013-01-31."""
    if isinstance(constant, bool):
        return "true" if constant else "false"
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    if isinstance(constant, datetime):
        return constant.isoformat(sep=" ")
    return constant.isoformat() if isinstance(constant, date) else repr(constant)
