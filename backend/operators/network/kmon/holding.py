"""What k-Mon's join holds besides its slots: columns of tuples, and results until they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Bools, Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.kmon.words import ASIDE
from backend.operators.network.relational.packing import n_words
from backend.operators.selection.bits import kernel

_FIRST: Final = 64
#: Of ``facts``: places ever used; places given back.
_USED, _N_FREE = range(2)
#: Stretches that a window is counted in.
_STRETCHES: Final = 64
#: A stretch in which nothing was counted.
_NOTHING: Final = -1


class SlotPlaces:
    """Small numbers, taken and given back."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._facts = regions.array("facts", "int64", 2)
        self._free = regions.array("free", "int32", _FIRST)

    @property
    def used(self) -> int:
        """Above all that were ever taken."""
        return int(self._facts[_USED])

    @property
    def n_taken(self) -> int:
        """Those that are taken now."""
        return int(self._facts[_USED] - self._facts[_N_FREE])

    def take(self, n: int) -> Ints:
        """int64[n]: those given back last, then new ones."""
        n_again = min(n, int(self._facts[_N_FREE]))
        left = int(self._facts[_N_FREE]) - n_again
        again = self._free[left : left + n_again].astype(np.int64)
        news = self.used + np.arange(n - n_again)
        self._facts[:] = self.used + n - n_again, left
        return np.concatenate([again, news])

    def give(self, places: Ints) -> None:
        """Give some back, each once."""
        n = int(self._facts[_N_FREE])
        if n + len(places) > len(self._free):
            self._free = self._regions.resized("free", 2 * (n + len(places)))
        self._free[n : n + len(places)] = places
        self._facts[_N_FREE] = n + len(places)


class TuplePlaces:
    """Of tuples that are held: slots, and where what is not in their entries lies."""

    def __init__(self, regions: Regions) -> None:
        names = ("slots", "inside", "aside")
        self.slots, self.inside, self.aside = (SlotPlaces(regions.scope(name)) for name in names)

    def give(self, places: Ints) -> None:
        """Give some places back, in memory and aside."""
        self.inside.give(places[places < ASIDE])
        self.aside.give(places[places >= ASIDE] - ASIDE)


class RowStore:
    """Packed tuples at places (``relational.packing``). dtypes: of their columns."""

    def __init__(self, regions: Regions, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._regions, self.width = regions, n_words(len(dtypes))
        self.places = SlotPlaces(regions)
        self._rows = regions.array("rows", "int64", _FIRST * self.width)

    def put(self, rows: Ints) -> Ints:
        """Where they are from now on. rows: int64[n, width]."""
        places = self.places.take(len(rows))
        needed = self.places.used * self.width
        if needed > len(self._rows):
            self._rows = self._regions.resized("rows", 2 * needed)
        self._grid[places] = rows
        return places

    def rows(self, places: Ints) -> Ints:
        """int64[n, width]."""
        rows: Ints = self._grid[places]
        return rows

    def write(self, places: Ints, rows: Ints) -> None:
        """Other tuples where some are."""
        self._grid[places] = rows

    @property
    def _grid(self) -> Ints:
        whole = len(self._rows) // self.width
        return self._rows[: whole * self.width].reshape(whole, self.width)


class Ends:
    """When results end, the earliest first: a heap of (when, place) in regions."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._facts = regions.array("facts", "int64", 1)
        self._heap = regions.array("heap", "int64", 2 * _FIRST)

    def add(self, when: Ints, places: Ints) -> None:
        """Some more."""
        n = int(self._facts[0])
        if 2 * (n + len(when)) > len(self._heap):
            self._heap = self._regions.resized("heap", 4 * (n + len(when)))
        _push_all(self._heap, n, when, places)
        self._facts[0] = n + len(when)

    def until(self, limit: int) -> tuple[Ints, Ints]:
        """Those that end by ``limit``, in order: when and places. They are forgotten."""
        n = int(self._facts[0])
        out = np.empty((2, n if n and self._heap[0] <= limit else 0), np.int64)
        n_out = _pop_until(self._heap, n, limit, out)
        self._facts[0] = n - n_out
        return out[0, :n_out], out[1, :n_out]


@kernel
def _push_all(heap: Ints, n: int, when: Ints, places: Ints) -> None:
    for k in range(len(when)):
        at = n + k
        while at > 0 and heap[2 * ((at - 1) >> 1)] > when[k]:
            above = (at - 1) >> 1
            heap[2 * at], heap[2 * at + 1] = heap[2 * above], heap[2 * above + 1]
            at = above
        heap[2 * at], heap[2 * at + 1] = when[k], places[k]


@kernel
def _pop_until(heap: Ints, n: int, limit: int, out: Ints) -> int:
    n_out = 0
    while n > 0 and heap[0] <= limit:
        out[0, n_out], out[1, n_out] = heap[0], heap[1]
        n_out += 1
        n -= 1
        last, place, at = heap[2 * n], heap[2 * n + 1], 0
        while True:
            below = 2 * at + 1
            if below >= n:
                break
            if below + 1 < n and heap[2 * below + 2] < heap[2 * below]:
                below += 1
            if heap[2 * below] >= last:
                break
            heap[2 * at], heap[2 * at + 1] = heap[2 * below], heap[2 * below + 1]
            at = below
        heap[2 * at], heap[2 * at + 1] = last, place
    return n_out


class WindowCount:
    """How many of some tuples are in a window, to a 64th of it. size: of the window, in what
    tuples are placed by (ticks, numbers); None: all that ever came."""

    def __init__(self, regions: Regions, name: str, size: int | None) -> None:
        self._size = size
        self._width = 1 if size is None else size // _STRETCHES + 1
        array = regions.array(name, "int64", 2 * (_STRETCHES + 2))
        self._counts, self._stretches = array.reshape(2, _STRETCHES + 2)

    def add(self, at: Ints) -> None:
        """Tuples at some places of the window's order."""
        if self._size is None:
            self._counts[0] += len(at)
            return
        for stretch, n in zip(*np.unique(at // self._width, return_counts=True), strict=True):
            cell = int(stretch) % len(self._counts)
            if self._stretches[cell] != stretch + 1:
                self._stretches[cell], self._counts[cell] = stretch + 1, 0
            self._counts[cell] += n

    def lose(self, n: int) -> None:
        """So many are no more, whichever; of those that are not counted by a window."""
        self._counts[0] -= n

    def inside(self, now: int) -> int:
        """How many are in the window that ends at ``now``."""
        if self._size is None:
            return int(self._counts[0])
        last = self._stretches * self._width
        inside: Bools = (self._stretches > 0) & (last > now - self._size)
        return int(self._counts[inside].sum())
