"""Recordings: stores of one run as files, perhaps compressed by gzip."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from storage.database import parse_url
from storage.errors import NotAStore, StoreMissing, StoreReadOnly

#: How names of compressed recordings end, and how their content begins.
PACKED: Final = ".gz"
_MAGIC: Final = b"\x1f\x8b"
#: Tighter takes much longer and wins little.
_LEVEL: Final = 6


def pack(recording: BinaryIO, out: BinaryIO) -> None:
    """Compress a recording; the same one always becomes the same bytes."""
    with gzip.GzipFile("", "wb", _LEVEL, out, mtime=0) as packed:
        shutil.copyfileobj(recording, packed)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A file that opens as a store: the recording itself, or a copy of a compressed one that is
    gone afterwards. Raises StoreMissing, and NotAStore for a damaged one."""
    if not _is_packed(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="planwatch-replay-") as folder:
        copy = Path(folder) / (path.stem or path.name)
        with copy.open("wb") as out:
            _unpack(path, out)
        yield copy


def lay_recording(path: Path, url: str) -> bool:
    """Begin a store in a file that does not exist with a compressed recording; True when it did.

    Raises StoreMissing, NotAStore, and StoreReadOnly.
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
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:  # opening it as a store says what is wrong
        return False


def _unpack(path: Path, out: BinaryIO) -> None:
    try:
        with gzip.open(path) as recording:
            shutil.copyfileobj(recording, out)
    except FileNotFoundError as error:
        raise StoreMissing(f"the recording {path} does not exist") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise NotAStore(f"{path} is damaged: {error}") from error
