"""The queries of every system on one Spark: the answers of the same run without it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from backend.launch.cli import main
from storage.store import open_reader
from tests.house.tree import ROOT
from tests.systems.running import ASKED, TEXTS, tuples

FUNCTIONS = """
from backend.workloads.functions import filter_function

@filter_function("b int")
def rare(b: int) -> bool:
    return b < 10

@filter_function("a int")
def common(a: int) -> bool:
    return a % 10 != 0

@filter_function("c string")
def fragile(c: str) -> bool:
    return c != "n"
"""
N = 400
_HEAD = """functions = "mine.py"
[streams.S]
schema = "a int, b int, c string, d int"
key = ["a", "b", "c"]
valid = ["b", "d"]
source = { format = "json", path = "in" }
[sink]
path = "out"
[knobs]
max_batch_tuples = 200
[queries]
"""


def workload(folder: Path) -> Path:
    """All texts over a stream of two batches."""
    folder.mkdir()
    (folder / "mine.py").write_text(FUNCTIONS)
    (folder / "in").mkdir()
    lines = "".join(f"{json.dumps(row)}\n" for row in tuples(N, 1))
    (folder / "in" / "a.json").write_text(lines)
    texts = {
        name: f'{{ text = {json.dumps(text)}, system = "{ASKED[name]}" }}'
        if name in ASKED
        else json.dumps(text)
        for name, text in TEXTS.items()
    }
    path = folder / "w.toml"
    path.write_text(_HEAD + "".join(f"{name} = {text}\n" for name, text in texts.items()))
    return path


def arguments(path: Path, *options: str) -> list[str]:
    return [str(path), "--store", str(path.with_name("s.db")), "--once", *options]


def told(folder: Path) -> Counter[tuple[Any, ...]]:
    """All that is in the sink."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for path in folder.glob("out/run=*/*=*"):
        for row in ds.dataset(path, format="parquet").to_table().to_pylist():
            rows[path.name, *(str(value) for value in row.values())] += 1
    return rows


def test_all_systems_answer_on_spark_as_without(tmp_path: Path) -> None:
    here, there = workload(tmp_path / "here"), workload(tmp_path / "there")
    assert main(arguments(here, "--master", "none")) == 0
    code = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments(there)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = told(here.parent)
    assert told(there.parent) == answers
    assert {f"query={name}" for name in ASKED} <= {name for name, *_ in answers}
    with open_reader(str(there.with_name("s.db"))) as reader:
        (run,) = reader.runs()
        assert (reader.last_batch(run.id) or 0) >= 1
        assert {unit.system for unit in reader.units(run.id)} >= {"asc", "agreedy", *ASKED.values()}
