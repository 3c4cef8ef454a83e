"""Our path through Spark, as a batch of the product runs it: one job, its counters and its sink."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pyspark.sql import SparkSession

from backend.cql import parse_query
from backend.hosts.spark.session import build_session
from backend.model.events import SelectionPlan
from backend.operators.contract import BatchResult
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.drift import DRIFT_SCHEMA, q1_queries
from bench.fastpath_lanes import Took, tree_cpu_s
from bench.on_spark import OnSpark
from bench.scale_data import SEED, Counts

ROUNDS: Final = 3


def spark_path_counts(spooled: Path, k: int, order: Sequence[str]) -> tuple[float, Counts]:
    """Seconds of a batch and what it counts."""
    ((took, counts),) = spark_paths(2, [(spooled, k, order)])
    return took.wall_s, counts


def spark_paths(
    cores: int, works: Sequence[tuple[Path, int, Sequence[str]]]
) -> list[tuple[Took, Counts]]:
    """What batches take (medians of ROUNDS, after one to warm up) and count, in one session. works:
    folders of tuples, numbers of queries, orders."""
    with TemporaryDirectory() as folder:
        session = build_session(f"local[{cores}]", "planwatch bench", Path(folder))
        try:
            return [_path(session, Path(folder) / str(n), *w) for n, w in enumerate(works)]
        finally:
            session.stop()


def _path(
    session: SparkSession, folder: Path, spooled: Path, k: int, order: Sequence[str]
) -> tuple[Took, Counts]:
    streams = {"Drift": DRIFT_SCHEMA}
    queries = [parse_query(n, t, streams) for n, t in q1_queries(seed=SEED, k=k).items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    plan = SelectionPlan(1, "early drop", tuple(order))
    shipped = shipped_plan(constructs, plan, "resolved")
    operator = SelectionOperator(shipped, 0.01, "kernels")
    spark = OnSpark(session, DRIFT_SCHEMA, folder / "matches")
    times, spent = [], []
    for batch in range(ROUNDS + 1):
        started, before = time.perf_counter(), tree_cpu_s()
        result = spark.run(batch, spooled, {"asc": operator})
        times.append(time.perf_counter() - started)
        spent.append(tree_cpu_s() - before)
    return Took(statistics.median(times[1:]), statistics.median(spent[1:])), counts_of(result)


def counts_of(result: BatchResult) -> Counts:
    """Matched tuples, and the sum over them of the number of queries."""
    by_unit = (unit.matched_by_query.values() for unit in result.units.values())
    return result.n_matched, sum(n for counts in by_unit for n in counts)
