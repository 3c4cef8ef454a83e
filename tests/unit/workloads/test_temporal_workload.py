"""The employees of the shipped workload: example 2 of [AL11], as its answer lies in the sink."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow.dataset as ds

from backend.workloads.shipped import shipped_workloads
from backend.workloads.sources import open_source
from backend.workloads.spec import load_workload
from tests.engine_runs import EngineRun

QUERY = "long_in_one_department"
STREAM = "Employees"
IN_TOYS = (date(2000, 1, 1), date(2009, 1, 1))


def test_andy_was_in_toys_for_more_than_six_years_which_no_record_of_his_says(
    tmp_path: Path,
) -> None:
    workload = load_workload(shipped_workloads()["temporal"])
    (stream,) = (one for one in workload.streams if one.name == STREAM)
    (query,) = (one for one in workload.queries if one.name == QUERY)
    source = open_source(stream, tmp_path)
    assert source is not None
    rows = source.slice(0, 100).select(stream.schema.names).to_pylist()
    years = [
        (row["left_on"] - row["hired"]).days / 365.2425 for row in rows if row["name"] == "Andy"
    ]
    assert max(years) < 6
    schemas, times = {STREAM: stream.schema}, {STREAM: stream.timestamp or ""}
    run = EngineRun(
        tmp_path / "s.db", schemas, {QUERY: query.text}, sink=tmp_path / "out", timestamps=times
    )
    for row in [*rows, {**rows[-1], "told": datetime(2013, 1, 3, tzinfo=UTC)}]:
        run.batch([row])
    run.close()
    table = ds.dataset(tmp_path / "out" / f"query={QUERY}", format="parquet").to_table()
    columns = [table[name].to_pylist() for name in ("name", "valid_from", "valid_to", "sign")]
    assert sorted(zip(*columns, strict=True)) == [
        ("Andy", *IN_TOYS, 1),
        ("Bea", date(2001, 1, 1), date(2008, 6, 1), 1),
    ]
