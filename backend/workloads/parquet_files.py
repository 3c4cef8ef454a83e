"""Parquet files as tuples: columns by name, in the file's order; values as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from backend.model.schema import Schema
from backend.workloads.blocks import Content
from backend.workloads.contract import MisfitError, fit_table
from backend.workloads.text_values import read_texts

BATCH_TUPLES: Final = 65_536


def read_parquet(
    path: Path,
    schema: Schema,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[pa.Table]:
    """The tuples of a file, as tables of ``told_schema``. path_values: attributes whose values
    the path says; content: comes to know the bytes. Raises MisfitError when a column is missing;
    OSError, ArrowInvalid."""
    with pq.ParquetFile(path) as file:
        wanted = {name.lower() for name in schema.names if name not in path_values}
        names = [name for name in file.schema_arrow.names if name.lower() in wanted]
        if len({name.lower() for name in names}) < len(names):
            raise MisfitError(f"it has columns that differ only by case: {', '.join(names)}")
        missing = wanted - {name.lower() for name in names}
        if missing:
            first = next(name for name in schema.names if name.lower() in missing)
            has = ", ".join(file.schema_arrow.names)
            raise MisfitError(f"it has no column {first!r}; it has {has}")
        groups = range(file.num_row_groups)  # one by one: what is before a damaged one can be read
        for batch in chain.from_iterable(
            file.iter_batches(BATCH_TUPLES, [group], names) for group in groups
        ):
            table = pa.Table.from_batches([batch])
            for name, text in path_values.items():
                table = table.append_column(name, _constant(text, name, schema, len(table)))
            yield fit_table(table, schema)
    if content is not None:  # only columns that are wanted were read, each from its own place
        content.add_file(path)


def _constant(text: str | None, name: str, schema: Schema, n: int) -> pa.Array:
    """A value the path says, n times. Raises MisfitError."""
    attribute = schema.find(name)
    assert attribute is not None
    column, bad = read_texts(pa.array([text], pa.string()), attribute.type)
    if bad.any():
        raise MisfitError(f"in its path, {name} is no {attribute.type}")
    return pa.repeat(column[0], n)
