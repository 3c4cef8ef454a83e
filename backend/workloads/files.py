"""The files a workload names: where they are, and whether the first has the schema's columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from backend.cql.errors import did_you_mean
from backend.model.schema import Attribute, Schema, folded
from backend.workloads.contract import shortened
from backend.workloads.csv_files import OPTIONS, CsvLayout, header_of
from backend.workloads.file_source import RETAKE, reader_of
from backend.workloads.paths import (
    found_files,
    is_pattern,
    pattern_beside,
    plain,
    shown,
    told_by,
)
from backend.workloads.tables import TomlTable, kind_of

FILE_FORMATS: Final = frozenset({"csv", "json", "orc", "parquet", "text", "avro", "xml"})


def beside(workload: Path, path: str) -> str:
    """A path of a workload file made absolute: relative ones start at the file; URLs stay."""
    if "://" in path:
        return path
    return str(workload.parent.absolute() / Path(path).expanduser())


def existing_path(table: TomlTable) -> str:
    """The source's path or pattern, made absolute; raises WorkloadError when nothing is there."""
    value = table.path_text("path")
    if value is None:
        raise table.refuse('has no path; write path = "file-or-folder"')
    if "://" in value:
        return value
    path = pattern_beside(table.path.parent, value)
    problem = _why_nothing(path)
    if problem:
        raise table.refuse(f"path: {problem}")
    return path


def _why_nothing(path: str) -> str:
    """Why no file is at an absolute path, '' = there is one."""
    if is_pattern(path):
        hint = "; the pattern has [ for one letter of several, write [[] for [ itself"
        is_there = bool(glob(path, recursive=True))
        return "" if is_there else f"there is no file {path}{hint if '[' in path else ''}"
    place = Path(plain(path))
    try:
        place.stat()
    except PermissionError:
        return f"{shown(place)} may not be looked at; let the engine read its folder"
    except OSError:
        return f"there is no file {shown(place)}"
    return ""


def _check_retake(table: TomlTable, format: str, options: Mapping[str, str]) -> None:
    """Raises WorkloadError for a key ``retake`` that is none, or is not acted upon."""
    if RETAKE not in options:
        return
    if not isinstance(table.values[RETAKE], bool):
        raise table.refuse(f"{RETAKE} must be true or false, not {kind_of(table.values[RETAKE])}")
    if reader_of(format, options) is None:
        raise table.refuse(f"{RETAKE} needs files that are not read by Spark; leave it out")


def check_first_file(
    table: TomlTable, format: str, options: Mapping[str, str], schema: Schema
) -> None:
    """Compare the columns of the first file with the schema, and look whether ``retake`` can be
    acted upon; raises WorkloadError.

    Files that cannot be read here (remote, other formats) are let pass, and so are later ones:
    they are looked at when it is their turn.
    """
    _check_retake(table, format, options)
    path = options.get("path", "")
    if format not in ("csv", "parquet") or "://" in path:
        return
    file = next(filter(os.path.isfile, found_files(path)), None)
    if file is None:
        return
    path_values = told_by(file, path, schema)
    wanted = [a for a in schema.attributes if a.name not in path_values]
    problem = None
    with suppress(OSError, ValueError, LookupError, pa.ArrowException):
        if format == "parquet":
            problem = _lacking(pq.read_schema(file).names, wanted, "it has")
        else:
            by_name = reader_of(format, options) is not None
            problem = _header_problem(file, options, wanted, by_name)
    if problem is not None:
        raise table.refuse(f"path: {shown(file)} {problem}")


def _header_problem(
    file: Path, options: Mapping[str, str], wanted: Sequence[Attribute], by_name: bool
) -> str | None:
    """What is wrong with a CSV file's header. by_name: columns are found by their names; Spark
    takes them by position, whatever the header says."""
    layout = CsvLayout.of({key: value for key, value in options.items() if key.lower() in OPTIONS})
    header = None if layout is None or "comment" in options else header_of(file, layout)
    if layout is None or header is None:
        return None
    is_same = [folded(name) for name in header] == [folded(a.name) for a in wanted]
    if not layout.has_header:
        return "begins with a header; write header = true" if is_same and by_name else None
    lacking = _lacking(header, wanted, "its header reads")
    if lacking is not None or is_same or by_name:
        return lacking
    problem = "has the schema's columns in another order"
    if len(header) > len(wanted):
        problem = f"has {len(header)} columns and the schema {len(wanted)}"
    return f"{problem}; its header reads {shortened(', '.join(header))}"


def _lacking(columns: Sequence[str], wanted: Sequence[Attribute], reads: str) -> str | None:
    known = {folded(name) for name in columns}
    needed = (attribute.name for attribute in wanted if not attribute.optional)
    missing = next((name for name in needed if folded(name) not in known), None)
    if missing is None:
        return None
    names = shortened(", ".join(columns))
    return f"has no column {missing!r}; {reads} {names}{did_you_mean(missing, columns[:1000])}"
