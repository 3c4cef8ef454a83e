"""The flights: complete, typed, joined, in order; and the queries shipped with them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from backend.model.conditions import Condition, attributes_of
from backend.workloads import flights
from backend.workloads.contract import CORRUPT, arrow_schema
from backend.workloads.flights import (
    FLIGHTS_SCHEMA,
    DataMissing,
    flights_table,
)
from backend.workloads.spec import Workload, load_workload, shipped_workloads
from tests.oracles.cql_reference import judge_condition


@pytest.fixture(scope="module")
def table(flights_cache: Path) -> pa.Table:
    return flights_table(flights_cache)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load_workload(shipped_workloads()["flights"])


def test_every_flight_is_there_and_fits_the_contract(table: pa.Table) -> None:
    assert table.num_rows == 336_776
    assert table.schema == arrow_schema(FLIGHTS_SCHEMA)
    assert table.column(CORRUPT).null_count == len(table)


def test_the_timetable_is_in_order_and_ties_keep_the_files_order(table: pa.Table) -> None:
    departures = table.column("sched_dep")
    assert departures.null_count == 0
    assert pc.all(pc.less_equal(departures[:-1], departures[1:])).as_py()
    first = table.slice(0, 1).to_pylist()[0]
    assert first["sched_dep"] == datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
    assert (first["flight"], first["origin"], first["dest"]) == (1545, "EWR", "IAH")


def test_null_stays_null(table: pa.Table) -> None:
    nulls = {name: table.column(name).null_count for name in FLIGHTS_SCHEMA.names}
    assert nulls["dep_time"] == nulls["dep_delay"] == 8255
    assert nulls["arr_delay"] == nulls["air_time"] == 9430
    assert nulls["tailnum"] == 2512
    assert 1000 < nulls["temp"] < 2000
    assert nulls["seats"] == nulls["manufacturer"] > 50_000
    assert nulls["carrier"] == nulls["airline"] == nulls["distance"] == 0


def test_rows_are_joined_as_a_slow_reader_joins_them(table: pa.Table) -> None:
    folder = flights.data_folder()
    weather = {(r["origin"], r["time_hour"]): r for r in _rows(folder / "weather.csv")}
    planes = {r["tailnum"]: r for r in _rows(folder / "planes.csv")}
    airlines = {r["carrier"]: r["name"] for r in _rows(folder / "airlines.csv")}
    found: Counter[str] = Counter(map(str, table.slice(0, 3000).to_pylist()))
    checked = 0
    for row in islice(_rows(folder / "flights.csv.zip"), 0, 2000, 40):
        expected = _joined(row, weather, planes.get(row["tailnum"], {}), airlines)
        assert found[str(expected)] == 1
        checked += 1
    assert checked == 50


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if path.suffix == ".zip":
        with ZipFile(path) as archive, archive.open("flights.csv") as raw:
            yield from csv.DictReader(io.TextIOWrapper(raw))
    else:
        yield from csv.DictReader(io.StringIO(path.read_text()))


def _joined(
    row: dict[str, str], weather: dict[Any, dict[str, str]], plane: dict[str, str], names: Any
) -> dict[str, Any]:
    sky = weather.get((row["origin"], row["time_hour"]), {})
    clock = [int(row[name]) for name in ("year", "month", "day", "hour", "minute")]
    year, month, day, hour, minute = clock
    joined: dict[str, Any] = {
        "sched_dep": datetime(year, month, day, hour, minute, tzinfo=ZoneInfo("UTC"))
    }
    sources = {**row, **{k: sky.get(k, "") for k in ("temp", "wind_speed", "visib")}}
    sources |= {k: sky.get(k, "") for k in ("precip", "pressure")}
    sources |= {k: plane.get(k, "") for k in ("seats", "manufacturer", "engines")}
    sources |= {"plane_year": plane.get("year", ""), "airline": names[row["carrier"]]}
    for attribute in FLIGHTS_SCHEMA.attributes[1:]:
        text = sources[attribute.name]
        convert: Any = {"int": int, "double": float, "string": str}[attribute.type]
        joined[attribute.name] = None if text in ("", "NA") else convert(text)
    return {**joined, "_corrupt_record": None}


def test_the_cache_is_read_again_and_nothing_else_is_left(
    flights_cache: Path, table: pa.Table
) -> None:
    (cached,) = flights_cache.iterdir()
    assert cached.name.startswith(f"flights-{flights.CACHE_VERSION}-")
    before = cached.stat().st_mtime_ns
    assert flights_table(flights_cache).equals(table)
    assert cached.stat().st_mtime_ns == before


def test_a_missing_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights, "PACKAGE", "no_such_package_of_flights")
    with pytest.raises(DataMissing, match="pip install no_such_package_of_flights"):
        flights_table(tmp_path)


def test_the_fifty_queries_use_the_whole_language(workload: Workload) -> None:
    queries = workload.queries
    assert len(queries) == 50
    used = {name for query in queries for name in attributes_of(query.condition)}
    assert 10 <= len(used) <= 14
    text = " ".join(query.text for query in queries)
    for word in (" = ", " <> ", " < ", " <= ", " > ", " >= ", " in (", " between ", " is null"):
        assert word in text
    assert "is not null" in text


def test_most_flights_match_no_query_and_every_query_matches_some(
    table: pa.Table, workload: Workload
) -> None:
    by_month: Counter[int] = Counter()
    matched: Counter[int] = Counter()
    for row in table.take(list(range(0, table.num_rows, 400))).to_pylist():
        by_month[row["month"]] += 1
        matched[row["month"]] += any(_selects(q.condition, row) for q in workload.queries)
    unmatched = 1 - matched.total() / by_month.total()
    assert 0.85 <= unmatched <= 0.93
    assert matched[7] / by_month[7] > 2 * matched[10] / by_month[10]  # the seasons show


def _selects(condition: Condition, row: dict[str, Any]) -> bool:
    return judge_condition(condition, row) is True
