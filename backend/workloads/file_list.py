"""The files of a stream in the order they are taken, and a list of them that outlives a crash.

Files found at one look are taken by name, later ones behind them; a file is taken once, and what
comes again under its name is told of, or taken as another file. Positions in the stream count on
that order, so it is written down before a file is read.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from backend.workloads.paths import found_files, shown

log = logging.getLogger(__name__)
#: A watched file is taken when nothing was written to it for so long.
SETTLED_S: Final = 1.0
#: Read at the beginning and at the end of a file to tell it from another.
FINGERPRINT_BYTES: Final = 1 << 16


#: What tells all bytes of a listed file from others, read now.
ContentOf: TypeAlias = "Callable[[ListedFile], str]"


@dataclass(slots=True)
class ListedFile:
    """A file of a stream. n_tuples: None until it was read to its end. n_bytes, written_ns,
    fingerprint, inode: what it was like when it was taken, begun or read to its end, the last of
    these; None where that is unknown. content: tells all its bytes from others, None until it was
    read to its end, and in lists of former versions. turn: how often one of that name came before.
    is_notice: it is not read, a tuple tells that it came again."""

    path: Path
    n_tuples: int | None = None
    n_bytes: int | None = None
    written_ns: int | None = None
    fingerprint: str | None = None
    turn: int = 0
    is_notice: bool = False
    inode: int | None = None
    content: str | None = None

    def note_state(self) -> None:
        """What it is like now."""
        with suppress(OSError):
            now = self.path.stat()
            self.n_bytes, self.written_ns, self.inode = now.st_size, now.st_mtime_ns, now.st_ino
            self.fingerprint = fingerprint_of(self.path)

    def is_like(self, now: os.stat_result) -> bool:
        """Whether it is this very file, and nothing was written to it since."""
        noted = (self.n_bytes, self.written_ns, self.inode)
        return (now.st_size, now.st_mtime_ns, now.st_ino) == noted

    def is_at(self, path: Path) -> bool:
        """Whether it was moved to another path, as it was."""
        with suppress(OSError):
            return self.is_like(path.stat()) and self.fingerprint == fingerprint_of(path)
        return False

    def comes_again(self, content_of: ContentOf) -> bool:
        """Whether another content is there since it was read to its end."""
        if self.is_notice or self.n_tuples is None or not is_written_since(self):
            return False
        if self.fingerprint is None or fingerprint_of(self.path) != self.fingerprint:
            return os.path.isfile(self.path)
        if self.content is not None and content_of(self) != self.content:
            return True  # of the same size, with the same beginning and end
        self.note_state()  # it was touched, or copied again
        return False


class FileList:
    """The files at ``path``: a file, a folder or a pattern. record: where the list is kept, None
    where it need not outlive this process. retakes: a file that comes again with another content is
    taken again. content_of: reads a file for what tells its bytes from others; it is asked for one
    that was written to and is the same at both ends."""

    def __init__(
        self, path: str, record: Path | None, retakes: bool, content_of: ContentOf
    ) -> None:
        self._path, self._record, self._retakes = path, record, retakes
        self._content_of = content_of
        self.files = recorded_files(record)
        self._known = {str(file.path): file for file in self.files}

    def look(self, settled_s: float | None = None) -> None:
        """Take in files that are new. settled_s: only those not written to for so long."""
        for path in found_files(self._path):
            known = self._known.get(str(path))
            if known is not None and not is_written_since(known):
                continue
            if not _is_settled(path, settled_s):
                continue
            if known is None or known.comes_again(self._content_of):
                self._take_in(path, known)

    def _take_in(self, path: Path, known: ListedFile | None) -> None:
        file = ListedFile(path)
        file.note_state()
        if known is not None:
            file.turn, file.is_notice = known.turn + 1, not self._retakes
        elif (moved := self._moved_to(file)) is not None:
            names = shown(path), shown(moved.path)
            log.warning("%s was %s before, and is not read again", *names)
            file.n_tuples = 0
        self._known[str(path)] = file
        self.files.append(file)
        self._write(file)

    def _moved_to(self, file: ListedFile) -> ListedFile | None:
        """The listed file that is at the path of another one now."""
        same = [
            listed_file
            for listed_file in self.files
            if listed_file.inode == file.inode and not os.path.exists(listed_file.path)
        ]
        return next((listed_file for listed_file in same if listed_file.is_at(file.path)), None)

    def find(self, file: ListedFile) -> Path:
        """Where a listed file is now; where it was, if that is unknown."""
        if os.path.exists(file.path):
            return file.path
        return next(filter(file.is_at, found_files(self._path)), file.path)

    def begins(self, file: ListedFile) -> None:
        """The file is read from its first tuple on."""
        before = replace(file)
        file.note_state()
        if file != before:
            self._write(file)

    def counted(self, file: ListedFile, n_tuples: int) -> None:
        """The file was read to its end."""
        if file.n_tuples is None:
            file.n_tuples = n_tuples
            file.note_state()
            self._write(file)

    def _write(self, file: ListedFile) -> None:
        if self._record is not None:
            self._record.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps({**asdict(file), "path": str(file.path)})
            torn = "\n" if _is_torn(self._record) else ""
            with self._record.open("a", encoding="utf-8") as lines:
                lines.write(f"{torn}{line}\n")


def _is_torn(record: Path) -> bool:
    """Whether the last line was cut off: the next one must not be a part of it."""
    if not record.exists() or not record.stat().st_size:
        return False
    with record.open("rb") as lines:
        lines.seek(-1, os.SEEK_END)
        return lines.read(1) != b"\n"


def recorded_files(record: Path | None) -> list[ListedFile]:
    """The files of a list that was kept, in the order they were taken, each as it was told last."""
    if record is None or not record.exists():
        return []
    files: dict[tuple[str, int], ListedFile] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            log.warning("%s: a line was cut off and is passed over", record)
        else:
            file = ListedFile(**{**entry, "path": Path(entry["path"])})
            files[entry["path"], file.turn] = file
    return list(files.values())


def lost_since(file: ListedFile) -> str:
    """What a file lacks of what it was when it was read, in words; '' where nothing is known to."""
    name = shown(file.path)
    if not os.path.exists(file.path):
        return f"{name} is gone"
    now = file.path.stat().st_size
    if file.n_bytes is None or now >= file.n_bytes:
        return ""
    return f"{name} had {file.n_bytes} bytes when it was read, and has {now} now"


def fingerprint_of(path: Path) -> str | None:
    """16 hex digits of the beginning, the end and the size of a regular file; None of others."""
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            digest = sha256(str(size).encode())
            for place in (0, max(0, size - FINGERPRINT_BYTES)):
                file.seek(place)
                digest.update(file.read(FINGERPRINT_BYTES))
    except OSError:
        return None
    return digest.hexdigest()[:16]


def is_written_since(file: ListedFile) -> bool:
    """Whether a file that is there was written to after it was read."""
    with suppress(OSError):
        return file.written_ns is not None and file.path.stat().st_mtime_ns != file.written_ns
    return False


@contextmanager
def held(path: Path) -> Iterator[int | None]:
    """A descriptor of a regular file, which is this file's wherever it is moved to."""
    try:
        descriptor = os.open(path, os.O_RDONLY) if path.is_file() else None
    except OSError:
        descriptor = None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_settled(path: Path, settled_s: float | None) -> bool:
    if settled_s is None:
        return True
    try:
        age_s = time.time() - path.stat().st_mtime
    except PermissionError:  # it will be told
        return True
    except OSError:
        return False
    return not 0 <= age_s < settled_s
