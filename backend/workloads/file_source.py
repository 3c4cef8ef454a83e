"""Files as a replayed source: tuples in the files' order, cut anywhere, read block by block."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa

from backend.model.schema import Schema
from backend.workloads.blocks import Content
from backend.workloads.contract import MisfitError, misfits, told_schema
from backend.workloads.csv_files import OPTIONS as CSV_OPTIONS
from backend.workloads.csv_files import CsvLayout, read_csv
from backend.workloads.file_counts import MOST_FILES, FileCounts, FilesRead
from backend.workloads.file_list import (
    SETTLED_S,
    FileList,
    ListedFile,
    held,
    is_written_since,
)
from backend.workloads.json_files import read_json
from backend.workloads.parquet_files import Piece, read_groups, read_parquet
from backend.workloads.paths import is_utf8, shown, told_by
from backend.workloads.row_groups import Passing, RowGroup

log = logging.getLogger(__name__)
#: The tuples of a file, as tables of ``told_schema``; path_values: what the path says of them;
#: content: comes to know the bytes.
Reading: TypeAlias = Callable[
    [Path, Schema, Mapping[str, str | None], Content | None], Iterator[pa.Table]
]
#: A watched folder is looked into this often.
LOOK_S: Final = 1.0
NO_FILE: Final = "it is no regular file; pipes, sockets and devices are not read"
CLOSED: Final = "it is a folder that may not be looked into; let the engine read it"
NO_UTF8: Final = "its name is not UTF-8; rename it"
CAME_AGAIN: Final = (
    "the file was written again after it was read, and is not read again; write each file under a "
    "name of its own, or set retake = true in the source"
)
WRITTEN_MEANWHILE: Final = (
    "the file was written to while it was read, so tuples of it may be missing; write it under "
    "another name, then rename it"
)
GONE_MEANWHILE: Final = (
    "the file was moved or deleted before it was read to its end, so tuples of it may be missing"
)
#: Tuples of a file that is shorter than it was that are told of together.
GONE_TOGETHER: Final = 65_536
#: Option of a source of files: one that comes again with another content is taken again.
RETAKE: Final = "retake"
#: Options that change nothing about how a file is read.
_WITHOUT_EFFECT: Final = frozenset(
    {"path", "mode", "inferschema", "enforceschema", "maxfilespertrigger", RETAKE}
)


def reader_of(format: str, options: Mapping[str, str]) -> Reading | None:
    """What reads files of a source; None where only Spark does: URLs, other formats, and options
    that are not ours."""
    given = {key.lower() for key in options} - _WITHOUT_EFFECT
    if "://" in options.get("path", ""):
        return None
    if format == "csv":
        layout = CsvLayout.of(options)
        is_ours = layout is not None and given <= CSV_OPTIONS | {"multiline"}
        return partial(_read_csv, layout) if is_ours and layout is not None else None
    if given:
        return None
    return {"json": read_json, "parquet": read_parquet}.get(format)


def _read_csv(
    layout: CsvLayout,
    path: Path,
    schema: Schema,
    path_values: Mapping[str, str | None],
    content: Content | None = None,
) -> Iterator[pa.Table]:
    return read_csv(path, schema, layout, path_values, content)


class FileSource:
    """The files at a path. is_watched: files that come later are taken, too, and there is no end;
    else those that are there when it is opened, and how many tuples they have is known once they
    were read.

    A file that cannot be read, or lacks a column, is one misfit; so is what is left of a file that
    cannot be read on, one that was written to while it was read, and one that comes again with
    another content. retakes: that one is read as another file. Is used by one thread at a time.
    """

    def __init__(
        self,
        path: str,
        schema: Schema,
        read: Reading,
        *,
        is_watched: bool = False,
        record: Path | None = None,
        retakes: bool = False,
    ) -> None:
        self.schema, self._path = schema, path
        #: Which row groups need not be read; formats without any ask nothing of it.
        self.passing = Passing()
        self._read: Callable[..., Iterator[Piece]] = (
            partial(read_groups, self.passing) if read is read_parquet else read
        )
        self._is_watched, self._looked_at = is_watched, float("-inf")
        self._list = FileList(path, record, retakes, self._content_of)
        if not is_watched:
            self._list.look()
        self._counts = FileCounts()
        self._place = 0  # of the file that is being read
        self._first = self._position = 0  # of the file's first tuple, and of the next one
        self._n_taken = 0  # of that file's tuples, when it was read before
        self._pieces: Iterator[Piece] | None = None
        self._group: RowGroup | None = None  # that comes next, and is not read so far
        self._rest = told_schema(schema).empty_table()

    @property
    def n_tuples(self) -> int | None:
        """Of all files, once it is known."""
        counts = [file.n_tuples for file in self._list.files]
        known = [count for count in counts if count is not None]
        return None if self._is_watched or len(known) < len(counts) else sum(known)

    @property
    def files_read(self) -> FilesRead:
        """What became of the files, since the source was opened."""
        files = self._list.files
        n_begun = self._place + (self._pieces is not None)
        waiting = [shown(file.path) for file in files[n_begun : n_begun + MOST_FILES]]
        return self._counts.told(max(0, len(files) - n_begun), waiting)

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer where there are no more by now."""
        parts = [told_schema(self.schema).empty_table()]
        left = count
        if left > 0:
            self._seek(start)
        while left > 0 and self._fill():
            if self._group is not None and left < count:
                break  # whether it is read is asked when it is the next one
            part = self._next(left)
            parts.append(part)
            left -= len(part)
        return pa.concat_tables(parts)

    def has_more(self, start: int) -> bool:
        """Whether tuple ``start`` is there by now."""
        self._seek(start)
        return self._fill()

    def refuted(self, start: int) -> RowGroup | None:
        """The row group that tuple ``start`` is in, if nothing of it that is left need be read."""
        self._seek(start)
        group = self._group if self._fill() else None
        return group if group is not None and self.passing.passes(group) else None

    def pass_over(self, group: RowGroup, count: int) -> None:
        """Leave out so many of the next tuples, which lie in a row group that is refuted."""
        group.n_passed += count
        self._position += count
        if not group.n_left:
            self._group = None
            self.passing.n_refuted += 1

    def _seek(self, start: int) -> None:
        if start == self._position:
            return
        self._place = self._first = 0
        for file in self._list.files:
            if file.n_tuples is None or self._first + file.n_tuples > start:
                break
            self._place, self._first = self._place + 1, self._first + file.n_tuples
        self._position, self._pieces, self._n_taken = self._first, None, start - self._first
        self._rest, self._group = self._rest.slice(0, 0), None
        while self._position < start and self._fill():
            self._next(start - self._position)

    def _fill(self) -> bool:
        """Have tuples at hand, or a row group; whether there are any by now."""
        while not len(self._rest) and self._group is None:
            file = self._file()
            if file is None:
                return False
            if self._pieces is None:
                self._pieces = self._tuples(file)
            piece = next(self._pieces, None)
            if isinstance(piece, RowGroup):
                self._group = piece
            elif piece is not None:
                self._rest = piece
            else:
                self._list.counted(file, self._position - self._first)
                self._place, self._first, self._pieces = self._place + 1, self._position, None
                self._n_taken = 0
        return True

    def _next(self, count: int) -> pa.Table:
        """At most so many of the next tuples, none where a row group is to be read first."""
        self._group = None
        tuples, self._rest = self._rest.slice(0, count), self._rest.slice(count)
        if len(tuples):
            file = shown(self._list.files[self._place].path)
            self._counts.took(file, self._position - self._first, tuples)
        self._position += len(tuples)
        return tuples

    def _file(self) -> ListedFile | None:
        """The file to read on; in a watched folder one that has come, too."""
        if self._place == len(self._list.files) and self._is_watched:
            now = time.monotonic()
            if now - self._looked_at >= LOOK_S:
                self._looked_at = now
                self._list.look(SETTLED_S)
        known = self._list.files
        return known[self._place] if self._place < len(known) else None

    def _tuples(self, file: ListedFile) -> Iterator[Piece]:
        """The tuples of a file: as many as it had when it was read first."""
        left = file.n_tuples
        if file.is_notice:
            yield self._told(file, CAME_AGAIN)
            return
        for piece in self._whole(file) if left is not None else self._first_reading(file):
            tuples = piece if left is None else _first(piece, left)
            yield tuples
            left = None if left is None else left - len(tuples)
        yield from self._gone(file, left or 0)

    def _gone(self, file: ListedFile, n_tuples: int) -> Iterator[pa.Table]:
        """In place of tuples that a file had when it was read first."""
        why = "the file had more tuples when it was read first"
        while n_tuples > 0:
            n_told = min(n_tuples, GONE_TOGETHER)
            yield self._told(file, why, n_told)
            n_tuples -= n_told

    def _first_reading(self, file: ListedFile) -> Iterator[Piece]:
        """The tuples of a file that was not read to its end before, and what became of it
        meanwhile. Of one that was begun, so many were taken, whatever is there now."""
        n_taken, n_tuples = self._n_taken, 0
        if not n_taken:
            self._list.begins(file)
        with held(self._list.find(file)) as descriptor:
            content = Content()
            for piece in self._whole(file, content):
                yield piece
                n_tuples += len(piece)
            why = self._became(file, descriptor)
            file.content = content.value
        if why:
            yield from self._gone(file, n_taken - n_tuples)
            yield self._told(file, why)

    def _became(self, file: ListedFile, descriptor: int | None) -> str:
        """Why tuples of a file may be missing that has just been read; '' = none are."""
        if descriptor is None:
            return GONE_MEANWHILE if self._n_taken else ""
        if not file.is_like(os.fstat(descriptor)):
            return WRITTEN_MEANWHILE
        if not os.path.exists(file.path):
            log.warning("%s was moved or deleted while it was read", shown(file.path))
        return WRITTEN_MEANWHILE if is_written_since(file) else ""

    def _content_of(self, file: ListedFile) -> str:
        """What tells the bytes that are there now from those that were read."""
        content = Content()
        for _ in self._whole(file, content):
            pass
        return content.value

    def _whole(self, file: ListedFile, content: Content | None = None) -> Iterator[Piece]:
        is_begun, path = False, self._list.find(file)
        try:
            if problem := _problem_of(path):
                raise OSError(problem)
            path_values = told_by(file.path, self._path, self.schema)
            for piece in self._read(path, self.schema, path_values, content):
                yield piece
                is_begun = is_begun or len(piece) > 0
        except (MisfitError, OSError, ValueError, LookupError, pa.ArrowException) as error:
            what = "the rest of this file" if is_begun else "this file"
            yield self._told(file, f"{what} cannot be read: {_sentence(error)}")

    def _told(self, file: ListedFile, why: str, n_tuples: int = 1) -> pa.Table:
        """Misfits that tell of a file."""
        return misfits(self.schema, [shown(file.path)] * n_tuples, [why] * n_tuples)


def _first(piece: Piece, n_tuples: int) -> Piece:
    """So many of the first tuples of a piece, at most."""
    if not isinstance(piece, RowGroup):
        return piece.slice(0, n_tuples)
    piece.n_tuples = min(piece.n_tuples, n_tuples)
    return piece


def _problem_of(path: Path) -> str:
    """Why a file is not even opened, '' = nothing speaks against it."""
    if not is_utf8(path):
        return NO_UTF8
    if os.path.isdir(path):
        return CLOSED
    # it may have no end, or give nothing for ever
    return NO_FILE if os.path.exists(path) and not os.path.isfile(path) else ""


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
