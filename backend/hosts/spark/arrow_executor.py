"""A plan run by the numba kernels in Spark's Python workers, through Arrow.

What runs selection plans, unless expressions are asked for (ADR 10). The job reads a batch,
counts and draws natively, lets the workers match, and writes; their counts and the profiled tuples
come back as one more row of each task, taken out again before the sink. Spark adds up such observed
rows once a task that succeeded, so a retried task counts once, as with native counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, TaskContext
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from backend.engine.execution import PlanSnapshot
from backend.hosts.spark.observed import matches_observed, rows_observed, sampled
from backend.hosts.spark.plan_run import Observed, Stream, named
from backend.hosts.spark.shipping import ship_code
from backend.operators.flags import PROFILED, RECENT
from backend.operators.selection.worker import (
    QUERY_IDS,
    SAMPLE,
    TALLY,
    Names,
    ShippedPlan,
    Tally,
    match_part,
    sample_of,
)
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.layouts import layout_of, search_of
from backend.workloads.contract import CORRUPT

Batches = Iterator[pa.RecordBatch]


class ArrowRun:
    """One plan version: flat arrays, sent to each worker once."""

    def __init__(self, session: SparkSession, snapshot: PlanSnapshot, stream: Stream) -> None:
        self._plan, self._stream = snapshot.plan, stream
        ship_code(session)
        plan = shipped_plan(snapshot, stream)
        self._names = plan.names
        self._shipped: Broadcast[ShippedPlan] = session.sparkContext.broadcast(plan)
        self._on_tuples = rows_observed(stream, stream.misfit)
        self._on_matches = matches_observed(stream)

    def plan_batch(
        self, batch: DataFrame, batch_id: int, sampling: Column
    ) -> tuple[DataFrame, Callable[[], Observed]]:
        table = f"_batch_{id(self)}"
        batch.createOrReplaceTempView(table)
        staged = sampled([*self._stream.columns, CORRUPT], table)
        frame = batch.sparkSession.sql(staged, args={"sampling": sampling})
        everything, tallies, matches = Observation(), Observation(), Observation()
        frame = frame.observe(everything, *self._on_tuples)
        frame = frame.filter(f"NOT {self._stream.misfit}")
        frame = frame.selectExpr(*self._stream.columns, RECENT, PROFILED)
        result = f"{self._stream.schema.ddl()}, {RECENT} boolean"
        result += f", {QUERY_IDS} array<string>, {TALLY} binary, {SAMPLE} binary"
        frame = frame.mapInArrow(_matching(self._shipped, batch_id), result)
        told = (F.expr(f"collect_list({name})").alias(name) for name in (TALLY, SAMPLE))
        frame = frame.observe(tallies, *told)
        frame = frame.filter(f"{TALLY} IS NULL").observe(matches, *self._on_matches)
        wanted = frame.selectExpr(*self._stream.columns, QUERY_IDS)
        return wanted, lambda: self._observed(everything.get, tallies.get, matches.get)

    def close(self) -> None:
        """Free the workers' copies of the plan."""
        self._shipped.unpersist()

    def _observed(
        self, counts: Mapping[str, Any], tallies: Mapping[str, Any], found: Mapping[str, Any]
    ) -> Observed:
        order, names = self._plan.order, self._names.sorted
        tally = Tally.unpacked(tallies[TALLY], len(order), len(names))
        drops = self._plan.kind != "no early drop"
        return Observed(
            {**counts, **found},
            sample_of(tallies[SAMPLE], order),
            named(order, tally.reached.tolist()),
            named(order, tally.dropped.tolist()) if drops else {},
            {names[rank]: int(tally.matched[rank]) for rank in np.flatnonzero(tally.matched)},
        )


def shipped_plan(snapshot: PlanSnapshot, stream: Stream) -> ShippedPlan:
    """What workers need to run the snapshot's plan."""
    constructs, plan = snapshot.constructs, snapshot.plan
    chosen = [constructs.constructs[attribute] for attribute in plan.order]
    return ShippedPlan(
        attributes=stream.schema.names,
        version=plan.version,
        kind=plan.kind,
        resolved=snapshot.stop_rule == "resolved",
        order=tuple((c.attribute, c.type) for c in chosen),
        searches=tuple(search_of(c) for c in chosen),
        layout=layout_of(constructs, plan.order, plan.arrows),
        names=_names(constructs),
    )


def _names(constructs: ConstructSet) -> Names:
    ordered = tuple(sorted(constructs.names))
    rank_of = {name: rank for rank, name in enumerate(ordered)}
    counts = [len(names) for names in constructs.slot_names]
    ranks = [rank_of[name] for names in constructs.slot_names for name in names]
    starts = np.cumsum([0, *counts], dtype=np.int64)
    return Names(ordered, starts, np.array(ranks, dtype=np.int32))


def _matching(shipped: Broadcast[ShippedPlan], batch_id: int) -> Callable[[Batches], Batches]:
    def match(batches: Batches) -> Batches:
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        return match_part(shipped.value, batch_id, partition, batches)

    return match
