"""Row groups that are refuted are not read, and everything comes to the same."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import dataset

from backend.cql import parse_query
from backend.engine.recorder import input_samples
from backend.hosts import local
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.conditions import ContinuousQuery
from backend.model.events import SelectionPlan
from backend.model.schema import Schema
from backend.operators.contract import BatchResult
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.file_source import FileSource
from backend.workloads.parquet_files import read_parquet
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop
from tests.strategies import MIXED_SCHEMA, mixed_queries

_DAY, _NOON = date(2013, 1, 1), datetime(2013, 1, 1, 12, tzinfo=UTC)
#: Values near the constants of queries, and column types they are stored as: of the attribute's
#: own, and of others whose values may not fit.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.one_of(st.integers(-5, 10), st.sampled_from([2**31 - 1])),
    "g": st.sampled_from([0, 3, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    "x": st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), float("-inf"), 1e300]),
    "s": st.sampled_from(["", "A", "AA", "B", "JFK", "Ä", "\U0001f600", "\uffff"]),
    "b": st.booleans(),
    "d": st.integers(-1, 5).map(lambda n: _DAY + timedelta(days=n)),
    "t": st.integers(-1, 5).map(lambda n: _NOON + timedelta(hours=n)),
}
KINDS: dict[str, tuple[pa.DataType, ...]] = {
    "i": (pa.int32(), pa.int64(), pa.float64()),
    "g": (pa.int64(),),
    "x": (pa.float64(), pa.float32()),
    "s": (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.binary()),
    "b": (pa.bool_(),),
    "d": (pa.date32(),),
    "t": (pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("ns", "UTC")),
}
NAMES = tuple(VALUES)


class File(NamedTuple):
    """A file to be written. statistics: columns that have some."""

    table: pa.Table
    group_size: int
    statistics: list[str]

    def write(self, path: Path) -> None:
        """Write it."""
        pq.write_table(
            self.table, path, row_group_size=self.group_size, write_statistics=self.statistics
        )


@st.composite
def files(draw: st.DrawFn) -> File:
    """Sorted by a column or as they come, so that groups are refuted often; NULL, NaN, misfits."""
    n = draw(st.integers(1, 24))
    rows = [
        {a: draw(st.one_of(VALUES[a], st.none())) if draw(st.booleans()) else None for a in NAMES}
        for _ in range(n)
    ]
    by = draw(st.sampled_from(NAMES))
    if draw(st.booleans()):
        rows.sort(key=lambda row: (row[by] is None, str(type(row[by])), repr(row[by])))
    columns = {}
    for a in NAMES:
        kind = draw(st.sampled_from(KINDS[a]))
        own = [row[a] for row in rows]
        if kind == pa.binary():
            own = [v if v is None else v.encode() for v in own]
            if draw(st.booleans()):
                own[draw(st.integers(0, n - 1))] = b"\xff\xfe"
        if kind == pa.int64() and a == "i" and draw(st.booleans()):
            own[draw(st.integers(0, n - 1))] = 2**40
        if kind == pa.float64() and a == "i":
            own = [v if v is None else v + draw(st.sampled_from([0.0, 0.5])) for v in own]
        columns[a] = pa.array(own, kind)
    some = draw(st.lists(st.sampled_from(NAMES), unique=True))
    statistics = list(NAMES) if draw(st.booleans()) else some
    return File(pa.table(columns), draw(st.integers(1, 8)), statistics)


def operator(queries: list[ContinuousQuery], schema: Schema, p: float = 1.0) -> SelectionOperator:
    """A plan in the constructs' order."""
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    return SelectionOperator(shipped_plan(constructs, plan, "drop"), p)


class Ran(NamedTuple):
    """A run's results, its written tuples in the order of files, and the row groups not read."""

    results: list[BatchResult]
    rows: list[str]
    row_groups: tuple[int, int]


def run(
    path: Path,
    folder: Path,
    operators: list[SelectionOperator],
    monkeypatch: pytest.MonkeyPatch,
    *,
    reads_all: bool = False,
    schema: Schema = MIXED_SCHEMA,
    timestamp: str | None = None,
    n_tuples: int = 5,
    cores: int = 0,
    kills: tuple[int, ...] = (),
) -> Ran:
    """The file through the operators, a batch each in turns. kills: batches after which the process
    ends, and another goes on."""
    stream = StreamSpec("S", schema, SourceSpec("parquet", {"path": str(path)}), timestamp)
    results: list[BatchResult] = []
    counts = (0, 0)
    for until in (*kills, None):
        first = len(results)
        source = FileSource(str(path), schema, read_parquet, record=folder / "files.jsonl")
        start = sum(r.inputs["S"].n_tuples + r.inputs["S"].n_misfits for r in results)
        loop = FixedLoop({}, choose=lambda id: {"S": {"asc": operators[id % len(operators)]}})
        sink = SinkSpec(str(folder / "sink"))
        with monkeypatch.context() as patch:
            if reads_all:
                patch.setattr(local, "refuting", lambda job, input: None)
            inputs, way = [InputSource(stream, source, start)], {"cores": cores}
            host = LocalHost(loop, inputs, sink, n_tuples, True, first, **way)  # type: ignore[arg-type]
            while (until is None or len(loop.results) < until) and host.step():
                pass
            host.close()
        results += loop.results
        passing = source.passing
        counts = (counts[0] + passing.n_refuted, counts[1] + passing.n_groups)
    found = sorted((folder / "sink").rglob("*.parquet"))
    rows = [repr(r) for p in found for r in dataset.dataset(p).to_table().to_pylist()]
    return Ran(results, rows, counts)


def facts(result: BatchResult) -> list[Any]:
    """What a batch is to come to, whatever is read: of its input, and of its unit."""
    own, unit = result.inputs["S"], result.units["asc"]
    counts = [own.n_tuples, own.n_matched, own.n_misfits, own.stream_time, own.failure]
    kept = [(m.raw, m.error) for m in own.misfits]
    matched = sorted(unit.matched_by_query.items())
    return [*counts, kept, repr(own.recent), unit.n_matched, matched]


@settings(max_examples=150, deadline=None)
@given(
    files(),
    st.lists(mixed_queries(4), min_size=1, max_size=3),
    st.sampled_from([None, "t"]),
    st.integers(1, 9),
    st.lists(st.integers(1, 3), max_size=2),
)
def test_it_comes_to_the_same_as_when_all_is_read(
    file: File,
    queries: list[list[ContinuousQuery]],
    timestamp: str | None,
    n_tuples: int,
    kills: list[int],
) -> None:
    operators = [operator(some, MIXED_SCHEMA) for some in queries]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        file.write(folder / "t.parquet")
        ran = [
            run(
                folder / "t.parquet",
                folder / str(reads_all),
                operators,
                patch,
                reads_all=reads_all,
                timestamp=timestamp,
                n_tuples=n_tuples,
                kills=tuple(kills),
            )
            for reads_all in (True, False)
        ]
    expected, own = ran
    assert [facts(result) for result in own.results] == [facts(r) for r in expected.results]
    assert own.rows == expected.rows
    for result, whole in zip(own.results, expected.results, strict=True):
        unit, of_all = result.units["asc"], whole.units["asc"]
        assert unit.n_tuples <= of_all.n_tuples
        # tuples of a batch are given whole groups at a time, and all that were given are sampled
        given_to = {a: len(values) for a, values in unit.report.sample.items()}
        assert set(given_to.values()) <= {unit.n_tuples}


QUERIES = ("Select * From S Where a >= 250 and a < 260 and b < 5", "Select * From S Where a = 900")
SCHEMA = Schema.parse("a int, b int, c string")
N = 1000


def clustered(path: Path, n_per_group: int = 100) -> None:
    """1000 tuples in order of a, 10 row groups."""
    columns = {
        "a": pa.array(np.arange(N), pa.int32()),
        "b": pa.array(np.arange(N) % 10, pa.int32()),
        "c": pa.array([f"t{n}" for n in range(N)]),
    }
    pq.write_table(pa.table(columns), path, row_group_size=n_per_group)


def asked(*texts: str, p: float = 1.0) -> SelectionOperator:
    """Queries over the clustered tuples."""
    queries = [parse_query(f"q{j}", text, {"S": SCHEMA}) for j, text in enumerate(texts)]
    return operator(queries, SCHEMA, p)


def test_groups_without_a_match_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clustered(tmp_path / "t.parquet")
    decoded: list[int] = []
    read = pq.ParquetFile.iter_batches

    def watched(file: Any, size: int, groups: list[int], *rest: Any) -> Any:
        decoded.extend(groups)
        return read(file, size, groups, *rest)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    way = {"schema": SCHEMA, "n_tuples": 130}
    own = run(tmp_path / "t.parquet", tmp_path / "own", [asked(*QUERIES)], monkeypatch, **way)  # type: ignore[arg-type]
    # the first group is read to see whether there is any, before a batch says what is asked
    assert decoded == [0, 2, 9]
    assert own.row_groups == (7, 10)
    assert [r.inputs["S"].n_tuples for r in own.results] == [130] * 7 + [90]
    assert sum(r.units["asc"].n_tuples for r in own.results) == 300
    samples = input_samples(own.results[-1].inputs)
    values = {s.property: s.value for s in samples if "groups" in s.property}
    assert values == {"refuted_groups": 7, "row_groups": 10}
    assert len(own.rows) == 5 + 1


def test_queries_that_come_find_what_was_not_read_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group is left half-way, and the next batch asks for the rest of it."""
    clustered(tmp_path / "t.parquet", 500)
    late = asked("Select * From S Where a >= 0")
    operators = [asked("Select * From S Where a < 0")] * 7 + [late] * 3
    way = {"schema": SCHEMA, "n_tuples": 100}
    own = run(tmp_path / "t.parquet", tmp_path / "own", operators, monkeypatch, **way)  # type: ignore[arg-type]
    assert [r.inputs["S"].n_matched for r in own.results] == [0] * 7 + [100] * 3
    assert [r.inputs["S"].n_tuples for r in own.results] == [100] * 10
    # the second group was passed over in part: it counts as read
    assert own.row_groups == (0, 2)


@pytest.mark.parametrize("cores", [0, 2])
def test_it_is_the_same_on_several_cores_in_batches_that_grow(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TASK_TUPLES", 20)
    clustered(tmp_path / "t.parquet", 30)
    way: dict[str, Any] = {"schema": SCHEMA, "n_tuples": 20, "cores": cores}
    path, operators = tmp_path / "t.parquet", [asked(*QUERIES)]
    own = run(path, tmp_path / "own", operators, monkeypatch, **way)
    every = run(path, tmp_path / "all", operators, monkeypatch, reads_all=True, **way)
    assert sorted(own.rows) == sorted(every.rows)
    assert sum(r.n_tuples for r in own.results) == sum(r.n_tuples for r in every.results) == N
    assert own.row_groups[0] > 20


def test_what_else_reads_the_input_gets_every_tuple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter, a plan whose queries rest and a query without predicates ask for all of them."""
    clustered(tmp_path / "t.parquet")

    class Other:
        selects = True

        def __init__(self) -> None:
            self.inner = asked(*QUERIES)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    path, way = tmp_path / "t.parquet", {"schema": SCHEMA}
    others = {"other": Other(), "resting": asked(), "all": asked("Select * From S", *QUERIES)}
    for name, other in others.items():
        own = run(path, tmp_path / name, [other], monkeypatch, **way)  # type: ignore[list-item, arg-type]
        assert own.row_groups == (0, 10)
        assert sum(r.units["asc"].n_tuples for r in own.results) == N


def test_columns_without_statistics_refute_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"a": pa.array(range(20), pa.int32()), "b": [1] * 20, "c": ["x"] * 20})
    for name, statistics in itertools.product(("a", "b"), (True, False)):
        path, folder = tmp_path / f"{name}{statistics}.parquet", tmp_path / f"{name}{statistics}"
        pq.write_table(
            table, path, row_group_size=5, write_statistics=[name] if statistics else False
        )
        way = {"schema": SCHEMA}
        text = "Select * From S Where a = 12 and b < 5"
        own = run(path, folder, [asked(text)], monkeypatch, **way)  # type: ignore[arg-type]
        assert own.row_groups[0] == (2 if (name, statistics) == ("a", True) else 0)
        assert len(own.rows) == 1
