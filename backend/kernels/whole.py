"""The kernels of backend.kernels.walks for bitmaps in one tile: there is no list of live tiles."""

from __future__ import annotations

import numpy as np

from backend.kernels.bits import kernel, trailing_zeros
from backend.kernels.layout import Counts, Found, HitRegions, Layout, Scratch, Words


@kernel
def walk_whole(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    found: Found,
) -> int:
    """As ``walk``: early drop in the plan's order, along micro-arrows where there are any."""
    grb, done = state.grb, state.done
    n = len(done)
    for t in range(first, regions.shape[1]):
        alive = _begin(layout.initial, grb)
        for place in range(n):
            done[place] = 0
        last = target = -1
        place = 0
        while alive != 0:
            at = target
            if at < 0 or not _is_useful(layout, state, at, resolved):
                while place < n and not _is_useful(layout, state, place, resolved):
                    place += 1
                if place == n:
                    break
                at = place
            region = layout.region_starts[at] + regions[at, t]
            start = layout.row_at[np.uintp(region)]
            if start >= 0:
                alive = _and(grb, layout.pool, start)
            done[at] = 1
            counts.reached[at] += 1
            last = at
            target = layout.arrows[region]
        if alive == 0:
            counts.dropped[last] += last >= 0
        elif not _emit(grb, t, found):
            for place in range(n):
                counts.reached[place] -= done[place]
            return t
    return int(regions.shape[1])


@kernel
def visit_all_whole(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    found: Found,
) -> int:
    """As ``visit_all``: no early drop, without a test in between."""
    grb = state.grb
    n, n_tuples = layout.qub.shape[0], int(regions.shape[1])
    done = n_tuples
    for t in range(first, n_tuples):
        for w in range(len(grb)):
            grb[w] = layout.initial[w]
        for i in range(n):
            region = layout.region_starts[i] + regions[i, t]
            start = layout.row_at[np.uintp(region)]
            if start >= 0:
                for w in range(len(grb)):
                    grb[w] &= layout.pool[np.uintp(start) + np.uintp(w)]
        if not _emit(grb, t, found):
            done = t
            break
    for i in range(n):
        counts.reached[i] += done - first
    return done


@kernel
def _begin(initial: Words, grb: Words) -> np.uint64:
    """Start a tuple; 0 when no slot is live."""
    alive = np.uint64(0)
    for w in range(len(grb)):
        grb[w] = initial[w]
        alive |= initial[w]
    return alive


@kernel
def _and(grb: Words, pool: Words, start: int) -> np.uint64:
    """AND the bitmap that begins at ``start``; 0 when no bit is left. No slice is made of it, which
    takes as long as eight words."""
    alive = np.uint64(0)
    for w in range(len(grb)):
        word = grb[w] & pool[np.uintp(start) + np.uintp(w)]
        grb[w] = word
        alive |= word
    return alive


@kernel
def _is_useful(layout: Layout, state: Scratch, place: int, resolved: bool) -> bool:
    if state.done[place]:
        return False
    if not resolved:
        return True
    for w in range(len(state.grb)):
        if state.grb[w] & layout.qub[np.uintp(place), np.uintp(w)]:
            return True
    return False


@kernel
def _emit(grb: Words, t: int, found: Found) -> bool:
    n = found.n[0]
    for w in range(len(grb)):
        word = grb[w]
        while word != 0:
            if n == len(found.slots):
                return False
            found.tuples[n] = t
            found.slots[n] = 64 * w + trailing_zeros(word)
            n += 1
            word &= word - np.uint64(1)
    found.n[0] = n
    return True
