"""One attribute selection construct: the regions of an attribute and the slots each refutes.

[L12] §3, [L07] §3. Bitmaps are uint64 words: slot j is bit j % 64 of word j // 64.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import Constant
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES
from backend.systems.asc.domains import comparable, constant_text
from backend.systems.asc.interning import TILE_WORDS, Tile, Words, coarser

__all__ = ["Bitmaps", "Construct", "Words", "bitmap", "slots_in"]

NULL_REGION = 0
#: Bitmaps of up to so many bytes are laid out whole once they are read.
_WHOLE_BYTES = 1 << 23
_FULL = np.uint64(2**64 - 1)


class Bitmaps:
    """uint64[2m+2, W], put together from tiles row by row as they are asked for.

    An index or an array of indices gives rows, a slice a block of them; ``&`` and ``|`` all rows.
    """

    def __init__(
        self, constants: tuple[Constant, ...], tiles: tuple[Tile | None, ...], n_words: int
    ) -> None:
        self._constants, self._tiles = constants, tiles
        self.shape = 2 * len(constants) + 2, n_words

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, regions: int | np.integer[Any] | slice | NDArray[np.intp]) -> Words:
        if self._is_small:
            words: Words = self._whole[regions]
            return words
        if isinstance(regions, int | np.integer):
            row: Words = self._rows(np.array([regions]))[0]
            return row
        return self._rows(np.arange(len(self))[regions])

    def __and__(self, words: Words) -> Words:
        return self[:] & words

    def __or__(self, words: Words) -> Words:
        return self[:] | words

    def rows_of(self, tile: int) -> NDArray[np.int32]:
        """int32[2m+2]: the row of a used tile that holds each region's bitmap."""
        if tile not in self._row_of:
            used_tile = self._tiles[tile]
            assert used_tile is not None
            local = coarser(self._constants, used_tile.constants)
            self._row_of[tile] = used_tile.row_of if local is None else used_tile.row_of[local]
        return self._row_of[tile]

    @property
    def _is_small(self) -> bool:
        return self.shape[0] * self.shape[1] * 8 <= _WHOLE_BYTES

    @cached_property
    def _row_of(self) -> dict[int, NDArray[np.int32]]:
        return {}

    @cached_property
    def _whole(self) -> Words:
        return self._rows(np.arange(len(self)))

    def _rows(self, regions: NDArray[np.intp]) -> Words:
        words = np.full((len(regions), self.shape[1]), _FULL)
        for number, tile in enumerate(self._tiles):
            if tile is not None:
                first = number * TILE_WORDS
                rows = tile.rows[self.rows_of(number)[regions]]
                words[:, first : first + rows.shape[1]] = rows
        return words


@dataclass(frozen=True, eq=False)
class Construct:
    """ASC(A): the regions of attribute A and, per region, the slots it does not refute.

    constants: c_1 < ... < c_m, distinct as numbers (5 and 5.0 are one). qub: uint64[W]; bit j % 64
    of word j // 64 = slot j has a condition on A. tiles: the bitmaps of TILE_SLOTS slots each, None
    where no slot uses A; the constants of a tile are among ``constants``.
    """

    attribute: str
    type: str
    constants: tuple[Constant, ...]
    qub: Words
    tiles: tuple[Tile | None, ...]

    @cached_property
    def qrb(self) -> Bitmaps:
        """uint64[2m+2, W]; row 0 = NULL/NaN, row 2p = constant c_p, odd rows = the open intervals
        between neighbours; bit 1 = some value of the region satisfies the slot's condition on A,
        and 1 in every column outside qub (F2)."""
        return Bitmaps(self.constants, self.tiles, len(self.qub))

    @property
    def n_regions(self) -> int:
        """2m+2: the NULL region, m points and m+1 open intervals. [L12] T1"""
        return 2 * len(self.constants) + 2

    @property
    def bitmap_bytes(self) -> int:
        """Bytes of qub and of the tiles: distinct rows and row numbers."""
        return self.qub.nbytes + sum(tile.n_bytes for tile in self.tiles if tile is not None)

    def region_of(self, value: Any) -> int:
        """The row of qrb a value hits; 0 for NULL, NaN and values of another type."""
        compared = comparable(value, self.type)
        if compared is None or self._zone_differs(compared):
            return NULL_REGION
        ordered = cast("Sequence[Any]", self.constants)
        return bisect_left(ordered, compared) + bisect_right(ordered, compared) + 1

    def regions_of(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.intp]:
        """intp[n]: ``region_of`` each value; one searchsorted where that is exact."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "if" and self._is_numeric:
            regions = self._regions_of_numbers(values)
            if regions is not None:
                return regions
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        kinds = set(map(type, listed))
        has_missing = type(None) in kinds
        kinds.discard(type(None))
        if self._is_numeric and kinds in ({int}, {float}):
            regions = self._regions_of_list(listed, kinds.pop(), has_missing)
            if regions is not None:
                return regions
        if len(kinds) == 1 and kinds <= {str, bool, date, datetime}:
            table = {value: self.region_of(value) for value in set(listed)}
            return np.fromiter((table[v] for v in listed), dtype=np.intp, count=len(listed))
        return np.fromiter(map(self.region_of, listed), dtype=np.intp, count=len(listed))

    def region_labels(self) -> tuple[str, ...]:
        """One label a row of qrb: ``NULL``, ``(-inf, 60)``, ``= 60``, ``(60, +inf)``."""
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        texts = [constant_text(c) for c in self.constants]
        bounds = ["-inf", *texts, "+inf"]
        labels = ["NULL", f"({bounds[0]}, {bounds[1]})"]
        for text, following in zip(texts, bounds[2:], strict=True):
            labels += [f"= {text}", f"({text}, {following})"]
        return tuple(labels)

    @property
    def _is_numeric(self) -> bool:
        return self.type in INTEGER_TYPES or self.type in FLOAT_TYPES

    def _zone_differs(self, value: Constant) -> bool:
        """Timestamps with and without time zone have no order between them."""
        if not isinstance(value, datetime) or not self.constants:
            return False
        known = cast("datetime", self.constants[0])
        return (value.tzinfo is None) != (known.tzinfo is None)

    def _regions_of_list(
        self, values: Sequence[Any], kind: object, has_missing: bool
    ) -> NDArray[np.intp] | None:
        """Regions of ints or of floats, None among them; None when they do not fit 64 bits."""
        if kind is float:
            return self._regions_of_numbers(np.array(values, dtype=np.float64))
        missing = [place for place, v in enumerate(values) if v is None] if has_missing else []
        known = [0 if v is None else v for v in values] if missing else values
        try:
            numbers = np.array(known, dtype=np.int64)
        except OverflowError:
            return None
        regions = self._regions_of_numbers(numbers)
        if regions is not None:
            regions[missing] = NULL_REGION
        return regions

    def _regions_of_numbers(self, values: NDArray[Any]) -> NDArray[np.intp] | None:
        """Exact vectorised regions, or None when 64-bit numbers cannot express the constants."""
        if values.dtype.kind == "i":
            if self._integer_bounds is None:
                return None
            floors, ceilings = self._integer_bounds
            return _between(floors, ceilings, values.astype(np.int64, copy=False))
        if self._float_bounds is None:
            return None
        numbers = values.astype(np.float64, copy=False)
        regions = _between(self._float_bounds, self._float_bounds, numbers)
        misfit = np.isnan(numbers)
        if self.type in INTEGER_TYPES:
            misfit |= np.isinf(numbers) | (np.floor(numbers) != numbers)
        regions[misfit] = NULL_REGION
        return regions

    @cached_property
    def _integer_bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Floors and ceilings: for integer v, c < v is floor(c) < v and c <= v is ceil(c) <= v."""
        numbers = [cast("float", c) for c in self.constants]
        try:
            floors = np.array([c.__floor__() for c in numbers], dtype=np.int64)
            return floors, np.array([c.__ceil__() for c in numbers], dtype=np.int64)
        except OverflowError:
            return None

    @cached_property
    def _float_bounds(self) -> NDArray[np.float64] | None:
        """The constants as doubles when each is exactly one (2^53 + 1 is not)."""
        numbers = [cast("float", c) for c in self.constants]
        try:
            bounds = np.array([float(c) for c in numbers], dtype=np.float64)
        except OverflowError:
            return None
        exact = all(kept == c for kept, c in zip(bounds.tolist(), numbers, strict=True))
        return bounds if exact else None


def _between(lower: NDArray[Any], upper: NDArray[Any], values: NDArray[Any]) -> NDArray[np.intp]:
    """Region = constants below + constants not above + 1: odd between, even on a constant."""
    below = np.searchsorted(lower, values, side="left")
    return below + np.searchsorted(upper, values, side="right") + 1


def slots_in(words: Words) -> list[int]:
    """The set bits of a bitmap, ascending."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def bitmap(slots: Sequence[int], n_words: int) -> Words:
    """uint64[n_words] with the given bits set."""
    words = np.zeros(n_words, dtype=np.uint64)
    for slot in slots:
        words[slot // 64] |= np.uint64(1 << (slot % 64))
    return words
