"""What a task writes of one stream: a part file of matched tuples, one of tuples kept aside.

Parts lie under ``_staging/<batch>`` of the stream's folder, under names no other attempt uses,
until the driver publishes those the reports name (backend.hosts.publish). The folder is local, or
any that pyarrow.fs knows by its URL.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, Protocol

import pyarrow as pa
from pyarrow import fs

from backend.model.schema import Schema
from backend.operators.contract import KeptAside
from backend.operators.values import json_lines, texts
from backend.workloads.text_values import ARROW_TYPES

STAGING: Final = "_staging"
MISFITS: Final = "_misfits"
QUERY_IDS: Final = "query_ids"
#: Columns that readers make of the folders of files: ``run=ID``, ``stream=NAME``, ``query=NAME``.
FOLDER_COLUMNS: Final = frozenset({"run", "stream", "query"})
#: Names of parts begin with what they hold.
MATCHED: Final = "matched"
ASIDE: Final = "aside"
#: Tuples written together: a row group of Parquet.
ROWS_TOGETHER: Final = 65_536
#: What Hadoop calls file systems that pyarrow knows by another name.
_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss"}


def file_system(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URL, and the path in it. Raises pa.ArrowInvalid for an unknown
    one."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return fs.LocalFileSystem(), os.path.abspath(path)
    files, inside = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    return files, inside.rstrip("/")


def sink_schema(schema: Schema) -> pa.Schema:
    """The attributes, then ``query_ids``: lists of names, each name stored once."""
    fields = [pa.field(a.name, ARROW_TYPES[a.type]) for a in schema.attributes]
    names = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    return pa.schema([*fields, pa.field(QUERY_IDS, names)])


def as_written(schema: pa.Schema) -> pa.Schema:
    """The columns of files in the sink. One that has the name of a folder's column, in which
    readers would not find its values, is numbered: run_2."""
    taken = FOLDER_COLUMNS | {name.lower() for name in schema.names}
    names = []
    for name in schema.names:
        free = (f"{name}_{number}" for number in count(2))
        is_taken = name.lower() in FOLDER_COLUMNS
        names.append(next(n for n in free if n.lower() not in taken) if is_taken else name)
    fields = [field.with_name(name) for field, name in zip(schema, names, strict=True)]
    return pa.schema(fields)


class Parts:
    """The parts of one task. folder: of the stream; format: 'parquet', 'json' or 'csv'."""

    def __init__(
        self, folder: str, format: str, schema: pa.Schema, batch_id: int, partition: int
    ) -> None:
        self._format, self._schema = format, as_written(schema)
        self._files, inside = file_system(folder)
        self._staging = f"{inside}/{STAGING}/{batch_id}"
        self._own = f"{partition:05d}-{uuid.uuid4().hex}"
        self._waiting: list[pa.RecordBatch] = []
        self._writer: Writer | None = None
        self._aside: pa.NativeFile | None = None
        self._names: list[str] = []

    def add(self, matched: pa.RecordBatch) -> None:
        """Rows for the sink, as the schema has them."""
        self._waiting.append(matched)
        if sum(map(len, self._waiting)) >= ROWS_TOGETHER:
            self._write()

    def keep_aside(self, tuples: Sequence[KeptAside]) -> None:
        """As JSON lines."""
        if self._aside is None:
            self._aside = self._open(ASIDE, "json")
        lines = ({"raw": misfit.raw, "error": misfit.error} for misfit in tuples)
        self._aside.write(_encoded([json.dumps(line, ensure_ascii=False) for line in lines]))

    def close(self) -> tuple[str, ...]:
        """Finish the files; their names in the staging folder."""
        self._write()
        if self._writer is not None:
            self._writer.close()
        if self._aside is not None:
            self._aside.close()
        return tuple(self._names)

    def _write(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            out = self._open(MATCHED, self._format)
            self._writer = writer_for(self._format, out, self._schema)
        self._writer.write(pa.Table.from_batches(self._waiting).rename_columns(self._schema.names))
        self._waiting = []

    def _open(self, kind: str, suffix: str) -> pa.NativeFile:
        self._files.create_dir(self._staging, recursive=True)
        self._names.append(f"{kind}-{self._own}.{suffix}")
        return self._files.open_output_stream(f"{self._staging}/{self._names[-1]}")


class Writer(Protocol):
    """Writes tables of one schema to an open file."""

    def write(self, table: pa.Table) -> None:
        """Append a table."""

    def close(self) -> None:
        """Finish, and close the file."""


def writer_for(format: str, out: pa.NativeFile, schema: pa.Schema) -> Writer:
    """The writer of a format of sinks."""
    makers: dict[str, Callable[[pa.NativeFile, pa.Schema], Writer]] = {
        "parquet": _Parquet,
        "json": _Json,
        "csv": _Csv,
    }
    return makers[format](out, schema)


class _Parquet:
    def __init__(self, out: pa.NativeFile, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        # the stored schema says plain lists of strings: dictionaries are how they come; least and
        # greatest texts take a fifth of the time of writing and help no reader; integers and
        # timestamps are mostly near those before them, and take half of it as differences
        self._out = out
        texts = [_leaf(field) for field in schema if not pa.types.is_primitive(field.type)]
        near = [field.name for field in schema if _is_wide_integer(field.type)]
        self._writer = pq.ParquetWriter(
            out,
            schema,
            compression="snappy",
            store_schema=False,
            use_dictionary=texts,
            column_encoding=dict.fromkeys(near, "DELTA_BINARY_PACKED"),
            write_statistics=[field.name for field in schema if _leaf(field) not in texts],
        )

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()
        self._out.close()


def _leaf(field: pa.Field[Any]) -> str:
    """What Parquet calls the column of a field's values."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name


def _is_wide_integer(type: pa.DataType) -> bool:
    return bool(pa.types.is_int64(type) or pa.types.is_timestamp(type))


class _Json:
    def __init__(self, out: pa.NativeFile, schema: pa.Schema) -> None:
        self._out = out

    def write(self, table: pa.Table) -> None:
        self._out.write(_encoded(json_lines(table)))

    def close(self) -> None:
        self._out.close()


class _Csv:
    """Names of queries are joined by blanks; the first line names the columns."""

    def __init__(self, out: pa.NativeFile, schema: pa.Schema) -> None:
        from pyarrow import csv

        self._out = out
        self._writer = csv.CSVWriter(out, _as_csv(schema.empty_table()).schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(_as_csv(table))

    def close(self) -> None:
        self._writer.close()
        self._out.close()


def _as_csv(table: pa.Table) -> pa.Table:
    columns: list[Any] = [
        pa.array([" ".join(ids) for ids in column.to_pylist()], pa.string())
        if name == QUERY_IDS
        else texts(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _encoded(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
