"""The kernels of ``walks`` for bitmaps of one word, which stays in a register.

words: uint64[regions in all], the bitmap of each region, as region_starts counts them. A tuple
begins only when there is room for 64 matches, so that none is taken back.
"""

from __future__ import annotations

import numpy as np

from backend.operators.selection.bits import inlined, kernel, trailing_zeros
from backend.operators.selection.layout import Counts, Found, HitRegions, Layout, Words


@kernel
def walk_word(
    layout: Layout,
    words: Words,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """As ``walk``: early drop in the plan's order, along micro-arrows where there are any."""
    n = np.uintp(len(layout.qub))
    for t in range(first, regions.shape[1]):
        if not _has_room(matches):
            return t
        grb = layout.initial[0]
        seen = np.uint64(0)
        target = -1
        last = n
        place = np.uintp(0)
        while grb != 0:
            at = np.uintp(target)
            if target < 0 or not _is_useful(layout, grb, seen, at, resolved):
                while place < n and not _is_useful(layout, grb, seen, place, resolved):
                    place += np.uintp(1)
                if place == n:
                    break
                at = place
            region = np.uintp(layout.region_starts[at]) + np.uintp(regions[at, np.uintp(t)])
            grb &= words[region]
            seen |= np.uint64(1) << at
            counts.reached[at] += 1
            last = at
            target = layout.arrows[region]
        if grb != 0:
            _emit(grb, t, matches)
        elif last != n:
            counts.dropped[last] += 1
    return int(regions.shape[1])


@kernel
def visit_all_words(
    layout: Layout,
    words: Words,
    block: Words,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """As ``visit_all``: no early drop, construct by construct over blocks of tuples.

    block: room for the bitmaps of as many tuples as are to go together.
    """
    n, n_tuples = len(layout.qub), int(regions.shape[1])
    for start in range(first, n_tuples, len(block)):
        grbs = block[: min(len(block), n_tuples - start)]
        for i in range(len(grbs)):
            grbs[i] = layout.initial[0]
        for place in range(n):
            own = words[layout.region_starts[place] :]
            hit = regions[place, start : start + len(grbs)]
            for i in range(len(grbs)):
                grbs[i] &= own[np.uintp(hit[i])]
        for i in range(len(grbs)):
            if grbs[i] == 0:
                continue
            if not _has_room(matches):
                for place in range(n):
                    counts.reached[place] += start + i - first
                return start + i
            _emit(grbs[i], start + i, matches)
    for place in range(n):
        counts.reached[place] += n_tuples - first
    return n_tuples


@inlined
def _has_room(matches: Found) -> bool:
    """Whether a tuple may match every slot."""
    return bool(matches.n[0] + 64 <= len(matches.slots))


@inlined
def _is_useful(
    layout: Layout, grb: np.uint64, seen: np.uint64, place: np.uintp, resolved: bool
) -> bool:
    if seen >> place & np.uint64(1):
        return False
    return not resolved or grb & layout.qub[place, np.uintp(0)] != 0


@inlined
def _emit(grb: np.uint64, t: int, matches: Found) -> None:
    n = np.uintp(matches.n[0])
    while grb != 0:
        matches.tuples[n] = t
        matches.slots[n] = trailing_zeros(grb)
        n += np.uintp(1)
        grb &= grb - np.uint64(1)
    matches.n[0] = n
