"""The schema contract: tuples become typed Arrow columns, or misfits that are kept aside.

A tuple that does not fit its schema becomes a row whose attributes are all NULL and whose
``_corrupt_record`` holds the tuple's raw text; in a tuple that fits, that column is NULL. Sources
that know why have the column ``_misfit`` beside it, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from backend.model.schema import INTEGER_TYPES, Schema, folded
from backend.workloads.text_values import (
    ARROW_TYPES,
    FLOAT_LIMIT,
    INTEGER_BITS,
    read_text,
    read_texts,
    valid_texts,
)

CORRUPT: Final = "_corrupt_record"
REASON: Final = "_misfit"
NOT_READ: Final = "does not fit the schema"
#: Characters of a file that a message quotes.
LONGEST_QUOTE: Final = 500
#: Days and microseconds since 1970 of the years 1 to 9999, which texts and constants can say.
_KNOWN_YEARS: Final[Mapping[str, tuple[int, int]]] = {
    "date": (-719_162, 2_932_896),
    "timestamp": (-62_135_596_800_000_000, 253_402_300_799_999_999),
}
#: The raw texts of the rows of these places.
RawTexts: TypeAlias = Callable[[NDArray[np.int64]], Sequence[str]]
#: Which values of a column do not fit, bool[rows], and the reason to tell.
Missed: TypeAlias = tuple[NDArray[np.bool_], str]


class MisfitError(ValueError):
    """A value or tuple that does not fit the schema; the message says why."""


def arrow_schema(schema: Schema) -> pa.Schema:
    """The attributes as nullable Arrow fields, then ``_corrupt_record``."""
    fields = [pa.field(a.name, ARROW_TYPES[a.type]) for a in schema.attributes]
    return pa.schema([*fields, pa.field(CORRUPT, pa.string())])


def told_schema(schema: Schema) -> pa.Schema:
    """The same, then ``_misfit``."""
    return arrow_schema(schema).append(pa.field(REASON, pa.string()))


def misfits(schema: Schema, raws: Sequence[str], reasons: Sequence[str]) -> pa.Table:
    """Tuples that do not fit, as a table of ``told_schema``."""
    nulls = [pa.nulls(len(raws), ARROW_TYPES[a.type]) for a in schema.attributes]
    texts = [pa.array(raws, pa.string()), pa.array(reasons, pa.string())]
    return pa.Table.from_arrays([*nulls, *texts], schema=told_schema(schema))


def interleaved(tuples: pa.Table, schema: Schema, bad: Sequence[tuple[int, str, str]]) -> pa.Table:
    """A table of ``told_schema`` with misfits in their places. bad: behind how many of the tuples,
    ascending; raw text; reason."""
    if not bad:
        return tuples
    behind, raws, reasons = zip(*bad, strict=True)
    keys = np.concatenate([np.arange(len(tuples)) + 0.5, np.array(behind, dtype=np.float64)])
    order = pa.array(np.argsort(keys, kind="stable"))
    return pa.concat_tables([tuples, misfits(schema, raws, reasons)]).take(order).combine_chunks()


def settled(
    schema: Schema, columns: Sequence[pa.Array[Any]], misses: Sequence[Missed], raws: RawTexts
) -> pa.Table:
    """Typed columns as a table of ``told_schema``; tuples with a value that does not fit become
    misfits, for the first reason of theirs."""
    if not any(missed.any() for missed, _ in misses):
        return _fitting(schema, columns)
    bad = np.zeros(len(columns[0]), dtype=bool)
    reasons = np.full(len(bad), None, dtype=object)
    for missed, reason in misses:
        reasons[missed & ~bad] = reason
        bad |= missed
    columns = [pc.if_else(pa.array(bad), pa.scalar(None, c.type), c) for c in columns]
    texts = np.full(len(bad), None, dtype=object)
    texts[bad] = list(raws(np.flatnonzero(bad)))
    misfit_columns = [pa.array(texts, pa.string()), pa.array(reasons, pa.string())]
    return pa.Table.from_arrays([*columns, *misfit_columns], schema=told_schema(schema))


def _fitting(schema: Schema, columns: Sequence[pa.Array[Any]]) -> pa.Table:
    none = pa.nulls(len(columns[0]), pa.string())
    return pa.Table.from_arrays([*columns, none, none], schema=told_schema(schema))


#: Type -> what its values are called.
_WORDS: Final = {
    **{name: f"a whole number of {n_bits} bits" for name, n_bits in INTEGER_BITS.items()},
    "float": "a number",
    "double": "a number",
    "boolean": "true or false",
    "date": "a date",
    "timestamp": "a time",
    "string": "text",
}


def no_value(attribute: str, type_name: str) -> str:
    """The reason for a misfit whose value does not fit."""
    return f"{attribute} is not {_WORDS[type_name]}"


def shortened(text: str) -> str:
    """A text from a file as messages quote it."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def fit_rows(rows: Iterable[Any], schema: Schema) -> pa.Table:
    """Rows (lists in schema order, or tables by attribute) as a table of ``told_schema``.

    An absent key, None, and the empty table ``{}`` (TOML has no null) are NULL. No value is turned
    into another type, except whole numbers between numeric types, and ISO text to a date or time.
    """
    n = len(schema.attributes)
    fitted: list[list[Any]] = []
    for row in rows:
        try:
            fitted.append([*_fit_row(row, schema), None, None])
        except MisfitError as error:
            fitted.append([*[None] * n, _json(row), str(error)])
    columns: Sequence[Sequence[Any]] = list(zip(*fitted, strict=True)) or [()] * (n + 2)
    target = told_schema(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, target, strict=True)]
    return pa.Table.from_arrays(arrays, schema=target)


def _json(row: Any) -> str:
    return json.dumps(row, default=str, ensure_ascii=False)


def _fit_row(row: Any, schema: Schema) -> list[Any]:
    if isinstance(row, Mapping):
        values = {folded(key): value for key, value in row.items()}
        unknown = values.keys() - {folded(name) for name in schema.names}
        if unknown:
            raise MisfitError(f"unknown attribute {min(unknown)!r}")
        row = [values.get(folded(name)) for name in schema.names]
    if not isinstance(row, Sequence) or isinstance(row, str):
        raise MisfitError("a tuple is a list or a table")
    return fit_tuple(row, schema)


def fit_tuple(values: Sequence[Any], schema: Schema) -> list[Any]:
    """Values in schema order as their types take them. Raises MisfitError."""
    if len(values) != len(schema.attributes):
        raise MisfitError(f"{len(values)} values for {len(schema.attributes)} attributes")
    fitted = []
    for value, attribute in zip(values, schema.attributes, strict=True):
        try:
            fitted.append(fit_value(value, attribute.type))
        except MisfitError:
            raise MisfitError(no_value(attribute.name, attribute.type)) from None
    return fitted


def fit_value(value: Any, type_name: str) -> Any:
    """The value as the type takes it, or None for NULL; raises MisfitError."""
    if value is None or value == {}:
        return None
    fitted = _FITTERS[type_name](value, type_name)
    if fitted is None:
        raise MisfitError(f"{value!r} is not {_WORDS[type_name]}")
    return fitted


def _fit_integer(value: Any, type_name: str) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    half = 1 << (INTEGER_BITS[type_name] - 1)
    return int(value) if -half <= value < half and value == int(value) else None


def _fit_float(value: Any, type_name: str) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if isinstance(value, Decimal) and np.isinf(number) and value.is_finite():
        return None
    fits = type_name == "double" or not np.isfinite(number) or abs(number) < FLOAT_LIMIT
    return number if fits else None


def _fit_string(value: Any, type_name: str) -> str | None:
    try:
        return value if isinstance(value, str) and value.encode() is not None else None
    except UnicodeEncodeError:
        return None


def _fit_boolean(value: Any, type_name: str) -> bool | None:
    return value if isinstance(value, bool) else None


def _fit_date(value: Any, type_name: str) -> date | None:
    if isinstance(value, str):
        return _iso(value, type_name)
    if isinstance(value, datetime):
        value = _in_utc(value)
        at_midnight = value == value.replace(hour=0, minute=0, second=0, microsecond=0)
        return value.date() if at_midnight else None
    return value if isinstance(value, date) else None


def _fit_timestamp(value: Any, type_name: str) -> date | None:
    if isinstance(value, str):
        return _iso(value, type_name)
    if isinstance(value, datetime):
        return _in_utc(value)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if type(value) is date else None


def _in_utc(value: datetime) -> datetime:
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _iso(text: str, type_name: str) -> date | None:
    try:
        moment: date | None = read_text(text, type_name)
        return moment
    except ValueError:
        return None


_FITTERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    **dict.fromkeys(INTEGER_BITS, _fit_integer),
    "float": _fit_float,
    "double": _fit_float,
    "string": _fit_string,
    "boolean": _fit_boolean,
    "date": _fit_date,
    "timestamp": _fit_timestamp,
}


def fit_table(table: pa.Table, schema: Schema, *, reads_text: bool = False) -> pa.Table:
    """A table as ``told_schema``: columns found by name without regard to case, others ignored.

    Columns of other types are cast where no value changes but by rounding to the nearest float.
    reads_text: all columns are text, to be read as the attributes' types. A tuple with a value that
    does not fit becomes a misfit, and one with a ``_corrupt_record`` is one. Raises MisfitError
    when a column is missing.
    """
    fit = read_texts if reads_text else fit_column
    corrupt = table.column(CORRUPT) if CORRUPT in table.column_names else pa.nulls(len(table))
    by_name = {folded(name): name for name in table.column_names}
    columns, misses = [], [(corrupt.is_valid().to_numpy(zero_copy_only=False), NOT_READ)]
    for attribute in schema.attributes:
        name = by_name.get(folded(attribute.name))
        if name is None and attribute.optional:
            columns.append(pa.nulls(len(table), ARROW_TYPES[attribute.type]))
            continue
        if name is None:
            raise MisfitError(f"the table has no column {attribute.name!r}")
        column, bad = fit(as_array(table.column(name)), attribute.type)
        columns.append(column)
        misses.append((bad, no_value(attribute.name, attribute.type)))

    def raws(places: NDArray[np.int64]) -> list[str]:
        rows, names = table.take(pa.array(places)), table.column_names
        cells = zip(*([_shown(value) for value in column] for column in rows.columns), strict=True)
        texts = [_json(dict(zip(names, row, strict=True))) for row in cells]
        given = corrupt.take(pa.array(places)).to_pylist()
        return [raw or text for raw, text in zip(given, texts, strict=True)]

    return settled(schema, columns, misses, raws)


def as_array(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """A column in one piece; one that is, is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def in_batches(table: pa.Table) -> list[pa.RecordBatch]:
    """A table in few pieces; one that comes so is not copied."""
    batches = [batch for batch in table.to_batches() if len(batch)]
    return batches if len(batches) <= 2 else table.combine_chunks().to_batches()


def fit_column(column: pa.Array[Any], type_name: str) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    """A column as the type takes it, and which of its values do not fit, NULL then."""
    kind, target = column.type, ARROW_TYPES[type_name]
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if _is_text(kind):
        texts, bad = valid_texts(column)
        if type_name == "string":
            return texts, bad
        column, kind = texts, texts.type
    elif kind == target or _can_cast(kind, type_name):
        for way in ((target,), (pa.timestamp("us"), target)):
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # then the next, or singly
                return _of_known_years(_cast(column, way), type_name)
    return _fit_values(column, type_name)


def _of_known_years(
    column: pa.Array[Any], type_name: str
) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    """A column without days and moments beyond the years 1 to 9999, and which of it those are."""
    if type_name not in _KNOWN_YEARS:
        return column, np.zeros(len(column), dtype=bool)
    low, high = _KNOWN_YEARS[type_name]
    stored = pc.cast(column, pa.int32() if type_name == "date" else pa.int64())
    numbers = pc.fill_null(stored, 0).to_numpy(zero_copy_only=False)
    bad = (numbers < low) | (numbers > high)
    known = pc.if_else(pa.array(bad), pa.scalar(None, column.type), column) if bad.any() else column
    return known, bad


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )


def _can_cast(kind: pa.DataType, type_name: str) -> bool:
    """Whether Arrow's cast refuses what does not fit, and nothing else; floats may overflow."""
    if pa.types.is_null(kind):
        return True
    if type_name in INTEGER_TYPES or type_name == "double":
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
    is_moment = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    return type_name == "timestamp" and bool(is_moment)


def _cast(column: pa.Array[Any], types: Sequence[pa.DataType]) -> pa.Array[Any]:
    for kind in types:
        column = pc.cast(column, kind)
    return column


def _fit_values(column: pa.Array[Any], type_name: str) -> tuple[pa.Array[Any], NDArray[np.bool_]]:
    values: list[Any] = []
    bad = np.zeros(len(column), dtype=bool)
    for i, scalar in enumerate(column):
        try:
            values.append(fit_value(_python_value(scalar), type_name))
        except (MisfitError, ValueError, OverflowError):
            values.append(None)
            bad[i] = True
    return pa.array(values, ARROW_TYPES[type_name]), bad


def _python_value(scalar: pa.Scalar[Any]) -> Any:
    """A scalar's value; what is finer than a microsecond is no moment Python has. Raises
    ValueError."""
    if pa.types.is_timestamp(scalar.type) and scalar.type.unit == "ns":
        scalar = pc.cast(scalar, pa.timestamp("us", scalar.type.tz))
    return scalar.as_py()


def _shown(scalar: pa.Scalar[Any]) -> Any:
    try:
        value = scalar.as_py()
    except (ValueError, OverflowError):
        return scalar.value
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value
