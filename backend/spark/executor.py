"""Runs one micro-batch: plan, counters, profile sample and sink in a single Spark job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession

from backend.engine.execution import BatchResult, KeptAside, Match, PlanSnapshot
from backend.model.schema import Schema
from backend.spark.arrow_executor import ArrowRun
from backend.spark.compiler import fits_expressions
from backend.spark.expression_run import ExpressionRun
from backend.spark.jvm import long_array
from backend.spark.observed import HASH_BITS
from backend.spark.plan_run import Observed, PlanRun, Stream
from backend.spark.sinks import FileSink
from backend.workloads.contract import CORRUPT

#: Matched tuples sent to the dashboard per batch, about; above it they are sampled.
RECENT_TUPLES = 200
MISFITS_SHOWN = 50


class SparkExecutor:
    """Executes batches of one stream. timestamp: the event-time attribute, or None."""

    def __init__(self, schema: Schema, timestamp: str | None, sink: FileSink, seed: int) -> None:
        self.sink, self.seed = sink, seed
        self._stream = Stream(schema, timestamp)
        self._key: tuple[object, ...] = ()
        self._run: PlanRun | None = None
        self._recent_share = 1.0

    def execute(self, batch: DataFrame, snapshot: PlanSnapshot) -> BatchResult:
        """Contract: ``batch`` has the schema's columns and ``_corrupt_record``; one row a tuple."""
        started = time.perf_counter()
        run = self._prepared(batch.sparkSession, snapshot)
        sampling = self._sampling(batch.sparkSession, snapshot)
        matched, observe = run.plan_batch(batch, snapshot.batch_id, sampling)
        planned = time.perf_counter()
        self.sink.stage(matched, snapshot.batch_id)
        ran = time.perf_counter()
        observed = observe()
        n_misfits, n_matched = observed.counts["n_misfits"], observed.counts["n_matched"]
        misfits = self._keep_misfits(batch, n_misfits, snapshot.batch_id)
        self.sink.publish(snapshot.batch_id, n_matched)
        done = time.perf_counter()
        timings = {
            "plan_ms": (planned - started) * 1e3,
            "job_ms": (ran - planned) * 1e3,
            "publish_ms": (done - ran) * 1e3,
        }
        self._recent_share = min(1.0, RECENT_TUPLES / max(1, n_matched))
        return self._result(snapshot, observed, misfits, timings)

    def _prepared(self, session: SparkSession, snapshot: PlanSnapshot) -> PlanRun:
        """The run of the snapshot's plan, which stays the same while plan and queries do."""
        key = (snapshot.constructs, snapshot.plan, snapshot.stop_rule)
        if self._run is None or self._key != key:
            if self._run is not None:
                self._run.close()
            is_native = fits_expressions(snapshot.constructs, snapshot.plan)
            kind = ExpressionRun if is_native else ArrowRun
            self._run, self._key = kind(session, snapshot, self._stream), key
        return self._run

    def _sampling(self, session: SparkSession, snapshot: PlanSnapshot) -> Column:
        """Seed of the batch and the thresholds of profiling and of recent matches. A table, not
        constants in the text: a new batch id or probability compiles nothing anew."""
        whole = 1 << HASH_BITS
        seed = (self.seed * 1_000_003 + snapshot.batch_id) % 2**62
        shares = (snapshot.profile_prob, self._recent_share)
        values = [seed, *(int(share * whole) for share in shares)]
        return long_array(session, np.array(values, dtype=np.int64))

    def _keep_misfits(
        self, batch: DataFrame, n_misfits: int, batch_id: int
    ) -> tuple[KeptAside, ...]:
        """A second job, only for batches that have tuples to keep aside."""
        if not n_misfits:
            return ()
        names, timestamp = ", ".join(self._stream.columns), self._stream.timestamp
        raw = f"coalesce({CORRUPT}, to_json(struct({names})))"
        reason = "'does not fit the schema'"
        if timestamp is not None:
            absent = f"{timestamp} is NULL, and it is the timestamp".replace("'", "")
            reason = f"if({CORRUPT} IS NULL, '{absent}', {reason})"
        kept = batch.filter(self._stream.misfit)
        kept = kept.selectExpr(f"{raw} as raw", f"{reason} as error")
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
        latest = counts.get("stream_time")
        return BatchResult(
            batch_id=snapshot.batch_id,
            n_tuples=counts["n_rows"] - counts["n_misfits"],
            n_matched=counts["n_matched"],
            n_misfits=counts["n_misfits"],
            visits=sum(observed.reached.values()),
            reached=observed.reached,
            dropped=observed.dropped,
            sample={a: [row[a] for row in counts["sample"]] for a in snapshot.plan.order},
            matched_by_query=observed.matched,
            recent=tuple(_match(row, self._stream.schema) for row in counts["recent"]),
            misfits=misfits,
            stream_time="" if latest is None else str(latest),
            duration_ms=sum(timings.values()),
            timings_ms=timings,
        )


def _match(row: Any, schema: Schema) -> Match:
    return Match({name: row[name] for name in schema.names}, tuple(row["query_ids"]))
