"""Python constants as Spark SQL text, and exact comparisons of attributes with them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

from backend.model.conditions import Constant
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def quote(name: str) -> str:
    """An attribute name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def sql_long(word: int) -> str:
    """A 64-bit pattern (unsigned or signed) as a BIGINT literal."""
    signed = word - 2**64 if word > _LONG_MAX else word
    return "(-9223372036854775807L - 1L)" if signed == _LONG_MIN else f"{signed}L"


def text(value: str) -> str:
    """A string literal; backslash and quote escaped, control characters by code."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in escaped) + "'"


def literal(value: Constant) -> str:
    """A constant as a Spark SQL literal of its own type; timestamps are UTC."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return sql_long(value)
    if isinstance(value, float):
        return f"double({text(repr(value))})"
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return f"TIMESTAMP'{utc:%Y-%m-%d %H:%M:%S.%f}'"
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    return text(value)


def below_and_equal(name: str, constant: Constant, type_name: str) -> tuple[str, str]:
    """SQL conditions (attribute < constant, attribute = constant), exact for every number.

    Spark would compare BIGINT with DOUBLE as doubles, which merges neighbours beyond 2^53; the
    bound is moved to the attribute's own type instead. 'true' / 'false' when no value decides.
    """
    if type_name in INTEGER_TYPES and isinstance(constant, int | float):
        return _against_integer(name, constant)
    if type_name in FLOAT_TYPES and isinstance(constant, int) and not isinstance(constant, bool):
        return _against_double(name, constant)
    value = literal(constant)
    return f"{name} < {value}", f"{name} = {value}"


def _against_integer(name: str, constant: int | float) -> tuple[str, str]:
    ceiling = math.ceil(constant)
    if ceiling > _LONG_MAX:
        return "true", "false"
    if ceiling < _LONG_MIN:
        return "false", "false"
    bound = sql_long(ceiling)
    return f"{name} < {bound}", f"{name} = {bound}" if ceiling == constant else "false"


def _against_double(name: str, constant: int) -> tuple[str, str]:
    try:
        nearest = float(constant)
    except OverflowError:
        return ("true" if constant > 0 else "false"), "false"
    bound = literal(nearest)
    if nearest == constant:
        return f"{name} < {bound}", f"{name} = {bound}"
    return (f"{name} < {bound}" if nearest > constant else f"{name} <= {bound}"), "false"
