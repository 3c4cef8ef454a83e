"""Three ways of a batch: as the product runs it, through Spark alone, and without Spark."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.spark.run.inputs import Inputs
from backend.hosts.spark.run.jobs import BatchJobs
from backend.hosts.spark.run.runner import BATCH_EVERY_S, LOCAL_CHECKPOINTS
from backend.hosts.spark.run.tasks import PATH, RowSource, run_task, tag_of
from backend.operators.contract import BatchResult
from backend.workloads.spec import SinkSpec, Workload
from bench.processes import tree_cpu_s
from storage.vocabulary.records import Input, Run
from storage.writer import EngineWriter, open_engine_writer


class Took(NamedTuple):
    """wall_s: of the batch. cpu_s: of all processes that had a part in it."""

    wall_s: float
    cpu_s: float


class Lane(Protocol):
    """One way. results: of its batches so far."""

    results: list[BatchResult]

    def step(self, spooled: Path) -> Took:
        """Take the tuples of a folder."""

    def close(self) -> None:
        """Stop."""


class Noted(Loop):
    """The loop of a run that notes what its batches came to. writer: None: a store of its own."""

    def __init__(
        self,
        workload: Workload,
        source: InputSource,
        folder: Path,
        writer: EngineWriter | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        stream = source.stream
        inputs = {stream.name: InputJob(stream.name, stream.schema, stream.timestamp or "", {}, 0)}
        job = RunJob(inputs, workload.queries, {}, workload.knobs, functions=workload.functions)
        schema = [[a.name, a.type] for a in stream.schema.attributes]
        place = (os.getpid(), socket.gethostname(), "")
        run = Run("bench", workload.name, "starting", time.time(), {}, *place)
        run = replace(run, inputs=(Input(stream.name, schema),))
        super().__init__(run, job, writer or open_engine_writer(str(folder / "store.db")))
        self.results: list[BatchResult] = []
        self.start()

    def end_batch(self, result: BatchResult) -> None:
        """As every batch ends."""
        self.results.append(result)
        super().end_batch(result)


class OnStream:
    """A streaming query over spool files in ``folder / "spool"``, as a run has one. frame: its
    rows, or what Spark makes of them; batch: what it calls."""

    def __init__(
        self, frame: DataFrame | None, folder: Path, batch: Callable[[DataFrame, int], None]
    ) -> None:
        assert frame is not None
        self.results: list[BatchResult] = []
        self._spool, self._last = folder / "spool", -1
        for key, value in LOCAL_CHECKPOINTS.items():
            frame.sparkSession.conf.set(key, value)
        every = f"{BATCH_EVERY_S} seconds"
        writer = frame.writeStream.foreachBatch(batch).trigger(processingTime=every)
        self._query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()

    def step(self, spooled: Path) -> Took:
        """The time from the trigger to the commit."""
        before, files = tree_cpu_s(), sorted(spooled.iterdir())
        for file in files:
            os.link(file, self._spool / file.name)
        self._query.processAllAvailable()
        cpu_s = tree_cpu_s() - before
        done: Any = [batch for batch in self._query.recentProgress if batch["batchId"] > self._last]
        self._last = max(batch["batchId"] for batch in done)
        for file in files:
            (self._spool / file.name).unlink()
        return Took(sum(batch["durationMs"]["triggerExecution"] for batch in done) / 1e3, cpu_s)

    def close(self) -> None:
        """Stop the query."""
        self._query.stop()


def product(
    session: SparkSession, workload: Workload, source: InputSource, folder: Path
) -> OnStream:
    """Batches as backend.hosts.spark.run.runner runs them: job, sink, decisions, the store."""
    loop = Noted(workload, source, folder)
    jobs = BatchJobs(session, [source], SinkSpec(str(folder / "matches")))
    inputs = Inputs(session, [source], folder / "spool", once=False)

    def batch(frame: DataFrame, batch_id: int) -> None:
        timings = Timings()
        merged = jobs.run(frame, inputs.rows, loop.begin_batch(batch_id), timings)
        loop.end_batch(batch_result(batch_id, merged, {}, timings))

    lane = OnStream(inputs.frame, folder, batch)
    lane.results = loop.results
    return lane


def nothing(session: SparkSession, source: InputSource, folder: Path) -> OnStream:
    """The same stream of files, and nothing is done with them."""
    inputs = Inputs(session, [source], folder / "spool", once=False)
    return OnStream(inputs.frame, folder, lambda _frame, _batch_id: None)


class WithoutSpark:
    """What a worker does with its files, done here; with the decisions, the sink and a store."""

    def __init__(
        self,
        workload: Workload,
        source: InputSource,
        folder: Path,
        writer: EngineWriter | None = None,
    ) -> None:
        self._loop = Noted(workload, source, folder)
        self._batches = Batches([source], SinkSpec(str(folder / "matches")))
        self._name = source.name
        self.results = self._loop.results

    def step(self, spooled: Path) -> Took:
        """From the plan to the commit in the store; processor time of this process."""
        started, spent = time.perf_counter(), time.process_time()
        timings = Timings()
        batch_id = len(self.results)
        job = self._batches.job(self._loop.begin_batch(batch_id))
        names = pa.array([file.name for file in sorted(spooled.iterdir())])
        rows = RowSource(spooled, {tag_of(self._name): self._name}, (), False)
        paths = pa.RecordBatch.from_arrays([names], names=[PATH])
        batch = self._batches.merge(job, run_task(job, rows, 0, [paths]))
        self._batches.publish(job, batch)
        self._loop.end_batch(batch_result(batch_id, batch, {}, timings))
        return Took(time.perf_counter() - started, time.process_time() - spent)

    def close(self) -> None:
        """Leave no staging folder."""
        self._batches.close()
