"""Where the product runs its batches: in a call from a Spark stream.

The way from Java to Python is another one there than on the main thread, and a faster one
(backend.hosts.spark.session.session).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession


def called_by_stream(session: SparkSession, work: Callable[[], None]) -> None:
    """Run the work as the only batch of a stream. Raises what Spark makes of its exceptions."""

    def batch(_frame: DataFrame, _batch_id: int) -> None:
        work()

    with TemporaryDirectory() as scratch:
        writer = session.readStream.format("rate").load().writeStream.foreachBatch(batch)
        writer = writer.option("checkpointLocation", str(Path(scratch) / "checkpoint"))
        writer.trigger(once=True).start().awaitTermination()
