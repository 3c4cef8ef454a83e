"""One stream's streaming query from start to end: feeder, batches, idle moments, stopping."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from backend.engine.execution import BatchResult
from backend.engine.loop import Loop
from backend.hosts.spark.sinks import FileSink
from backend.hosts.spark.sources import native, spooled
from backend.workloads.replay import Feeder, ReplaySource
from backend.workloads.spec import StreamSpec

log = logging.getLogger(__name__)

#: Pause between batches; the floor of an empty micro-batch is about as long.
TRIGGER = "200 milliseconds"
POLL_S = 0.1
HEARTBEAT_S = 2.0
#: Old samples are rolled up this often.
TIDY_S = 60.0
#: A batch in flight may finish for so long when the run is stopped.
STOP_GRACE_S = 4.0


SnapshotT_contra = TypeVar("SnapshotT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", bound=BatchResult, covariant=True)
SnapshotT = TypeVar("SnapshotT")
ResultT = TypeVar("ResultT", bound=BatchResult)


class Executor(Protocol[SnapshotT_contra, ResultT_co]):
    """What runs a micro-batch."""

    def execute(self, batch: DataFrame, snapshot: SnapshotT_contra) -> ResultT_co:
        """The batch under the plan of its snapshot, written to the sink."""


class StreamRunner(Generic[SnapshotT, ResultT]):
    """Executes one run. replayed: the tuples of a stream that is fed at a pace of ours.

    folder: the run's own, for checkpoint and spool. once: take what is there, as fast as possible,
    and end. keep_arrival: the executor wants the arrival numbers of a replayed stream.
    """

    def __init__(
        self,
        session: SparkSession,
        engine: Loop[SnapshotT, ResultT],
        stream: StreamSpec,
        replayed: ReplaySource | None,
        sink: FileSink,
        executor: Executor[SnapshotT, ResultT],
        folder: Path,
        once: bool,
        keep_arrival: bool = False,
    ) -> None:
        self.session, self.engine, self.stream = session, engine, stream
        self.folder, self.once, self._keep_arrival = folder, once, keep_arrival
        self.stopping = threading.Event()
        self._sink, self._executor = sink, executor
        self._feeder = None if replayed is None else self._make_feeder(replayed)
        self._beat_at, self._tidied_at = 0.0, time.time()

    def run(self) -> str:
        """Run to the end of the stream or a stop; why it ended. Raises on failure."""
        query = self._start()
        try:
            while query.isActive and not self._is_over():
                self._between_batches()
                time.sleep(POLL_S)
        finally:
            self._stop(query)
            self.engine.finish()
        failure = query.exception()
        if failure is not None and not self.stopping.is_set():
            raise failure
        if self.engine.stop_requested.is_set():
            return "stopped by command"
        return "stopped" if self.stopping.is_set() else "the stream reached its end"

    def _make_feeder(self, source: ReplaySource) -> Feeder:
        engine = self.engine
        return Feeder(
            source,
            self.folder / "spool",
            lambda: 0.0 if self.once else engine.settings.number("rate"),
            lambda: "stop" if self.once else engine.settings.word("at_end"),
            keep_tuples=200_000,
        )

    def _start(self) -> StreamingQuery:
        if self._feeder is None:
            frame = native(self.session, self.stream)
        else:
            spool = self.folder / "spool"
            frame = spooled(self.session, self.stream.schema, spool, self._keep_arrival)
            self._feeder.start()
        writer = frame.writeStream.foreachBatch(self._batch).queryName(self.engine.run.id)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        if self.once and self._feeder is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=TRIGGER).start()

    def _batch(self, frame: DataFrame, batch_id: int) -> None:
        started = time.perf_counter()
        snapshot = self.engine.begin_batch(batch_id)
        try:
            result = self._executor.execute(frame, snapshot)
            if self._feeder is not None:
                self._feeder.consumed(result.n_tuples + result.n_misfits)
                result = replace(result, backlog_tuples=self._feeder.backlog)
            elapsed = (time.perf_counter() - started) * 1e3
            self.engine.end_batch(replace(result, duration_ms=elapsed))
        except BaseException:
            self.engine.abandon_batch()
            if not self.stopping.is_set():
                raise
            log.info("batch %d was cut off by the stop", batch_id)

    def _is_over(self) -> bool:
        if self.stopping.is_set() or self.engine.stop_requested.is_set():
            return True
        if self._feeder is None:
            return False
        if self._feeder.error is not None:
            raise self._feeder.error
        return self._feeder.finished and self._feeder.backlog == 0 and not self.engine.in_batch

    def _between_batches(self) -> None:
        self.engine.idle()
        now, run_id = time.time(), self.engine.run.id
        if now - self._beat_at >= HEARTBEAT_S:
            self._beat_at = now
            self.engine.writer.heartbeat(run_id, now)
        if now - self._tidied_at >= TIDY_S:
            self._tidied_at = now
            self.engine.writer.retention(run_id, now)

    def _stop(self, query: StreamingQuery) -> None:
        if self._feeder is not None:
            self._feeder.stop()
        deadline = time.monotonic() + STOP_GRACE_S
        while query.isActive and self.engine.in_batch and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.stopping.is_set():
            # said before Spark is stopped, which a loaded machine may not live to see
            self.engine.writer.set_state(self.engine.run.id, "ended", "stopped", time.time())
        try:
            if query.isActive:
                query.stop()
            self._sink.close()
        except (PySparkException, Py4JError) as error:
            # the JVM may be gone already: a terminal sends its signal to the whole group
            log.info("Spark had stopped before the query: %s", type(error).__name__)
