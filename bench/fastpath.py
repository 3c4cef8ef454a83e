"""The fast path: a batch of the product on Spark beside Spark's empty one and beside no Spark.

Drift tuples and flights (with strings), fifty queries each. The three take turns batch by batch in
one process over the same files; after each turn the matches of every query and the rows in the
sinks are compared. Spark has two cores; without it there is one thread.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from backend.hosts.contract import InputSource
from backend.hosts.publish import batch_name
from backend.hosts.spark.session.session import build_session
from backend.operators.contract import BatchResult
from backend.operators.parts import QUERY_IDS
from backend.operators.task import stream_folder
from backend.workloads.sources import ReplaySource, open_source
from backend.workloads.spec import Workload, load_workload, shipped_workloads
from bench.fastpath_lanes import Lane, Took, WithoutSpark, nothing, product
from bench.on_spark import spool
from bench.processes import told_memory

WORKLOADS: Final = ("drift", "flights")
#: Tuples a batch -> timed batches.
SIZES: Final[Mapping[int, int]] = {1_000: 6, 30_000: 4, 200_000: 3}
FULL: Final[Mapping[int, int]] = {1_000: 30, 30_000: 15, 200_000: 10, 1_000_000: 5}
WARM_UP: Final = 2
PRODUCT, EMPTY, LOCAL = "the product on Spark", "Spark, an empty batch", "the same without Spark"


def main(full: bool = False) -> None:
    """Print a table per workload and size. full: larger batches, and more of them."""
    with TemporaryDirectory() as name:
        scratch = Path(name)
        session = build_session("local[2]", "planwatch bench", scratch, is_quick=True)
        try:
            for workload in WORKLOADS:
                _workload(session, scratch / workload, workload, FULL if full else SIZES)
                print(f"  {told_memory()}")
        finally:
            session.stop()


def _workload(session: SparkSession, folder: Path, name: str, sizes: Mapping[int, int]) -> None:
    workload = load_workload(shipped_workloads()[name])
    tuples = open_source(workload.streams[0], folder / "cache")
    assert tuples is not None
    for n_tuples, n_batches in sizes.items():
        took = _turns(session, folder / str(n_tuples), workload, tuples, n_tuples, n_batches)
        print(f"\n{name}: {len(workload.queries)} queries, batches of {n_tuples:,} tuples")
        _tell(took, n_tuples)


def _turns(
    session: SparkSession,
    folder: Path,
    workload: Workload,
    tuples: ReplaySource,
    n_tuples: int,
    n_batches: int,
) -> dict[str, list[Took]]:
    """What the batches of each lane took, without those that warmed up."""
    source = InputSource(workload.streams[0], tuples)
    lanes: dict[str, Lane] = {
        PRODUCT: product(session, workload, source, folder / "product"),
        EMPTY: nothing(session, source, folder / "empty"),
        LOCAL: WithoutSpark(workload, source, folder / "local"),
    }
    took: dict[str, list[Took]] = {name: [] for name in lanes}
    try:
        for turn in range(WARM_UP + n_batches):
            spooled = spool(tuples, folder / "tuples", n_tuples, turn * n_tuples, source.name)
            first = turn % len(lanes)
            for name in [*lanes][first:] + [*lanes][:first]:
                took[name].append(lanes[name].step(spooled))
            shutil.rmtree(spooled)
            _same(folder, source.name, lanes[PRODUCT].results, lanes[LOCAL].results, n_tuples)
    finally:
        for lane in lanes.values():
            lane.close()
    return {name: times[WARM_UP:] for name, times in took.items()}


def _same(
    folder: Path,
    stream: str,
    ours: Sequence[BatchResult],
    local: Sequence[BatchResult],
    n_tuples: int,
) -> None:
    """The last turn came to the same. Raises AssertionError."""
    n_before = sum(result.n_tuples for result in local[:-1])
    ends = [sum(result.n_tuples for result in ours[: k + 1]) for k in range(len(ours))]
    last = [result for result, end in zip(ours, ends, strict=True) if end > n_before]
    if sum(result.n_tuples for result in last) != n_tuples or local[-1].n_tuples != n_tuples:
        raise AssertionError(f"{n_tuples} tuples were given, {last} taken")
    if _matches(last) != _matches(local[-1:]):
        raise AssertionError("the matches of the queries differ")
    rows = [
        _rows(Path(stream_folder(str(folder / lane / "matches"), stream)), results)
        for lane, results in (("product", last), ("local", local[-1:]))
    ]
    if not rows[0].equals(rows[1]):
        raise AssertionError("the rows in the sinks differ")


def _matches(batches: Sequence[BatchResult]) -> dict[str, int]:
    """By query."""
    counts: dict[str, int] = {}
    for unit in (unit for batch in batches for unit in batch.units.values()):
        for name, n in unit.matched_by_query.items():
            counts[name] = counts.get(name, 0) + n
    return counts


def _rows(sink: Path, batches: Sequence[BatchResult]) -> Any:
    """What the batches left in a sink, in one order."""
    names = [batch_name(batch.batch_id) for batch in batches]
    files = [file for name in names for file in sorted(sink.glob(f"{name}-*"))]
    tables = [pq.read_table(file, partitioning=None) for file in files]
    rows = pa.concat_tables(tables).combine_chunks()
    joined = pc.binary_join(rows.column(QUERY_IDS), " ")
    rows = rows.set_column(rows.schema.get_field_index(QUERY_IDS), QUERY_IDS, joined)
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def _tell(took: Mapping[str, Sequence[Took]], n_tuples: int) -> None:
    middle = {
        name: Took(*(statistics.median(part) for part in zip(*turns, strict=True)))
        for name, turns in took.items()
    }
    print(f"  {'medians of ' + str(len(took[PRODUCT])):24}{'wall ms':>10}{'CPU ms':>10}", end="")
    print(f"{'k tuples/s':>12}{'the product is x':>26}")
    ours = middle[PRODUCT]
    for name, (wall_s, cpu_s) in middle.items():
        speed = "" if name == EMPTY else f"{n_tuples / wall_s / 1e3:.1f}"
        print(f"  {name:24}{1e3 * wall_s:10.0f}{1e3 * cpu_s:10.0f}{speed:>12}", end="")
        print(f"{ours.wall_s / wall_s:16.2f} wall {ours.cpu_s / max(cpu_s, 1e-9):.2f} CPU")
