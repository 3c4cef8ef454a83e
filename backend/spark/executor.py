"""Runs one micro-batch: plan, counters, profile sample and sink in a single Spark job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Observation, SparkSession

from backend.engine.execution import BatchResult, KeptAside, Match, PlanSnapshot
from backend.model.schema import Schema
from backend.spark.compiler import CompiledPlan, compile_plan
from backend.spark.jvm import long_array
from backend.spark.literals import quote
from backend.spark.observed import (
    HASH_BITS,
    SAMPLING_FLAGS,
    Groups,
    everything_observed,
    matches_observed,
    query_groups,
    query_ids,
)
from backend.spark.sinks import FileSink
from backend.workloads.contract import CORRUPT

#: Matched tuples sent to the dashboard per batch, about; above it they are sampled.
RECENT_TUPLES = 200
MISFITS_SHOWN = 50


@dataclass(frozen=True)
class _Prepared:
    """What stays the same from batch to batch while plan and queries do."""

    key: tuple[object, ...]
    compiled: CompiledPlan
    groups: Groups
    tables: Mapping[str, Column]
    query_ids: Column
    all_columns: tuple[Column, ...]
    match_columns: tuple[Column, ...]


class SparkExecutor:
    """Executes batches of one stream. timestamp: the event-time attribute, or None."""

    def __init__(self, schema: Schema, timestamp: str | None, sink: FileSink, seed: int) -> None:
        self.schema, self.timestamp, self.sink, self.seed = schema, timestamp, sink, seed
        self._prepared: _Prepared | None = None
        self._recent_share = 1.0

    def execute(self, batch: DataFrame, snapshot: PlanSnapshot) -> BatchResult:
        """Contract: ``batch`` has the schema's columns and ``_corrupt_record``; one row a tuple."""
        started = time.perf_counter()
        prepared = self._prepare(batch.sparkSession, snapshot)
        matched, everything, matches = self.plan_batch(batch, prepared, snapshot)
        planned = time.perf_counter()
        self.sink.stage(matched, snapshot.batch_id)
        ran = time.perf_counter()
        counts, found = everything.get, matches.get
        misfits = self._keep_misfits(batch, counts["n_misfits"], snapshot.batch_id)
        self.sink.publish(snapshot.batch_id, found["n_matched"])
        done = time.perf_counter()
        timings = {
            "plan_ms": (planned - started) * 1e3,
            "job_ms": (ran - planned) * 1e3,
            "publish_ms": (done - ran) * 1e3,
        }
        self._recent_share = min(1.0, RECENT_TUPLES / max(1, found["n_matched"]))
        return self._result(prepared, snapshot, counts, found, misfits, timings)

    def plan_batch(
        self, batch: DataFrame, prepared: _Prepared, snapshot: PlanSnapshot
    ) -> tuple[DataFrame, Observation, Observation]:
        """The matched tuples as the sink wants them, with both sets of observed counters."""
        session, compiled = batch.sparkSession, prepared.compiled
        table = f"_batch_{id(self)}"
        batch.createOrReplaceTempView(table)
        settings = {"sampling": long_array(session, self._sampling(snapshot))}
        columns = [*self.schema.names, CORRUPT]
        query = f"SELECT *, {SAMPLING_FLAGS} FROM ({compiled.query(columns, table)})"
        frame = session.sql(query, args={**prepared.tables, **settings})
        everything, matches = Observation(), Observation()
        matched = frame.observe(everything, *prepared.all_columns).filter(compiled.matched)
        matched = matched.withColumn("query_ids", prepared.query_ids)
        matched = matched.observe(matches, *prepared.match_columns)
        names = [quote(name) for name in self.schema.names]
        return matched.selectExpr(*names, "query_ids"), everything, matches

    def _misfit(self) -> str:
        if self.timestamp is None:
            return f"{CORRUPT} IS NOT NULL"
        return f"({CORRUPT} IS NOT NULL OR {quote(self.timestamp)} IS NULL)"

    def _sampling(self, snapshot: PlanSnapshot) -> NDArray[np.int64]:
        """Seed of the batch and the thresholds of profiling and of recent matches. A table, not
        constants in the text: a new batch id or probability compiles nothing anew."""
        whole = 1 << HASH_BITS
        seed = (self.seed * 1_000_003 + snapshot.batch_id) % 2**62
        shares = (snapshot.profile_prob, self._recent_share)
        return np.array([seed, *(int(share * whole) for share in shares)], dtype=np.int64)

    def _prepare(self, session: SparkSession, snapshot: PlanSnapshot) -> _Prepared:
        key = (snapshot.constructs, snapshot.plan, snapshot.stop_rule)
        if self._prepared is None or self._prepared.key != key:
            compiled = compile_plan(
                snapshot.constructs, snapshot.plan, snapshot.stop_rule, self._misfit()
            )
            groups = query_groups(snapshot.constructs)
            tables = {n: long_array(session, t) for n, t in compiled.tables.items()}
            self._prepared = _Prepared(
                key,
                compiled,
                groups,
                tables,
                query_ids(session, snapshot.constructs),
                everything_observed(compiled, self._misfit(), self.timestamp),
                matches_observed(groups, self.schema),
            )
        return self._prepared

    def _keep_misfits(
        self, batch: DataFrame, n_misfits: int, batch_id: int
    ) -> tuple[KeptAside, ...]:
        """A second job, only for batches that have tuples to keep aside."""
        if not n_misfits:
            return ()
        names = ", ".join(quote(name) for name in self.schema.names)
        raw = f"coalesce({CORRUPT}, to_json(struct({names})))"
        reason = "'does not fit the schema'"
        if self.timestamp is not None:
            absent = f"{self.timestamp} is NULL, and it is the timestamp".replace("'", "")
            reason = f"if({CORRUPT} IS NULL, '{absent}', {reason})"
        kept = batch.filter(self._misfit()).selectExpr(f"{raw} as raw", f"{reason} as error")
        self.sink.keep_aside(kept, batch_id)
        return tuple(KeptAside(row.raw, row.error) for row in kept.limit(MISFITS_SHOWN).collect())

    def _result(
        self,
        prepared: _Prepared,
        snapshot: PlanSnapshot,
        counts: Mapping[str, Any],
        found: Mapping[str, Any],
        misfits: tuple[KeptAside, ...],
        timings: Mapping[str, float],
    ) -> BatchResult:
        order = snapshot.plan.order
        n_tuples = counts["n_rows"] - counts["n_misfits"]
        if prepared.compiled.n_visit_words:
            reached = {a: counts[f"reached_{i}"] or 0 for i, a in enumerate(order)}
            dropped = {a: counts[f"dropped_{i}"] or 0 for i, a in enumerate(order)}
        else:
            reached, dropped = dict.fromkeys(order, n_tuples), {}
        sample = {a: [row[a] for row in counts["sample"]] for a in order}
        latest = counts.get("stream_time")
        return BatchResult(
            batch_id=snapshot.batch_id,
            n_tuples=n_tuples,
            n_matched=found["n_matched"],
            n_misfits=counts["n_misfits"],
            visits=sum(reached.values()),
            reached=reached,
            dropped=dropped,
            sample=sample,
            matched_by_query=prepared.groups.by_name(found),
            recent=tuple(_match(row, self.schema) for row in found["recent"]),
            misfits=misfits,
            stream_time="" if latest is None else str(latest),
            duration_ms=sum(timings.values()),
            timings_ms=timings,
        )


def _match(row: Any, schema: Schema) -> Match:
    return Match({name: row[name] for name in schema.names}, tuple(row["query_ids"]))
