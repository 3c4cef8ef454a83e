"""Our path through Spark, as a batch of the product runs it: one job, its counters and its sink."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

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


def spark_path_counts(
    spooled: Path, k: int, order: Sequence[str], cores: int = 2
) -> tuple[Took, Counts]:
    """What a batch takes (medians of ROUNDS, after one to warm up) and what it counts."""
    streams = {"Drift": DRIFT_SCHEMA}
    queries = [parse_query(n, t, streams) for n, t in q1_queries(seed=SEED, k=k).items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    plan = SelectionPlan(1, "early drop", tuple(order))
    shipped = shipped_plan(constructs, plan, "resolved")
    operator = SelectionOperator(shipped, 0.01, "kernels")
    with TemporaryDirectory() as folder:
        session = build_session(f"local[{cores}]", "planwatch bench", Path(folder))
        try:
            spark = OnSpark(session, DRIFT_SCHEMA, Path(folder) / "matches")
            times, spent = [], []
            for batch in range(ROUNDS + 1):
                started, before = time.perf_counter(), tree_cpu_s()
                result = spark.run(batch, spooled, {"asc": operator})
                times.append(time.perf_counter() - started)
                spent.append(tree_cpu_s() - before)
            took = Took(statistics.median(times[1:]), statistics.median(spent[1:]))
            return took, counts_of(result)
        finally:
            session.stop()


def counts_of(result: BatchResult) -> Counts:
    """Matched tuples, and the sum over them of the number of queries."""
    by_unit = (unit.matched_by_query.values() for unit in result.units.values())
    return result.n_matched, sum(n for counts in by_unit for n in counts)
