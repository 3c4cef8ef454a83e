"""What the bench of the fast path measures: the tuples it spools, and lanes that must agree."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from backend.hosts.contract import InputSource
from backend.model.schema import Schema
from backend.workloads.replay import read_spooled
from backend.workloads.sources import MemorySource, ReplaySource, open_source
from backend.workloads.spec import load_workload, shipped_workloads
from bench.fastpath import _same
from bench.fastpath_lanes import WithoutSpark
from bench.on_spark import spool

DRIFT = load_workload(shipped_workloads()["drift"])


def drift() -> ReplaySource:
    found = open_source(DRIFT.streams[0], Path())
    assert found is not None
    return found


def test_a_source_is_spooled_from_any_tuple_on_and_begins_anew(tmp_path: Path) -> None:
    source = MemorySource([[n] for n in range(7)], Schema.parse("a int"))
    folder = spool(source, tmp_path / "spool", 10, first=5, stream="S")
    (file,) = folder.iterdir()
    table = read_spooled(file)
    assert file.name == "S-000000000005.ipc"
    assert table.column("a").to_pylist() == [5, 6, 0, 1, 2, 3, 4, 5, 6, 0]


def lane(folder: Path, name: str, n_tuples: int, first: int = 0) -> WithoutSpark:
    """One batch of drift tuples, in a sink of its own."""
    source = InputSource(DRIFT.streams[0], drift())
    found = WithoutSpark(DRIFT, source, folder / name)
    found.step(spool(drift(), folder / f"{name}-tuples", n_tuples, first, source.name))
    found.close()
    return found


def test_lanes_that_differ_end_the_bench(tmp_path: Path) -> None:
    ours, local = lane(tmp_path, "product", 400), lane(tmp_path, "local", 400)
    assert local.results[0].n_matched > 0
    _same(tmp_path, "Drift", ours.results, local.results, 400)
    other = lane(tmp_path, "other", 400, first=400)
    with pytest.raises(AssertionError, match="matches of the queries differ"):
        _same(tmp_path, "Drift", ours.results, other.results, 400)
    with pytest.raises(AssertionError, match="401 tuples were given"):
        _same(tmp_path, "Drift", ours.results, local.results, 401)
    for file in (tmp_path / "local" / "matches").rglob("*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).slice(1), file)
    with pytest.raises(AssertionError, match="rows in the sinks differ"):
        _same(tmp_path, "Drift", ours.results, local.results, 400)
