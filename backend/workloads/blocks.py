"""Files read block by block, up to the very place where a damaged one breaks off."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

#: Read from a stream at once: what a failing read had unpacked is lost, so a read is small.
PIECE_BYTES: Final = 16 << 10
#: Of a file that is read for its content alone.
_WHOLE_BYTES: Final = 1 << 20


class Content:
    """Tells what a file holds from what it held, byte by byte, as a reader comes by."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=12)

    def add(self, data: bytes) -> None:
        """The next bytes that were read."""
        self._digest.update(data)

    def add_file(self, path: Path) -> None:
        """All bytes of a file that is not read in their order. Raises OSError."""
        with path.open("rb") as file:
            while data := file.read(_WHOLE_BYTES):
                self._digest.update(data)

    @property
    def value(self) -> str:
        """24 hex digits."""
        return self._digest.hexdigest()


class Blocks:
    """The bytes of a file, unpacked. encoding: they are turned into UTF-8 from it; content: comes
    to know them."""

    def __init__(self, path: Path, encoding: str = "utf-8", content: Content | None = None) -> None:
        self._content = content
        self._open: Callable[[], Any] = lambda: _opened(path, encoding)
        self._stream = self._open()
        self._n_read = 0
        self._broken: Exception | None = None

    def __enter__(self) -> Blocks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def read(self, n_bytes: int) -> bytes:
        """The next bytes, fewer where the file ends or breaks off. Raises OSError or
        pa.ArrowException when it broke off there."""
        if self._broken is not None:
            raise self._broken
        pieces: list[bytes] = []
        left = n_bytes
        while left > 0 and (piece := self._piece(min(left, PIECE_BYTES))):
            pieces.append(piece)
            left -= len(piece)
        if self._broken is not None and not pieces:
            raise self._broken
        data = b"".join(pieces)
        if self._content is not None:
            self._content.add(data)
        return data

    def _piece(self, n_bytes: int) -> bytes:
        try:
            piece: bytes = self._stream.read(n_bytes)
        except (OSError, pa.ArrowException) as error:
            self._broken = error
            piece = self._last_bytes()
        self._n_read += len(piece)
        return piece

    def _last_bytes(self) -> bytes:
        """What the read that failed would have given, byte by byte."""
        piece = bytearray()
        with self._open() as stream:
            try:
                left = self._n_read
                while left > 0 and (passed := len(stream.read(min(left, PIECE_BYTES)))):
                    left -= passed
                while len(piece) < PIECE_BYTES and (byte := stream.read(1)):
                    piece += byte
            except (OSError, pa.ArrowException):
                pass
        return bytes(piece)


def _opened(path: Path, encoding: str) -> Any:
    stream = pa.input_stream(str(path), compression="detect")
    return stream if encoding == "utf-8" else pa.transcoding_input_stream(stream, encoding, "utf-8")
