"""Batches as the product runs them on Spark: one job, in which the workers do the work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.spark.parcel import Shipping
from backend.hosts.spark.shipping import ship_code
from backend.hosts.spark.tasks import TOLD, Rows, work_of
from backend.model.schema import Schema
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.systems.contract import BatchRan, Unit
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec


class SparkBatches:
    """Batches of tuples of one stream. folder: what is matched is written to; None: to nothing."""

    def __init__(
        self, session: SparkSession, stream: str, schema: Schema, folder: Path | None
    ) -> None:
        ship_code(session)
        source = InputSource(StreamSpec(stream, schema, SourceSpec("parquet")))
        self._stream, self._shipping = stream, Shipping(session)
        self._batches = Batches([source], SinkSpec(str(folder) if folder else None))
        self._rows = Rows(Path(), {}, (stream,), False)

    def run(
        self, batch_id: int, frame: DataFrame, operators: Mapping[str, Operator]
    ) -> BatchResult:
        """One batch. frame: the schema's columns and ``_corrupt_record``. operators: by unit."""
        timings = Timings()
        job = self._batches.job(BatchPlan(batch_id, {self._stream: operators}))
        work = work_of(self._shipping.parcel(job), self._rows)
        told = frame.mapInArrow(work, f"{TOLD} binary").collect()
        found = self._batches.merge(job, [bytes(row[0]) for row in told])
        self._batches.publish(job, found)
        return batch_result(batch_id, found, {}, timings)

    def run_unit(self, batch_id: int, frame: DataFrame, unit: Unit, id: str) -> BatchResult:
        """A batch under a unit's operator, which then decides."""
        result = self.run(batch_id, frame, {id: unit.operator(batch_id)})
        unit.executed(BatchRan(batch_id, result.units[id], result.duration_ms))
        return result
