"""What became of the files of streams, and the misfits on record by file and reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import show
from storage.tables.rows import StoredMatrix, StoredMisfit
from storage.vocabulary.files import FILES

#: Between a file and the number of a tuple of it, where a misfit's place has both.
_TUPLE: Final = ", tuple "
#: Files named in a sentence.
_NAMED: Final = 3
#: Reasons that differ by these alone are one.
_DIGITS: Final = re.compile(r"\d+")


class FileLine(NamedTuple):
    """A file. state: read, waits, misfits, or refused. tuples, misfits: None while it waits. why:
    the first reason on record, with its place, or ''."""

    stream: str
    file: str
    state: str
    tuples: float | None
    misfits: float | None
    why: str

    @property
    def name(self) -> str:
        """Without its folder."""
        return name_of(self.file)


class MisfitGroup(NamedTuple):
    """Misfits of one stream, file and reason, of those on record. n: how many; batch: the newest;
    places: their numbers in the file; raw, error: of the newest."""

    stream: str
    file: str
    n: int
    batch: int
    places: tuple[int, ...]
    raw: str
    error: str

    @property
    def where(self) -> str:
        """'g4.csv, rows 3 to 402'."""
        name = name_of(self.file)
        if not self.places:
            return name
        first, last = min(self.places), max(self.places)
        if first == last:
            return f"{name}, row {first}"
        return f"{name}, rows {first} to {last}"


def name_of(file: str) -> str:
    """A file without its folder."""
    return file.rpartition("/")[2] or file


def file_lines(matrices: Iterable[StoredMatrix], misfits: Sequence[StoredMisfit]) -> list[FileLine]:
    """Of matrices of kind 'files'. misfits: on record, newest first."""
    whys: dict[str, str] = {}
    for misfit in misfits:
        file, _, number = misfit.place.partition(_TUPLE)
        whys[file] = f"row {number}: {misfit.error}" if number else misfit.error
    lines = []
    for matrix in (stored.matrix for stored in matrices):
        for file, (tuples, n_misfits, refused) in zip(matrix.rows, matrix.values, strict=True):
            state = "waits" if tuples is None else "misfits" if n_misfits else "read"
            state = "refused" if refused else state
            stream = matrix.name.removeprefix(f"{FILES}:")
            lines.append(FileLine(stream, file, state, tuples, n_misfits, whys.get(file, "")))
    return lines


def rejected_words(lines: Sequence[FileLine]) -> str:
    """'402 rejected: 400 rows of g4.csv and 2 unreadable files'; '' where nothing was."""
    total = sum(line.misfits or 0 for line in lines)
    if not total:
        return ""
    refused = [line for line in lines if line.state == "refused"]
    rows = {line.name: (line.misfits or 0) - (line.state == "refused") for line in lines}
    rows = {name: n for name, n in sorted(rows.items(), key=lambda pair: -pair[1]) if n > 0}
    parts = [f"{_counted(n, 'row')} of {name}" for name, n in list(rows.items())[:_NAMED]]
    if rest := sum(list(rows.values())[_NAMED:]):
        parts.append(f"{_counted(rest, 'row')} of {_counted(len(rows) - _NAMED, 'other file')}")
    if refused:
        parts.append(_counted(len(refused), "unreadable file"))
    listed = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f"{show(total, 'int')} rejected: {listed}"


def _counted(n: float, noun: str) -> str:
    return f"{show(n, 'int')} {noun}{'' if n == 1 else 's'}"


def grouped(misfits: Sequence[StoredMisfit]) -> list[MisfitGroup]:
    """By stream, file and reason, the newest first. misfits: newest first."""
    groups: dict[tuple[str, str, str], list[StoredMisfit]] = {}
    for misfit in misfits:
        file = misfit.place.partition(_TUPLE)[0]
        groups.setdefault((misfit.input, file, _DIGITS.sub("#", misfit.error)), []).append(misfit)
    return [_group(stream, file, own) for (stream, file, _), own in groups.items()]


def _group(stream: str, file: str, own: Sequence[StoredMisfit]) -> MisfitGroup:
    numbers = (misfit.place.partition(_TUPLE)[2] for misfit in own)
    places = tuple(int(number) for number in numbers if number.isdecimal())
    newest = own[0]
    return MisfitGroup(
        stream=stream,
        file=file,
        n=len(own),
        batch=newest.batch,
        places=places,
        raw=newest.raw,
        error=newest.error,
    )
