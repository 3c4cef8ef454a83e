"""The kernels of ``walks`` for bitmaps in one tile: there is no list of live tiles.

A tuple begins only when there is room for a match with every slot, so that none is taken back.
Places are unsigned: numba spends a test and a choice on every index that may be negative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.bits import inlined, kernel, trailing_zeros
from backend.operators.selection.blocks import and_all, and_row, meets
from backend.operators.selection.layout import Counts, Found, HitRegions, Layout, Scratch, Words


@kernel
def walk_in_order(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """As ``walk`` where there are no micro-arrows: early drop in the plan's order."""
    grb, qub, pool, row_at = state.grb, layout.qub, layout.pool, layout.row_at
    n, n_words = np.uintp(len(qub)), np.uintp(len(grb))
    for t in range(first, regions.shape[1]):
        if not _has_room(grb, matches):
            return t
        alive = _begin(layout.initial, grb)
        last = n
        for place in range(n):
            if not alive:
                break
            if resolved and not _meets(grb, qub, place * n_words):
                continue
            region = np.uintp(layout.region_starts[place]) + np.uintp(regions[place, np.uintp(t)])
            start = row_at[region]
            if start >= 0:
                alive = _and(grb, pool, np.uintp(start))
            counts.reached[place] += 1
            last = np.uintp(place)
        if alive:
            _emit(grb, t, matches)
        elif last != n:
            counts.dropped[last] += 1
    return int(regions.shape[1])


@kernel
def walk_whole(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """As ``walk``: early drop in the plan's order, along micro-arrows where there are any."""
    grb, done = state.grb, state.done
    n = len(done)
    for t in range(first, regions.shape[1]):
        if not _has_room(grb, matches):
            return t
        alive = _begin(layout.initial, grb)
        for place in range(n):
            done[place] = 0
        last = target = -1
        place = 0
        while alive:
            at = target
            if at < 0 or not _is_useful(layout, state, at, resolved):
                while place < n and not _is_useful(layout, state, place, resolved):
                    place += 1
                if place == n:
                    break
                at = place
            region = np.uintp(layout.region_starts[at] + regions[at, t])
            start = layout.row_at[region]
            if start >= 0:
                alive = _and(grb, layout.pool, np.uintp(start))
            done[at] = 1
            counts.reached[at] += 1
            last = at
            target = layout.arrows[region]
        if alive:
            _emit(grb, t, matches)
        elif last >= 0:
            counts.dropped[last] += 1
    return int(regions.shape[1])


@kernel
def visit_all_whole(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """As ``visit_all``: no early drop, without a test in between. Block by block of the bitmaps,
    each through all constructs."""
    grb, starts = state.grb, state.starts
    n, t = len(starts), first
    while t < regions.shape[1] and _has_room(grb, matches):
        used = np.uintp(0)
        for place in range(np.uintp(n)):
            region = np.uintp(layout.region_starts[place]) + np.uintp(regions[place, np.uintp(t)])
            starts[used] = layout.row_at[region]
            used += np.uintp(starts[used] >= 0)
        _and_all(layout, grb, starts, used)
        _emit(grb, t, matches)
        t += 1
    for place in range(n):
        counts.reached[place] += t - first
    return t


@inlined
def _has_room(grb: Words, matches: Found) -> bool:
    """Whether a tuple may match every slot."""
    return bool(matches.n[0] + 64 * len(grb) <= len(matches.slots))


@inlined
def _begin(initial: Words, grb: Words) -> bool:
    """Start a tuple; whether a slot is live."""
    alive = np.uint64(0)
    for w in range(len(grb)):
        grb[w] = initial[w]
        alive |= initial[w]
    return bool(alive != 0)


@inlined
def _and(grb: Words, pool: Words, start: np.uintp) -> bool:
    """AND the bitmap that begins at ``start``; whether a bit is left."""
    n, w = np.uintp(len(grb)), np.uintp(0)
    alive = False
    while w + np.uintp(8) <= n:
        alive |= and_row(8, grb, w, pool, start + w)
        w += np.uintp(8)
    if n & np.uintp(4):
        alive |= and_row(4, grb, w, pool, start + w)
        w += np.uintp(4)
    if n & np.uintp(2):
        alive |= and_row(2, grb, w, pool, start + w)
        w += np.uintp(2)
    if n & np.uintp(1):
        alive |= and_row(1, grb, w, pool, start + w)
    return alive


@inlined
def _and_all(layout: Layout, grb: Words, starts: NDArray[np.int64], used: np.uintp) -> None:
    """AND the bitmaps that begin at the first so many of ``starts`` into the live slots."""
    initial, pool = layout.initial, layout.pool
    n, w = np.uintp(len(grb)), np.uintp(0)
    while w + np.uintp(8) <= n:
        and_all(8, grb, initial, w, pool, starts, used)
        w += np.uintp(8)
    if n & np.uintp(4):
        and_all(4, grb, initial, w, pool, starts, used)
        w += np.uintp(4)
    if n & np.uintp(2):
        and_all(2, grb, initial, w, pool, starts, used)
        w += np.uintp(2)
    if n & np.uintp(1):
        and_all(1, grb, initial, w, pool, starts, used)


@inlined
def _is_useful(layout: Layout, state: Scratch, place: int, resolved: bool) -> bool:
    if state.done[place]:
        return False
    return not resolved or _meets(state.grb, layout.qub, np.uintp(place * len(state.grb)))


@inlined
def _meets(grb: Words, qub: Words, start: np.uintp) -> bool:
    """Whether a live slot is among those of the construct whose words begin at ``start``."""
    n, w = np.uintp(len(grb)), np.uintp(0)
    while w + np.uintp(8) <= n:
        if meets(8, grb, w, qub, start + w):
            return True
        w += np.uintp(8)
    if n & np.uintp(4):
        if meets(4, grb, w, qub, start + w):
            return True
        w += np.uintp(4)
    if n & np.uintp(2):
        if meets(2, grb, w, qub, start + w):
            return True
        w += np.uintp(2)
    return bool(n & np.uintp(1)) and meets(1, grb, w, qub, start + w)


@inlined
def _emit(grb: Words, t: int, matches: Found) -> None:
    n = np.uintp(matches.n[0])
    for w in range(np.uintp(len(grb))):
        word = grb[w]
        while word != 0:
            matches.tuples[n] = t
            matches.slots[n] = 64 * w + trailing_zeros(word)
            n += np.uintp(1)
            word &= word - np.uint64(1)
    matches.n[0] = n
