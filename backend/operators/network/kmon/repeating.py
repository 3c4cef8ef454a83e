"""Keys that may come once in a window, and come again: kernels of k-Mon's join (erratum D3).

A tuple whose key is taken is in no result. Constraints let tuples go while their window lasts, and
so their keys are remembered beside them: that of a child, and both in a one-one join.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import edges, facts, indexes, inputs, keys, link, word
from backend.operators.network.kmon.linking import hashed, next_equal
from backend.operators.selection.bits import called

#: Cells that a key may be in, side by side; a power of two.
_CELLS: Final = 8


@called
def is_repeated(m: Pointer, port: int, slot: int) -> bool:
    """Whether a tuple in the window has a key that is this tuple's alone; if not, it is remembered.
    The tuple is counted, and in its indexes."""
    for e in range(len(edges(m))):
        index = _own_index(m, e, port)
        if index >= 0 and _is_taken(m, port, slot, index):
            return True
    for e in range(len(edges(m))):
        index = _own_index(m, e, port)
        if index >= 0:
            _remember(m, port, slot, index)
    return False


@called
def _own_index(m: Pointer, e: int, port: int) -> int:
    """The index of an input by a key that comes once, for a join; -1: there is none."""
    if edges(m)[e, w.CHILD] == port:
        return int(edges(m)[e, w.CHILD_INDEX])
    if edges(m)[e, w.PARENT] == port and edges(m)[e, w.MEETS_AT] >= 0:
        return int(edges(m)[e, w.PARENT_INDEX])
    return -1


@called
def _is_taken(m: Pointer, port: int, slot: int, index: int) -> bool:
    if next_equal(m, slot, index, index, slot) >= 0:
        return True
    if inputs(m)[port, w.WINDOW] == w.CHANGING:
        return False
    if link(m, slot, w.FACTS) & (w.UNLINKED << indexes(m)[index, w.LINK]):
        return False
    key_hash = hashed(m, slot, index)
    first, tag = _first_cell(m, key_hash), int(np.int64(key_hash)) | 1
    for at in range(first, first + _CELLS):
        if keys(m)[index, at, w.KEY_TAG] == tag:
            return _is_inside(m, port, int(keys(m)[index, at, w.KEY_AT]))
    return False


@called
def _is_inside(m: Pointer, port: int, at: int) -> bool:
    """Whether a tuple is in the window when another one comes, which pushes it out afterwards."""
    window, size = inputs(m)[port, w.WINDOW], inputs(m)[port, w.SIZE]
    if window == w.RANGE:
        return bool(at >= facts(m)[w.NOW] - size)
    return bool(window == w.UNBOUNDED or at >= inputs(m)[port, w.COUNT] - size)


@called
def _remember(m: Pointer, port: int, slot: int, index: int) -> None:
    """In the cell it was in, an empty one, or in place of the oldest."""
    if link(m, slot, w.FACTS) & (w.UNLINKED << indexes(m)[index, w.LINK]):
        return
    key_hash = hashed(m, slot, index)
    first, tag = _first_cell(m, key_hash), int(np.int64(key_hash)) | 1
    chosen = first
    for at in range(first, first + _CELLS):
        if keys(m)[index, at, w.KEY_TAG] == tag:
            chosen = at
            break
        is_older = keys(m)[index, at, w.KEY_AT] < keys(m)[index, chosen, w.KEY_AT]
        if keys(m)[index, chosen, w.KEY_TAG] != 0 and (
            keys(m)[index, at, w.KEY_TAG] == 0 or is_older
        ):
            chosen = at
    keys(m)[index, chosen, w.KEY_TAG] = tag
    is_time = inputs(m)[port, w.WINDOW] == w.RANGE
    keys(m)[index, chosen, w.KEY_AT] = word(m, slot, w.TAU if is_time else w.NUMBER)


@called
def _first_cell(m: Pointer, key_hash: Any) -> int:
    return int(key_hash >> np.uint64(32)) & int(keys(m).shape[1] - _CELLS)
