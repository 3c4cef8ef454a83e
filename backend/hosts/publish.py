"""The sink, from the driver's side: files of a batch published exactly once.

``stream=NAME/batch-<id>-<part>`` in the run's own folder, tuples kept aside in ``_misfits`` beside
them; answers of queries that are more than matches in ``query=NAME/batch-<id>-<part>``. Readers
skip names with an underscore. A batch that comes again replaces what it published. Files of earlier
batches are merged where the folder is on this machine (backend.hosts.compact).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import fs

from backend.hosts.compact import Compactor, sink_file
from backend.operators.parts import (
    ASIDE,
    MISFITS,
    STAGING,
    as_written,
    file_system,
    writer_for,
)
from backend.workloads.flushing import flush
from backend.workloads.spec import WorkloadError

_FILE: Final = fs.FileType.File
_FOLDER: Final = fs.FileType.Directory


class SinkAhead(Exception):
    """The sink has later batches than the one to be published; the message says what to do."""


class FolderSink:
    """What one stream, or one query, of a run has in the sink. folder: its own; format: of its
    files; schema: of their columns. compact: merge small files. durable: what was published is on
    the disk, where that is of this machine."""

    def __init__(
        self,
        folder: str,
        format: str,
        schema: pa.Schema,
        compact: bool = True,
        durable: bool = False,
    ) -> None:
        self.schema = as_written(schema)
        self._format = format
        self._files, self._path = file_system(folder)
        self._last: int | None = None
        is_here = isinstance(self._files, fs.LocalFileSystem)
        #: Of its files; None where they are left.
        self._is_durable = durable and is_here
        self.compactor = Compactor(Path(self._path), durable) if compact and is_here else None

    def publish(self, batch_id: int, parts: Sequence[str], unwanted: Sequence[str] = ()) -> None:
        """Move the files that tasks told of into place, and drop what else was staged. unwanted:
        files of that.

        The first batch has a file even when there is nothing to write, so that readers find a
        schema. Raises SinkAhead where an earlier process published later batches.
        """
        is_first = self._last is None
        if is_first:
            self._check_newest(batch_id)
            if self.compactor is not None:
                self.compactor.recover()
        if self._last is None or batch_id <= self._last:
            self._forget(batch_id)
        self._last = batch_id if self._last is None else max(batch_id, self._last)
        staging = f"{self._path}/{STAGING}/{batch_id}"
        aside = [part for part in parts if part.startswith(f"{ASIDE}-")]
        matched = [part for part in parts if part not in aside]
        self._move(staging, matched, f"{self._path}/{batch_name(batch_id)}")
        self._move(staging, aside, f"{self._path}/{MISFITS}/{batch_name(batch_id)}")
        if parts or unwanted:
            self._files.delete_dir(staging)
        if is_first and not matched and not self._has_any():
            self._write_empty(f"{self._path}/{batch_name(batch_id)}-00000.{self._format}")
        if self.compactor is not None:
            self.compactor.published(len(parts))

    def close(self) -> None:
        """Remove the staging folder."""
        staging = f"{self._path}/{STAGING}"
        if self._files.get_file_info(staging).type is fs.FileType.Directory:
            self._files.delete_dir(staging)

    def _move(self, staging: str, parts: Sequence[str], name: str) -> None:
        if not parts:
            return
        folder = name.rpartition("/")[0]
        self._files.create_dir(folder, recursive=True)
        for number, part in enumerate(parts):
            suffix = part.rpartition(".")[2]
            self._place(f"{staging}/{part}", f"{name}-{number:05d}.{suffix}")
        if self._is_durable:
            flush(folder)
            flush(Path(folder).parent)

    def _place(self, staged: str, path: str) -> None:
        if self._is_durable:
            flush(staged)
        self._files.move(staged, path)

    def _check_newest(self, batch_id: int) -> None:
        newest = _newest(self._files, self._path)
        if newest > batch_id:
            raise SinkAhead(
                f"{self._path} has batch {newest}, so batch {batch_id} cannot be published there; "
                "nothing was changed; begin another run with --fresh"
            )

    def _forget(self, batch_id: int) -> None:
        """Remove what an earlier attempt at the batch published."""
        for folder in (self._path, f"{self._path}/{MISFITS}"):
            for name in self._names(folder):
                if name.startswith(f"{batch_name(batch_id)}-"):
                    self._files.delete_file(f"{folder}/{name}")

    def _has_any(self) -> bool:
        return any(sink_file(Path(name)) for name in self._names(self._path))

    def _names(self, folder: str) -> list[str]:
        return [info.base_name for info in _infos(self._files, folder) if info.type is _FILE]

    def _write_empty(self, path: str) -> None:
        self._files.create_dir(self._path, recursive=True)
        hidden = f"{self._path}/{STAGING}-empty"
        writer = writer_for(self._format, self._files.open_output_stream(hidden), self.schema)
        writer.write(pa.Table.from_batches([], self.schema))
        writer.close()
        self._place(hidden, path)


def newest_batch(folder: str) -> int:
    """The newest batch that a run has published in its part of the sink, -1 before the first."""
    files, inside = file_system(folder)
    streams = [info.path for info in _infos(files, inside) if info.type is _FOLDER]
    return max((_newest(files, path) for path in streams), default=-1)


def _newest(files: fs.FileSystem, folder: str) -> int:
    """Of the folder of a stream or query."""
    names = (info.path for path in (folder, f"{folder}/{MISFITS}") for info in _infos(files, path))
    return max((file.last for name in names if (file := sink_file(Path(name)))), default=-1)


def _infos(files: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    """What is in a folder."""
    return list(files.get_file_info(fs.FileSelector(folder, allow_not_found=True)))


def check_sink(path: str) -> None:
    """Make the folder of a sink, and write to it. Raises WorkloadError where that cannot be."""
    try:
        files, inside = file_system(path)
        files.create_dir(inside, recursive=True)
        mark = f"{inside}/.planwatch-{uuid.uuid4().hex}"
        files.open_output_stream(mark).close()
        files.delete_file(mark)
    except (OSError, pa.ArrowException) as error:
        raise WorkloadError("[sink] path", f"{path} cannot be written to: {error}") from error


def batch_name(batch_id: int) -> str:
    """How the files of a batch begin."""
    return f"batch-{batch_id:08d}"
