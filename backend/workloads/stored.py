"""Stored relations: tables that queries join streams with, loaded once and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT, MisfitError, fit_table
from backend.workloads.files import files_of
from backend.workloads.flights import DataMissing
from backend.workloads.sources import open_source
from backend.workloads.spec import STORED_FORMATS, RelationSpec, SourceSpec, StreamSpec
from backend.workloads.tables import WorkloadError


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """A relation whose tuples do not change. table: its attributes, each tuple fitting."""

    name: str
    schema: Schema
    table: pa.Table


def load_relation(spec: RelationSpec, cache: Path) -> StoredRelation:
    """The tuples of a relation. Raises WorkloadError where they cannot be read, one does not fit,
    or there is no end of them."""
    where = f"[relations.{spec.name}]"
    try:
        table = _table(spec, cache)
    except (MisfitError, DataMissing, OSError, pa.ArrowInvalid) as error:
        raise WorkloadError(where, f"cannot be read: {error}") from error
    raw = table.column(CORRUPT).drop_null()
    if len(raw):
        shown = raw[0].as_py()[:200]
        message = f"{len(raw)} of its tuples do not fit its schema, the first of them {shown}"
        raise WorkloadError(where, message)
    return StoredRelation(spec.name, spec.schema, table.drop_columns([CORRUPT]).combine_chunks())


def _table(spec: RelationSpec, cache: Path) -> pa.Table:
    source = spec.source
    if source.format in STORED_FORMATS:
        parts = [_read(path, source, spec.schema) for path in files_of(source.options["path"])]
        if not parts:
            raise MisfitError(f"there is no file in {source.options['path']}")
        return pa.concat_tables(fit_table(part, spec.schema) for part in parts)
    opened = open_source(StreamSpec(spec.name, spec.schema, source), cache)
    if opened is None or opened.n_tuples is None:
        raise WorkloadError(f"[relations.{spec.name}]", f"{source.format} has no end")
    return opened.slice(0, opened.n_tuples)


def _read(path: Path, source: SourceSpec, schema: Schema) -> pa.Table:
    """A file as it is; of a CSV file every column as text, empty ones NULL, without a header in
    the order of the schema."""
    if source.format == "parquet":
        return pq.read_table(path)
    names = list(schema.names)
    has_header = source.options.get("header", "").lower() == "true"
    separator = source.options.get("sep", source.options.get("delimiter", ","))
    reading = pa_csv.ReadOptions(column_names=names, skip_rows=1 if has_header else 0)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    parsing = pa_csv.ParseOptions(delimiter=separator)
    return pa_csv.read_csv(path, reading, parsing, convert)
