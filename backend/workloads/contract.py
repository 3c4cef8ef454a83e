"""The schema contract: tuples become typed Arrow columns, or misfits that are kept aside.

A tuple that does not fit its schema becomes a row whose attributes are all NULL and whose
``_corrupt_record`` holds the tuple's raw text; in a tuple that fits, that column is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.model.schema import Schema

CORRUPT: Final = "_corrupt_record"
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
_INTEGER_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class MisfitError(ValueError):
    """A value or tuple that does not fit the schema; the message says why."""


def arrow_schema(schema: Schema) -> pa.Schema:
    """The attributes as nullable Arrow fields, then ``_corrupt_record``."""
    fields = [pa.field(a.name, ARROW_TYPES[a.type]) for a in schema.attributes]
    return pa.schema([*fields, pa.field(CORRUPT, pa.string())])


def fit_rows(rows: Iterable[Any], schema: Schema) -> pa.Table:
    """Rows (lists in schema order, or tables by attribute) as a table of ``arrow_schema``.

    An absent key, None, and the empty table ``{}`` (TOML has no null) are NULL. No value is turned
    into another type, except whole numbers between numeric types, and ISO text to a date or time.
    """
    n = len(schema.attributes)
    fitted: list[list[Any]] = []
    for row in rows:
        try:
            fitted.append([*_fit_row(row, schema), None])
        except MisfitError:
            fitted.append([*[None] * n, json.dumps(row, default=str, ensure_ascii=False)])
    columns: Sequence[Sequence[Any]] = list(zip(*fitted, strict=True)) or [()] * (n + 1)
    target = arrow_schema(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, target, strict=True)]
    return pa.Table.from_arrays(arrays, schema=target)


def _fit_row(row: Any, schema: Schema) -> list[Any]:
    if isinstance(row, Mapping):
        values = {key.lower(): value for key, value in row.items()}
        unknown = values.keys() - {name.lower() for name in schema.names}
        if unknown:
            raise MisfitError(f"unknown attribute {min(unknown)!r}")
        row = [values.get(name.lower()) for name in schema.names]
    if not isinstance(row, Sequence) or isinstance(row, str):
        raise MisfitError("a tuple is a list or a table")
    if len(row) != len(schema.attributes):
        raise MisfitError(f"{len(row)} values for {len(schema.attributes)} attributes")
    return [fit_value(v, a.type) for v, a in zip(row, schema.attributes, strict=True)]


def fit_value(value: Any, type_name: str) -> Any:
    """The value as the type takes it, or None for NULL; raises MisfitError."""
    if value is None or value == {}:
        return None
    fitted = _FITTERS[type_name](value, type_name)
    if fitted is None:
        raise MisfitError(f"{value!r} is no {type_name}")
    return fitted


def _fit_integer(value: Any, type_name: str) -> int | None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        return None
    half = 1 << (_INTEGER_BITS[type_name] - 1)
    return int(value) if -half <= value < half else None


def _fit_float(value: Any, type_name: str) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _fit_string(value: Any, type_name: str) -> str | None:
    return value if isinstance(value, str) else None


def _fit_boolean(value: Any, type_name: str) -> bool | None:
    return value if isinstance(value, bool) else None


def _fit_date(value: Any, type_name: str) -> date | None:
    if isinstance(value, str):
        value = _iso(date.fromisoformat, value)
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _fit_timestamp(value: Any, type_name: str) -> datetime | None:
    if isinstance(value, str):
        value = _iso(datetime.fromisoformat, value)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if type(value) is date else None


def _iso(read: Callable[[str], date], text: str) -> date | None:
    try:
        return read(text.strip())
    except ValueError:
        return None


_FITTERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(_INTEGER_BITS, _fit_integer),
    "float": _fit_float,
    "double": _fit_float,
    "string": _fit_string,
    "boolean": _fit_boolean,
    "date": _fit_date,
    "timestamp": _fit_timestamp,
}


def fit_table(table: pa.Table, schema: Schema) -> pa.Table:
    """A table as ``arrow_schema``: columns found by name without regard to case, others ignored.

    Text columns are read as the attribute's type; other types are cast where no value changes. A
    tuple with a value that does not fit becomes a misfit. Raises MisfitError when a column is
    missing.
    """
    target = arrow_schema(schema)
    bad = np.zeros(len(table), dtype=bool)
    by_lower = {name.lower(): name for name in table.column_names}
    columns: list[pa.Array[Any]] = []
    for attribute in schema.attributes:
        name = by_lower.get(attribute.name.lower())
        if name is None:
            raise MisfitError(f"the table has no column {attribute.name!r}")
        column, misses = _fit_column(table.column(name).combine_chunks(), attribute.type)
        columns.append(column)
        bad |= misses
    raw: pa.Array[Any] = pa.nulls(len(table), pa.string())
    if bad.any():
        columns = [pc.if_else(pa.array(bad), pa.scalar(None, c.type), c) for c in columns]
        raw = _raw_texts(table, bad)
    return pa.Table.from_arrays([*columns, raw], schema=target)


def _fit_column(column: pa.Array[Any], type_name: str) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    target = ARROW_TYPES[type_name]
    none_bad = np.zeros(len(column), dtype=bool)
    if column.type == target:
        return column, none_bad
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if is_text or not (pa.types.is_boolean(column.type) or type_name in ("string", "boolean")):
        for way in _CASTS.get(type_name, ((),)):
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # then the next, or singly
                return _cast(column, (*way, target)), none_bad
    return _fit_values(column, type_name, is_text)


#: Types to go through on the way to a type; a time as text names its zone, or is UTC.
_CASTS: Final[Mapping[str, tuple[tuple[pa.DataType, ...], ...]]] = {
    "timestamp": ((), (pa.timestamp("us"),))
}


def _cast(column: pa.Array[Any], types: Sequence[pa.DataType]) -> pa.Array[Any]:
    for one in types:
        column = pc.cast(column, one)
    return column


def _fit_values(
    column: pa.Array[Any], type_name: str, is_text: bool
) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    values: list[Any] = []
    bad = np.zeros(len(column), dtype=bool)
    for i, value in enumerate(column.to_pylist()):
        try:
            values.append(fit_value(_read_text(value, type_name) if is_text else value, type_name))
        except MisfitError:
            values.append(None)
            bad[i] = True
    return pa.array(values, ARROW_TYPES[type_name]), bad


def _read_text(text: str | None, type_name: str) -> Any:
    if text is None or type_name in ("string", "date", "timestamp"):
        return text
    if type_name == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    try:
        return int(text) if type_name in _INTEGER_BITS else float(text)
    except ValueError:
        return text


def _raw_texts(table: pa.Table, bad: NDArray[np.bool_]) -> pa.Array[Any]:
    """For each bad row its values, comma-separated as in a CSV line; NULL elsewhere."""
    texts: list[str | None] = [None] * len(table)
    rows = table.filter(pa.array(bad)).to_pylist()
    for i, row in zip(np.flatnonzero(bad), rows, strict=True):
        texts[i] = ",".join("" if v is None else str(v) for v in row.values())
    return pa.array(texts, pa.string())
