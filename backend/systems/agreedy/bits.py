"""Column bitsets: one set of profile tuples a filter, 64 tuples a word. [B05] card §15.1"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

#: uint64[n filters, words]: bit t of row x says that filter x drops tuple t.
Columns: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.int64]


def pack(drops: NDArray[np.bool_]) -> Columns:
    """bool[n filters, k tuples] as bitsets; the last word is filled with zeros."""
    n, k = drops.shape
    padded = np.zeros((n, -(-k // 64) * 64), dtype=np.bool_)
    padded[:, :k] = drops
    return np.packbits(padded, axis=1).view(np.uint64)


def popcount(words: NDArray[np.uint64]) -> Counts:
    """Set bits, summed over the last axis."""
    found: Counts = np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
    return found


def view_of(columns: Columns, order: Sequence[int]) -> Counts:
    """V[i, j]: tuples passed by the first i filters of ``order`` and dropped by the j-th. §4.3.2

    Positions count from 0; returns int64[n, n], zero below the diagonal.
    """
    n = len(order)
    view = np.zeros((n, n), dtype=np.int64)
    ordered = columns[list(order)] if n else columns
    alive = np.full(columns.shape[1], ~np.uint64(0), dtype=np.uint64)
    for row in range(n):
        view[row, row:] = popcount(ordered[row:] & alive)
        if not view[row].any():
            break
        alive &= ~ordered[row]
    return view


def row_of(columns: Columns, order: Sequence[int], row: int) -> Counts:
    """Row ``row`` of V, by one scan (Fig. 4.7 lines 6-13): int64[n], zero before ``row``."""
    found = np.zeros(len(order), dtype=np.int64)
    alive = alive_after(columns, order[:row])
    found[row:] = popcount(columns[list(order[row:])] & alive)
    return found


def alive_after(columns: Columns, filters: Sequence[int]) -> NDArray[np.uint64]:
    """uint64[words]: the tuples none of ``filters`` drops (padding counts as tuples)."""
    dropped = np.zeros(columns.shape[1], dtype=np.uint64)
    for one in filters:
        dropped |= columns[one]
    return ~dropped
