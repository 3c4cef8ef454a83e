"""Runs one micro-batch: plan, counters, profile sample and sink in a single Spark job."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from backend.engine.execution import BatchResult, KeptAside, PlanSnapshot
from backend.hosts.spark.arrow_executor import ArrowRun
from backend.hosts.spark.compiler import fits_expressions
from backend.hosts.spark.expression_run import ExpressionRun
from backend.hosts.spark.observed import (
    MISFITS_SHOWN,
    Sampling,
    recent_matches,
    stream_time,
    timings_ms,
)
from backend.hosts.spark.plan_run import Observed, PlanRun, Stream
from backend.hosts.spark.sinks import FileSink
from backend.model.schema import Schema


class SparkExecutor:
    """Executes batches of one stream. timestamp: the event-time attribute, or None."""

    def __init__(self, schema: Schema, timestamp: str | None, sink: FileSink, seed: int) -> None:
        self.sink = sink
        self._stream = Stream(schema, timestamp)
        self._key: tuple[object, ...] = ()
        self._run: PlanRun | None = None
        self._sampling = Sampling(seed)

    def execute(self, batch: DataFrame, snapshot: PlanSnapshot) -> BatchResult:
        """Contract: ``batch`` has the schema's columns and ``_corrupt_record``; one row a tuple."""
        started = time.perf_counter()
        run = self._prepared(batch.sparkSession, snapshot)
        session, batch_id = batch.sparkSession, snapshot.batch_id
        sampling = self._sampling.of_batch(session, batch_id, snapshot.profile_prob)
        matched, observe = run.plan_batch(batch, batch_id, sampling)
        planned = time.perf_counter()
        self.sink.stage(matched, batch_id)
        ran = time.perf_counter()
        observed = observe()
        n_misfits, n_matched = observed.counts["n_misfits"], observed.counts["n_matched"]
        misfits = self._keep_misfits(batch, n_misfits, batch_id)
        self.sink.publish(batch_id, n_matched)
        done = time.perf_counter()
        self._sampling.matched(n_matched)
        timings = timings_ms(started, planned, ran, done)
        return self._result(snapshot, observed, misfits, timings)

    def _prepared(self, session: SparkSession, snapshot: PlanSnapshot) -> PlanRun:
        """The run of the snapshot's plan, which stays the same while plan and queries do."""
        asked_for = snapshot.executor == "expressions"
        is_native = asked_for and fits_expressions(snapshot.constructs, snapshot.plan)
        key = (snapshot.constructs, snapshot.plan, snapshot.stop_rule, is_native)
        if self._run is None or self._key != key:
            if self._run is not None:
                self._run.close()
            kind = ExpressionRun if is_native else ArrowRun
            self._run, self._key = kind(session, snapshot, self._stream), key
        return self._run

    def _keep_misfits(
        self, batch: DataFrame, n_misfits: int, batch_id: int
    ) -> tuple[KeptAside, ...]:
        """A second job, only for batches that have tuples to keep aside."""
        if not n_misfits:
            return ()
        stream = self._stream
        kept = batch.filter(stream.misfit)
        kept = kept.selectExpr(f"{stream.raw} as raw", f"{stream.flaw} as error")
        self.sink.keep_aside(kept, batch_id)
        return tuple(KeptAside(row.raw, row.error) for row in kept.limit(MISFITS_SHOWN).collect())

    def _result(
        self,
        snapshot: PlanSnapshot,
        observed: Observed,
        misfits: tuple[KeptAside, ...],
        timings: Mapping[str, float],
    ) -> BatchResult:
        counts = observed.counts
        return BatchResult(
            batch_id=snapshot.batch_id,
            n_tuples=counts["n_rows"] - counts["n_misfits"],
            n_matched=counts["n_matched"],
            n_misfits=counts["n_misfits"],
            visits=sum(observed.reached.values()),
            reached=observed.reached,
            dropped=observed.dropped,
            sample=observed.sample,
            matched_by_query=observed.matched,
            recent=recent_matches(counts, self._stream),
            misfits=misfits,
            stream_time=stream_time(counts),
            duration_ms=sum(timings.values()),
            timings_ms=timings,
        )
