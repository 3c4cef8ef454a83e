"""Runs one micro-batch of pipelined filters: expression, operator and sink in one Spark job."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from backend.engine.execution import FilterBatchResult, FilterSnapshot, KeptAside
from backend.hosts.spark.filter_compiler import native_stage
from backend.hosts.spark.literals import text
from backend.hosts.spark.observed import (
    MISFITS_SHOWN,
    Sampling,
    matches_observed,
    recent_matches,
    rows_observed,
    stream_time,
    timings_ms,
)
from backend.hosts.spark.plan_run import Stream
from backend.hosts.spark.shipping import ship_code, ship_module
from backend.hosts.spark.sinks import FileSink
from backend.model.conditions import Call, WindowMember
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.filters.evaluators import make_evaluator
from backend.operators.filters.operator import (
    ALIVE,
    FIRST,
    MISFIT,
    REPORT,
    FilterOperator,
    Report,
    by_name,
    merged,
)
from backend.operators.flags import PROFILED, RECENT
from backend.workloads.relations import SlidingRelation

Relations = Mapping[WindowMember, SlidingRelation]
Batches = Iterator[pa.RecordBatch]


class FilterExecutor:
    """Executes batches of one stream under plans of pipelined filters.

    timestamp: the event-time attribute, or None. relations: what windows in filters look into;
    ``batch`` then has to have ``_arrival``, the arrival number.
    """

    def __init__(
        self,
        session: SparkSession,
        schema: Schema,
        timestamp: str | None,
        sink: FileSink,
        functions: Functions,
        relations: Relations,
        seed: int,
    ) -> None:
        self.sink = sink
        self._stream = Stream(schema, timestamp)
        self._sampling = Sampling(seed)
        self._functions = functions
        self._relations: Broadcast[Relations] = session.sparkContext.broadcast(dict(relations))
        self._has_windows = bool(relations)
        ship_code(session)

    def execute(self, batch: DataFrame, snapshot: FilterSnapshot) -> FilterBatchResult:
        """Contract: ``batch`` has the schema's columns and ``_corrupt_record``; one row a tuple."""
        started = time.perf_counter()
        emitted, everything, reports, matches = self.plan_batch(batch, snapshot)
        planned = time.perf_counter()
        self.sink.stage(emitted, snapshot.batch_id)
        ran = time.perf_counter()
        report = merged(reports.get["reports"], len(snapshot.plan.order))
        self._keep_aside(batch.sparkSession, report, snapshot.batch_id)
        found = matches.get
        self.sink.publish(snapshot.batch_id, found["n_matched"])
        done = time.perf_counter()
        self._sampling.matched(found["n_matched"])
        timings = timings_ms(started, planned, ran, done)
        return self._result(snapshot, everything.get, report, found, timings)

    def plan_batch(
        self, batch: DataFrame, snapshot: FilterSnapshot
    ) -> tuple[DataFrame, Observation, Observation, Observation]:
        """The emitted tuples as the sink wants them; counters of the native stage, the operator's
        reports, and the matches."""
        everything, reports, matches = Observation(), Observation(), Observation()
        frame = self._staged(batch, snapshot).observe(everything, *self._counters(snapshot))
        through = f"{FIRST} IN ({ALIVE}, {MISFIT}) OR {PROFILED}"
        if snapshot.query is None:  # a plain 'false' would take the counters out of the plan, too
            through = f"{FIRST} < {MISFIT}"
        schema = f"{self._stream.schema.ddl()}, `{RECENT}` boolean, `{REPORT}` binary"
        frame = frame.filter(through).mapInArrow(self._runner(snapshot), schema)
        listed = F.expr(f"collect_list({REPORT})").alias("reports")
        frame = frame.observe(reports, listed).filter(f"{REPORT} IS NULL")
        frame = frame.withColumn("query_ids", F.expr(f"array({text(snapshot.query or '')})"))
        frame = frame.observe(matches, *matches_observed(self._stream))
        wanted = frame.selectExpr(*self._stream.columns, "query_ids")
        return wanted, everything, reports, matches

    def operator(self, snapshot: FilterSnapshot) -> Callable[[Relations], FilterOperator]:
        """The operator of a plan, once the relations its windows look into are at hand."""
        by_filter = {f.name: f for f in snapshot.filters}
        behind = [by_filter[name] for name in snapshot.plan.arrow]
        functions = self._needed(behind)
        attributes, plan, probing = self._stream.schema.names, snapshot.plan, snapshot.probing

        def make(relations: Relations) -> FilterOperator:
            evaluators = tuple(make_evaluator(f, functions, relations) for f in behind)
            return FilterOperator(attributes, plan.order, plan.n_native, evaluators, probing)

        return make

    def _runner(self, snapshot: FilterSnapshot) -> Callable[[Batches], Batches]:
        make, relations = self.operator(snapshot), self._relations

        def run(batches: Batches) -> Batches:
            return make(relations.value).run(batches)

        return run

    def _needed(self, behind: list[Any]) -> Functions:
        """What the filters call, so that no more is sent to the workers."""
        calls = [f.condition for f in behind if isinstance(f.condition, Call)]
        named = {call.function for call in calls}
        for name in named:
            ship_module(sys.modules[self._functions.functions[name].call.__module__])
        functions = {n: f for n, f in self._functions.functions.items() if n in named}
        tables = {a.table for call in calls for a in call.arguments if hasattr(a, "table")}
        return Functions(
            functions, {n: t for n, t in self._functions.tables.items() if n in tables}
        )

    def _staged(self, batch: DataFrame, snapshot: FilterSnapshot) -> DataFrame:
        session, stream = batch.sparkSession, self._stream
        table = f"_batch_{id(self)}"
        batch.createOrReplaceTempView(table)
        stage = native_stage(stream, snapshot.filters, snapshot.plan, table, self._has_windows)
        sampling = self._sampling.of_batch(session, snapshot.batch_id, snapshot.profile_prob)
        return session.sql(stage, args={"sampling": sampling})

    def _counters(self, snapshot: FilterSnapshot) -> list[Column]:
        """Over all tuples: rows, misfits, event time, and drops of each native filter."""
        found = list(rows_observed(self._stream, f"{FIRST} = {MISFIT}"))
        for place in range(snapshot.plan.n_native):
            found.append(F.expr(f"count_if({FIRST} = {place})").alias(f"dropped_{place}"))
        return found

    def _keep_aside(self, session: SparkSession, report: Report, batch_id: int) -> None:
        """Another job, but only for batches that have tuples to keep aside."""
        if report.errors:
            kept = session.createDataFrame(report.errors, "raw string, error string")
            self.sink.keep_aside(kept.coalesce(1), batch_id)

    def _result(
        self,
        snapshot: FilterSnapshot,
        counts: Mapping[str, Any],
        report: Report,
        found: Mapping[str, Any],
        timings: Mapping[str, float],
    ) -> FilterBatchResult:
        order, n_native = snapshot.plan.order, snapshot.plan.n_native
        fitting = counts["n_rows"] - counts["n_misfits"]
        alive = fitting
        for place in range(n_native):
            report.evaluated[place], report.dropped[place] = alive, counts[f"dropped_{place}"]
            alive -= report.dropped[place]
        query = snapshot.query or ""
        return FilterBatchResult(
            batch_id=snapshot.batch_id,
            n_tuples=counts["n_rows"] - len(report.errors),
            n_matched=found["n_matched"],
            n_misfits=len(report.errors),
            visits=sum(report.evaluated),
            reached=by_name(order, report.evaluated),
            dropped=by_name(order, report.dropped),
            sample={},
            matched_by_query={query: found["n_matched"]} if found["n_matched"] else {},
            recent=recent_matches(found, self._stream),
            misfits=tuple(KeptAside(*error) for error in report.errors[:MISFITS_SHOWN]),
            stream_time=stream_time(counts),
            duration_ms=sum(timings.values()),
            timings_ms=timings,
            n_evaluated=fitting,
            outcomes=report.profile(),
            n_passed=report.n_passed,
            costs={name: report.costs[place] for place, name in enumerate(order)},
            raised=by_name(order, report.raised),
            tuples_us=report.tuples_us,
            profile_us=report.profile_us,
        )
