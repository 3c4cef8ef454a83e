"""Bitmaps of many slots in tiles, each with the constants of its own slots, equal rows kept once.

A full table of bitmaps has (2m+2) k bits, and with one constant a query that grows with k². A tile
holds the bitmaps of TILE_SLOTS slots over the regions *their* constants make, so that equal
neighbours are never told apart, rows that still are equal are interned, and a query that comes or
goes touches one tile of each attribute it uses. docs/adr/0007 has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Constant
from backend.systems.asc.slots import Ranges

Words: TypeAlias = NDArray[np.uint64]

WORD_BITS: Final = 64
#: Words of a tile: the processor's vector units are kept busy, and 4096 slots rarely have more
#: constants than a cache has room for rows.
TILE_WORDS: Final = 64
TILE_SLOTS: Final = TILE_WORDS * WORD_BITS
_FULL: Final = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """Bitmaps of up to TILE_SLOTS slots on one attribute.

    constants: c_1 < ... < c_m of these slots. row_of: int32[2m+2], region -> row. rows: distinct
    uint64[P, w]; bit 1 = the slot passes values of the region, and 1 where no slot is.
    """

    constants: tuple[Constant, ...]
    row_of: NDArray[np.int32]
    rows: Words

    @property
    def n_bytes(self) -> int:
        """Bytes of rows and row numbers."""
        return self.rows.nbytes + self.row_of.nbytes

    def widened(self, n_words: int) -> Tile:
        """The tile with at least n_words words; new bits are 1."""
        missing = n_words - self.rows.shape[1]
        if missing <= 0:
            return self
        ones = np.full((len(self.rows), missing), _FULL)
        return Tile(self.constants, self.row_of, np.hstack([self.rows, ones]))


def tile_of(columns: Mapping[int, Ranges], n_words: int) -> Tile:
    """The tile of slots (numbers within the tile) that pass ``ranges``, built at once."""
    constants = merged(r.constants for r in columns.values())
    positions = {constant: p for p, constant in enumerate(constants, start=1)}
    n_regions = 2 * len(constants) + 2
    regions: list[int] = []
    slots: list[int] = []
    for slot, ranges in columns.items():
        changes = _changes(ranges, [positions[c] for c in ranges.constants])
        regions += changes
        slots += [slot] * len(changes)
    toggled = np.zeros((n_regions, n_words), dtype=np.uint64)
    at = np.array(slots, dtype=np.intp)
    bits = np.uint64(1) << (at % WORD_BITS).astype(np.uint64)
    places = np.array(regions, dtype=np.intp) * n_words + at // WORD_BITS
    np.bitwise_xor.at(toggled.reshape(-1), places, bits)
    toggled[0] ^= _FULL
    full: Words = np.bitwise_xor.accumulate(toggled, axis=0)
    return _interned(constants, np.arange(n_regions, dtype=np.int32), full)


def _changes(ranges: Ranges, positions: Sequence[int]) -> list[int]:
    """The regions at which the slot's bit flips, beginning from 1 before the NULL region, given
    the positions (from 1) of its constants among all."""
    firsts = [0, 1]
    for position in positions:
        firsts += [2 * position, 2 * position + 1]
    before = (True, *ranges.passes)
    return [
        first
        for first, was, passes in zip(firsts, before, ranges.passes, strict=False)
        if was != passes
    ]


def _spans(positions: Sequence[int], n_regions: int) -> list[int]:
    """How many of the n_regions regions each region over the constants at ``positions`` (from 1)
    takes."""
    spans = [1]
    start = 1
    for position in positions:
        spans += [2 * position - start, 1]
        start = 2 * position + 1
    return [*spans, n_regions - start]


def coarser(fine: Sequence[Constant], coarse: Sequence[Constant]) -> NDArray[np.intp] | None:
    """intp[2m+2]: for each region over the constants ``fine`` the one over ``coarse``, some of
    them, that it lies in; None when both are the same."""
    if len(fine) == len(coarse):
        return None
    positions = {constant: p for p, constant in enumerate(fine, start=1)}
    spans = _spans([positions[c] for c in coarse], 2 * len(fine) + 2)
    return np.repeat(np.arange(len(spans)), spans)


def with_slot(tile: Tile, slot: int, ranges: Ranges) -> Tile:
    """The tile with one slot more, which must be free."""
    tile = tile.widened(slot // WORD_BITS + 1)
    constants = merged([tile.constants, ranges.constants])
    kept = coarser(constants, tile.constants)
    row_of = tile.row_of if kept is None else tile.row_of[kept]
    own = coarser(constants, ranges.constants)
    passes = np.array(ranges.passes, dtype=np.bool_)
    column = passes if own is None else passes[own]
    pairs, new_row_of = np.unique(2 * row_of + column, return_inverse=True)
    rows = tile.rows[pairs // 2]
    bit = np.uint64(1) << np.uint64(slot % WORD_BITS)
    rows[pairs % 2 == 0, slot // WORD_BITS] &= ~bit
    return Tile(constants, new_row_of.astype(np.int32), rows)


def without_slot(tile: Tile, slot: int) -> Tile | None:
    """The tile with a slot free again and without the constants it alone needed; None when no
    slot is left that uses the attribute."""
    rows = tile.rows.copy()
    rows[:, slot // WORD_BITS] |= np.uint64(1) << np.uint64(slot % WORD_BITS)
    interned = _interned(tile.constants, tile.row_of, rows)
    if len(interned.rows) == 1 and bool((interned.rows == _FULL).all()):
        return None
    ids = interned.row_of
    below, at, above = ids[1:-2:2], ids[2:-1:2], ids[3::2]
    needed = (below != at) | (at != above)
    if needed.all():
        return interned
    constants = tuple(
        c for c, is_needed in zip(interned.constants, needed, strict=True) if is_needed
    )
    regions = np.concatenate([[True, True], np.repeat(needed, 2)])
    return Tile(constants, ids[regions], interned.rows)


def _interned(constants: tuple[Constant, ...], row_of: NDArray[np.int32], rows: Words) -> Tile:
    """The tile with equal rows folded into one."""
    numbers: dict[bytes, int] = {}
    width = rows.shape[1] * rows.itemsize
    text = rows.tobytes()
    place = [
        numbers.setdefault(text[start : start + width], len(numbers))
        for start in range(0, len(text), width)
    ]
    distinct = np.frombuffer(b"".join(numbers), dtype=np.uint64).reshape(-1, rows.shape[1])
    return Tile(constants, np.array(place, dtype=np.int32)[row_of], distinct)


def merged(parts: Iterable[Sequence[Constant]]) -> tuple[Constant, ...]:
    """The distinct constants of sorted parts, ascending; of equal numbers the integer is kept."""
    distinct: dict[Any, Any] = {}
    for constant in chain.from_iterable(parts):
        if isinstance(distinct.setdefault(constant, constant), float):
            distinct[constant] = constant
    return tuple(sorted(distinct.values()))
