"""A Python worker of Spark started and its kernels loaded while the first batch is prepared."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from backend.engine.execution import PlanSnapshot
from backend.hosts.spark.arrow_executor import shipped_plan
from backend.hosts.spark.plan_run import Stream
from backend.hosts.spark.shipping import ship_code
from backend.model.conditions import Comparison, ContinuousQuery
from backend.model.events import SelectionPlan
from backend.model.schema import Schema
from backend.operators.flags import PROFILED, RECENT
from backend.operators.selection.worker import ShippedPlan, match_part
from backend.systems.asc.constructs import build_constructs

log = logging.getLogger(__name__)


def warm_workers(session: SparkSession) -> threading.Thread:
    """Match one tuple in a worker, in the background; it stays and is used again."""
    ship_code(session)
    thread = threading.Thread(target=_match_one, args=(session,), daemon=True)
    thread.start()
    return thread


def _match_one(session: SparkSession) -> None:
    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in match_part(plan, 0, 0, batches):
            yield found.select(["a"])

    try:
        plan = _small_plan()
        one = session.sql(f"SELECT 1 AS a, true AS {RECENT}, true AS {PROFILED}").coalesce(1)
        one.mapInArrow(match, "a int").collect()
    except (
        Exception
    ) as error:  # a stop in mid-start shows itself in many ways, none of them matters
        log.info("workers start with the first batch: %s", type(error).__name__)


def _small_plan() -> ShippedPlan:
    schema = Schema.parse("a int")
    queries = [ContinuousQuery("q", "S", "", Comparison("a", "<", 1))]
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(0, "early drop", constructs.attributes)
    snapshot = PlanSnapshot(0, constructs, plan, "resolved", 0.0, "kernels")
    return shipped_plan(snapshot, Stream(schema, None))
