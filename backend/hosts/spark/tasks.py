"""What a Python worker of Spark does with its part of a batch; pyspark is not needed to import it.

Rows are paths of spool files, or tuples of native sources, or some of either.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.hosts.contract import cause
from backend.operators.task import CHUNK_TUPLES, BatchTask, TaskJob
from backend.workloads.contract import CORRUPT
from backend.workloads.replay import NUMBER_DIGITS

if TYPE_CHECKING:
    from backend.hosts.spark.parcel import Parcel

#: Columns of rows: the path of a spool file; the stream of a tuple where there are several, whose
#: columns are then a struct of the stream's name.
PATH: Final = "path"
STREAM: Final = "_stream"
TOLD: Final = "told"
#: Tuples of small files that are processed together.
TOGETHER: Final = 16_384
#: In a worker: whether what it has loaded was put out of the collector's sight.
_FROZEN: Final[list[bool]] = []

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class RowSource:
    """How rows come. spool: the folder of spool files. tags: what their names begin with -> input.
    native: inputs whose tuples are in the rows; one alone has no STREAM column."""

    spool: Path
    tags: Mapping[str, str]
    native: tuple[str, ...]
    is_tagged: bool


def work_of(parcel: Parcel, rows: RowSource) -> Callable[[Batches], Batches]:
    """What mapInArrow calls: rows in, one report out."""

    def work(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        told = run_task(parcel.unpacked(), rows, partition, batches)
        yield pa.RecordBatch.from_arrays([pa.array([told], pa.binary())], names=[TOLD])

    return work


def run_task(
    job: TaskJob, rows: RowSource, partition: int, batches: Iterable[pa.RecordBatch]
) -> bytes:
    """One partition of a batch; its report."""
    task = BatchTask(job, partition)
    for batch in batches:
        if PATH in batch.schema.names:
            paths = batch.column(PATH).drop_null().to_pylist()
            _take_files(task, rows, sorted(path.rpartition("/")[2] for path in paths))
        if rows.native:
            _take_tuples(task, rows, batch)
    report = task.report()
    if not _FROZEN:
        # Spark has its workers collect after every task: over all that numba and pyarrow loaded
        gc.collect()
        gc.freeze()
        _FROZEN.append(True)
    return report


def _take_tuples(task: BatchTask, rows: RowSource, batch: pa.RecordBatch) -> None:
    if not rows.is_tagged:
        task.take(rows.native[0], batch)
        return
    for name in rows.native:
        own = batch.filter(pc.fill_null(pc.equal(batch.column(STREAM), name), False))
        if len(own):
            tuples = own.column(name)
            columns = {f.name: pc.struct_field(tuples, [k]) for k, f in enumerate(tuples.type)}
            task.take(name, pa.RecordBatch.from_pydict(columns))


def _take_files(task: BatchTask, rows: RowSource, names: list[str]) -> None:
    """Spool files, in order of arrival. One that cannot be read ends its input."""
    failed: set[str] = set()
    waiting: list[tuple[int, pa.Table]] = []
    for place, name in enumerate(names):
        input = rows.tags.get(tag_in(name))
        if input is None or input in failed:
            continue
        try:
            waiting.append((_first(name), _read(rows.spool / name)))
        except Exception as error:
            task.fail(input, f"{name}: {cause(error)}")
            failed.add(input)
        following = names[place + 1] if place + 1 < len(names) else ""
        n_waiting = sum(len(table) for _, table in waiting)
        if n_waiting >= TOGETHER or rows.tags.get(tag_in(following)) != input:
            _take_tables(task, input, waiting)
            waiting = []


def _take_tables(task: BatchTask, input: str, tables: list[tuple[int, pa.Table]]) -> None:
    if not tables:
        return
    arrivals = np.concatenate([np.arange(first, first + len(table)) for first, table in tables])
    together = pa.concat_tables([table for _, table in tables]).combine_chunks()
    for batch in together.to_batches(max_chunksize=CHUNK_TUPLES):
        task.take(input, batch, arrivals[: len(batch)])
        arrivals = arrivals[len(batch) :]


def _read(path: Path) -> pa.Table:
    with pq.ParquetFile(path, memory_map=True) as file:
        table = file.read(use_threads=False)
    if CORRUPT not in table.column_names:
        raise pa.ArrowInvalid(f"it has no column {CORRUPT}")
    return table


def tag_of(stream: str) -> str:
    """How names of a stream's spool files begin; letters, digits and hyphens alone."""
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"-{ord(found[0]):x}-", stream)
    return f"{plain}-"


def tag_in(name: str) -> str:
    """The tag in a spool file's name."""
    return name[: -len(".parquet") - NUMBER_DIGITS]


def _first(name: str) -> int:
    """The arrival number of a spool file's first tuple."""
    return int(name[len(tag_in(name)) : -len(".parquet")])
