"""Bitmaps as words of 64 bits. The kernels have their own, which numba compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def pack(bits: NDArray[np.bool_]) -> Words:
    """bool[n, k] as uint64[n, words]; the last word is filled with zeros."""
    n, k = bits.shape
    padded = np.zeros((n, -(-k // 64) * 64), dtype=np.bool_)
    padded[:, :k] = bits
    return np.packbits(padded, axis=1).view(np.uint64)


def popcount(words: Words) -> NDArray[np.int64]:
    """Set bits, summed over the last axis."""
    counts: NDArray[np.int64] = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return counts


def n_bits(words: NDArray[Any]) -> int:
    """Set bits of all words together."""
    return int(np.bitwise_count(words).sum())
