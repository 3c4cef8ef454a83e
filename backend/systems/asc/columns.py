"""One attribute's part of the construct store: constants counted, bitmaps changed tile by tile."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from backend.model.conditions import Constant
from backend.model.schema import Attribute
from backend.systems.asc.construct import Construct, Words, bitmap
from backend.systems.asc.domains import check_zones
from backend.systems.asc.interning import (
    TILE_SLOTS,
    WORD_BITS,
    Tile,
    tile_of,
    with_slot,
    without_slot,
)
from backend.systems.asc.slots import Ranges

#: Slots of a tile that change one by one; of more at once the tile is made anew.
FEW: Final = 8


class _Constants:
    """Distinct constants, ascending, counted; of equal numbers the integer is kept."""

    def __init__(self) -> None:
        self.sorted: list[Any] = []
        self._counts: dict[Constant, tuple[int, int]] = {}

    def add(self, constants: Iterable[Constant]) -> None:
        """Count each constant once more."""
        for constant in constants:
            n, n_floats = self._counts.get(constant, (0, 0))
            is_float = isinstance(constant, float)
            self._counts[constant] = (n + 1, n_floats + is_float)
            if n == 0:
                self.sorted.append(constant)
            elif n == n_floats and not is_float:
                self._show(constant)
        self.sorted.sort()

    def remove(self, constants: Iterable[Constant]) -> None:
        """Count each constant once less; those of count 0 are gone."""
        for constant in constants:
            n, n_floats = self._counts[constant]
            is_float = isinstance(constant, float)
            self._counts[constant] = (n - 1, n_floats - is_float)
            if n == 1:
                del self._counts[constant]
                del self.sorted[bisect_left(self.sorted, constant)]
            elif n - 1 == n_floats and not is_float:
                self._show(float(cast("int", constant)))

    def _show(self, constant: Constant) -> None:
        self.sorted[:] = [constant if c == constant else c for c in self.sorted]


class TiledConstruct:
    """The construct of one attribute as slots come and go; a change touches one tile.

    n_users: queries with a condition on the attribute.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.n_users = 0
        self.qub: Words = np.zeros(1, dtype=np.uint64)
        self._constants = _Constants()
        self._tiles: list[Tile | None] = []
        self._made: Construct | None = None
        self._waiting: dict[int, Ranges | None] | None = None

    def check(self, constants: Iterable[Constant]) -> None:
        """Refuse constants that do not compare with those here. Raises QueryError."""
        if self.attribute.type == "timestamp":
            check_zones(self.attribute.name, [*self._constants.sorted[:1], *constants])

    def add_constants(self, written: Iterable[Sequence[Constant]]) -> None:
        """The constants of queries, each given as the query writes them."""
        self._made = None
        self._constants.add(constant for constants in written for constant in constants)

    def remove_constants(self, written: Sequence[Constant]) -> None:
        """Those of a query that is gone."""
        self._made = None
        self._constants.remove(written)

    def fill(self, columns: Mapping[int, Ranges]) -> None:
        """The first slots, all at once."""
        parts: dict[int, dict[int, Ranges]] = {}
        for slot, ranges in columns.items():
            parts.setdefault(slot // TILE_SLOTS, {})[slot % TILE_SLOTS] = ranges
        self._made = None
        self._tiles = [None] * (max(parts, default=-1) + 1)
        for place, part in parts.items():
            self._tiles[place] = tile_of(part, max(part) // WORD_BITS + 1)
        self.qub = bitmap(list(columns), max(columns, default=0) // WORD_BITS + 1)

    def wait(self) -> None:
        """Only note slots that come and go, until catch_up()."""
        self._waiting = {}

    @property
    def n_waiting(self) -> int:
        """How many slots wait to come or go."""
        return len(self._waiting or ())

    def catch_up(self, columns: Mapping[int, Ranges]) -> None:
        """Let slots come and go that waited. columns: all slots, where more than FEW waited: a tile
        in which so many change is made anew."""
        waiting, self._waiting = self._waiting or {}, None
        places: dict[int, list[int]] = {}
        for slot in waiting:
            places.setdefault(slot // TILE_SLOTS, []).append(slot)
        for place, slots in places.items():
            if len(slots) > FEW:
                self._remake(place, columns)
                continue
            for slot in slots:
                ranges = waiting[slot]
                self._without(slot) if ranges is None else self._with(slot, ranges)

    def add_slot(self, slot: int, ranges: Ranges) -> None:
        """A slot more, which must be free."""
        if self._waiting is None:
            self._with(slot, ranges)
        else:
            self._waiting[slot] = ranges
        self._mark(slot, True)

    def remove_slot(self, slot: int) -> None:
        """A slot less, which must be here."""
        if self._waiting is None:
            self._without(slot)
        else:
            self._waiting[slot] = None
        self._mark(slot, False)

    def _with(self, slot: int, ranges: Ranges) -> None:
        place, own = divmod(slot, TILE_SLOTS)
        self._tiles += [None] * (place + 1 - len(self._tiles))
        tile = self._tiles[place]
        if tile is None:
            self._tiles[place] = tile_of({own: ranges}, own // WORD_BITS + 1)
        else:
            self._tiles[place] = with_slot(tile, own, ranges)

    def _without(self, slot: int) -> None:
        place, own = divmod(slot, TILE_SLOTS)
        tile = self._tiles[place]
        assert tile is not None
        self._tiles[place] = without_slot(tile, own)

    def _remake(self, place: int, columns: Mapping[int, Ranges]) -> None:
        first = place * TILE_SLOTS
        slots = (slot for slot in range(first, first + TILE_SLOTS) if slot in columns)
        part = {slot - first: columns[slot] for slot in slots}
        self._tiles += [None] * (place + 1 - len(self._tiles))
        self._tiles[place] = tile_of(part, max(part) // WORD_BITS + 1) if part else None

    def construct(self, n_words: int) -> Construct:
        """The construct with bitmaps of n_words words; the same object until something changes."""
        if self._made is None or len(self._made.qub) != n_words:
            self.qub = widened(self.qub, n_words)
            self._made = Construct(
                self.attribute.name,
                self.attribute.type,
                tuple(self._constants.sorted),
                self.qub,
                tuple(self._tiles),
            )
        return self._made

    def _mark(self, slot: int, is_used: bool) -> None:
        self._made = None
        word, bit = slot // WORD_BITS, np.uint64(1 << (slot % WORD_BITS))
        self.qub = widened(self.qub, word + 1).copy()
        self.qub[word] = self.qub[word] | bit if is_used else self.qub[word] & ~bit


def widened(words: Words, n_words: int) -> Words:
    """uint64[max(W, n_words)]: the words, and zeros behind them."""
    missing = max(0, n_words - len(words))
    return np.concatenate([words, np.zeros(missing, dtype=np.uint64)]) if missing else words
