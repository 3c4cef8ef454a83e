"""Our path through Spark, as a batch of the product runs it: executor, counters and sink."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from backend.engine.execution import BatchResult, PlanSnapshot
from backend.hosts.spark.executor import SparkExecutor
from backend.hosts.spark.sinks import FileSink

from backend.cql import parse_query
from backend.hosts.spark.session import build_session
from backend.model.events import SelectionPlan
from backend.systems.asc.constructs import build_constructs
from backend.workloads.contract import CORRUPT
from backend.workloads.drift import DRIFT_SCHEMA, q1_queries
from bench.scale_data import SEED, Counts

ROUNDS: Final = 3


def arrow_counts(path: Path, k: int, order: Sequence[str]) -> tuple[float, Counts]:
    """Seconds of a batch (the median of ROUNDS, after one to warm up) and what it counts."""
    streams = {"Drift": DRIFT_SCHEMA}
    queries = [parse_query(n, t, streams) for n, t in q1_queries(seed=SEED, k=k).items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    plan = SelectionPlan(1, "early drop", tuple(order))
    with TemporaryDirectory() as folder:
        session = build_session("local[2]", "planwatch bench", Path(folder))
        try:
            frame = session.read.parquet(str(path)).selectExpr(
                "*", f"cast(null as string) as {CORRUPT}"
            )
            sink = FileSink(session, str(Path(folder) / "matches"), "parquet")
            executor = SparkExecutor(DRIFT_SCHEMA, None, sink, seed=1)
            times = []
            for batch in range(ROUNDS + 1):
                started = time.perf_counter()
                snapshot = PlanSnapshot(batch, constructs, plan, "resolved", 0.01, "kernels")
                result = executor.execute(frame, snapshot)
                times.append(time.perf_counter() - started)
            return statistics.median(times[1:]), _counts(result)
        finally:
            session.stop()


def _counts(result: BatchResult) -> Counts:
    return result.n_matched, sum(result.matched_by_query.values())
