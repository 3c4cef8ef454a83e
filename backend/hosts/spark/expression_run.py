"""A plan run as native Spark expressions: see backend.hosts.spark.compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession

from backend.engine.execution import PlanSnapshot
from backend.hosts.spark.compiler import compile_plan
from backend.hosts.spark.jvm import long_array
from backend.hosts.spark.observed import (
    SAMPLING_FLAGS,
    groups_observed,
    matches_observed,
    query_groups,
    query_ids,
    tuples_observed,
    visits_observed,
)
from backend.hosts.spark.plan_run import Observed, Stream
from backend.workloads.contract import CORRUPT


class ExpressionRun:
    """The expressions of one plan version, with all that stays the same from batch to batch."""

    def __init__(self, session: SparkSession, snapshot: PlanSnapshot, stream: Stream) -> None:
        constructs, self._plan, self._stream = snapshot.constructs, snapshot.plan, stream
        self._compiled = compile_plan(constructs, snapshot.plan, snapshot.stop_rule, stream.misfit)
        self._groups = query_groups(constructs)
        self._tables = {n: long_array(session, t) for n, t in self._compiled.tables.items()}
        self._query_ids = query_ids(session, constructs)
        self._on_tuples = (
            *tuples_observed(self._plan.order, stream),
            *visits_observed(self._compiled),
        )
        self._on_matches = (*matches_observed(stream), *groups_observed(self._groups))

    def plan_batch(
        self, batch: DataFrame, batch_id: int, sampling: Column
    ) -> tuple[DataFrame, Callable[[], Observed]]:
        table = f"_batch_{id(self)}"
        batch.createOrReplaceTempView(table)
        compiled = self._compiled
        columns = [*self._stream.schema.names, CORRUPT]
        query = f"SELECT *, {SAMPLING_FLAGS} FROM ({compiled.query(columns, table)})"
        frame = batch.sparkSession.sql(query, args={**self._tables, "sampling": sampling})
        everything, matches = Observation(), Observation()
        matched = frame.observe(everything, *self._on_tuples).filter(compiled.matched)
        matched = matched.withColumn("query_ids", self._query_ids)
        matched = matched.observe(matches, *self._on_matches)
        wanted = matched.selectExpr(*self._stream.columns, "query_ids")
        return wanted, lambda: self._observed(everything.get, matches.get)

    def close(self) -> None:
        """Nothing is held."""

    def _observed(self, counts: Mapping[str, Any], found: Mapping[str, Any]) -> Observed:
        order, n_tuples = self._plan.order, counts["n_rows"] - counts["n_misfits"]
        if self._compiled.n_visit_words:
            reached = {a: counts[f"reached_{i}"] or 0 for i, a in enumerate(order)}
            dropped = {a: counts[f"dropped_{i}"] or 0 for i, a in enumerate(order)}
        else:
            reached, dropped = dict.fromkeys(order, n_tuples), {}
        sample = {a: [row[a] for row in counts["sample"]] for a in order}
        return Observed({**counts, **found}, sample, reached, dropped, self._groups.by_name(found))
