"""The jobs of a run's batches on Spark: one each, whose workers do the work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructType

from backend.hosts.batches import Batches, BatchFound, Timings
from backend.hosts.contract import InputSource
from backend.hosts.listening import Listener
from backend.hosts.networks import HostJob, Networks
from backend.hosts.spark.run.parcel import Shipping, packed
from backend.hosts.spark.run.tasks import PATH, PLACE, TARGET, TOLD, RowSource, work_of
from backend.operators.contract import BatchPlan
from backend.operators.network.shards.shard import Places
from backend.workloads.spec import SinkSpec

log = logging.getLogger(__name__)
#: What tasks tell; as text, Java would be asked what it means, and asked again.
_TOLD: Final = StructType().add(TOLD, BinaryType())
#: The partition a row is given to.
_TASK: Final = "_task"


class BatchJobs:
    """Runs batches and publishes their results. inputs: what they read; sink: its path is the run's
    own folder; places: where networks keep state, None where there are none."""

    def __init__(
        self,
        session: SparkSession,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        places: Places | None = None,
    ) -> None:
        self._batches, self._shipping = Batches(inputs, sink, places, packed), Shipping(session)
        self._context = session.sparkContext

    @property
    def networks(self) -> Networks:
        """Of the run."""
        return self._batches.networks

    @property
    def listener(self) -> Listener:
        """Runs the networks that read SysStream."""
        return self._batches.listener

    def run(
        self, frame: DataFrame, rows: RowSource, plan: BatchPlan, timings: Timings
    ) -> BatchFound:
        """Run a batch; what was taken from its inputs. frame: its rows, which come as ``rows``
        says."""
        job = self._batches.job(plan)
        work = work_of(self._shipping.parcel(job), rows)
        reports = self._given(frame, rows, job).mapInArrow(work, _TOLD)
        timings.lap("plan_ms")
        batch = self._batches.merge(job, [bytes(row[0]) for row in reports.collect()])
        timings.lap("job_ms")
        self._batches.publish(job, batch)
        timings.lap("publish_ms")
        return batch

    def _given(self, frame: DataFrame, rows: RowSource, job: HostJob) -> DataFrame:
        """The rows as partitions are given them: a task for each core, whatever files they come in.
        Where there are networks, all to every shard, which are the first."""
        n_shards = job.n_shards
        if not n_shards:
            return frame.coalesce(self._context.defaultParallelism)
        has_operators = any(input.operators for input in job.tasks.inputs.values())
        n_others = self._context.defaultParallelism if has_operators else 0
        if n_shards + n_others == 1:
            return frame.coalesce(1)
        first, n = (n_shards, n_others) if n_others else (0, n_shards)
        if rows.native:
            return _spread(frame, n_shards, first, n)
        target = F.lit(first) + F.pmod(F.hash(PATH), F.lit(n))
        partition = frame.select("*", target.alias(TARGET)).coalesce(1)
        return _times(partition, n_shards + n_others)

    def close(self) -> None:
        """Leave nothing behind, in the workers and in the sink; the JVM may be gone already."""
        try:
            self._shipping.close()
        except (PySparkException, Py4JError) as error:
            log.info("Spark had stopped before the run: %s", type(error).__name__)
        self._batches.close()


def _times(frame: DataFrame, n: int) -> DataFrame:
    """A frame n times over, partition behind partition."""
    if n == 1:
        return frame
    half = _times(frame, n // 2)
    return half.union(half).union(frame) if n % 2 else half.union(half)


def _spread(frame: DataFrame, n_shards: int, first: int, n: int) -> DataFrame:
    """Rows that are dear to make, as tuples of native sources are, made once and copied: to each
    shard, and to the task that does the work on them, one of n from number ``first`` on."""
    target = F.lit(first) + F.pmod(F.spark_partition_id(), F.lit(n))
    shards = F.array(*[F.lit(shard) for shard in range(n_shards)])
    tasks = F.explode(F.array_union(shards, F.array(target)))
    place = F.monotonically_increasing_id().alias(PLACE)
    given = frame.select("*", place, target.alias(TARGET), tasks.alias(_TASK))
    return given.repartitionById(max(n_shards, first + n), F.col(_TASK))
