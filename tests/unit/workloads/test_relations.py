"""Stored relations, ticks and disorder in workload files; New York's tables; the expressway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.workloads.contract import CORRUPT, arrow_schema
from backend.workloads.linear_road import CAR_SCHEMA, REPORT_S, CarSource, reports
from backend.workloads.new_york import NEW_YORK, new_york_table
from backend.workloads.spec import (
    RelationSpec,
    SourceSpec,
    WorkloadError,
    load_workload,
    shipped_workloads,
)
from backend.workloads.stored import load_relation
from backend.workloads.ticks import ANY_LEAP

STREAM = """
[streams.S]
schema = "a int, at timestamp"
source = { format = "memory", rows = [] }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(WorkloadError) as caught:
        load_workload(write(folder, text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def relation(folder: Path, text: str) -> RelationSpec:
    (found,) = load_workload(write(folder, f"{STREAM}{text}")).relations
    return found


def values(folder: Path, text: str) -> Any:
    return load_relation(relation(folder, text), folder).table.to_pylist()


def test_rows_of_a_relation_stand_in_the_file_or_in_csv_and_parquet_files(tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "one"}, {"id": 2, "name": None}]
    written = 'schema = "id int, name string"\n'
    text = (
        f'[relations.R]\n{written}source = {{ format = "memory", rows = [[1, "one"], [2, {{}}]] }}'
    )
    assert values(tmp_path, text) == rows
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "1.csv").write_text("id;name\n1;one\n")
    (tmp_path / "r" / "2.csv").write_text("id;name\n2;\n")
    text = f'{written}source = {{ format = "csv", path = "r", header = true, sep = ";" }}'
    assert values(tmp_path, f"[relations.R]\n{text}") == rows
    table = pa.table({"NAME": ["one", None], "id": [1, 2], "more": [0, 0]})
    pq.write_table(table, tmp_path / "r.parquet")
    text = f'[relations.R]\n{written}source = {{ format = "parquet", path = "r.parquet" }}'
    assert values(tmp_path, text) == rows


def test_a_relation_is_read_beside_streams_and_queries_above_it(tmp_path: Path) -> None:
    text = f"""{STREAM}
[relations.R]
schema = "id int, name string"
source = {{ format = "memory", rows = [] }}
[queries]
first = "Select a, count(*) As n From S [Rows 5] Group By a"
second = "Select F.n, R.name From first As F, R Where F.a = R.id"
"""
    first, second = load_workload(write(tmp_path, text)).queries
    assert first.reads == second.reads == ("S",)
    backwards = text.replace("first =", "z =").replace("first As", "z As")
    *lines, above, below = backwards.strip().splitlines()
    assert "unknown stream 'z'" in refused(tmp_path, "\n".join([*lines, below, above]))


def test_a_relation_that_cannot_be_is_refused_with_a_sentence(tmp_path: Path) -> None:
    schema = 'schema = "id int"\n'
    memory = 'source = { format = "memory", rows = [[1], ["x"]] }\n'
    assert "stream 'S'" in refused(tmp_path, f"{STREAM}[relations.s]\n{schema}{memory}")
    kafka = 'source = { format = "kafka" }\n'
    assert "none a relation is read from" in refused(
        tmp_path, f"{STREAM}[relations.R]\n{schema}{kafka}"
    )
    assert "unknown key 'rate'" in refused(
        tmp_path, f"{STREAM}[relations.R]\n{schema}{memory}rate = 5\n"
    )
    with pytest.raises(WorkloadError, match="1 of its tuples do not fit"):
        load_relation(relation(tmp_path, f"[relations.R]\n{schema}{memory}"), tmp_path)
    endless = RelationSpec("R", NEW_YORK["airlines"], SourceSpec("suspects"))
    with pytest.raises(WorkloadError, match="has no end"):
        load_relation(endless, tmp_path)


def test_ticks_and_disorder_belong_to_a_timestamp(tmp_path: Path) -> None:
    timed = f'{STREAM}timestamp = "at"\n'
    (stream,) = load_workload(write(tmp_path, timed)).streams
    assert (stream.tick_us, stream.disorder) == (1_000_000, 0)
    for text, wanted in {"100 ms": 100_000, "1 second": 10**6, "2 Hours": 7_200_000_000}.items():
        tick = f'{timed}tick = "{text}"\ndisorder = 3\n'
        (stream,) = load_workload(write(tmp_path, tick)).streams
        assert (stream.tick_us, stream.disorder) == (wanted, 3)
    for wrong in ("0 seconds", "second", "1 fortnight", "-1 ms", "9999999 days"):
        assert "is not a number of" in refused(tmp_path, f'{timed}tick = "{wrong}"\n')
    assert "0 or more" in refused(tmp_path, f"{timed}disorder = -1\n")
    assert "whole number" in refused(tmp_path, f'{timed}disorder = "x"\n')
    assert stream.max_leap == 3653 * 24 // 2
    assert stream.idle_after is None
    (left,) = load_workload(write(tmp_path, f'{STREAM}idle_after = "2 minutes"\n')).streams
    assert left.idle_after == 120.0
    assert 'idle_after = "soon" is not' in refused(tmp_path, f'{STREAM}idle_after = "soon"\n')
    (number,) = load_workload(write(tmp_path, f"{STREAM}timestamp = 'a'\n")).streams
    assert number.max_leap == ANY_LEAP
    (bounded,) = load_workload(write(tmp_path, f"{timed}max_leap = 7200\n")).streams
    assert bounded.max_leap == 7200
    short = f"{timed}disorder = 9\nmax_leap = 9\n"
    assert "max_leap = 9 is not allowed; 10 to" in refused(tmp_path, short)
    assert "max_leap = 0 is not allowed; 1 to" in refused(tmp_path, f"{timed}max_leap = 0\n")
    assert "whole number of ticks" in refused(tmp_path, f"{timed}max_leap = '1 day'\n")
    assert "leave out tick, disorder and max_leap" in refused(tmp_path, f'{STREAM}tick = "1 s"\n')


def test_a_stream_cannot_have_the_name_of_the_runs_own(tmp_path: Path) -> None:
    assert "every run has of itself" in refused(
        tmp_path, STREAM.replace("streams.S", "streams.sysstream")
    )


@pytest.mark.parametrize("name", NEW_YORK)
def test_the_tables_of_new_york_fit_and_streams_are_in_order(
    name: str, flights_cache: Path
) -> None:
    table = new_york_table(name, flights_cache)
    assert table.schema == arrow_schema(NEW_YORK[name])
    assert table.column(CORRUPT).null_count == len(table)
    rows = {"departures": 336_776, "weather": 26_115, "planes": 3_322, "airlines": 16}
    assert len(table) == rows.get(name, 1_458)
    time = {"departures": "sched_dep", "weather": "seen"}.get(name)
    if time:
        times = table.column(time).combine_chunks()
        assert pc.all(pc.greater_equal(times.slice(1), times.slice(0, len(times) - 1))).as_py()
        assert pc.min(table.column(time)).as_py().year == 2013


def test_the_shipped_workloads_of_networks_load() -> None:
    found = {name: load_workload(shipped_workloads()[name]) for name in ("stream", "linear_road")}
    assert all(query.plan is not None for one in found.values() for query in one.queries)
    assert {one.name for one in found["stream"].relations} == {"Planes", "Airlines"}
    road = {query.name for query in found["linear_road"].queries}
    assert {"CurCarSeg", "AccSeg", "CarExitStr", "NegTollStr"} <= road


def test_a_car_reports_every_half_minute_from_where_it_is() -> None:
    found = reports(3, 20_000, 0.05)
    assert (np.diff(found["t"]) >= 0).all()
    order = np.lexsort((found["t"], found["cid"]))
    cid, t, at, speed = (found[name][order] for name in ("cid", "t", "xpos", "speed"))
    same = cid[1:] == cid[:-1]
    assert (np.diff(t)[same] == REPORT_S).all()
    moved = np.diff(at)[same]
    assert np.abs(moved - speed[:-1][same] * 44).max() <= 1  # 44 feet a half minute at 1 mph
    assert (found["sid"] == found["xpos"] // 5280).all()
    stopped = {int(c) for c in found["cid"][found["speed"] == 0]}
    assert 0.02 < len(stopped) / len(set(cid.tolist())) < 0.08


@given(st.integers(0, 3000), st.integers(0, 500))
def test_the_expressway_is_the_same_however_it_is_cut(start: int, count: int) -> None:
    short, long = CarSource(5, 3000), CarSource(5, 4000)
    found = short.slice(start, count)
    assert len(found) == max(0, min(count, 3000 - start))
    assert found.schema == arrow_schema(CAR_SCHEMA)
    assert found.equals(long.slice(start, len(found)))


def test_a_digest_tells_relations_apart(tmp_path: Path) -> None:
    def digest(rows: str) -> str:
        source = f'source = {{ format = "memory", rows = {rows} }}'
        text = f'[relations.R]\nschema = "id int, name string"\n{source}'
        return load_relation(relation(tmp_path, text), tmp_path).digest

    assert digest('[[1, "one"]]') == digest('[[1, "one"]]')
    assert len({digest(rows) for rows in ("[]", '[[1, "one"]]', '[[1, "two"]]', "[[1, {}]]")}) == 4
