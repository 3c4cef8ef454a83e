"""Stored relations: tables that queries join streams with, loaded once and never changed."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT, REASON, MisfitError
from backend.workloads.file_source import FileSource, reader_of
from backend.workloads.flights import DataMissing
from backend.workloads.sources import open_source
from backend.workloads.spec import STORED_FORMATS, RelationSpec, StreamSpec
from backend.workloads.tables import WorkloadError


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelation:
    """A relation whose tuples do not change. table: its attributes, each tuple fitting. digest: 12
    hex digits that change with any of its tuples."""

    name: str
    schema: Schema
    table: pa.Table
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", _digest(self.table))


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
        first = f"{raw[0].as_py()[:200]}{_reason(table)}"
        message = f"{len(raw)} of its tuples do not fit its schema, the first of them {first}"
        raise WorkloadError(where, message)
    own = table.select(list(spec.schema.names)).combine_chunks()
    return StoredRelation(spec.name, spec.schema, own)


def _reason(table: pa.Table) -> str:
    """Why the first tuple that does not fit is none, where that is known."""
    if REASON not in table.column_names:
        return ""
    reasons = table.column(REASON).drop_null()
    return f": {reasons[0].as_py()}" if len(reasons) else ""


def _digest(table: pa.Table) -> str:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(buffer.getvalue()).hexdigest()[:12]


def _table(spec: RelationSpec, cache: Path) -> pa.Table:
    source = spec.source
    if source.format in STORED_FORMATS:
        read = reader_of(source.format, source.options)
        if read is None:
            raise MisfitError(f"an option of its source is not known to readers of {source.format}")
        return FileSource(source.options["path"], spec.schema, read).slice(0, sys.maxsize)
    opened = open_source(StreamSpec(spec.name, spec.schema, source), cache)
    if opened is None or opened.n_tuples is None:
        raise WorkloadError(f"[relations.{spec.name}]", f"{source.format} has no end")
    return opened.slice(0, opened.n_tuples)
