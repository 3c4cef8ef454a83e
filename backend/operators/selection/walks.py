"""Tuples through the constructs of a plan: AND of bitmaps, stop rules, micro-arrows, lottery.

[L07] Algorithm 1 with erratum 25; [L12] §4.3. One tuple after the other; bitmaps of many words are
ANDed tile by tile, and tiles without a live bit are left out for the rest of the tuple. The zero
test is taken along by the AND. What a construct is useful for is defined in
backend.systems.asc.walk; the Python there is the specification of these loops.
"""

from __future__ import annotations

import numpy as np

from backend.operators.selection.bits import kernel, trailing_zeros
from backend.operators.selection.layout import Counts, Found, HitRegions, Layout, Scratch, Words


@kernel
def walk(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """Early drop in the plan's order, along micro-arrows where there are any.

    Starts with tuple ``first``; returns the first tuple not done, because ``matches`` is full (the
    caller makes more room and comes again), or the number of tuples.
    """
    n = layout.qub.shape[0]
    for t in range(first, regions.shape[1]):
        n_live = _start(layout, state)
        last = -1
        at = -1
        if n_live > 0:
            at = _successor(layout, state, n_live, resolved)
        while at >= 0:
            region = layout.region_starts[at] + regions[at, t]
            n_live = _visit(layout, state, n_live, at, region)
            last = at
            if n_live == 0:
                break
            target = layout.arrows[region]
            if target >= 0 and _is_useful(layout, state, n_live, target, resolved):
                at = target
            else:
                at = _successor(layout, state, n_live, resolved)
        if not _emit(layout, state, n_live, t, matches):
            return t
        for i in range(n):
            counts.reached[i] += state.seen[i]
        if n_live == 0 and last >= 0:
            counts.dropped[last] += 1
    return int(regions.shape[1])


@kernel
def draw(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """Early drop, the next construct drawn by lottery (backend.systems.asc.ticket).

    Returns as ``walk``. ``counts`` carries tickets and generator from call to call.
    """
    n = layout.qub.shape[0]
    for t in range(first, regions.shape[1]):
        seed = counts.seed[0]
        n_live = _start(layout, state)
        last = -1
        while n_live > 0:
            total = 0
            for i in range(n):
                if _is_useful(layout, state, n_live, i, resolved):
                    total += counts.tickets[i]
            if total == 0:
                break
            at = _drawn(counts, state, total)
            region = layout.region_starts[at] + regions[at, t]
            n_live = _visit(layout, state, n_live, at, region)
            last = at
        if not _emit(layout, state, n_live, t, matches):
            counts.seed[0] = seed
            return t
        for i in range(n):
            counts.reached[i] += state.seen[i]
        if n_live == 0 and last >= 0:
            counts.dropped[last] += 1
            counts.tickets[last] += 1
    return int(regions.shape[1])


@kernel
def visit_all(
    layout: Layout,
    state: Scratch,
    regions: HitRegions,
    resolved: bool,
    first: int,
    counts: Counts,
    matches: Found,
) -> int:
    """No early drop: every construct, without a test in between. Returns as ``walk``."""
    n, n_tiles = layout.qub.shape[0], len(layout.tile_starts) - 1
    grb = state.grb
    for t in range(first, regions.shape[1]):
        for w in range(len(grb)):
            grb[w] = layout.initial[w]
        for i in range(n):
            region = layout.region_starts[i] + regions[i, t]
            for tile in range(n_tiles):
                at = layout.row_at[region * n_tiles + tile]
                if at >= 0:
                    part = grb[layout.tile_starts[tile] : layout.tile_starts[tile + 1]]
                    row = layout.pool[at : at + len(part)]
                    for w in range(len(part)):
                        part[w] &= row[w]
        n_live = 0
        for tile in range(n_tiles):
            state.live[n_live] = tile
            n_live += _any(grb[layout.tile_starts[tile] : layout.tile_starts[tile + 1]])
        if not _emit(layout, state, n_live, t, matches):
            return t
        for i in range(n):
            counts.reached[i] += 1
    return int(regions.shape[1])


@kernel
def _start(layout: Layout, state: Scratch) -> int:
    """Every tuple begins with all live slots; the number of tiles that have any."""
    for w in range(len(state.grb)):
        state.grb[w] = layout.initial[w]
    for place in range(len(state.done)):
        state.done[place] = 0
        state.seen[place] = 0
    n_live = 0
    for tile in range(len(layout.tile_starts) - 1):
        state.live[n_live] = tile
        n_live += _any(layout.initial[layout.tile_starts[tile] : layout.tile_starts[tile + 1]])
    return n_live


@kernel
def _any(words: Words) -> int:
    """1 when a bit is set, else 0."""
    bits = np.uint64(0)
    for w in range(len(words)):
        bits |= words[w]
    return 1 if bits != 0 else 0


@kernel
def _visit(layout: Layout, state: Scratch, n_live: int, place: int, region: int) -> int:
    """AND the region's bitmap into the live tiles; the number of tiles that stay live."""
    n_tiles = len(layout.tile_starts) - 1
    state.done[place] = 1
    state.seen[place] = 1
    left = 0
    for i in range(n_live):
        tile = state.live[i]
        at = layout.row_at[region * n_tiles + tile]
        alive = np.uint64(1)
        if at >= 0:
            part = state.grb[layout.tile_starts[tile] : layout.tile_starts[tile + 1]]
            row = layout.pool[at : at + len(part)]
            alive = np.uint64(0)
            for w in range(len(part)):
                word = part[w] & row[w]
                part[w] = word
                alive |= word
        state.live[left] = tile
        left += 1 if alive != 0 else 0
    return left


@kernel
def _is_useful(layout: Layout, state: Scratch, n_live: int, place: int, resolved: bool) -> bool:
    """Whether a construct is not visited yet and, under the resolved rule, uses a live slot.

    A construct that uses none never will again: it is remembered as done.
    """
    if state.done[place]:
        return False
    if not resolved:
        return True
    qub = layout.qub[place]
    for i in range(n_live):
        tile = state.live[i]
        for w in range(layout.tile_starts[tile], layout.tile_starts[tile + 1]):
            if state.grb[w] & qub[w]:
                return True
    state.done[place] = 1
    return False


@kernel
def _successor(layout: Layout, state: Scratch, n_live: int, resolved: bool) -> int:
    """The first useful construct of the order, or -1."""
    for place in range(len(state.done)):
        if _is_useful(layout, state, n_live, place, resolved):
            return place
    return -1


@kernel
def _drawn(counts: Counts, state: Scratch, total: int) -> int:
    """The construct among those not done that the next draw below ``total`` falls on."""
    state_word = counts.seed[0] + np.uint64(0x9E3779B97F4A7C15)
    counts.seed[0] = state_word
    z = state_word
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    ball = np.int64((z ^ (z >> np.uint64(31))) % np.uint64(total))
    for place in range(len(state.done)):
        if not state.done[place]:
            ball -= counts.tickets[place]
            if ball < 0:
                return place
    return -1


@kernel
def _emit(layout: Layout, state: Scratch, n_live: int, t: int, matches: Found) -> bool:
    """Append the live slots of tuple t; False, and nothing appended, when there is no room."""
    n = matches.n[0]
    for i in range(n_live):
        tile = state.live[i]
        for w in range(layout.tile_starts[tile], layout.tile_starts[tile + 1]):
            word = state.grb[w]
            while word != 0:
                if n == len(matches.slots):
                    return False
                matches.tuples[n] = t
                matches.slots[n] = 64 * w + trailing_zeros(word)
                n += 1
                word &= word - np.uint64(1)
    matches.n[0] = n
    return True
