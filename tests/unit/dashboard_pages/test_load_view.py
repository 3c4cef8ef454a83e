"""How even the work of a batch was spread: records to views, and where they are recorded."""

from __future__ import annotations

import pytest

from backend.engine.recorder import batch_matrices, partition_samples
from backend.operators.contract import BatchResult
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.shards.shard_reports import merged_network
from backend.systems.stream.published import shard_load
from dashboard.views.load import build_load, words_of
from storage.tables.rows import StoredMatrix
from storage.vocabulary.load import load_matrix, skew


def report(n_in: int, busy_ns: int, state_bytes: int) -> NetworkReport:
    counts = OperatorCounts(n_in=n_in, busy_ns=busy_ns)
    return NetworkReport(operators={"j": counts}, state_bytes=state_bytes)


def test_shards_are_compared_by_their_time() -> None:
    both = merged_network([report(10, 3_000_000, 64), report(30, 1_000_000, 128)])
    (matrix,) = shard_load(both)
    assert matrix.columns == ("tuples", "busy_us", "state_bytes")
    view = build_load(StoredMatrix(7, 0.0, matrix), "u1")
    assert (view.what, view.by, view.skew) == ("shard", "processing time", 1.5)
    assert [one.share for one in view.parts] == [0.75, 0.25]
    assert view.parts[1].values == {"tuples": 30, "busy_us": 1000, "state_bytes": 128}
    assert [one.busy for one in view.parts] == [None, None]
    timed = build_load(StoredMatrix(7, 0.0, matrix), "u1", 4.0)
    assert [one.busy for one in timed.parts] == [0.75, 0.25]
    assert words_of(view) == "1.50 × the mean: shard 0 has 75 %"


def test_one_shard_or_task_has_no_skew() -> None:
    assert merged_network([report(1, 1, 1)]).shards == ()
    assert shard_load(NetworkReport()) == ()
    assert batch_matrices(BatchResult(0, {}, {}, partitions=(100,))) == ()
    assert partition_samples(()) == []
    assert [one.value for one in partition_samples((100,))] == [1.0]


def test_tasks_are_compared_by_their_tuples() -> None:
    (matrix,) = batch_matrices(BatchResult(0, {}, {}, partitions=(10, 0, 50)))
    view = build_load(StoredMatrix(1, 0.0, matrix), "")
    assert (view.what, view.by) == ("task", "tuples")
    assert view.skew == pytest.approx(2.5)
    assert build_load(StoredMatrix(1, 0.0, matrix), "", 4.0).parts[0].busy is None
    (sample,) = partition_samples((10, 0, 50))
    assert (sample.property, sample.value) == ("partition_skew", 2.5)


def test_nothing_done_is_no_skew() -> None:
    assert skew([0, 0]) is None
    (matrix,) = load_matrix([{"tuples": 0}, {"tuples": 0}])
    assert words_of(build_load(StoredMatrix(1, 0.0, matrix), "")).startswith("nothing was done")
