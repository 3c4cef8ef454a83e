"""Tables as Parquet files: of what SQL answers, and of what a page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from flask import Response

from dashboard.api.registry import ApiCall
from dashboard.serving.errors import ApiError

MEDIA: Final = "application/vnd.apache.parquet"
MOST_ROWS: Final = 20_000
MOST_COLUMNS: Final = 1000
LONGEST_CAPTION: Final = 1000


@dataclass(frozen=True, slots=True)
class ParquetRequest:
    """A table to write. columns: headings. rows: as many cells each, null = empty. caption: of the
    table, kept as ``caption`` in the metadata of the file's schema."""

    columns: list[str]
    rows: list[list[str | float | None]]
    caption: str = ""


def write_shown(call: ApiCall) -> Response:
    """The file of a table that a page shows."""
    asked: ParquetRequest = call.body
    _check(asked)
    metadata = {"caption": asked.caption} if asked.caption else None
    return as_file(parquet_bytes(asked.columns, asked.rows, metadata), MEDIA, "parquet")


def parquet_bytes(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    metadata: dict[str, str] | None = None,
) -> bytes:
    """A Parquet file of the rows. Headings that repeat get numbers; columns of numbers alone are
    int64 or double, those with values of several types text. metadata: of its schema."""
    arrays = [_column([row[i] for row in rows]) for i in range(len(columns))]
    table = pa.Table.from_arrays(arrays, names=_distinct(columns)).replace_schema_metadata(metadata)
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def as_file(content: str | bytes, media: str, ending: str) -> Response:
    """An answer that a browser saves as planwatch.ENDING."""
    response = Response(content, mimetype=media)
    response.headers["Content-Disposition"] = f'attachment; filename="planwatch.{ending}"'
    return response


def plain(value: Any) -> Any:
    """A value of the store as JSON and CSV have it: bytes in hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value


def _column(values: list[Any]) -> pa.Array:
    """An Arrow column; values of several types become text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(plain(value)) for value in values])


def _distinct(names: Sequence[str]) -> list[str]:
    """The names; one that came before gets the least number from 2 on that makes it new."""
    unique: list[str] = []
    for name in names:
        new, n = name, 1
        while new in unique:
            n += 1
            new = f"{name}_{n}"
        unique.append(new)
    return unique


def _check(asked: ParquetRequest) -> None:
    width = len(asked.columns)
    if not 1 <= width <= MOST_COLUMNS:
        raise _refused("columns", f"{width} columns; allowed are 1 to {MOST_COLUMNS}")
    if len(asked.rows) > MOST_ROWS:
        raise _refused("rows", f"{len(asked.rows)} rows; allowed are at most {MOST_ROWS}")
    if len(asked.caption) > LONGEST_CAPTION:
        raise _refused("caption", f"allowed are at most {LONGEST_CAPTION} characters")
    for place, name in enumerate(asked.columns):
        if not isinstance(name, str):
            raise _refused("columns", f"heading {place} is no text")
    for line, row in enumerate(asked.rows):
        _check_row(line, row, width)


def _check_row(line: int, row: Any, width: int) -> None:
    if not isinstance(row, list):
        raise _refused("rows", f"row {line} is no list of cells")
    if len(row) != width:
        raise _refused("rows", f"row {line} has {len(row)} cells; allowed are {width}")
    for place, cell in enumerate(row):
        if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
            what = "allowed are text, numbers and null"
            raise _refused("rows", f"cell {place} of row {line} is of another type; {what}")


def _refused(name: str, words: str) -> ApiError:
    return ApiError(422, "bad_field", f"{name}: {words}.", field=name)
