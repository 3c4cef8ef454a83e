"""Recordings: stores of one run as files, perhaps compressed by gzip or xz."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, BinaryIO, Final, TypeAlias

from storage.errors import (
    NotAStore,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    damaged,
    translated,
)
from storage.tables.database import describe, disposed_on_error, open_for_writing, parse_url
from storage.tables.migrations import APPLICATION_ID, prepare

#: How names of compressed recordings end, and how their content begins.
PACKED: Final = ".gz"
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
#: Some Pythons are built without what reads xz.
READS_XZ: Final = find_spec("_lzma") is not None
_Content: TypeAlias = IO[bytes] | gzip.GzipFile
#: Tighter takes much longer and wins little.
_LEVEL: Final = 6
#: Of SQLite's header: how it begins, bytes of a page, pages, and whose file it is.
_HEADER: Final = struct.Struct(">16sH10xI36xI")
_STORE_MAGIC: Final = b"SQLite format 3\0"
#: Written as 1 in the two bytes there are for it.
_LARGEST_PAGE: Final = 2**16
_PIECE_BYTES: Final = 2**20
#: Recordings become ten to thirty times as large; zeros alone become a thousand times as large.
_MOST_RATIO: Final = 300


def pack(recording: BinaryIO, out: BinaryIO) -> None:
    """Compress a recording; the same one always becomes the same bytes."""
    with gzip.GzipFile("", "wb", _LEVEL, out, mtime=0) as packed:
        shutil.copyfileobj(recording, packed)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A file that opens as a store: the recording itself, or a copy of a compressed one that is
    gone afterwards. Raises StoreMissing, StoreFull, and NotAStore for a damaged one."""
    if not _is_packed(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="planwatch-replay-") as folder:
        copy = Path(folder) / (path.stem or path.name)
        with copy.open("wb") as out:
            _unpack(path, out)
        _climb(copy)
        yield copy


def _climb(copy: Path) -> None:
    """Bring the copy of a recording of an earlier version to this layout."""
    address = parse_url(str(copy))
    with translated(where := describe(address)):
        engine = open_for_writing(address, create=False)
        with disposed_on_error(engine):
            prepare(engine, where)
        with engine.raw_connection() as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
        engine.dispose()


def lay_recording(path: Path, url: str) -> bool:
    """Begin a store in a file that does not exist with a compressed recording; True when it did.

    Raises StoreMissing, NotAStore, StoreFull, and StoreReadOnly.
    """
    address = parse_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return False
    target = Path(address.database)
    if target.exists():
        return False
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            _unpack(path, file)
        _climb(partial)
        _begin(target, partial)
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreReadOnly(f"{target} cannot be made: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return True


def _begin(target: Path, content: Path) -> None:
    """Of two processes one begins it, where files can have two names."""
    try:
        os.link(content, target)
    except FileExistsError:
        raise
    except OSError:
        os.replace(content, target)


def _is_packed(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_XZ)).startswith((_GZIP, _XZ))
    except OSError:  # opening it as a store says what is wrong
        return False


@contextmanager
def _opened(path: Path) -> Iterator[_Content]:
    """What a compressed recording holds. Raises NotAStore for a damaged one, and where this Python
    cannot read it."""
    with path.open("rb") as file:
        is_xz = file.read(len(_XZ)) == _XZ
    if is_xz and not READS_XZ:
        raise NotAStore(f"{path} is packed by xz, which this Python was built without")
    opened = _open_xz if is_xz else _open_gzip
    with opened(path) as recording:
        yield recording


@contextmanager
def _open_gzip(path: Path) -> Iterator[_Content]:
    try:
        with gzip.open(path) as recording:
            yield recording
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NotAStore(f"{path} is damaged: {error}") from error


@contextmanager
def _open_xz(path: Path) -> Iterator[_Content]:
    import lzma

    try:
        with lzma.open(path) as recording:
            yield recording
    except (lzma.LZMAError, EOFError) as error:
        raise NotAStore(f"{path} is damaged: {error}") from error


def _unpack(path: Path, out: BinaryIO) -> None:
    """Unpack what is a store by its first bytes, as far as they say it goes."""
    try:
        with _opened(path) as recording:
            header = recording.read(_HEADER.size)
            left = _size_of(path, header, Path(out.name).parent)
            out.write(header)
            while left and (piece := recording.read(min(left, _PIECE_BYTES))):
                out.write(piece)
                left -= len(piece)
            follows = recording.read(1)  # at the end its checksum is compared
    except FileNotFoundError as error:
        raise StoreMissing(f"the recording {path} does not exist") from error
    if left or follows:
        raise NotAStore(f"{path} is damaged: it is not as long as its first bytes say")


def _size_of(path: Path, header: bytes, folder: Path) -> int:
    """Bytes to come after the header of a store. Raises NotAStore, and StoreFull."""
    if len(header) < _HEADER.size:
        raise NotAStore(damaged(str(path)))
    magic, page_bytes, pages, application = _HEADER.unpack(header)
    if magic != _STORE_MAGIC or application != APPLICATION_ID:
        raise NotAStore(damaged(str(path)))
    size: int = pages * (_LARGEST_PAGE if page_bytes == 1 else page_bytes)
    room, packed = shutil.disk_usage(folder).free, path.stat().st_size
    if size > _MOST_RATIO * packed:
        most = f"a recording becomes at most {_MOST_RATIO} times as large"
        raise NotAStore(f"{path} is not opened: {packed} bytes would become {size}; {most}")
    if size > room:
        raise StoreFull(
            f"{path} becomes {size // 2**20} MB and {folder} has {room // 2**20} MB left; free "
            "some space there (a replay unpacks into the folder that TMPDIR names)"
        )
    return int(size - _HEADER.size)
