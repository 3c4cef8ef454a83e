"""Pipelined filters on Spark: results by definition, whatever the order, profile and seed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backend.engine.execution import FilterBatchResult, FilterSnapshot
from backend.hosts.spark.filter_executor import FilterExecutor
from backend.hosts.spark.sinks import FileSink
from pyspark.sql import DataFrame, SparkSession

from backend.cql import parse_query
from backend.model.filters import FilterPlan, Probing
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.systems.agreedy.pipeline import pipeline_of
from backend.workloads.functions import built_in
from storage.store import open_reader
from tests.oracles.filter_batches import execute as execute_slowly
from tests.spark.plans import frame_of, json_lines, query_ids_by_row

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Schema.parse("id int, i int, x double, s string, t timestamp")
TEXT = """
Select * From S Where i between 2 and 8 and (x > 1.5 or s is null) and id <> 7
  and matches(s, 'a') and fragile(i) and not contains(s, 'zz')"""


def fragile(i: int) -> bool:
    """Raises for 5, drops 3."""
    if i == 5:
        raise ValueError("five")
    return i != 3


FUNCTIONS = Functions(
    {
        **built_in().functions,
        "fragile": Function("fragile", (Parameter("i", "int"),), fragile),
    }
)
QUERY = parse_query("q", TEXT, {"S": SCHEMA}, FUNCTIONS)


def tuples(n: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "id": k,
            "i": rng.choice([None, *range(10)]),
            "x": rng.choice([None, 1.0, 1.5, 2.5, float("nan"), float("inf")]),
            "s": rng.choice([None, "a", "ba", "b", "azz", "it's a \\"]),
            "t": None,
        }
        for k in range(n)
    ]


def run(
    spark: SparkSession,
    folder: Path,
    frame: DataFrame,
    order: list[str],
    probing: Probing,
    profile_prob: float,
    seed: int,
) -> FilterBatchResult:
    sink = FileSink(spark, str(folder), "parquet")
    executor = FilterExecutor(spark, SCHEMA, None, sink, FUNCTIONS, {}, seed)
    filters = pipeline_of(QUERY)
    plan = FilterPlan(1, tuple(order), 3)
    return executor.execute(frame, FilterSnapshot(0, "q", filters, plan, probing, profile_prob))


def test_what_is_emitted_does_not_depend_on_order_profile_or_seed(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = tuples(500, 3)
    frame = frame_of(spark, SCHEMA, rows)
    names = [f.name for f in pipeline_of(QUERY)]
    assert names == ["i", "x_or_s", "id", "matches", "fragile", "contains"]
    seen = []
    for turn, (rule, p) in enumerate([("all", 0.0), ("all", 1.0), ("next", 0.4), ("one", 0.4)]):
        rng = random.Random(turn)
        order = [*rng.sample(names[:3], 3), *rng.sample(names[3:], 3)]
        probing = Probing(rule, names[4] if rule == "one" else None)  # type: ignore[arg-type]  # of the rules
        folder = tmp_path / str(turn)
        result = run(spark, folder, frame, order, probing, p, seed=turn)
        emitted = sorted(query_ids_by_row(spark, folder, "id"))
        aside = sorted(line["error"] + line["raw"] for line in json_lines(folder / "_misfits"))
        seen.append((emitted, aside, result.n_matched, result.n_misfits))

        snapshot = FilterSnapshot(
            0, "q", pipeline_of(QUERY), FilterPlan(1, tuple(order), 3), probing, p
        )
        slow = execute_slowly(rows, snapshot, SCHEMA, FUNCTIONS)
        assert emitted == [m.values["id"] for m in slow.recent]
        assert (result.reached, result.dropped) == (slow.reached, slow.dropped)
        assert (result.n_tuples, result.n_misfits) == (slow.n_tuples, slow.n_misfits)
        if p in (0.0, 1.0):
            assert result.outcomes.tolist() == slow.outcomes.tolist()
            assert result.n_passed == slow.n_passed
        else:
            assert 0 < result.n_profiled < len(rows) * 0.6
    assert all(found == seen[0] for found in seen)
    assert seen[0][0]
    assert seen[0][3] > 0
    assert "fragile: ValueError: five" in seen[0][1][0]


def test_the_profile_is_seeded_and_a_repeated_batch_replaces_what_it_wrote(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = frame_of(spark, SCHEMA, tuples(300, 4))
    order = [f.name for f in pipeline_of(QUERY)]
    first, second, other = (
        run(spark, tmp_path, frame, order, Probing("all"), 0.3, seed) for seed in (1, 1, 2)
    )
    assert first.outcomes.tolist() == second.outcomes.tolist() != other.outcomes.tolist()
    assert len(query_ids_by_row(spark, tmp_path, "id")) == first.n_matched == other.n_matched


def test_no_query_emits_nothing_and_counts_all(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, SCHEMA, tuples(50, 4))
    executor = FilterExecutor(
        spark, SCHEMA, None, FileSink(spark, str(tmp_path), "parquet"), FUNCTIONS, {}, 1
    )
    snapshot = FilterSnapshot(0, None, (), FilterPlan(1, (), 0), Probing("all"), 0.5)
    result = executor.execute(frame, snapshot)
    assert (result.n_tuples, result.n_matched, result.n_misfits) == (50, 0, 0)


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
    texts = [path.read_text() for path in sorted(folder.glob("run=*/batch-*.json"))]
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
    found = emitted(out / "found")
    # the window as of car 6 (arrival 5) holds reports 1..5: "B-XY 1" of report 0 has left it
    assert [row["id"] for row in found] == [1]
    late = emitted(out / "Cars")
    assert [row["id"] for row in late] == [6, 7, 8]
    aside = json_lines(out / "found" / "_misfits")
    assert [line["error"] for line in aside] == [
        "german: ValueError: no plate",
        "does not fit the schema",
    ]
    with open_reader(str(store)) as reader:
        runs = {run.id.split("-")[1]: run for run in reader.runs()}
        assert {run.state for run in runs.values()} == {"ended"}
        values = reader.values(runs["found"].id)
        assert values["system"]["misfits_total"] == 2
        assert values["query:found"]["matched_total"] == 1
        knobs = {k.name for k in reader.knobs(runs["found"].id)}
        assert "alpha" in knobs
        assert "mu" not in knobs
        assert reader.plans(runs["found"].id)[0].order == (
            "filter:id",
            "filter:german",
            "filter:plate_in_Wanted",
        )


def test_an_unknown_function_and_a_bad_module_are_refused_in_one_sentence(tmp_path: Path) -> None:
    from backend.workloads.spec import WorkloadError, load_workload

    (tmp_path / "mine.py").write_text(MODULE.replace("plate string", "plate strin"))
    (tmp_path / "my.toml").write_text(WORKLOAD)
    with pytest.raises(WorkloadError, match="unknown type 'strin'"):
        load_workload(tmp_path / "my.toml")
