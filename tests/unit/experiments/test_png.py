"""Pictures in a palette: what a filter of the PNG format hides is found again, colours are kept."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bench.png import decode, encode, in_palette, smaller

PICTURES = arrays(
    np.uint8,
    array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=6).map(lambda s: (*s[:2], 3)),
)


def paeth(left: int, up: int, corner: int) -> int:
    """The predictor as the specification writes it (section 9.4)."""
    p = left + up - corner
    pa, pb, pc = abs(p - left), abs(p - up), abs(p - corner)
    if pa <= pb and pa <= pc:
        return left
    return up if pb <= pc else corner


def filtered(pixels: np.ndarray, kind: int) -> bytes:
    """The rows under one filter, byte by byte."""
    rows = pixels.reshape(len(pixels), -1).astype(int)
    out = bytearray()
    for y, row in enumerate(rows):
        out.append(kind)
        for x, value in enumerate(row):
            left = int(row[x - 3]) if x >= 3 else 0
            up = int(rows[y - 1][x]) if y else 0
            corner = int(rows[y - 1][x - 3]) if y and x >= 3 else 0
            guess = (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]
            out.append((int(value) - guess) % 256)
    return bytes(out)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def rgb(pixels: np.ndarray, kind: int) -> bytes:
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    body = zlib.compress(filtered(pixels, kind))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@given(PICTURES, st.integers(0, 4))
@settings(max_examples=60)
def test_every_filter_is_undone(pixels: np.ndarray, kind: int) -> None:
    assert decode(rgb(pixels, kind)).tolist() == pixels.tolist()


@given(PICTURES)
def test_few_colours_are_kept_as_they_are(pixels: np.ndarray) -> None:
    places, palette = in_palette(pixels)
    assert palette[places].tolist() == pixels.tolist()


def test_many_colours_become_the_nearest_of_the_commonest() -> None:
    wheel = np.arange(20 * 20, dtype=np.int64)
    pixels = np.stack([wheel % 256, wheel // 2, wheel * 0], axis=1).astype(np.uint8)
    picture = np.repeat(pixels.reshape(20, 20, 3), 2, axis=0)
    places, palette = in_palette(picture)
    assert len(palette) == 256
    far = np.abs(palette[places].astype(int) - picture.astype(int)).max()
    assert 0 < far <= 255
    assert smaller(rgb(picture, 0))[25] == 3, "a PNG with a palette"


def test_what_is_no_such_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="no PNG"):
        decode(b"GIF89a")
    places = np.zeros((2, 2), dtype=np.uint8)
    with pytest.raises(ValueError, match="kind 3"):
        decode(encode(places, np.zeros((1, 3), dtype=np.uint8)))
