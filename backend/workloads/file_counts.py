"""What became of the files of a stream: how many tuples each gave, what was refused, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import pyarrow as pa

from backend.workloads.contract import CORRUPT, REASON

#: Files told of, those with misfits first, and misfits whose place is remembered.
MOST_FILES: Final = 40
MOST_PLACES: Final = 1000
_TUPLE: Final = ", tuple "


@dataclass(slots=True)
class FileCount:
    """Of one file. is_refused: it cannot be read, or not to its end."""

    n_tuples: int = 0
    n_misfits: int = 0
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Of a stream, since it was opened. counts: file -> what it gave, of some files; places:
    (raw text, reason) of a misfit -> where it stands, of the last ones."""

    n_read: int = 0
    n_waiting: int = 0
    n_refused: int = 0
    counts: Mapping[str, FileCount] = field(default_factory=dict)
    waiting: Sequence[str] = ()
    places: Mapping[tuple[str, str], str] = field(default_factory=dict)


def file_of(place: str) -> str:
    """The file of a place."""
    return place.rpartition(_TUPLE)[0] or place


class FileCounts:
    """Counts what is taken from the files of a stream."""

    def __init__(self) -> None:
        self._counts: dict[str, FileCount] = {}
        self._with_misfits: dict[str, FileCount] = {}
        self._places: dict[tuple[str, str], str] = {}

    def took(self, file: str, first: int, tuples: pa.Table) -> None:
        """Tuples were taken from a file; first: how many came before them."""
        count = self._counts.setdefault(file, FileCount())
        if not first:
            count = self._counts[file] = FileCount()
            self._with_misfits.pop(file, None)
        count.n_tuples += len(tuples)
        reasons = tuples.column(REASON)
        if reasons.null_count < len(reasons):
            self._refused(file, count, first, tuples)

    def _refused(self, file: str, count: FileCount, first: int, tuples: pa.Table) -> None:
        self._with_misfits[file] = count
        pairs = zip(*(tuples.column(name).to_pylist() for name in (CORRUPT, REASON)), strict=True)
        for place, (raw, reason) in enumerate(pairs, first + 1):
            if reason is None:
                continue
            count.n_misfits += 1
            count.is_refused = count.is_refused or raw == file
            where = file if raw == file else f"{file}{_TUPLE}{place}"
            self._places.setdefault((raw, reason), where)
        while len(self._places) > MOST_PLACES:
            del self._places[next(iter(self._places))]

    def told(self, n_waiting: int, waiting: Sequence[str]) -> FilesRead:
        """All of it. waiting: the first of the files that are listed and were not begun."""
        bad = dict(self._with_misfits)
        newest = islice(reversed(self._counts.items()), MOST_FILES)
        most = sorted(bad.items(), key=lambda item: (not item[1].is_refused, -item[1].n_misfits))
        return FilesRead(
            n_read=len(self._counts),
            n_waiting=n_waiting,
            n_refused=sum(count.is_refused for count in bad.values()),
            counts=dict(islice({**dict(most), **dict(newest)}.items(), MOST_FILES)),
            waiting=waiting,
            places=self._places,
        )
