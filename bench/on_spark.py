"""Batches of one stream on Spark, each run as a batch of the product: job, operators and sink."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from backend.hosts.batches import Timings, batch_result
from backend.hosts.contract import InputSource
from backend.hosts.spark.run.jobs import BatchJobs
from backend.hosts.spark.run.tasks import PATH, RowSource, tag_of
from backend.model.schema import Schema
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.workloads.replay import Feeder, read_spooled
from backend.workloads.sources import ReplaySource
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
        rows = RowSource(spooled, {_TAG: STREAM}, (), False)
        plan = BatchPlan(batch_id, {STREAM: operators})
        batch = self._jobs.run(frame, rows, plan, timings)
        return batch_result(batch_id, batch, {}, timings)


def spool(
    source: ReplaySource, folder: Path, n_tuples: int, first: int = 0, stream: str = STREAM
) -> Path:
    """Tuples of a source as the files that a replayed stream comes in; the folder.

    first: number of the first tuple; what is counted on beyond a source's end begins anew. Raises
    what reading and writing do.
    """
    feeder = Feeder(
        Again(source),
        folder,
        lambda: 0.0,
        lambda: "stop",
        start=first,
        ahead_tuples=n_tuples,
        prefix=tag_of(stream),
    )
    feeder.start()
    while feeder.backlog < n_tuples and feeder.error is None:
        time.sleep(0.002)
    feeder.stop()
    if feeder.error is not None:
        raise feeder.error
    return folder


def in_parquet(spooled: Path) -> Path:
    """The same tuples, file by file, as Parquet in a folder beside, for who reads no other files;
    the folder."""
    folder = spooled.with_name(f"{spooled.name}-parquet")
    folder.mkdir(exist_ok=True)
    for file in spooled.iterdir():
        pq.write_table(read_spooled(file), folder / f"{file.stem}.parquet")
    return folder


class Again:
    """A source that begins anew at its end, and so has none."""

    n_tuples: int | None = None

    def __init__(self, source: ReplaySource) -> None:
        self.schema, self._source = source.schema, source

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``."""
        n = self._source.n_tuples or start + count
        parts = []
        while count > 0:
            parts.append(self._source.slice(start % n, min(count, n - start % n)))
            start, count = start + len(parts[-1]), count - len(parts[-1])
        return pa.concat_tables(parts or [self._source.slice(0, 0)])
