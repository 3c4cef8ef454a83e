"""All inputs of a run as one stream of rows: paths of spool files, and tuples of native sources."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from backend.hosts.contract import InputSource, cause
from backend.hosts.spark.run.sources import marked, native
from backend.hosts.spark.run.tasks import PATH, STREAM, RowSource, tag_of
from backend.workloads.replay import AHEAD_TUPLES, SLICE_TUPLES
from backend.workloads.spec import WorkloadError

log = logging.getLogger(__name__)
_FILES = "path string, modificationTime timestamp, length bigint, content binary"
#: Spool files that one batch takes at most, while a feeder keeps ahead of the batches by tuples.
FILES_TOGETHER = 1000
#: Spark remembers the names of files for so long; each is later than those before it.
_REMEMBERED = "1h"


class Inputs:
    """The rows of the inputs that can be opened. failures: why others cannot, by name. once: with
    native ones among them everything is spooled before the first batch."""

    def __init__(
        self, session: SparkSession, sources: Sequence[InputSource], spool: Path, once: bool
    ) -> None:
        spool.mkdir(parents=True, exist_ok=True)
        self.failures: dict[str, str] = {}
        replayed = [source.name for source in sources if source.replay is not None]
        opened: dict[str, DataFrame] = {}
        for source in sources:
            if source.replay is None:
                try:
                    opened[source.name] = native(session, source.stream)
                except WorkloadError as error:
                    self.failures[source.name] = error.message
                except Exception as error:
                    self.failures[source.name] = cause(error)
        n_files = AHEAD_TUPLES // SLICE_TUPLES if once and opened else FILES_TOGETHER
        # native sources that end with what is there say so in the spool, as feeders do
        frames = [_paths(session, spool, n_files)] if replayed or (once and opened) else []
        is_tagged = len(opened) + len(frames) > 1
        frames += [_tagged(name, f) if is_tagged else f for name, f in opened.items()]
        tags = {tag_of(name): name for name in (*replayed, *opened)}
        self.rows = RowSource(spool, tags, tuple(opened), is_tagged)
        self.frame: DataFrame | None = None
        if frames:
            self.frame = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)


def _paths(session: SparkSession, spool: Path, n_files: int) -> DataFrame:
    reader = session.readStream.format("binaryFile").schema(_FILES)
    reader = reader.options(
        maxFilesPerTrigger=str(n_files), fileNameOnly="true", maxFileAge=_REMEMBERED
    )
    return reader.load(marked(str(spool))).select(PATH)


def _tagged(name: str, frame: DataFrame) -> DataFrame:
    columns = [F.col(f"`{column}`") for column in frame.columns]
    return frame.select(F.lit(name).alias(STREAM), F.struct(*columns).alias(name))
