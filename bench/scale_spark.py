"""Our path through Spark, from a Parquet file to the sink, and the same without Spark.

Spark has a batch of the product: its feeder reads the file and spools the tuples of the next batch
while workers match, name, count, draw and write those of this one. Without Spark processes fed by
pyarrow do a task's work each on a part of the file.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from backend.cql import parse_query
from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.networks import HostJob
from backend.hosts.spark.session.session import build_session
from backend.model.events import SelectionPlan
from backend.operators.contract import BatchPlan, BatchResult
from backend.operators.selection.operator import SelectionOperator
from backend.operators.task import CHUNK_TUPLES, BatchTask
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.contract import CORRUPT
from backend.workloads.drift import DRIFT_SCHEMA, q1_queries
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from bench.on_spark import STREAM, OnSpark, spool
from bench.processes import told_memory
from bench.scale_data import SEED, Counts

#: Timed batches, after the first and as many as warm up; timed rounds without Spark.
ROUNDS: Final = 3
WARM_UP: Final = 2


class SparkPath(NamedTuple):
    """first_s: the first batch. batch_s: a later one, the median. memory: told of the end."""

    first_s: float
    batch_s: float
    counts: Counts
    memory: str


def spark_path(path: Path, k: int, order: Sequence[str], n_cores: int) -> SparkPath:
    """Batches of all tuples of a Parquet file on so many of this machine's cores: in a process of
    its own, which is left with them alone."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])
    operators = {"asc": operator_of(k, order)}
    with TemporaryDirectory() as name, ThreadPoolExecutor(1) as beside:
        folder = Path(name)
        session = build_session(f"local[{n_cores}]", "planwatch bench", folder, is_quick=True)
        try:
            spark = OnSpark(session, DRIFT_SCHEMA, folder / "matches")
            ends = [time.perf_counter()]
            spooled = _spooled(path, folder / "0")
            for batch in range(1 + WARM_UP + ROUNDS):
                following = beside.submit(_spooled, path, folder / str(batch + 1))
                result = spark.run(batch, spooled, operators)
                shutil.rmtree(spooled)
                spooled = following.result()
                ends.append(time.perf_counter())
            times = [end - begin for begin, end in pairwise(ends)]
            middle = statistics.median(times[1 + WARM_UP :])
            return SparkPath(times[0], middle, counts_of(result), told_memory())
        finally:
            session.stop()


def _spooled(path: Path, folder: Path) -> Path:
    source = open_source(_stream(path), folder)
    assert source is not None
    return spool(source, folder, pq.read_metadata(path).num_rows)


def _stream(path: Path) -> StreamSpec:
    return StreamSpec(STREAM, DRIFT_SCHEMA, SourceSpec("parquet", {"path": str(path)}))


def without_spark(path: Path, k: int, order: Sequence[str], n_parts: int) -> tuple[float, Counts]:
    """Seconds for all tuples of a Parquet file, by so many processes; the median of ROUNDS."""
    plan = partial(BatchPlan, operators={STREAM: {"asc": operator_of(k, order)}})
    with TemporaryDirectory() as name:
        batches = Batches([InputSource(_stream(path))], SinkSpec(str(Path(name) / "matches")))
        with multiprocessing.get_context("spawn").Pool(n_parts) as pool:
            times = []
            for batch in range(ROUNDS + 1):
                started = time.perf_counter()
                job = batches.job(plan(batch))
                parts = [(job, path, part, n_parts) for part in range(n_parts)]
                merged = batches.merge(job, pool.starmap(_part, parts, chunksize=1))
                batches.publish(job, merged)
                times.append(time.perf_counter() - started)
        result = batch_result(ROUNDS, merged, {}, Timings())
        return statistics.median(times[1:]), counts_of(result)


def _part(job: HostJob, path: Path, part: int, n_parts: int) -> bytes:
    """A task's work on one part of the file's row groups."""
    task = BatchTask(job.tasks, part)
    with pq.ParquetFile(path, memory_map=True) as file:
        groups = list(range(part, file.num_row_groups, n_parts))
        for rows in file.iter_batches(CHUNK_TUPLES, groups, use_threads=False):
            fitting = rows.append_column(CORRUPT, pa.nulls(len(rows), pa.string()))
            task.take(STREAM, fitting)
    return task.report()


def operator_of(k: int, order: Sequence[str]) -> SelectionOperator:
    """The plan with early drop of k queries like those of query set Q1."""
    streams = {"Drift": DRIFT_SCHEMA}
    queries = [parse_query(n, t, streams) for n, t in q1_queries(seed=SEED, k=k).items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    plan = SelectionPlan(1, "early drop", tuple(order))
    return SelectionOperator(shipped_plan(constructs, plan, "resolved"), 0.01)


def counts_of(result: BatchResult) -> Counts:
    """Matched tuples, and the sum over them of the number of queries."""
    by_unit = (unit.matched_by_query.values() for unit in result.units.values())
    return result.n_matched, sum(n for counts in by_unit for n in counts)
