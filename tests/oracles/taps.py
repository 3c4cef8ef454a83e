"""Which elements of an operator are kept: slow twin of ``shards.taps``, all of them at once."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

_MASK = (1 << 64) - 1
_NULL = 0x9E3779B97F4A7C15


class KeptRow(NamedTuple):
    """rank: by timestamp, then by content; n: how often the row was given out."""

    rank: tuple[int, int]
    n: int
    row: tuple[Any, ...]
    tau: int
    sign: int


def kept(elements: Iterable[tuple[tuple[Any, ...], int, int]], most: int) -> list[KeptRow]:
    """The different elements (row, τ, sign) of the least ranks, and how often each comes."""
    times: Counter[tuple[tuple[int, int], str]] = Counter()
    rows: dict[tuple[tuple[int, int], str], tuple[tuple[Any, ...], int, int]] = {}
    for row, tau, sign in elements:
        key = (spread(tau), content(row, sign)), repr((row, tau, sign))
        times[key] += 1
        rows[key] = (row, tau, sign)
    return [KeptRow(key[0], times[key], *rows[key]) for key in sorted(times)[:most]]


def content(row: Iterable[Any], sign: int) -> int:
    """Of an element, its timestamp aside."""
    mixed = spread(sign)
    for value in row:
        mixed = spread((mixed * 31 + word(value)) & _MASK)
    return mixed


def word(value: Any) -> int:
    """64 bits of a value."""
    if value is None:
        return _NULL
    if isinstance(value, str):
        return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "little")
    if isinstance(value, float):
        value = math.nan if math.isnan(value) else value
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(value) & _MASK


def spread(number: int) -> int:
    """The last step of splitmix64."""
    number &= _MASK
    number = ((number ^ number >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ number >> 27) * 0x94D049BB133111EB) & _MASK
    return number ^ number >> 31
