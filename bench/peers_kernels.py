"""Predicate indexes searched in compiled code on equal terms: flat arrays, a bitmap as result.

Every kernel writes to out, uint64[T, W], for each of T values the predicates it satisfies: bit
j % 64 of word j // 64 = predicate j. Lists of predicates are ``members[starts[i]:starts[i + 1]]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.bits import kernel

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

#: Operators, as the kernels know them.
EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(5)


@kernel
def _clear(row: Words) -> None:
    for w in range(len(row)):
        row[w] = 0


@kernel
def _set(row: Words, starts: Ints, members: Ints, place: int) -> None:
    for i in range(starts[place], starts[place + 1]):
        j = members[i]
        row[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@kernel
def _holds(op: int, value: int, constant: int) -> bool:
    if op == EQUAL:
        return value == constant
    if op == LESS:
        return value < constant
    if op == LESS_EQUAL:
        return value <= constant
    if op == GREATER:
        return value > constant
    return value >= constant


@kernel
def linked_list(
    values: Ints, out: Words, following: Ints, first: int, ops: Ints, constants: Ints
) -> None:
    """Every predicate is evaluated. following: the next node, -1 at the end."""
    for t in range(len(values)):
        row = out[t]
        _clear(row)
        at = first
        while at >= 0:
            if _holds(ops[at], values[t], constants[at]):
                row[at >> 6] |= np.uint64(1) << np.uint64(at & 63)
            at = following[at]


@kernel
def grouped_filter(
    values: Ints,
    out: Words,
    table: Ints,
    mask: int,
    keys: Ints,
    equal_starts: Ints,
    equal: Ints,
    above_keys: Ints,
    above_starts: Ints,
    above: Ints,
    below_keys: Ints,
    below_starts: Ints,
    below: Ints,
) -> None:
    """CACQ: a hash table for =, a tree for > and >=, a tree for < and <=; the trees are walked key
    by key, from their end as far as predicates are satisfied.

    table: open addressing, place in keys or -1. above_keys ascending, below_keys descending, both
    doubled: 2c for >= c and < c, 2c + 1 for > c and <= c.
    """
    for t in range(len(values)):
        row, value = out[t], values[t]
        _clear(row)
        slot = (value * 0x9E3779B1) & mask
        while len(keys) > 0 and table[slot] >= 0:
            if keys[table[slot]] == value:
                _set(row, equal_starts, equal, table[slot])
                break
            slot = (slot + 1) & mask
        for i in range(len(above_keys)):
            if above_keys[i] > 2 * value:
                break
            _set(row, above_starts, above, i)
        for i in range(len(below_keys)):
            if below_keys[i] <= 2 * value:
                break
            _set(row, below_starts, below, i)


@kernel
def red_black(
    values: Ints,
    out: Words,
    keys: Ints,
    left: Ints,
    right: Ints,
    root: int,
    starts: Ints,
    members: Ints,
    only_equal: bool,
    stack: Ints,
) -> None:
    """PSoup as [L07] §5.1 describes it: a search for = alone, else every node and in it every kind
    of operator. starts: five lists a node, by operator."""
    for t in range(len(values)):
        row, value = out[t], values[t]
        _clear(row)
        at = root
        if only_equal:
            while at >= 0 and keys[at] != value:
                at = left[at] if value < keys[at] else right[at]
            if at >= 0:
                _set(row, starts, members, 5 * at + EQUAL)
            continue
        n = 0
        while at >= 0 or n > 0:
            while at >= 0:
                stack[n] = at
                n += 1
                at = left[at]
            n -= 1
            at = stack[n]
            for op in range(5):
                if _holds(op, value, keys[at]):
                    _set(row, starts, members, 5 * at + op)
            at = right[at]


@kernel
def interval_tree(
    values: Ints,
    out: Words,
    keys: Ints,
    left: Ints,
    right: Ints,
    root: int,
    starts: Ints,
    members: Ints,
) -> None:
    """IBS tree (Hanson et al. 1990): one descent, the marks of the side taken are satisfied.

    starts: three lists a node: predicates satisfied everywhere left of its key (within the range of
    the node), on it, and everywhere right of it.
    """
    for t in range(len(values)):
        row, value = out[t], values[t]
        _clear(row)
        at = root
        while at >= 0:
            key = keys[at]
            if value == key:
                _set(row, starts, members, 3 * at + 1)
                break
            if value < key:
                _set(row, starts, members, 3 * at)
                at = left[at]
            else:
                _set(row, starts, members, 3 * at + 2)
                at = right[at]


@kernel
def rows_of(regions: NDArray[np.int32], bitmaps: Words, out: Words) -> None:
    """ASC: the bitmap of the region each value was found to hit. bitmaps: uint64[regions, W]."""
    for t in range(len(regions)):
        own, row = bitmaps[np.uintp(regions[t])], out[t]
        for w in range(len(row)):
            row[w] = own[w]


def as_arrays(lists: list[list[int]]) -> tuple[Any, Any]:
    """Lists of predicates as starts int64[n + 1] and members int64."""
    starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return starts, np.array([j for row in lists for j in row], dtype=np.int64)
