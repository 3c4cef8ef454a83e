"""The jobs of a run's batches on Spark: one each, whose workers do the work."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from backend.hosts.batches import Batches, Timings
from backend.hosts.contract import InputSource
from backend.hosts.spark.parcel import Shipping
from backend.hosts.spark.shipping import ship_code
from backend.hosts.spark.tasks import TOLD, RowSource, work_of
from backend.operators.contract import BatchPlan
from backend.operators.reports import Merged
from backend.workloads.spec import SinkSpec

log = logging.getLogger(__name__)


class BatchJobs:
    """Runs batches and publishes their results. inputs: what they read; sink: its path is the run's
    own folder."""

    def __init__(
        self, session: SparkSession, inputs: Sequence[InputSource], sink: SinkSpec
    ) -> None:
        self._batches, self._shipping = Batches(inputs, sink), Shipping(session)
        ship_code(session)

    def run(
        self, frame: DataFrame, rows: RowSource, plan: BatchPlan, timings: Timings
    ) -> dict[str, Merged]:
        """Run a batch; by input what was taken from it. frame: its rows, which come as ``rows``
        says."""
        job = self._batches.job(plan)
        told = frame.mapInArrow(work_of(self._shipping.parcel(job), rows), f"{TOLD} binary")
        timings.lap("plan_ms")
        found = self._batches.merge(job, [bytes(row[0]) for row in told.collect()])
        timings.lap("job_ms")
        self._batches.publish(job, found)
        timings.lap("publish_ms")
        return found

    def close(self) -> None:
        """Leave nothing behind, in the workers and in the sink; the JVM may be gone already."""
        try:
            self._shipping.close()
        except (PySparkException, Py4JError) as error:
            log.info("Spark had stopped before the run: %s", type(error).__name__)
        self._batches.close()
