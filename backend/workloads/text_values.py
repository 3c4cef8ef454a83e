"""Text as values of a type: fields of CSV files, and moments in JSON and in workload files.

``read_text`` is the definition. ``read_texts`` reads a column: what is written plainly at once, the
rest value by value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.model.times import read_date, read_moment

#: Spark SQL type -> Arrow type of the same values; timestamps are UTC, in microseconds.
ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
INTEGER_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
#: From here on a number is infinite as a float of 32 bits: beyond half-way to the next power of 2.
FLOAT_LIMIT: Final = 3.4028235677973366e38
BLANKS: Final = " \t"
_LONGEST_NUMBER: Final = 400
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
#: What Arrow reads as we do, and never refuses: short numbers, and days all months have.
_PLAIN_DAY: Final = "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_PLAIN_TIME: Final = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_PLAIN: Final[Mapping[str, str]] = {
    "tinyint": "^-?[0-9]{1,2}$",
    "smallint": "^-?[0-9]{1,4}$",
    "int": "^-?[0-9]{1,9}$",
    "bigint": "^-?[0-9]{1,18}$",
    "float": r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$",
    "double": r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$",
    "boolean": "^(true|false)$",
    "date": f"^{_PLAIN_DAY}$",
    "timestamp": rf"^{_PLAIN_DAY}[ T]{_PLAIN_TIME}Z?$",
}


def read_text(text: str, type_name: str) -> Any:
    """The value a text says. Blanks around it, and text that says nothing (NULL), only count in
    strings. Raises ValueError for text that says none, or none the type can hold."""
    if type_name == "string":
        return text
    text = text.strip(BLANKS)
    return _READERS[type_name](text, type_name) if text else None


def _integer(text: str, type_name: str) -> int:
    if len(text) > _LONGEST_NUMBER or not _INTEGER.fullmatch(text):
        raise ValueError(text)
    value, half = int(text), 1 << (INTEGER_BITS[type_name] - 1)
    if not -half <= value < half:
        raise ValueError(text)
    return value


def _float(text: str, type_name: str) -> float:
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    if not _FLOAT.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if not abs(value) < (FLOAT_LIMIT if type_name == "float" else np.inf):
        raise ValueError(text)
    return value


def _boolean(text: str, type_name: str) -> bool:
    truth = {"true": True, "false": False}.get(text.lower())
    if truth is None:
        raise ValueError(text)
    return truth


def _date(text: str, type_name: str) -> date:
    return read_date(text)


def _timestamp(text: str, type_name: str) -> datetime:
    return read_moment(text)


def read_number(text: str) -> float | Decimal:
    """A number with a point or an exponent, as JSON and TOML write it: a float; exactly, where its
    float is infinite, or is a whole number that it is not. Raises ValueError."""
    value = float(text)
    if not value.is_integer() and np.isfinite(value):
        return value
    try:
        exact = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        raise ValueError(text) from None
    return value if exact.is_nan() or exact == value else exact


_READERS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    **dict.fromkeys(INTEGER_BITS, _integer),
    "float": _float,
    "double": _float,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}


def valid_texts(column: pa.Array[Any]) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    """Bytes as text, and which values are no UTF-8, NULL then. column: binary or string."""
    bad = np.zeros(len(column), dtype=bool)
    column = column.cast(pa.binary())
    try:
        return column.cast(pa.string()), bad
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for i, value in enumerate(column.to_pylist()):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError:
                texts.append(None)
                bad[i] = True
        return pa.array(texts, pa.string()), bad


def read_texts(column: pa.Array[Any], type_name: str) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    """A column of text as values of a type, and which do not fit, NULL then."""
    bad = np.zeros(len(column), dtype=bool)
    if type_name == "string":
        return column, bad
    column = pc.utf8_trim(column, characters=BLANKS)
    plain = pc.fill_null(pc.match_substring_regex(column, _PLAIN[type_name]), True)
    plain_values = _read_plain(pc.if_else(plain, column, pa.scalar(None, pa.string())), type_name)
    others = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    if not len(others):
        return plain_values, bad
    values: list[Any] = []
    for i, text in zip(others, column.take(pa.array(others)).to_pylist(), strict=True):
        try:
            values.append(read_text(text, type_name))
        except ValueError:
            values.append(None)
            bad[i] = True
    given = pc.invert(plain)
    return pc.replace_with_mask(plain_values, given, pa.array(values, plain_values.type)), bad


def _read_plain(column: pa.Array[Any], type_name: str) -> pa.Array[Any]:
    if type_name == "timestamp":
        naive = pc.utf8_rtrim(column, characters="Z").cast(pa.timestamp("us"))
        return naive.cast(ARROW_TYPES["timestamp"])
    if type_name == "boolean":
        return pc.equal(column, "true")
    if type_name == "float":
        return column.cast(pa.float64()).cast(pa.float32())
    return column.cast(ARROW_TYPES[type_name])
