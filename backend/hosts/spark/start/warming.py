"""Python workers of Spark started and their kernels loaded while the first batch is prepared."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from backend.hosts.networks import HostJob
from backend.hosts.rehearsal import compiled, rehearse
from backend.hosts.spark.run.parcel import Shipping
from backend.hosts.spark.run.tasks import TOLD, RowSource, run_task, work_of
from backend.hosts.spark.session.remote import is_remote
from backend.model.conditions import Comparison, ContinuousQuery
from backend.model.events import SelectionPlan
from backend.model.schema import Schema
from backend.operators.selection.operator import SelectionOperator
from backend.operators.task import TaskInput, TaskJob
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.contract import CORRUPT

log = logging.getLogger(__name__)


def warm_workers(session: SparkSession, has_networks: bool) -> threading.Thread:
    """Match one tuple in a worker, in the background; it stays and is used again. Where the run has
    networks, workers on this machine load their kernels, too, once these are compiled."""
    thread = threading.Thread(target=_warm, args=(session, has_networks), daemon=True)
    thread.start()
    return thread


def _warm(session: SparkSession, has_networks: bool) -> None:
    compiling = compiled()
    try:
        _match_one(session)
        if has_networks and not is_remote(str(session.sparkContext.master)):
            compiling.join()
            n = session.sparkContext.defaultParallelism
            rows = session.range(0, n, 1, n)
            rows.mapInArrow(_rehearsed, f"{TOLD} binary").collect()
    except (
        Exception
    ) as error:  # a stop in mid-start shows itself in many ways, none of them matters
        log.debug("workers start with the first batch: %s", type(error).__name__)


def _rehearsed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker; told nothing."""
    rehearse()
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.nulls(len(batch), pa.binary())], names=[TOLD])


def _match_one(session: SparkSession) -> None:
    shipping = Shipping(session)
    try:
        work = work_of(shipping.parcel(_small_job()), RowSource(Path(), {}, ("S",), False))
        values = f"1 AS a, 0.5D AS x, CAST(NULL AS string) AS {CORRUPT}"
        frame = session.sql(f"SELECT {values}").coalesce(1)
        frame.mapInArrow(work, f"{TOLD} binary").collect()
    finally:
        shipping.close()


def match_some() -> None:
    """Match a tuple in this process, which loads what that takes."""
    values = [pa.array([1], pa.int32()), pa.array([0.5]), pa.nulls(1, pa.string())]
    rows = pa.RecordBatch.from_arrays(values, names=["a", "x", CORRUPT])
    run_task(_small_job(), RowSource(Path(), {}, ("S",), False), 0, [rows])


def _small_job() -> HostJob:
    schema = Schema.parse("a int, x double")
    both = (Comparison("a", "<", 1), Comparison("x", "<", 1.5))
    queries = [ContinuousQuery(condition.attribute, "S", "", condition) for condition in both]
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(0, "early drop", constructs.attributes)
    shipped = shipped_plan(constructs, plan, "resolved")
    operator = SelectionOperator(shipped, 1.0)
    input = TaskInput(0, schema, None, {"u": operator})
    return HostJob(TaskJob(0, 0, {"S": input}, "", "parquet"))
