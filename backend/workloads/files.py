"""The files a workload names: where they are, and whether a CSV header fits the schema."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from glob import glob, has_magic
from pathlib import Path
from typing import Final

from backend.model.schema import Schema
from backend.workloads.tables import TomlTable, kind_of

FILE_FORMATS: Final = frozenset({"csv", "json", "orc", "parquet", "text", "avro", "xml"})


def beside(workload: Path, path: str) -> str:
    """A path of a workload file made absolute: relative ones start at the file; URLs stay."""
    if "://" in path:
        return path
    return str(workload.parent.absolute() / Path(path).expanduser())


def existing_path(table: TomlTable) -> str:
    """The source's path, made absolute; raises WorkloadError when nothing is there."""
    value = table.values.get("path")
    if value is None:
        raise table.refuse('has no path; write path = "file-or-folder"')
    if not isinstance(value, str) or not value.strip():
        raise table.refuse(f"path must be a string with a path in it, not {kind_of(value)}")
    path = beside(table.path, value)
    if "://" not in path and not _matches(path):
        raise table.refuse(f"path: there is no file {path}")
    return path


def _matches(path: str) -> list[Path]:
    if has_magic(path):
        return [Path(match) for match in sorted(glob(path, recursive=True))]
    return [Path(path)] if Path(path).exists() else []


def check_header(table: TomlTable, options: Mapping[str, str], schema: Schema) -> None:
    """Compare the header of the first CSV file with the schema; raises WorkloadError.

    Spark takes CSV columns by position whatever the header says, so names in another order would
    silently change places. Files that cannot be read here (remote, other encodings) are let pass.
    """
    if options.get("header", "").lower() != "true" or "://" in options["path"]:
        return
    file = next(filter(Path.is_file, files_of(options["path"])), None)
    names = None if file is None else _header(file, options)
    if names is None:
        return
    wanted = list(schema.names)
    found = [name.strip() for name in names]
    if [name.lower() for name in found] == [name.lower() for name in wanted]:
        return
    known = {name.lower() for name in found}
    missing = [name for name in wanted if name.lower() not in known]
    if missing:
        problem = f"has no column {missing[0]!r}"
    elif len(found) > len(wanted):
        problem = f"has {len(found)} columns and the schema {len(wanted)}"
    else:
        problem = "has the schema's columns in another order"
    raise table.refuse(f"path: {file} {problem}; its header reads {', '.join(found)}")


def files_of(path: str) -> list[Path]:
    """The files a path, a folder or a pattern names, sorted; hidden ones left out."""
    found: list[Path] = []
    for match in _matches(path):
        found += sorted(match.iterdir()) if match.is_dir() else [match]
    return [file for file in found if not file.name.startswith((".", "_"))]


def _header(file: Path, options: Mapping[str, str]) -> list[str] | None:
    separator = options.get("sep", options.get("delimiter", ","))
    if len(separator) != 1 or {"comment", "encoding", "charset"} & set(options):
        return None
    try:
        with (
            gzip.open(file, "rt", encoding="utf-8-sig")
            if file.suffix == ".gz"
            else file.open(encoding="utf-8-sig") as lines
        ):
            quote = options.get("quote") or '"'
            return next(csv.reader(lines, delimiter=separator, quotechar=quote), None)
    except (OSError, UnicodeDecodeError, csv.Error, TypeError):
        return None
