"""Python workers of Spark started and their kernels loaded while the first batch is prepared."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from backend.engine.planner import place
from backend.hosts.networks import HostJob
from backend.hosts.rehearsal import compiled, rehearse
from backend.hosts.spark.run.parcel import Shipping
from backend.hosts.spark.run.tasks import TOLD, RowSource, run_task, work_of
from backend.hosts.spark.session.remote import is_remote
from backend.model.conditions import Comparison, ContinuousQuery
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob
from backend.operators.task import TaskInput, TaskJob
from backend.systems.contract import UnitJob
from backend.systems.registry import SYSTEMS
from backend.workloads.contract import CORRUPT

log = logging.getLogger(__name__)
#: Tuples, so many that some are sampled.
_SOME: Final = 100


def warm_workers(session: SparkSession, has_networks: bool) -> threading.Thread:
    """Match some tuples in a worker, in the background; it stays and is used again. Where the run
    has networks, workers on this machine load their kernels, too, once these are compiled."""
    thread = threading.Thread(target=_warm, args=(session, has_networks), daemon=True)
    thread.start()
    return thread


def _warm(session: SparkSession, has_networks: bool) -> None:
    compiling = compiled()
    try:
        _match_in_worker(session)
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


def _match_in_worker(session: SparkSession) -> None:
    shipping = Shipping(session)
    try:
        work = work_of(shipping.parcel(_small_job()), RowSource(Path(), {}, ("S",), False))
        values = f"1 AS a, 0.5D AS x, CAST(NULL AS string) AS {CORRUPT}"
        frame = session.sql(f"SELECT {values} FROM range({_SOME})").coalesce(1)
        frame.mapInArrow(work, f"{TOLD} binary").collect()
    finally:
        shipping.close()


def match_some() -> None:
    """Match some tuples in this process, which loads what that takes."""
    values = [pa.array([1] * _SOME, pa.int32()), pa.array([0.5] * _SOME)]
    values.append(pa.nulls(_SOME, pa.string()))
    rows = pa.RecordBatch.from_arrays(values, names=["a", "x", CORRUPT])
    run_task(_small_job(), RowSource(Path(), {}, ("S",), False), 0, [rows])


def _small_job() -> HostJob:
    """Of the system that selections without functions go to."""
    schema = Schema.parse("a int, x double")
    both = (Comparison("a", "<", 1), Comparison("x", "<", 1.5))
    queries = tuple(ContinuousQuery(where.attribute, "S", "", where) for where in both)
    system = place(queries[0], SYSTEMS).system
    job = UnitJob("u", ("S",), {"S": schema}, queries)
    unit = system.unit(job, KnobSettings.defaults(system.knobs))
    unit.start(None)
    operator = unit.operator(0)
    assert not isinstance(operator, NetworkJob)  # none keeps state of selections
    input = TaskInput(0, schema, None, {"u": operator})
    return HostJob(TaskJob(0, 0, {"S": input}, "", "parquet"))
