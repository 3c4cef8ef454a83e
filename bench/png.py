"""PNG files of at most 256 colours, made of a browser's screenshots: a third of their size."""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_MOST_COLOURS: Final = 256
_CHANNELS: Final = {2: 3, 6: 4}
Pixels = NDArray[np.uint8]


def smaller(png: bytes) -> bytes:
    """The same picture in its 256 commonest colours, others as the nearest of them."""
    return encode(*in_palette(decode(png)))


def in_palette(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """(places, palette): uint8[h, w] into uint8[n <= 256, 3]. pixels: uint8[h, w, 3]."""
    keys = pixels.reshape(-1, 3).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    packed, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1).astype(np.uint8)
    kept = np.argsort(-counts, kind="stable")[:_MOST_COLOURS]
    palette = colours[kept]
    nearest = np.empty(len(colours), dtype=np.uint8)
    for start in range(0, len(colours), 4096):
        part = colours[start : start + 4096].astype(np.int32)
        distance = ((part[:, None, :] - palette[None].astype(np.int32)) ** 2).sum(axis=2)
        nearest[start : start + 4096] = distance.argmin(axis=1)
    return nearest[inverse.reshape(-1)].reshape(pixels.shape[:2]), palette


def decode(png: bytes) -> Pixels:
    """uint8[h, w, 3] of a PNG of 8 bits a channel that is not interlaced; alpha is left out.

    Raises ValueError for any other.
    """
    if png[:8] != _SIGNATURE:
        raise ValueError("this is no PNG")
    width, height, depth, kind, _, _, interlace = struct.unpack(">IIBBBBB", png[16:29])
    if depth != 8 or kind not in _CHANNELS or interlace:
        raise ValueError(f"a PNG of kind {kind}, {depth} bits; allowed: kinds 2 and 6, 8 bits")
    data, place = b"", 8
    while place < len(png):
        (n_bytes,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + n_bytes]
        place += 12 + n_bytes
    n = _CHANNELS[kind]
    rows = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, 1 + n * width)
    return _unfiltered(rows, n).reshape(height, width, n)[:, :, :3]


def _unfiltered(rows: Pixels, n: int) -> Pixels:
    """What filters 0 to 4 of the PNG specification (section 9) hid. n: bytes of a pixel."""
    pixels = np.zeros((len(rows), rows.shape[1] - 1), dtype=np.uint8)
    above = pixels[0] * 0
    for place, row in enumerate(rows):
        pixels[place] = above = _row(int(row[0]), row[1:], above, n)
    return pixels


def _row(kind: int, row: Pixels, above: Pixels, n: int) -> Pixels:
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row.reshape(-1, n), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return row + above
    return np.array(_by_left(kind, row.tolist(), above.tolist(), n), dtype=np.uint8)


def _by_left(kind: int, row: list[int], above: list[int], n: int) -> list[int]:
    """Average (3) and Paeth (4): each byte needs the one at its left."""
    out = [0] * n
    corner = [0] * n + above
    for place, (value, up) in enumerate(zip(row, above, strict=True)):
        left, diagonal = out[place], corner[place]
        guess = (left + up) // 2 if kind == 3 else _paeth(left, up, diagonal)
        out.append((value + guess) & 255)
    return out[n:]


def _paeth(left: int, up: int, diagonal: int) -> int:
    near = left + up - diagonal
    return min((left, up, diagonal), key=lambda neighbour: abs(near - neighbour))


def encode(places: Pixels, palette: Pixels) -> bytes:
    """A PNG with a palette. places: uint8[h, w] into palette, uint8[n <= 256, 3]."""
    height, width = places.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)
    rows[:, 1:] = places
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette.tobytes()))
    body = (*parts, (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in body)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
