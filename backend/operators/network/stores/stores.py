"""Stores own the tuples of synopses; stubs are the views that operators have of them (2.2.4).

A store is a ring of tuples with numbers that only grow. A stub is an interval [lo, hi) of numbers:
windows are left in the order they were entered, so taking the oldest tuple away is ``lo += 1`` and
touches no index. The store keeps [smallest lo, largest hi). Bags, whose tuples leave in any order,
have a store of their own with a mark for each tuple that has left.

Indexes are hash chains from the newest tuple to the oldest, so a walk ends at the first number
below a stub's ``lo``, and passes over those that the stub has not come to yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Column64, Ints
from backend.operators.network.core.layouts import RowFormat
from backend.operators.network.core.regions import Regions
from backend.operators.network.stores import store_kernels as kernels

#: Tuples a new store has room for; a power of two.
FIRST_CAPACITY: Final = 64
_NEXT, _CAPACITY, _EPOCH = range(3)  # facts of a store
_BUILT, _LINKED = range(2)  # facts of an index
_STUB_WORDS: Final = 4


class Stub:
    """An operator's view of a store, kept in four words of a region: it holds the tuples with
    numbers in [lo, hi); those from ``shown`` on are not in the window yet."""

    def __init__(self, facts: Ints) -> None:
        self._facts = facts

    @property
    def lo(self) -> int:
        return int(self._facts[0])

    @property
    def shown(self) -> int:
        return int(self._facts[1])

    @property
    def hi(self) -> int:
        return int(self._facts[2])

    @property
    def n_gone(self) -> int:
        """Tuples of a bag within [lo, hi) that have left."""
        return int(self._facts[3])

    @property
    def n_tuples(self) -> int:
        """Tuples it holds."""
        return self.hi - self.lo - self.n_gone

    def move(self, lo: int, shown: int, hi: int, n_gone: int = 0) -> None:
        """Let it hold other tuples."""
        self._facts[:] = lo, shown, hi, n_gone


class Store:
    """A ring of tuples in regions. The views it hands out are good until the next ``take_up`` or
    ``append``, of this object or another one for the same store."""

    def __init__(self, regions: Regions, format: RowFormat, n_stubs: int = 1) -> None:
        self._regions, self.format, self._n_stubs = regions, format, n_stubs
        self.take_up()

    def take_up(self) -> None:
        """Look at the regions anew: others may have changed them."""
        self._facts = self._regions.array("facts", "int64", 3)
        if not self._facts[_CAPACITY]:
            self._facts[:] = 0, FIRST_CAPACITY, 1
        size = self.capacity * self.format.width
        self.rows: Ints = self._regions.array("rows", "int64", size)[:size]
        self._stubs = self._regions.array("stubs", "int64", self._n_stubs * _STUB_WORDS)

    def stub(self, place: int) -> Stub:
        """One of its views."""
        return Stub(self._stubs[place * _STUB_WORDS : (place + 1) * _STUB_WORDS])

    @property
    def capacity(self) -> int:
        return int(self._facts[_CAPACITY])

    @property
    def mask(self) -> int:
        """Number & mask = slot."""
        return self.capacity - 1

    @property
    def epoch(self) -> int:
        """How often tuples have changed slots or numbers, from 1."""
        return int(self._facts[_EPOCH])

    @property
    def lo(self) -> int:
        """The oldest tuple that a stub holds."""
        return min(self.stub(place).lo for place in range(self._n_stubs))

    @property
    def hi(self) -> int:
        """The number of the next tuple."""
        return int(self._facts[_NEXT])

    @hi.setter
    def hi(self, value: int) -> None:
        self._facts[_NEXT] = value

    @property
    def n_tuples(self) -> int:
        """Tuples that a stub holds."""
        return self.hi - self.lo - sum(self.stub(k).n_gone for k in range(self._n_stubs))

    def append(self, columns: Sequence[Column64], n: int, own: Sequence[Ints] = ()) -> None:
        """Add n tuples. own: their words of the store's own; 0 where not given."""
        self._reserve(n)
        grid = self.rows.reshape(self.capacity, self.format.width)
        words = [column.values.view(np.int64) for column in columns]
        words += [_null_bits(columns[k : k + 32], n) for k in range(0, len(columns) + 1, 32)]
        words += own
        for slots, part in self._slots(self.hi, n):
            for word, values in enumerate(words):
                grid[slots, word] = values[part]
            grid[slots, len(words) :] = 0
        self.hi += n

    def words(self, seqs: Ints, words: Sequence[int]) -> Ints:
        """int64[k, n]: some words of tuples."""
        return self._words(seqs, words, ())[0]

    def columns(self, seqs: Ints, places: Sequence[int]) -> tuple[Column64, ...]:
        """Some columns of tuples, in the order of ``seqs``."""
        masks = sorted({place >> 5 for place in places})
        words = [self.format.nulls + mask for mask in masks]
        value_words, some = self._words(seqs, places, words)
        nulls = dict(zip(masks, self.words(seqs, words) if some else (), strict=False))
        columns = []
        for place, values in zip(places, value_words, strict=True):
            typed = values.view(np.dtype(self.format.types[place]))
            valid = (nulls[place >> 5] >> (place & 31)) & 1 == 0 if nulls else None
            columns.append(Column64(typed, None if valid is None or valid.all() else valid))
        return tuple(columns)

    def _words(self, seqs: Ints, words: Sequence[int], nulls: Sequence[int]) -> tuple[Ints, int]:
        """Some words of tuples, int64[k, n]; and what is set in any of their words ``nulls``."""
        out = np.empty((len(words), len(seqs)), np.int64)
        ring = self.rows, self.format.width, self.mask
        some = kernels.gather(
            *ring, seqs, np.array(words, np.int64), np.array(nulls, np.int64), out
        )
        return out, some

    def compact(self, stub: Stub) -> Ints:
        """Of a bag, give up the room of tuples that have left where that is more than half. Returns
        int64[m]: the new number of each tuple from ``lo`` on, -1: gone; empty: none has changed."""
        width, state = self.format.width, self.format.own
        lo = kernels.first_live(self.rows, width, state, self.mask, stub.lo, stub.hi)
        stub.move(lo, stub.shown, stub.hi, stub.n_gone - (lo - stub.lo))
        if 2 * stub.n_tuples >= stub.hi - lo:
            return np.zeros(0, np.int64)
        moved = np.empty(stub.hi - lo, np.int64)
        hi = kernels.compact(self.rows, width, state, self.mask, lo, stub.hi, moved)
        stub.move(lo, hi, hi)
        self._facts[_NEXT] = hi
        self._facts[_EPOCH] += 1
        return moved

    def index(self, name: str) -> HashIndex:
        """The index of that name, made if there is none."""
        return HashIndex(self._regions.scope(name), self)

    def drop_index(self, name: str) -> None:
        """Give up the index of that name; another operator that uses it makes it anew."""
        self._regions.drop(name)

    def _slots(self, first: int, n: int) -> Iterator[tuple[slice, slice]]:
        """Where tuples ``first`` and on lie, and which of n they are: at most two pieces."""
        begin = first & self.mask
        fit = min(n, self.capacity - begin)
        yield slice(begin, begin + fit), slice(0, fit)
        if fit < n:
            yield slice(0, n - fit), slice(fit, n)

    def _reserve(self, n: int) -> None:
        lo, old = self.lo, self.capacity
        needed = self.hi - lo + n
        if needed <= old:
            return
        capacity = 1 << (needed - 1).bit_length()
        width = self.format.width
        self._regions.resized("rows", capacity * width)
        self.take_up()
        self._facts[_CAPACITY] = capacity
        self._facts[_EPOCH] += 1
        self.take_up()
        kernels.spread(self.rows, width, lo, self.hi, old - 1, capacity - 1)


class HashIndex:
    """Hash chains over a store: ``head`` has the newest tuple of each bucket, ``next`` the one
    before each tuple, -1 at the end. Emptied when tuples of the store change their places."""

    def __init__(self, regions: Regions, store: Store) -> None:
        facts = regions.array("facts", "int64", 2)
        slots = store.capacity
        stale = facts[_BUILT] != store.epoch
        if stale and facts[_BUILT]:
            regions.resized("head", 2 * slots)
            regions.resized("next", slots)
            facts = regions.array("facts", "int64", 2)
        self.head: Ints = regions.array("head", "int64", 2 * slots, fill=-1)[: 2 * slots]
        self.next: Ints = regions.array("next", "int64", slots)[:slots]
        if stale:
            self.head[:] = -1
            facts[:] = store.epoch, 0
        #: int64[1]: tuples below this number have been taken in.
        self.linked: Ints = facts[_LINKED : _LINKED + 1]


def hash_index_bytes(capacity: int) -> int:
    """What a hash index over a store with so many slots takes."""
    return 8 * (2 * capacity + capacity + 2)


def _null_bits(columns: Sequence[Column64], n: int) -> Ints:
    bits = np.zeros(n, np.int64)
    for place, column in enumerate(columns):
        if column.valid is not None:
            bits |= (~column.valid).astype(np.int64) << place
    return bits
