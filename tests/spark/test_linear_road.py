"""Linear Road on Spark, a few minutes of it: every answer is what its query means, tick by tick."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.workloads.linear_road import CAR_SCHEMA, CarSource
from backend.workloads.spec import load_workload, shipped_workloads
from tests.oracles.cql_semantics import answer
from tests.spark.test_backend_command import backend

pytestmark = pytest.mark.spark
#: Cars whose reports are read: those that enter at the beginning of some traffic.
N, ACCIDENTS, N_CARS = 4_000, 0.4, 14


def some_cars() -> list[dict[str, int]]:
    """Their reports, in order of time; segments 25 miles long, so that cars meet in them."""
    rows = CarSource(11, N, ACCIDENTS).slice(0, N).to_pylist()
    return [
        {name: row[name] // 25 if name == "sid" else row[name] for name in CAR_SCHEMA.names}
        for row in rows
        if row["cid"] < N_CARS
    ]


def small(folder: Path, rows: list[dict[str, int]]) -> Path:
    """The workload as it ships over a file with some cars; less fills a segment."""
    text = shipped_workloads()["linear_road"].read_text(encoding="utf-8")
    head, source, rest = text.partition("[streams.CarStr.source]")
    _, knobs, queries = rest.partition("[knobs]")
    assert source
    assert knobs
    for old, new in (
        ("- 20) * (V.cars - 20)", "- 1) * (V.cars - 1)"),
        ("V.cars > 20", "V.cars > 1"),
    ):
        assert old in queries
        queries = queries.replace(old, new)
    lines = [",".join(map(str, row.values())) for row in rows]
    (folder / "cars.csv").write_text("\n".join([",".join(CAR_SCHEMA.names), *lines]) + "\n")
    csv = 'format = "csv"\npath = "cars.csv"\nheader = true\n'
    path = folder / "road.toml"
    path.write_text(f'{head}{source}\n{csv}\n[sink]\npath = "out"\n\n{knobs}{queries}')
    return path


def told(folder: Path, query: str) -> Counter[tuple[Any, ...]]:
    """(row, τ, sign) of all files of an answer, of the one run there is."""
    (run,) = folder.glob("run=*")
    table = ds.dataset(run / f"query={query}", format="parquet").to_table()
    columns = [column.to_pylist() for column in table.columns]
    return Counter((row[:-2], row[-2], row[-1]) for row in zip(*columns, strict=True))


def test_every_query_of_linear_road_answers_what_it_means(tmp_path: Path) -> None:
    rows = some_cars()
    workload = small(tmp_path, rows)
    done = backend(str(workload), "--once", "--store", str(tmp_path / "store.db"))
    assert done.returncode == 0, done.stderr
    cars = [(tuple(row.values()), row["t"]) for row in rows]
    sizes = {}
    for query in load_workload(workload).queries:
        assert query.plan is not None
        expected = answer(query.plan, {"CarStr": cars}, rows[-1]["t"])
        assert told(tmp_path / "out", query.name) == expected, query.name
        sizes[query.name] = sum(expected.values())
    some = ("CurCarSeg", "AccCars", "AccSeg", "SlowSeg", "SegVolume", "CarSegEntryStr", "TollStr")
    assert all(sizes[name] for name in some), sizes
