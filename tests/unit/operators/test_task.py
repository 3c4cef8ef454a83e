"""A task beside its operators: what is shown, how units come together, moments of any year."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backend.hosts.publish import FolderSink
from backend.model.draws import draws, seed_of
from backend.model.schema import Schema
from backend.operators.contract import Chunk, Emitted
from backend.operators.parts import Parts, as_written, sink_schema
from backend.operators.reports import RECENT_TUPLES, Merged, merged
from backend.operators.task import BatchTask, TaskInput, TaskJob, stream_folder, together
from backend.operators.values import json_lines, moment_text, python_values, shown_number
from backend.workloads.contract import arrow_schema

SCHEMA = Schema.parse("id int, at timestamp")


def names_of(rows: list[list[str]], is_dictionary: bool = True) -> pa.ListArray[Any]:
    found = pa.array(rows, pa.list_(pa.string()))
    if not is_dictionary:
        return found
    return pa.ListArray.from_arrays(found.offsets, found.values.dictionary_encode())


class Every:
    """Emits every n-th tuple for one query; a flaw in tuple ``flawed``."""

    selects = True

    def __init__(self, n: int, query: str, flawed: int = -1) -> None:
        self.n, self.query, self.flawed = n, query, flawed

    def open(self, batch_id: int, partition: int) -> Every:
        return self

    def take(self, chunk: Chunk) -> Emitted:
        ids = chunk.tuples.column("id").to_numpy()
        rows = np.flatnonzero((ids % self.n == 0) & (ids != self.flawed)).astype(np.int32)
        flaws = dict.fromkeys(np.flatnonzero(ids == self.flawed).tolist(), f"{self.query} raised")
        return Emitted(rows, names_of([[self.query]] * len(rows)), flaws)

    def report(self) -> bytes:
        return self.query.encode()

    def merged(self, reports: Any) -> list[bytes]:
        return list(reports)


def job(folder: str = "", batch_id: int = 0) -> TaskJob:
    operators = {"two": Every(2, "b"), "three": Every(3, "a", 7), "none": Every(10**6, "c", 7)}
    return TaskJob(batch_id, 1, {"S": TaskInput(0, SCHEMA, None, operators)}, folder, "parquet")


def rows(first: int, n: int) -> pa.RecordBatch:
    values = [range(first, first + n), [0] * n, [None] * n]
    arrays = [pa.array(v, f.type) for v, f in zip(values, arrow_schema(SCHEMA), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(SCHEMA))


def ran(partitions: int, folder: str = "", batch_id: int = 0, numbered: bool = True) -> Merged:
    own = job(folder, batch_id)
    told = []
    for partition in range(partitions):
        task = BatchTask(own, partition)
        n = 1200 // partitions
        for first in range(partition * n, (partition + 1) * n, 100):
            arrivals = np.arange(first, first + 100) if numbered else None
            task.take("S", rows(first, 100), arrivals)
        told.append(pickle.loads(task.report()))
    return merged(told[::-1], "S", SCHEMA, None, own.inputs["S"].operators)


def test_units_come_together_and_tasks_add_up() -> None:
    for partitions in (1, 3):
        found = ran(partitions)
        matched = [k for k in range(1, 1200) if k % 2 == 0 or k % 3 == 0]
        assert found.result.n_matched == len(matched) + 1
        assert (found.result.n_tuples, found.result.n_misfits) == (1199, 1)
        assert found.result.misfits[0].error == "a raised; c raised"
        assert json.loads(found.result.misfits[0].raw)["id"] == 7
        assert found.units["two"].matched_by_query == {"b": 600}
        assert (found.units["three"].n_matched, found.units["three"].n_tuples) == (400, 1200)
        assert found.units["none"].matched_by_query == {"c": 1}
        assert found.units["two"].report == [b"b"] * partitions
        assert (found.through, found.parts) == (1200, ())
        shown = [match.values["id"] for match in found.result.recent]
        assert len(shown) == RECENT_TUPLES
        assert shown == sorted(shown)
        assert max(np.diff(shown)) < 100
        assert {m.query_ids for m in found.result.recent} >= {("b",), ("a",), ("a", "b")}
    assert ran(1).result.recent == ran(4).result.recent
    assert ran(1, numbered=False).result.recent != ran(1, numbered=False, batch_id=1).result.recent


def test_a_tuple_that_one_operator_cannot_decide_on_is_kept_aside_unless_another_emits_it() -> None:
    operators = {"two": Every(2, "b", 4), "three": Every(3, "a", 6), "none": Every(7, "c", 4)}
    own = TaskJob(0, 1, {"S": TaskInput(0, SCHEMA, None, operators)}, "", "parquet")
    task = BatchTask(own, 0)
    task.take("S", rows(0, 10))
    found = merged([pickle.loads(task.report())], "S", SCHEMA, None, operators).result
    assert (found.n_tuples, found.n_misfits, found.n_missed) == (9, 1, 1)
    told = [(json.loads(one.raw)["id"], one.error) for one in (*found.misfits, *found.missed)]
    assert told == [(4, "b raised; c raised"), (6, "a raised")]
    matched = {match.values["id"]: match.query_ids for match in found.recent}
    assert matched == {
        0: ("a", "b", "c"),
        2: ("b",),
        3: ("a",),
        6: ("b",),
        7: ("c",),
        8: ("b",),
        9: ("a",),
    }


def test_names_of_several_operators_are_sorted_whatever_they_are_stored_as() -> None:
    one = Emitted(np.array([1, 4], np.int32), names_of([["b", "x"], ["c"]]), {})
    other = Emitted(np.array([0, 4], np.int32), names_of([["y"], ["a", "d"]], False), {})
    both = together([one, other])
    assert both.rows.tolist() == [0, 1, 4]
    assert both.query_ids.to_pylist() == [["y"], ["b", "x"], ["a", "c", "d"]]
    assert together([one]) is one
    assert len(together([]).rows) == len(together([]).query_ids) == 0


def test_a_batch_that_comes_again_replaces_what_it_published(tmp_path: Path) -> None:
    def files() -> list[str]:
        found = (tmp_path / "stream=S").rglob("*")
        return sorted(str(p.relative_to(tmp_path / "stream=S")) for p in found if p.is_file())

    sink = FolderSink(stream_folder(str(tmp_path), "S"), "parquet", sink_schema(SCHEMA))
    sink.publish(0, ran(2, str(tmp_path)).parts)
    assert files() == [
        "_misfits/batch-00000000-00000.json",
        "batch-00000000-00000.parquet",
        "batch-00000000-00001.parquet",
    ]
    lost = Parts(f"{tmp_path}/stream=S", "parquet", sink_schema(SCHEMA), 0, 1)
    lost.add(pa.RecordBatch.from_pylist([], sink_schema(SCHEMA)))
    lost.close()  # of an attempt that failed: staged, and never told of
    again = FolderSink(stream_folder(str(tmp_path), "S"), "parquet", sink_schema(SCHEMA))
    again.publish(0, ran(1, str(tmp_path)).parts)
    again.publish(1, ())
    again.close()
    assert files() == ["_misfits/batch-00000000-00000.json", "batch-00000000-00000.parquet"]
    table = pq.read_table(tmp_path / "stream=S" / "batch-00000000-00000.parquet")
    assert table.column("id").to_pylist() == [k for k in range(1200) if k % 2 == 0 or k % 3 == 0]
    assert table.schema.field("query_ids").type == pa.list_(pa.field("element", pa.string()))


def test_draws_are_uniform_and_of_their_seed() -> None:
    places = np.arange(200_000)
    drawn = draws(seed_of(1, 2, 3), places)
    assert drawn.dtype == np.uint32
    assert abs((drawn < 2**32 * 0.3).mean() - 0.3) < 0.005
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.01
    assert abs(np.corrcoef(drawn, draws(seed_of(1, 2, 4), places))[0, 1]) < 0.01
    assert draws(seed_of(1, 2, 3), places[::7]).tolist() == drawn[::7].tolist()
    assert len({seed_of(a, b) for a in range(30) for b in range(30)}) == 900
    assert seed_of(-1, 2**70) < 2**64


def test_columns_with_names_of_folders_are_numbered() -> None:
    schema = pa.schema([("Run", pa.int64()), ("run_2", pa.int8()), ("query", pa.string())])
    written = as_written(schema)
    assert written.names == ["Run_3", "run_2", "query_2"]
    assert written.types == schema.types
    assert as_written(written) == written


def test_moments_of_any_year_are_told() -> None:
    stamps = [None, -(2**62), 0, 1_356_998_400_000_001, 2**62]
    column = pa.array(stamps, pa.timestamp("us", tz="UTC"))
    shown = [None if v is None else str(v) for v in python_values(column)]
    assert shown == [
        None,
        "0001-01-01 00:00:00",
        "1970-01-01 00:00:00",
        "2013-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
    ]
    days = pa.array([-(2**30), 0, None], pa.int32()).cast(pa.date32())
    assert [str(v) for v in python_values(days)] == ["0001-01-01", "1970-01-01", "None"]
    assert moment_text(shown_number(column), "timestamp") == shown[-1]
    assert (moment_text(None, "int"), moment_text(shown_number(days), "date")) == ("", "1970-01-01")
    lines = json_lines(pa.table({"t": column, "x": [float("nan"), -np.inf, None, 0.5, np.inf]}))
    assert [json.loads(line) for line in lines] == [
        {},
        {"t": str(-(2**62))},
        {"t": "1970-01-01T00:00:00.000000Z"},
        {"t": "2013-01-01T00:00:00.000001Z", "x": 0.5},
        {"t": str(2**62)},
    ]
