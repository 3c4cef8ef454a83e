"""A backlog is worked off in larger batches by several cores, and comes to the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset

from backend.hosts import local
from backend.hosts.contract import InputSource
from backend.hosts.lanes import Lanes
from backend.hosts.local import LocalHost
from backend.operators.task import TaskInput, TaskJob
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table
from backend.workloads.sources import ArrowTableSource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from bench.scale_data import workload
from bench.scale_spark import operator_of
from tests.loops import FixedLoop

N: int = 60_000


@pytest.fixture(scope="module")
def tuples() -> pa.Table:
    """Drift tuples."""
    return drift_table(3, (Phase("uniform", N),), 0, N)


def run(tuples: pa.Table, folder: Path, cores: int) -> tuple[FixedLoop, list[Any]]:
    """All tuples through 50 queries; the loop, and the rows of the sink in order."""
    order = workload(50, tuples).order
    loop = FixedLoop({"S": {"asc": operator_of(50, order)}})
    stream = StreamSpec("S", DRIFT_SCHEMA, SourceSpec("memory"))
    inputs = [InputSource(stream, ArrowTableSource(tuples, DRIFT_SCHEMA))]
    LocalHost(loop, inputs, SinkSpec(str(folder)), 500, once=True, cores=cores).run()
    table = dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    rows = table.to_pylist()
    return loop, sorted(rows, key=str)


def test_larger_batches_on_several_cores_come_to_the_same(
    tuples: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TASK_TUPLES", 1000)
    small, expected = run(tuples, tmp_path / "small", 0)
    large, rows = run(tuples, tmp_path / "large", 2)
    assert rows == expected
    assert len(rows) > N / 10
    assert [result.n_tuples for result in small.results] == [500] * (N // 500)
    sizes = [result.n_tuples for result in large.results]
    assert sum(sizes) == N
    assert sizes[:2] == [500, 500]
    assert max(sizes) >= 8000
    assert max(len(result.partitions) for result in large.results) == 2
    assert min(len(result.partitions) for result in large.results) == 1
    titles = [event.title for event in large.events]
    assert titles[0] == "batches grow to 2 000 tuples"
    assert not small.events
    totals = [
        {name: sum(r.inputs["S"].__getattribute__(name) for r in loop.results) for name in NAMES}
        for loop in (small, large)
    ]
    assert totals[0] == totals[1]


NAMES = ("n_tuples", "n_matched", "n_misfits")


def test_an_error_in_a_task_reaches_the_batch(tuples: pa.Table) -> None:
    """The batch fails, as one of a single task does."""

    class Broken:
        selects = True

        def open(self, batch_id: int, partition: int) -> Broken:
            return self

        def take(self, chunk: object) -> None:
            raise ArithmeticError("no numbers left")

    job = TaskJob(0, 1, {"S": TaskInput(0, DRIFT_SCHEMA, None, {"u": Broken()})}, "", "parquet")  # type: ignore[dict-item]
    loop = FixedLoop({"S": {"u": Broken()}})  # type: ignore[dict-item]
    stream = StreamSpec("S", DRIFT_SCHEMA, SourceSpec("memory"))
    inputs = [InputSource(stream, ArrowTableSource(tuples, DRIFT_SCHEMA))]
    host = LocalHost(loop, inputs, SinkSpec(None), 500, once=True, cores=2)
    host._growing.size = 10**6
    with pytest.raises(ArithmeticError, match="no numbers left"):
        host.run()
    assert loop.n_abandoned == 1
    assert Lanes(job, []).reports()
