"""Columns of files as strangers name them, and files that lack some: each is read by its name."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.model.schema import Schema, SchemaError
from backend.workloads.contract import REASON, MisfitError
from backend.workloads.csv_files import CsvLayout, read_csv
from backend.workloads.json_files import read_json
from backend.workloads.parquet_files import read_parquet
from backend.workloads.spec import WorkloadError, load_workload

SPLIT = unicodedata.normalize("NFD", "Größe")


def written_csv(path: Path, names: list[str], values: list[Any]) -> None:
    path.write_text(f"{','.join(names)}\n{','.join(map(str, values))}\n")


def written_json(path: Path, names: list[str], values: list[Any]) -> None:
    path.write_text(json.dumps(dict(zip(names, values, strict=True))) + "\n")


def written_parquet(path: Path, names: list[str], values: list[Any]) -> None:
    pq.write_table(pa.table({n: [v] for n, v in zip(names, values, strict=True)}), path)


def csv_of(path: Path, schema: Schema) -> Any:
    layout = CsvLayout.of({"header": "true"})
    assert layout is not None
    return read_csv(path, schema, layout, {})


FORMATS: dict[str, tuple[Callable[..., None], Callable[[Path, Schema], Any]]] = {
    "csv": (written_csv, csv_of),
    "json": (written_json, lambda path, schema: read_json(path, schema, {})),
    "parquet": (written_parquet, lambda path, schema: read_parquet(path, schema, {})),
}


def told(name: str, path: Path, schema: Schema) -> list[dict[str, Any]]:
    rows = [row for table in FORMATS[name][1](path, schema) for row in table.to_pylist()]
    assert [row[REASON] for row in rows] == [None] * len(rows)
    return [{n: row[n] for n in schema.names} for row in rows]


@pytest.mark.parametrize("name", FORMATS)
def test_any_name_can_be_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f"
    FORMATS[name][0](path, ["id", "Flight No.", "temp (C)", SPLIT], [1, "LH 1", 21.5, 3])
    schema = Schema.parse("id int, `flight no.` string, `temp (C)` double, Größe int")
    assert told(name, path, schema) == [
        {"id": 1, "flight no.": "LH 1", "temp (C)": 21.5, "Größe": 3}
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_files_may_lack_what_the_schema_says_they_may(tmp_path: Path, name: str) -> None:
    schema = Schema.parse("id int, later string?")
    for own, values in ((["id"], [1]), (["later", "id"], ["x", 2])):
        FORMATS[name][0](tmp_path / "f", own, values)
        (row,) = told(name, tmp_path / "f", schema)
        assert row == {"id": values[-1], "later": values[0] if len(own) == 2 else None}


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_what_a_file_lacks_is_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f"
    FORMATS[name][0](path, ["id"], [1])
    with pytest.raises(MisfitError, match="has no column 'later'"):
        list(FORMATS[name][1](path, Schema.parse("id int, later string")))
    if name == "csv":
        with pytest.raises(MisfitError, match="has no column 'a'"):
            list(csv_of(path, Schema.parse("a int?, b int?")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Flight No. string", "the name of letters, digits and _, or any in `backquotes`"),
        ("`a` int, A int", "attribute 'A' appears twice"),
        (f"Größe int, {SPLIT} int", "attribute 'Größe' appears twice"),
        ("`a\nb` int", "a name that cannot be printed"),
        ("`` int", "expected 'name type'"),
        ("a int?, b decimal?", "attribute 'b' has unknown type 'decimal'"),
    ],
)
def test_schemas_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(SchemaError, match=said.replace("(", r"\(")):
        Schema.parse(text)


def test_names_between_backquotes() -> None:
    schema = Schema.parse("`a, b` int?, `c``d` string , e timestamp ?")
    found = [(a.name, a.type, a.optional) for a in schema.attributes]
    assert found == [("a, b", "int", True), ("c`d", "string", False), ("e", "timestamp", True)]
    assert schema.ddl() == "`a, b` int, `c``d` string, `e` timestamp"


def test_a_workload_over_such_columns(tmp_path: Path) -> None:
    written_csv(tmp_path / "q.csv", ["id", "Flight No.", SPLIT], [1, "LH 1", 2])
    text = '[streams.Q]\nschema = "id int, `Flight No.` string, Größe int, later int?"\n'
    text += 'source = { format = "csv", path = "q.csv", header = true }\n[queries]\n'
    text += f"q = \"Select id From Q Where `Flight No.` = 'LH 1' and {SPLIT} > 1\"\n"
    path = tmp_path / "w.toml"
    path.write_text(text)
    assert [query.name for query in load_workload(path).queries] == ["q"]
    path.write_text(text.replace("later int?", "later int"))
    with pytest.raises(WorkloadError, match="has no column 'later'"):
        load_workload(path)
