"""Selection plans by NumPy over the arrays of a Layout: for workers without numba.

Gives what the kernels give, counts included; see backend.operators.selection.walks.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.layout import (
    NONE,
    ByTable,
    Counts,
    HitRegions,
    Layout,
    Matches,
    Search,
    Words,
    counts_for,
)

#: Bits of bitmaps that are spread out at a time.
BLOCK_BITS: Final = 1 << 25
_MASK: Final = (1 << 64) - 1

Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]


def hit_regions(
    search: Search, values: NDArray[Any], is_null: Flags | None, out: NDArray[np.int32]
) -> None:
    """Write the region of each value to ``out``; NULL and NaN hit region 0."""
    if isinstance(search, ByTable):
        last = search.low + len(search.regions) - 1
        out[:] = search.regions[np.clip(values, search.low, last) - search.low]
    else:
        out[:] = np.searchsorted(search.thresholds, values, side="right") + 1
        out[values != values] = 0
    if is_null is not None:
        out[is_null] = 0


class ArrayMatcher:
    """One plan over any number of blocks, as backend.operators.selection.matcher.Matcher."""

    def __init__(
        self, layout: Layout, kind: str, resolved: bool, tickets: int = 1, seed: int = 0
    ) -> None:
        self._layout, self._kind, self._resolved = layout, kind, resolved
        self.counts: Counts = counts_for(layout, tickets, seed)

    def match(self, regions: HitRegions) -> Matches:
        """The matches of a block of tuples."""
        step = max(1, BLOCK_BITS // (64 * len(self._layout.initial)))
        tuples, slots = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for first in range(0, regions.shape[1], step):
            walk = _Walk(self._layout, regions[:, first : first + step], self.counts)
            self._route(walk)
            found, own = walk.matches()
            tuples.append((found + first).astype(np.int32))
            slots.append(own.astype(np.int32))
        return Matches(np.concatenate(tuples), np.concatenate(slots))

    def _route(self, walk: _Walk) -> None:
        if self._kind == "no early drop":
            walk.visit_all()
        elif self._kind == "ticket":
            walk.draw(self._resolved)
        elif (self._layout.arrows != NONE).any():
            walk.follow(self._resolved)
        else:
            walk.in_order(self._resolved)


class _Walk:
    """T tuples on their way. grb: uint64[T, W]. done: bool[T, n], visited."""

    def __init__(self, layout: Layout, regions: HitRegions, counts: Counts) -> None:
        self.layout, self.regions, self.counts = layout, regions, counts
        self.grb: Words = np.repeat(layout.initial[None, :], regions.shape[1], axis=0)
        self.done = np.zeros((regions.shape[1], layout.n_constructs), dtype=np.bool_)

    def matches(self) -> tuple[Rows, Rows]:
        """Pairs (tuple, slot), ascending."""
        alive = np.flatnonzero(self.grb.any(axis=1))
        words = self.grb[alive].astype("<u8", copy=False)
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        rows, slots = np.nonzero(bits)
        return alive[rows], slots

    def visit_all(self) -> None:
        """No early drop."""
        everyone = np.arange(len(self.grb))
        for place in range(self.layout.n_constructs):
            self._and(everyone, place)
            self.counts.reached[place] += len(everyone)

    def in_order(self, resolved: bool) -> None:
        """Early drop along the plan's order."""
        alive = np.flatnonzero(self.grb.any(axis=1))
        for place in range(self.layout.n_constructs):
            wanted = self._useful(alive, place, resolved)
            died = self._visit(alive[wanted], place)
            alive = alive[~np.isin(alive, died)]

    def follow(self, resolved: bool) -> None:
        """Early drop along micro-arrows, and the plan's order where there is none."""
        alive = np.flatnonzero(self.grb.any(axis=1))
        target = np.full(len(self.grb), NONE, dtype=np.intp)
        while len(alive):
            at = self._next(alive, target, resolved)
            alive, at = alive[at != NONE], at[at != NONE]
            dead: list[Rows] = []
            for place in np.unique(at):
                rows = alive[at == place]
                dead.append(self._visit(rows, place))
                hit = self.layout.region_starts[place] + self.regions[place, rows]
                target[rows] = self.layout.arrows[hit]
            alive = alive[~np.isin(alive, np.concatenate([np.zeros(0, np.intp), *dead]))]

    def _next(self, rows: Rows, target: Rows, resolved: bool) -> Rows:
        """Where each tuple goes: its arrow's target if that is of use, else the first that is."""
        at = np.full(len(rows), NONE, dtype=np.intp)
        n = self.layout.n_constructs
        for place in range(n):
            asked = np.flatnonzero(target[rows] == place)
            at[asked[self._useful(rows[asked], place, resolved)]] = place
        for place in range(n):
            asked = np.flatnonzero(at == NONE)
            at[asked[self._useful(rows[asked], place, resolved)]] = place
        return at

    def draw(self, resolved: bool) -> None:
        """Early drop, the next construct drawn by lottery: tuple by tuple, tickets go along."""
        places = np.arange(self.layout.n_constructs)
        tickets = self.counts.tickets
        for t in range(len(self.grb)):
            row = np.array([t])
            while self.grb[t].any():
                useful = places[[bool(self._useful(row, p, resolved)[0]) for p in places]]
                total = int(tickets[useful].sum())
                if not total:
                    break
                ball = _drawn(self.counts.seed) % total
                at = int(useful[np.searchsorted(np.cumsum(tickets[useful]), ball, side="right")])
                tickets[at] += len(self._visit(row, at))

    def _useful(self, rows: Rows, place: Any, resolved: bool) -> Flags:
        """Not visited yet and, under the resolved rule, using a live slot."""
        found: Flags = ~self.done[rows, place]
        if resolved:
            found &= (self.grb[rows] & self.layout.qub[place]).any(axis=1)
        return found

    def _visit(self, rows: Rows, place: Any) -> Rows:
        """AND the bitmaps the tuples hit; those that die of it."""
        self._and(rows, place)
        self.done[rows, place] = True
        died = rows[~self.grb[rows].any(axis=1)]
        self.counts.reached[place] += len(rows)
        self.counts.dropped[place] += len(died)
        return died

    def _and(self, rows: Rows, place: Any) -> None:
        layout = self.layout
        n_tiles = len(layout.tile_starts) - 1
        hit = layout.region_starts[place] + self.regions[place, rows]
        for tile in range(n_tiles):
            low, high = layout.tile_starts[tile], layout.tile_starts[tile + 1]
            start = layout.row_at[hit * n_tiles + tile]
            used = start != NONE
            words = layout.pool[start[used].astype(np.intp)[:, None] + np.arange(high - low)]
            self.grb[rows[used], low:high] &= words


def _drawn(seed: Words) -> int:
    """The next 64 bits of the lottery's generator."""
    state = (int(seed[0]) + 0x9E3779B97F4A7C15) & _MASK
    seed[0] = state
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
