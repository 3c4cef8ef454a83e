"""Loops over all tuples of an experiment that only count: no matches are written.

For bitmaps of one word (up to 64 slots) and the papers' stop rule, GRB = 0. The Python of
backend.systems.asc (route, survivors) is their specification.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.bits import kernel, trailing_zeros
from backend.operators.selection.layout import Layout, Words


@kernel
def count_walk(
    layout: Layout,
    words: Words,
    columns: NDArray[np.intp],
    regions: NDArray[np.intp],
    counts: NDArray[np.int64],
) -> None:
    """Add visits, unmatched tuples, micro- and macro-transitions to counts, int64[4].

    regions: intp[T, n]; columns: where the construct at each place of the order has its column.
    words: uint64[regions in all], as region_starts counts them.
    """
    n = len(columns)
    for t in range(regions.shape[0]):
        grb = layout.initial[0]
        seen = np.uint64(0)
        target = -1
        place = visits = micro = 0
        while grb != 0 and visits < n:
            at = target
            if at >= 0 and (seen >> np.uint64(at)) & np.uint64(1) == 0:
                micro += 1
            else:
                while (seen >> np.uint64(place)) & np.uint64(1):
                    place += 1
                at = place
            region = layout.region_starts[at] + regions[t, columns[at]]
            grb &= words[region]
            seen |= np.uint64(1) << np.uint64(at)
            visits += 1
            target = layout.arrows[region]
        counts[0] += visits
        counts[1] += grb == 0
        counts[2] += micro
        counts[3] += max(visits - 1, 0) - micro


@kernel
def count_alive(
    layout: Layout,
    words: Words,
    regions: NDArray[np.int16],
    marks: Words,
    alive: NDArray[np.int64],
) -> None:
    """Add to alive[P], int64[2^n], the tuples with GRB != 0 after the set P of constructs (F4).

    Bits of P and columns of regions, int16[T, n], in the layout's order. marks: room, uint64[2^n].
    """
    n = regions.shape[1]
    for start in range(0, regions.shape[0], 64):
        for s in range(len(marks)):
            marks[s] = 0
        for t in range(start, min(start + 64, regions.shape[0])):
            live = layout.initial[0]
            mark = np.uint64(1) << np.uint64(t - start)
            while live != 0:
                slot = np.uint64(trailing_zeros(live))
                live &= live - np.uint64(1)
                spared = np.uint64(0)
                for i in range(n):
                    word = words[layout.region_starts[i] + regions[t, i]]
                    spared |= ((word >> slot) & np.uint64(1)) << np.uint64(i)
                marks[np.int64(spared)] |= mark
        for bit in range(n):
            step = 1 << bit
            for s in range(len(marks)):
                if s & step == 0:
                    marks[s] |= marks[s | step]
        for s in range(len(marks)):
            alive[s] += _ones(marks[s])


@kernel
def extreme_path(
    alive: NDArray[np.int64], sign: int, cost: NDArray[np.int64], last: NDArray[np.int8]
) -> None:
    """cost[S], last[S]: least (sign 1) or, times -1, greatest sum of alive over the proper
    prefixes of an order of S, and the last construct of that order; ties to the lowest one."""
    cost[0] = 0
    for s in range(1, len(alive)):
        last[s] = -1
        for a in range(63):
            bit = 1 << a
            if bit > s:
                break
            if s & bit:
                before = s ^ bit
                total = cost[before] + sign * alive[before]
                if last[s] < 0 or total < cost[s]:
                    cost[s] = total
                    last[s] = a


@kernel
def _ones(word: np.uint64) -> np.int64:
    """Set bits, 0..64."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
