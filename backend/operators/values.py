"""Arrow columns as Python values and as text, whatever moments they hold."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.workloads.text_values import ARROW_TYPES

#: An Array or a ChunkedArray.
ArrowColumn: TypeAlias = Any

_MICROS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_DAYS: Final = (-719_162, 2_932_896)
#: The least and the greatest integer a Python date or time stands for.
_KNOWN: Final = {pa.timestamp("us"): _MICROS, ARROW_TYPES["timestamp"]: _MICROS, pa.date32(): _DAYS}
#: The integers moments are stored as.
STORED: Final = {"date": pa.int32(), "timestamp": pa.int64()}


def plain(value: Any) -> Any:
    """A raw value as JSON can hold it: dates as ISO text, what is no finite number as text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not -1e308 <= value <= 1e308:
        return str(value)
    return value


def python_values(column: ArrowColumn) -> list[Any]:
    """The values, None for NULL; timestamps without a zone, in UTC. Moments beyond the years 1 to
    9999, which Python has none for, become the nearest it has."""
    if column.type in _KNOWN:
        column = _clipped(column)
    if pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("us"))
    return list(column.to_pylist())


def _clipped(column: ArrowColumn) -> ArrowColumn:
    low, high = _KNOWN[column.type]
    stored = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    numbers = pc.cast(column, stored)
    spread = pc.min_max(numbers)
    if (
        spread["min"].as_py() is None
        or low <= spread["min"].as_py() <= spread["max"].as_py() <= high
    ):
        return column
    limits = (pa.scalar(limit, stored) for limit in (high, low))
    numbers = pc.min_element_wise(numbers, next(limits), skip_nulls=False)
    numbers = pc.max_element_wise(numbers, next(limits), skip_nulls=False)
    return pc.cast(numbers, column.type)


def texts(column: ArrowColumn) -> ArrowColumn:
    """Moments as ISO text, timestamps with microseconds and Z, as the number they are stored as
    beyond the years 1 to 9999; other columns as they are."""
    if column.type not in _KNOWN:
        return column
    if pa.types.is_timestamp(column.type):
        shown = pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ")
    else:
        shown = pc.cast(column, pa.string())
    known = _clipped(column)
    if known is column:
        return shown
    stored = pc.cast(column, pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return pc.if_else(pc.equal(known, column), shown, pc.cast(stored, pa.string()))


def json_lines(table: pa.Table | pa.RecordBatch) -> list[str]:
    """Each row as a JSON object, what is NULL left out, and NaN and infinities, for which JSON
    has no numbers."""
    columns = [[_plain(v) for v in texts(c).to_pylist()] for c in table.columns]
    names = table.schema.names
    rows = zip(*columns, strict=True) if columns else ((),) * len(table)
    return [
        json.dumps(
            {n: v for n, v in zip(names, row, strict=True) if v is not None}, ensure_ascii=False
        )
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def shown_number(column: ArrowColumn) -> int | None:
    """The greatest value of a column of integers or moments as an integer, None without any."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = pc.cast(column, pa.int32() if pa.types.is_date32(kind) else pa.int64())
    largest: int | None = pc.max(column).as_py()
    return largest


def moment_text(number: int | None, type_name: str) -> str:
    """What ``shown_number`` gave, as text; '' for None."""
    if number is None:
        return ""
    if type_name not in STORED:
        return str(number)
    stored = pa.array([number], STORED[type_name])
    return str(python_values(stored.cast(ARROW_TYPES[type_name]))[0])
