"""Batches of one stream on Spark, each run as a batch of the product: job, operators and sink."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from backend.hosts.batches import Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.spark.jobs import BatchJobs
from backend.hosts.spark.tasks import PATH, Rows, tag_of
from backend.model.schema import Schema
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.workloads.replay import Feeder
from backend.workloads.sources import ArrowTableSource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec

STREAM: Final = "S"
_TAG: Final = tag_of(STREAM)


class OnSpark:
    """Runs operators over spooled tuples. sink: folder for what they emit; None: nothing is
    written."""

    def __init__(self, session: SparkSession, schema: Schema, sink: Path | None) -> None:
        source = InputSource(StreamSpec(STREAM, schema, SourceSpec("memory", {})))
        self._session = session
        self._jobs = BatchJobs(session, [source], SinkSpec(None if sink is None else str(sink)))

    def run(self, batch_id: int, spooled: Path, operators: Mapping[str, Operator]) -> BatchResult:
        """One batch. spooled: a folder of tuples; operators: by unit."""
        timings = Timings()
        frame = self._session.read.format("binaryFile").load(str(spooled)).select(PATH)
        rows = Rows(spooled, {_TAG: STREAM}, (), False)
        plan = BatchPlan(batch_id, {STREAM: operators})
        found = self._jobs.run(frame, rows, plan, timings)
        return batch_result(batch_id, found, {}, timings)


def spool(tuples: pa.Table, schema: Schema, folder: Path, stream: str = STREAM) -> Path:
    """Tuples as the files that a replayed stream comes in; the folder. Raises what writing does."""
    source = ArrowTableSource(tuples, schema)
    feeder = Feeder(source, folder, lambda: 0.0, lambda: "stop", prefix=tag_of(stream))
    feeder.ahead_tuples = None
    feeder.start()
    while not feeder.finished:
        if feeder.error is not None:
            raise feeder.error
        time.sleep(0.005)
    feeder.stop()
    return folder
