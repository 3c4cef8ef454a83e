"""Static batches through the Spark executor, for comparison with the oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backend.engine.execution import BatchResult, PlanSnapshot
from backend.hosts.spark.executor import SparkExecutor
from backend.hosts.spark.sinks import FileSink
from pyspark.sql import DataFrame, SparkSession

from backend.model.events import MicroArrow, PlanKind, SelectionPlan
from backend.model.schema import Schema
from backend.systems.asc.constructs import ConstructSet
from backend.workloads.contract import CORRUPT

Row = Mapping[str, Any]


def frame_of(spark: SparkSession, schema: Schema, rows: Sequence[Row]) -> DataFrame:
    """One partition with the tuples in order and an empty ``_corrupt_record``."""
    data = [(*(row[name] for name in schema.names), None) for row in rows]
    declared = f"{schema.ddl()}, `{CORRUPT}` string"
    return spark.createDataFrame(data, declared, verifySchema=False).coalesce(1)


def execute(
    spark: SparkSession,
    folder: Path,
    schema: Schema,
    frame: DataFrame,
    constructs: ConstructSet,
    order: Sequence[str],
    kind: PlanKind = "early drop",
    stop_rule: str = "resolved",
    profile_prob: float = 1.0,
    arrows: Sequence[MicroArrow] = (),
    runs_in: str = "expressions",
) -> BatchResult:
    """One batch, written to ``folder``; hybrid and ticket plans run in the kernels anyway."""
    executor = SparkExecutor(schema, None, FileSink(spark, str(folder), "parquet"), seed=3)
    plan = SelectionPlan(1, kind, tuple(order), tuple(arrows))
    snapshot = PlanSnapshot(0, constructs, plan, stop_rule, profile_prob, runs_in)
    return executor.execute(frame, snapshot)


def query_ids_by_row(spark: SparkSession, folder: Path, key: str) -> dict[int, list[str]]:
    """What the sink holds: key attribute -> query_ids."""
    found = spark.read.parquet(str(folder)).select(key, "query_ids").collect()
    return {row[0]: list(row[1]) for row in found}


def json_lines(folder: Path) -> list[dict[str, Any]]:
    """All JSON lines below a folder."""
    texts = [p.read_text() for p in sorted(folder.rglob("*.json"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]
