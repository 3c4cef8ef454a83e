"""Workloads with functions and windows, run by the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backend.model.ids import entity_id
from storage.store import open_reader
from tests.spark.plans import json_lines

ROOT = Path(__file__).resolve().parents[2]
MODULE = """
from backend.workloads.functions import filter_function

@filter_function("plate string")
def german(plate):
    if plate == "?":
        raise ValueError("no plate")
    return plate.startswith("B-")
"""
WORKLOAD = """
functions = "mine.py"
[streams.Cars]
schema = "id int, plate string"
source = { format = "memory", rows = [
    [1, "B-XY 1"], [2, "B-XY 2"], [3, "F-AB 3"], [4, "?"],
    ["four", "x"], [6, "B-XY 1"], [7, {}], [8, "B-XY 8"],
] }
[streams.Wanted]
schema = "plate string"
source = { format = "memory", rows = [
    ["B-XY 1"], ["?"], ["F-AB 3"], ["B-XY 8"], ["x"], ["y"], ["z"], ["w"],
] }
[queries]
found = '''
Select * From Cars
Where id < 8 and german(plate) and plate in (Select * From Wanted [Rows 5])'''
late = "Select * From Cars Where id >= 6"
[knobs]
profile_prob = 0.5
mu = 0.2
[sink]
path = "out"
format = "json"
"""


def emitted(folder: Path) -> list[dict[str, Any]]:
    """What a JSON sink holds, tuples kept aside left out."""
    texts = [path.read_text() for path in sorted(folder.glob("run=*/stream=Cars/batch-*.json"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_a_workload_with_functions_and_a_window_runs_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(WORKLOAD)
    (tmp_path / "mine.py").write_text(MODULE)
    store = tmp_path / "store.db"
    command = [sys.executable, str(ROOT / "run.py"), "backend", "my.toml", "--once"]
    done = subprocess.run(
        [*command, "--store", str(store)],
        cwd=tmp_path,
        env={**os.environ, "PLANWATCH_NO_ENVIRONMENT": "1"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    # the window as of car 6 (arrival 5) holds reports 1..5: "B-XY 1" of report 0 has left it
    assert {row["id"]: row["query_ids"] for row in emitted(out)} == {
        1: ["found"],
        6: ["late"],
        7: ["late"],
        8: ["late"],
    }
    (folder,) = out.glob("run=*/stream=Cars/_misfits")
    assert {line["error"] for line in json_lines(folder)} == {
        "german: ValueError: no plate",
        "id is not a whole number of 32 bits",
    }
    with open_reader(str(store)) as reader:
        (run,) = reader.runs()
        assert run.state == "ended"
        values = reader.values(run.id)
        assert values["system"]["misfits_total"] == 2
        assert values[entity_id("agreedy.found", "query", "found")]["matched_total"] == 1
        scopes = {k.name: k.scope for k in reader.knobs(run.id)}
        assert (scopes["alpha"], scopes["mu"]) == ("agreedy.found", "asc.Cars")
        plan = next(plan for plan in reader.plans(run.id) if plan.unit_id == "agreedy.found")
        names = {node["id"]: node["name"] for node in plan.graph["nodes"]}
        assert [names[id] for id in plan.order] == ["id", "german", "plate_in_Wanted"]


def test_an_unknown_function_and_a_bad_module_are_refused_in_one_sentence(tmp_path: Path) -> None:
    from backend.workloads.spec import WorkloadError, load_workload

    (tmp_path / "mine.py").write_text(MODULE.replace("plate string", "plate strin"))
    (tmp_path / "my.toml").write_text(WORKLOAD)
    with pytest.raises(WorkloadError, match="unknown type 'strin'"):
        load_workload(tmp_path / "my.toml")
