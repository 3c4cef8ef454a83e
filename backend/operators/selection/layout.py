"""What the matching kernels read and write: flat arrays, no objects. Importing this needs no numba.

Words, tiles and slots are those of the constructs: slot j is bit j % 64 of word j // 64, and a tile
is a run of words whose bitmaps are stored together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
#: int32[n, T]: the region each tuple hits, one row per construct, in the plan's order.
HitRegions: TypeAlias = NDArray[np.int32]

#: No micro-arrow; a tile in which no slot uses the construct.
NONE: Final = -1


class Layout(NamedTuple):
    """n constructs in the plan's order, bitmaps of W words in B tiles.

    initial: uint64[W], the start GRB. qub: uint64[n, W]. tile_starts: int64[B+1], first word of
    each tile, then W. region_starts: int64[n+1], where the regions of a construct begin when all
    are counted through. row_at: int32[regions in all * B], [region, tile] -> first word in pool of
    the bitmap's part, or NONE where no slot of the tile uses the construct. pool: uint64, distinct
    rows. arrows: int16[regions in all], place in the order of the micro-arrow's target, or NONE.
    """

    initial: Words
    qub: Words
    tile_starts: NDArray[np.int64]
    region_starts: NDArray[np.int64]
    row_at: NDArray[np.int32]
    pool: Words
    arrows: NDArray[np.int16]

    @property
    def n_constructs(self) -> int:
        return len(self.qub)

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(array.nbytes for array in self)


class ByTable(NamedTuple):
    """Region of integers low, low + 1, ...: int32 regions; those outside have the nearest's."""

    low: int
    regions: NDArray[np.int32]


class ByThresholds(NamedTuple):
    """int64 or float64 thresholds, ascending, NaN last: see backend.operators.selection.lookup."""

    thresholds: NDArray[np.int64] | NDArray[np.float64]


Search: TypeAlias = ByTable | ByThresholds


class Texts(NamedTuple):
    """The constants of a string attribute, ascending by code point."""

    constants: tuple[str, ...]

    def region_of(self, text: str | None) -> int:
        """The region a string hits; 0 for NULL."""
        if text is None:
            return 0
        below = bisect_left(self.constants, text)
        return below + bisect_right(self.constants, text, below) + 1


class TileRows(NamedTuple):
    """One tile of one construct: row_of int32[regions], rows uint64[P, words of the tile]."""

    row_of: NDArray[np.int32]
    rows: Words


class ConstructRows(NamedTuple):
    """One construct: its number of regions, qub uint64[W], a TileRows or None per tile."""

    n_regions: int
    qub: Words
    tiles: Sequence[TileRows | None]


def make_layout(
    initial: Words,
    tile_words: int,
    constructs: Sequence[ConstructRows],
    arrows: Sequence[tuple[int, int, int]],
) -> Layout:
    """The layout of constructs in the plan's order.

    tile_words: words of every tile but the last. arrows: (place of the construct in the order,
    region, place of the target). Raises OverflowError when pool has more than 2^31 words.
    """
    n_words, n_tiles = len(initial), -(-len(initial) // tile_words)
    region_starts = np.cumsum([0, *(c.n_regions for c in constructs)], dtype=np.int64)
    row_at = np.full((int(region_starts[-1]), n_tiles), NONE, dtype=np.int32)
    parts: list[Words] = []
    n_pool = 0
    for start, construct in zip(region_starts, constructs, strict=False):
        regions = slice(int(start), int(start) + construct.n_regions)
        for tile, tile_rows in enumerate(construct.tiles):
            if tile_rows is None:
                continue
            if n_pool + tile_rows.rows.size >= 2**31:
                raise OverflowError("the bitmaps of a plan have more than 2^31 words")
            row_at[regions, tile] = n_pool + tile_rows.row_of * tile_rows.rows.shape[1]
            parts.append(tile_rows.rows.reshape(-1))
            n_pool += tile_rows.rows.size
    targets = np.full(len(row_at), NONE, dtype=np.int16)
    for place, region, target in arrows:
        targets[region_starts[place] + region] = target
    return Layout(
        initial=initial,
        qub=np.array([c.qub for c in constructs], dtype=np.uint64).reshape(-1, n_words),
        tile_starts=np.minimum(np.arange(n_tiles + 1) * tile_words, n_words).astype(np.int64),
        region_starts=region_starts,
        row_at=row_at.reshape(-1),
        pool=np.concatenate([*parts, np.zeros(0, dtype=np.uint64)]),
        arrows=targets,
    )


class Counts(NamedTuple):
    """What is counted, in the plan's order. reached, dropped: int64[n]. tickets: int64[n], what
    each construct of a lottery holds. seed: uint64[1], state of its generator."""

    reached: NDArray[np.int64]
    dropped: NDArray[np.int64]
    tickets: NDArray[np.int64]
    seed: Words


def counts_for(layout: Layout, tickets: int, seed: int) -> Counts:
    """Nothing counted yet; a lottery starts with so many tickets each."""
    n = layout.n_constructs
    return Counts(
        reached=np.zeros(n, dtype=np.int64),
        dropped=np.zeros(n, dtype=np.int64),
        tickets=np.full(n, tickets, dtype=np.int64),
        seed=np.array([seed], dtype=np.uint64),
    )


class Matches(NamedTuple):
    """Pairs (tuple, slot): int32, tuples ascending, slots ascending within a tuple."""

    tuples: NDArray[np.int32]
    slots: NDArray[np.int32]


class Found(NamedTuple):
    """Room for matches: pairs (tuple, slot), tuples ascending. n: int64[1], pairs in use."""

    tuples: NDArray[np.int32]
    slots: NDArray[np.int32]
    n: NDArray[np.int64]


class Scratch(NamedTuple):
    """One tuple under way. grb: uint64[W]. live: int64[B], the first n_live are tiles with a live
    bit. done: uint8[n], visited or of no use any more. seen: uint8[n], visited. starts: int64[n],
    first words of the bitmaps it hits."""

    grb: Words
    live: NDArray[np.int64]
    done: NDArray[np.uint8]
    seen: NDArray[np.uint8]
    starts: NDArray[np.int64]


def scratch_for(layout: Layout) -> Scratch:
    """Room for one tuple."""
    n, n_words = layout.qub.shape
    return Scratch(
        np.empty(n_words, dtype=np.uint64),
        np.empty(len(layout.tile_starts), dtype=np.int64),
        np.empty(n, dtype=np.uint8),
        np.empty(n, dtype=np.uint8),
        np.empty(n, dtype=np.int64),
    )
