"""Small files of a sink become large ones, and no reader sees a tuple twice or not at all.

The folder of a stream is built anew beside it, small files as one and all others as links, and the
two change places in one step. Whatever is left beside it after a kill is the folder that is not
seen: it is removed, and the one that is seen is right.

Files of one batch are ``batch-<id>-<part>``, those of many ``batches-<first>-<last>``. The newest
are merged, and older ones with them while they are at most twice as large together: a tuple is
written again a number of times that grows with the logarithm of the run's length.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from backend.hosts.swap import swap
from backend.operators.parts import MISFITS, ROWS_TOGETHER, writer_for
from backend.workloads.flushing import flush

log = logging.getLogger(__name__)
#: Files of single batches that are merged together.
FILES_TOGETHER: Final = 128
#: Larger ones are not made.
LARGE_BYTES: Final = 128 << 20
SHADOW: Final = "_compacting"


class SinkFile(NamedTuple):
    """A file and the batches it holds, both ends included."""

    first: int
    last: int
    path: Path

    @property
    def is_single(self) -> bool:
        """It holds a part of one batch."""
        return self.path.name.startswith("batch-")


def sink_file(path: Path) -> SinkFile | None:
    """What a file's name says; None for another file."""
    kind, _, rest = path.stem.partition("-")
    numbers = rest.split("-")
    if (
        kind not in ("batch", "batches")
        or len(numbers) != 2
        or not all(map(str.isdecimal, numbers))
    ):
        return None
    first, second = map(int, numbers)
    return SinkFile(first, first if kind == "batch" else second, path)


class Compactor:
    """Merges the files of one stream's folder, which must be on this machine. durable: merged ones
    are on the disk before those they are made of go."""

    def __init__(self, folder: Path, durable: bool = False) -> None:
        self._folder, self._is_durable = folder, durable
        self._shadow = folder.parent / SHADOW / folder.name
        self._n_single: int | None = None
        self._is_able = True

    @property
    def n_single(self) -> int:
        """Files of single batches that came since it was looked for some to merge; 0 where none can
        be merged."""
        if self._n_single is None:
            self._n_single = sum(f.is_single for folder in self._pairs() for f in _files(folder))
        return self._n_single if self._is_able else 0

    def published(self, n_files: int) -> None:
        """Files of a batch were published."""
        self._n_single = self.n_single + n_files

    def recover(self) -> None:
        """Remove what a run that was killed left behind."""
        shutil.rmtree(self._shadow, ignore_errors=True)

    def compact(self, batch_id: int) -> None:
        """Merge files of batches before this one: itself may come again, once."""
        self.recover()
        try:
            self._compact(batch_id)
        except (OSError, pa.ArrowException) as error:
            log.warning("the files of %s stay as they are: %s", self._folder, error)
            self._is_able = False
        self.recover()
        self._n_single = 0

    def _compact(self, batch_id: int) -> None:
        pairs = self._pairs()
        mergeable = {
            folder: chosen([file for file in _files(folder) if file.last < batch_id])
            for folder in pairs
        }
        if any(mergeable.values()):
            for folder, beside in pairs.items():
                build(folder, beside, mergeable[folder], self._is_durable)
            swap(self._shadow, self._folder)
            if self._is_durable:
                flush(self._folder.parent)
                flush(self._shadow.parent)

    def _pairs(self) -> dict[Path, Path]:
        """The folders with files, and where they are built anew."""
        pairs = {self._folder: self._shadow, self._folder / MISFITS: self._shadow / MISFITS}
        return {folder: beside for folder, beside in pairs.items() if folder.is_dir()}


def compact_one(compactors: Iterable[Compactor], batch_id: int) -> None:
    """Merge files of batches before this one in the folder that has most to merge, when it is time:
    one folder a batch."""
    most = max(compactors, key=lambda compactor: compactor.n_single, default=None)
    if most is not None and most.n_single > FILES_TOGETHER:
        most.compact(batch_id)


def build(folder: Path, beside: Path, merged: Sequence[SinkFile], durable: bool = False) -> None:
    """Make a folder with the same tuples, in which some files are one."""
    beside.mkdir(parents=True)
    taken = {file.path for file in merged}
    if merged:
        name = f"batches-{merged[0].first:08d}-{merged[-1].last:08d}{merged[0].path.suffix}"
        merge([file.path for file in merged], beside / name)
        if durable:
            flush(beside / name)
    for path in folder.iterdir():
        if path.is_file() and path not in taken:
            os.link(path, beside / path.name)
    if durable:
        flush(beside)


def _files(folder: Path) -> list[SinkFile]:
    """In the order of their batches."""
    files = [sink_file(path) for path in folder.iterdir()]
    return sorted(file for file in files if file is not None)


def chosen(files: Sequence[SinkFile]) -> list[SinkFile]:
    """The newest files with the same columns, as many as are worth merging; none where it is one. A
    query that was registered anew may answer with others."""
    total, newest = 0, list[SinkFile]()
    heading = _heading(files[-1].path) if files else None
    for file in reversed(files):
        size = file.path.stat().st_size
        is_large = total + size > LARGE_BYTES or (not file.is_single and size > 2 * total)
        if is_large or _heading(file.path) != heading:
            break
        total += size
        newest.append(file)
    return newest[::-1] if len(newest) > 1 else []


def _heading(path: Path) -> pa.Schema | bytes | None:
    """What files must have in common to be one; None: nothing."""
    if path.suffix == ".parquet":
        return pq.read_schema(path)
    if path.suffix == ".csv":
        with path.open("rb") as lines:
            return lines.readline()
    return None


def merge(files: Sequence[Path], into: Path) -> None:
    """Write what files hold to one, in their order."""
    if into.suffix == ".parquet":
        _merge_parquet(files, into)
        return
    with into.open("wb") as out:
        for number, path in enumerate(files):
            with path.open("rb") as lines:
                if into.suffix == ".csv" and number:
                    lines.readline()  # each has the names of the columns; none has a line break
                shutil.copyfileobj(lines, out)


def _merge_parquet(files: Sequence[Path], into: Path) -> None:
    schema = pq.read_schema(files[0])
    with closing(writer_for("parquet", pa.OSFile(str(into), "wb"), schema)) as writer:
        for table in _row_groups(files, schema):
            writer.write(table)


def _row_groups(files: Sequence[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """What files hold, in tables of so many rows as a row group has."""
    waiting = schema.empty_table()
    for path in files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_TOGETHER):
                waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch], schema)])
                while len(waiting) >= ROWS_TOGETHER:
                    yield waiting.slice(0, ROWS_TOGETHER)
                    waiting = waiting.slice(ROWS_TOGETHER)
    if len(waiting):
        yield waiting
