"""What a Python worker of Spark does with its part of a batch; pyspark is not needed to import it.

Rows are paths of spool files, or tuples of native sources, or some of either.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.hosts.contract import cause
from backend.hosts.networks import Gathered, HostJob
from backend.operators.network.shards.shard import Places
from backend.operators.task import CHUNK_TUPLES, Arrivals, BatchTask
from backend.workloads.contract import CORRUPT, in_batches
from backend.workloads.replay import END, NUMBER_DIGITS, read_spooled
from storage.vocabulary.names import digest_of

if TYPE_CHECKING:
    from backend.hosts.spark.run.parcel import Parcel

#: Columns of rows: the path of a spool file; the stream of a tuple where there are several, whose
#: columns are then a struct of the stream's name.
PATH: Final = "path"
STREAM: Final = "_stream"
TOLD: Final = "told"
#: Where rows are given to several partitions: the one that does the task's work on it, and what
#: grows from row to row of native sources.
TARGET: Final = "_target"
PLACE: Final = "_place"
#: Tuples of small files that are processed together.
TOGETHER: Final = 16_384
#: In a worker: the networks' versions, and '' for what all tasks load, at whose first task what it
#: had loaded was put out of the collector's sight.
_FROZEN: Final[set[str]] = set()

#: Characters of a tag; names of files have its number, too.
_LONGEST_TAG: Final = 230

Batches = Iterator[pa.RecordBatch]
#: Takes tuples of an input, with their numbers where it has any.
Take: TypeAlias = Callable[[str, pa.RecordBatch, Arrivals | None], None]


@dataclass(frozen=True)
class RowSource:
    """How rows come. spool: the folder of spool files. tags: what their names begin with -> input.
    native: inputs whose tuples are in the rows; one alone has no STREAM column."""

    spool: Path
    tags: Mapping[str, str]
    native: tuple[str, ...]
    is_tagged: bool


def work_of(parcel: Parcel, rows: RowSource) -> Callable[[Batches], Batches]:
    """What mapInArrow calls: rows in, reports out: one of the task, one of each shard it is."""

    def work(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        task = run_task(parcel.unpacked(), rows, partition, batches)
        yield pa.RecordBatch.from_arrays([pa.array(task, pa.binary())], names=[TOLD])

    return work


def run_task(
    job: HostJob, rows: RowSource, partition: int, batches: Iterable[pa.RecordBatch]
) -> list[bytes]:
    """One partition of a batch; its reports. Where there are networks, the first partitions are
    their shards, which are given all rows."""
    taking = _Taking(job, rows, partition)
    names: list[tuple[str, bool]] = []
    for batch in batches:
        if PATH in batch.schema.names:
            names += _names(batch, partition)
        if rows.native:
            taking.tuples(batch)
    taking.shown()
    taking.files(sorted(names))
    reports = taking.told()
    _freeze({"", *(task.version for task in job.networks)})
    return reports


def _freeze(loaded: set[str]) -> None:
    """Spark has its workers collect after every task: spare them what numba and pyarrow loaded."""
    if not loaded <= _FROZEN:
        gc.collect()
        gc.freeze()
        _FROZEN.update(loaded)


def _names(batch: pa.RecordBatch, partition: int) -> list[tuple[str, bool]]:
    """Names of spool files, and whether this partition is the one to do the task's work on them."""
    paths = batch.column(PATH).to_pylist()
    own = [True] * len(paths)
    if TARGET in batch.schema.names:
        own = pc.equal(batch.column(TARGET), partition).to_pylist()
    return [
        (path.rpartition("/")[2], is_own)
        for path, is_own in zip(paths, own, strict=True)
        if path is not None
    ]


class _Taking:
    """What a partition does with rows: the task's work on its own, those of shards on all."""

    def __init__(self, job: HostJob, rows: RowSource, partition: int) -> None:
        self._job, self._rows, self._partition = job, rows, partition
        self._task = BatchTask(job.tasks, partition)
        self._gathered = Gathered(job) if partition < job.n_shards else None
        self._native: list[pa.RecordBatch] = []

    def tuples(self, batch: pa.RecordBatch) -> None:
        """Rows with tuples of native sources."""
        if TARGET not in batch.schema.names:
            self._each(batch, self._take)
            return
        own = batch.filter(pc.equal(batch.column(TARGET), self._partition))
        if len(own):
            self._each(own, self._task.take)
        if self._gathered is not None:
            self._native.append(batch)

    def _each(self, batch: pa.RecordBatch, take: Take) -> None:
        rows = self._rows
        if not rows.is_tagged:
            take(rows.native[0], batch, None)
            return
        for name in rows.native:
            own = batch.filter(pc.fill_null(pc.equal(batch.column(STREAM), name), False))
            if len(own):
                tuples = own.column(name)
                columns = {f.name: pc.struct_field(tuples, [k]) for k, f in enumerate(tuples.type)}
                take(name, pa.RecordBatch.from_pydict(columns), None)

    def files(self, names: Sequence[tuple[str, bool]]) -> None:
        """Spool files, in order of arrival; those of others that no network reads are not opened.
        One that cannot be read ends its input."""
        failed: set[str] = set()
        waiting: list[tuple[int, pa.Table]] = []
        for place, (name, is_own) in enumerate(names):
            input = self._rows.tags.get(tag_in(name))
            if input is None or input in failed or not (is_own or self._shows(input)):
                continue
            if name.endswith(END):
                self._end(input)
                if is_own:
                    self._task.end(input, _first(name))
                continue
            try:
                waiting.append((_first(name), _read(self._rows.spool / name)))
            except Exception as error:
                self._fail(input, f"{name}: {cause(error)}")
                failed.add(input)
            following = names[place + 1] if place + 1 < len(names) else ("", False)
            n_waiting = sum(len(table) for _, table in waiting)
            is_last = input in failed or not self._is_alike(following, input, is_own)
            if n_waiting >= TOGETHER or is_last:
                _take_tables(self._take if is_own else self._show, input, waiting)
                waiting = []

    def _is_alike(self, following: tuple[str, bool], input: str, is_own: bool) -> bool:
        name, next_own = following
        is_same = self._rows.tags.get(tag_in(name)) == input and next_own == is_own
        return is_same and not name.endswith(END)

    def _take(self, input: str, rows: pa.RecordBatch, arrivals: Arrivals | None) -> None:
        self._task.take(input, rows, arrivals)
        self._show(input, rows, arrivals)

    def _shows(self, input: str) -> bool:
        """Whether this is a shard of a network that reads an input."""
        return self._gathered is not None and input in self._gathered.arrived

    def _show(self, input: str, rows: pa.RecordBatch, arrivals: Arrivals | None) -> None:
        if self._gathered is not None:
            self._gathered.take(input, rows, arrivals)

    def _end(self, input: str) -> None:
        if self._gathered is not None:
            self._gathered.end(input)

    def _fail(self, input: str, why: str) -> None:
        self._task.fail(input, why)
        self._end(input)

    def shown(self) -> None:
        """Native tuples of all partitions in their order, before marks of their ends."""
        if self._gathered is not None and self._native:
            together = pa.Table.from_batches(self._native).sort_by(PLACE).combine_chunks()
            for batch in together.to_batches():
                self._each(batch, self._gathered.take)

    def told(self) -> list[bytes]:
        """The reports."""
        reports = [self._task.report()]
        if self._gathered is None:
            return reports
        assert self._job.places is not None
        places = here(self._job.places)
        for network in self._job.networks:
            if self._partition < network.job.n_shards:
                home = places.shard(network.unit, self._partition, network.job.n_shards)
                reports.append(self._gathered.run(network, self._partition, home).packed())
        return reports


def here(places: Places) -> Places:
    """Of a worker: relative ones are below the folder of its executor."""
    if Path(places.arenas).is_absolute():
        return places
    own = os.environ["SPARK_LOCAL_DIRS"].partition(",")[0]
    return replace(places, arenas=str(Path(own) / places.arenas))


def _take_tables(take: Take, input: str, tables: list[tuple[int, pa.Table]]) -> None:
    if not tables:
        return
    arrivals = np.concatenate([np.arange(first, first + len(table)) for first, table in tables])
    for piece in in_batches(pa.concat_tables([table for _, table in tables])):
        for batch in pa.Table.from_batches([piece]).to_batches(max_chunksize=CHUNK_TUPLES):
            take(input, batch, arrivals[: len(batch)])
            arrivals = arrivals[len(batch) :]


def _read(path: Path) -> pa.Table:
    table = read_spooled(path)
    if CORRUPT not in table.column_names:
        raise pa.ArrowInvalid(f"it has no column {CORRUPT}")
    return table


def tag_of(stream: str) -> str:
    """How names of a stream's spool files begin; letters, digits and hyphens alone."""
    plain = re.sub(r"[^A-Za-z0-9_]", lambda match: f"-{ord(match[0]):x}-", stream)
    if len(plain) > _LONGEST_TAG:
        plain = f"{plain[: _LONGEST_TAG - 17]}-{digest_of(stream)}"
    return f"{plain}-"


def tag_in(name: str) -> str:
    """The tag in a spool file's name."""
    return name.partition(".")[0][:-NUMBER_DIGITS]


def _first(name: str) -> int:
    """The arrival number of a spool file's first tuple."""
    return int(name.partition(".")[0][-NUMBER_DIGITS:])
