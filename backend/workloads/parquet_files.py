"""Parquet files as tuples: columns by name, in the file's order; values as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.model.schema import Schema, folded
from backend.workloads.blocks import Content
from backend.workloads.contract import MisfitError, fit_table, no_value
from backend.workloads.row_groups import GroupStatistics, Passing, RowGroup
from backend.workloads.text_values import read_texts

BATCH_TUPLES: Final = 65_536
#: What a file gives next: tuples, or a row group of which some need not be read.
Piece: TypeAlias = pa.Table | RowGroup
#: The first and the last second of the years 1 to 9999.
_FIRST_S: Final = -62_135_596_800
_LAST_S: Final = 253_402_300_799


def read_parquet(
    path: Path,
    schema: Schema,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[pa.Table]:
    """The tuples of a file, as tables of ``told_schema``. path_values: attributes whose values
    the path says; content: comes to know the bytes. Raises MisfitError when a column is missing;
    OSError, ArrowInvalid."""
    pieces = read_groups(Passing(), path, schema, path_values, content)
    return (piece for piece in pieces if not isinstance(piece, RowGroup))


def read_groups(
    passing: Passing,
    path: Path,
    schema: Schema,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[Piece]:
    """As ``read_parquet``; row groups that ``passing`` says come before they are read."""
    with (
        pq.ParquetFile(path) as file,
        pq.ParquetFile(path, metadata=file.metadata, coerce_int96_timestamp_unit="s") as seconds,
    ):
        names = _names(file, schema, path_values)
        old = [n for n in names if _is_time(n, schema) and _is_int96(file.schema, n)]
        statistics: GroupStatistics | None = None
        for number in range(file.num_row_groups):  # what is before a damaged one can be read
            n_tuples, n_passed = file.metadata.row_group(number).num_rows, 0
            passing.n_groups += 1
            if passing.refutes is not None and n_tuples and not old:
                if statistics is None:
                    values = {n: _constant(t, n, schema, 1) for n, t in path_values.items()}
                    statistics = GroupStatistics(file, schema, names, values)
                group = statistics.group(number, passing)
                if group is not None:
                    yield group
                    n_passed = len(group)
            if n_passed and n_passed == n_tuples:
                continue
            for table in _tables(file, seconds, names, old, number):
                rows, n_passed = table.slice(n_passed), max(0, n_passed - len(table))
                for name, text in path_values.items():
                    rows = rows.append_column(name, _constant(text, name, schema, len(rows)))
                yield fit_table(rows, schema)
    if content is not None:  # only columns that are wanted were read, each from its own place
        content.add_file(path)


def _names(
    file: pq.ParquetFile, schema: Schema, path_values: Mapping[str, str | None]
) -> list[str]:
    """The columns to read. Raises MisfitError when one is missing."""
    own = [a for a in schema.attributes if a.name not in path_values]
    wanted = {folded(attribute.name) for attribute in own}
    names = [name for name in file.schema_arrow.names if folded(name) in wanted]
    known = {folded(name) for name in names}
    if len(known) < len(names):
        raise MisfitError(f"it has columns that differ only by case: {', '.join(names)}")
    missing = [a.name for a in own if not a.optional and folded(a.name) not in known]
    if missing:
        has = ", ".join(file.schema_arrow.names)
        raise MisfitError(f"it has no column {missing[0]!r}; it has {has}")
    return names


def _tables(
    file: pq.ParquetFile,
    seconds: pq.ParquetFile,
    names: Sequence[str],
    old: Sequence[str],
    group: int,
) -> Iterator[pa.Table]:
    """The rows of a row group; those of ``old`` columns come from the same file in seconds."""
    batches = file.iter_batches(BATCH_TUPLES, [group], names)
    if not old:
        yield from (pa.Table.from_batches([batch]) for batch in batches)
        return
    in_seconds = seconds.iter_batches(BATCH_TUPLES, [group], old)
    for batch, of_seconds in zip(batches, in_seconds, strict=True):
        table = pa.Table.from_batches([batch])
        for name in old:
            column = moments(of_seconds.column(name), batch.column(name))
            table = table.set_column(names.index(name), name, column)
        yield table


def _is_time(name: str, schema: Schema) -> bool:
    attribute = schema.find(name)
    return attribute is not None and attribute.type in ("date", "timestamp")


def _is_int96(schema: pq.ParquetSchema, name: str) -> bool:
    columns = (schema.column(place) for place in range(len(schema)))
    return any(column.path == name and column.physical_type == "INT96" for column in columns)


def moments(seconds: pa.Array[Any], nanos: pa.Array[Any]) -> pa.Array[Any]:
    """Moments that are stored in 96 bits, read in seconds, and in nanoseconds modulo 2^64: as
    timestamps, or as text where one lies between microseconds or beyond the years 1 to 9999."""
    absent = seconds.is_null().to_numpy(zero_copy_only=False)
    whole, rest = (pc.fill_null(c.cast(pa.int64()), 0).to_numpy() for c in (seconds, nanos))
    rest = rest - whole * 1_000_000_000  # both modulo 2^64: the rest of the second is left
    if ((whole >= _FIRST_S) & (whole <= _LAST_S) & (rest % 1000 == 0)).all():
        return pa.array(whole * 1_000_000 + rest // 1000, pa.timestamp("us"), mask=absent)
    days = np.datetime_as_string(whole.astype("datetime64[s]"))
    pairs = zip(days, rest, strict=True)
    texts = [f"{day}.{part:09d}".replace("T00:00:00.000000000", "") for day, part in pairs]
    return pa.array(np.array(texts, dtype=object), pa.string(), mask=absent)


def _constant(text: str | None, name: str, schema: Schema, n: int) -> pa.Array:
    """A value the path says, n times. Raises MisfitError."""
    attribute = schema.find(name)
    assert attribute is not None
    column, bad = read_texts(pa.array([text], pa.string()), attribute.type)
    if bad.any():
        raise MisfitError(f"in its path, {no_value(name, attribute.type)}")
    return pa.repeat(column[0], n)
