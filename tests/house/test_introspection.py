"""docs/introspection.md and the store name the same tables, columns and properties."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from storage.reading.sql import MOST_BYTES, MOST_ROWS
from storage.tables.schema import METADATA, Base
from storage.vocabulary.kinds import (
    EntityKind,
    EventKind,
    InputState,
    RunState,
    Severity,
    Verdict,
    words_of,
)
from storage.vocabulary.registry import KNOWN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "introspection.md").read_text(encoding="utf-8")
GOLDEN = ROOT / "tests" / "golden" / "store_v4.db"


def rows(pattern: str) -> dict[str, list[str]]:
    found = {}
    for name, rest in re.findall(rf"^\| `({pattern})` \| (.*) \|$", PAGE, re.MULTILINE):
        assert name not in found, f"{name} is documented twice"
        found[name] = rest.split(" | ")
    return found


def test_every_column_is_documented_with_unit_and_meaning() -> None:
    columns = {f"{t.name}.{c.name}": c for t in METADATA.tables.values() for c in t.columns}
    documented = rows(r"\w+\.\w+")
    assert set(documented) == set(columns)
    for name, (unit, meaning) in documented.items():
        comment = columns[name].comment or ""
        assert comment, f"{name} has no comment"
        assert meaning == comment.replace(f" ({unit})", ""), name
        assert unit.strip(), name


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("runs.state", RunState),
        ("inputs.state", InputState),
        ("input_batches.state", InputState),
        ("entities.kind", EntityKind),
        ("entities.role", KNOWN.roles),
        ("decisions.verdict", Verdict),
        ("matrices.kind", KNOWN.matrices),
        ("events.kind", EventKind),
        ("events.severity", Severity),
    ],
)
def test_a_closed_list_is_documented_word_by_word(column: str, words: Any) -> None:
    (_, meaning) = rows(r"\w+\.\w+")[column]
    listed = meaning.rpartition(": ")[2].partition(";")[0]
    assert re.split(", | or ", listed) == list(words_of(words))


def test_a_column_whose_name_carries_a_unit_is_documented_in_it() -> None:
    units = {"_ms": "ms", "_s": "s", "time": "Unix s", "_at": "Unix s", "n_": "tuples"}
    for name, (unit, _) in rows(r"\w+\.\w+").items():
        column = name.split(".")[1]
        for mark, expected in units.items():
            if column.endswith(mark) if mark[-1] != "_" else column.startswith(mark):
                assert unit == expected or column == "stream_time", name


def test_every_table_is_described_as_in_the_schema() -> None:
    for mapper in Base.registry.mappers:
        table = mapper.class_.__tablename__
        meaning = " ".join(str(mapper.class_.__doc__).split())
        assert f"### `{table}`\n\n{meaning}\n" in PAGE


def test_every_property_is_documented_with_unit_kinds_and_meaning() -> None:
    documented = rows(r"\w+")
    assert set(documented) == set(KNOWN.properties)
    for name, (unit, kinds, meaning) in documented.items():
        known = KNOWN.properties[name]
        assert unit == (known.unit or "—"), name
        assert kinds.split(", ") == list(known.kinds), name
        assert meaning.removesuffix(" (a batch without it: 0)") == known.meaning, name
        assert meaning.endswith("(a batch without it: 0)") == known.absent_is_zero, name


def test_the_bounds_of_the_sql_page_are_documented() -> None:
    rows = f"{MOST_ROWS:,}".replace(",", " ")
    assert f"at most {rows} rows and {MOST_BYTES // 2**20} MiB" in PAGE


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_the_queries_of_the_page_run_and_find_something(query: str) -> None:
    connection = sqlite3.connect(f"{GOLDEN.as_uri()}?immutable=1", uri=True)
    try:
        assert connection.execute(query).fetchall()
    finally:
        connection.close()
