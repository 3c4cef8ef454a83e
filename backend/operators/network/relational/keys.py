"""A hash table over composite keys that lies in regions, and arrays beside its slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Block, Column64, Ints
from backend.operators.network.core.hashing import FACTORS
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.packing import n_words, pack, unpack
from backend.operators.selection.bits import inlined, kernel

_FIRST: Final = 64
#: Of ``facts``: slots ever used; the free slot given back last, + 1; keys in the table.
_USED, _FREE, _LIVE = range(3)


class KeyTable:
    """Keys of some columns and a slot for each: small numbers that stay while the key is there.

    Chained: ``heads`` (two buckets a slot) and ``next`` link the slots of a bucket; slots that were
    released are linked by ``next`` as well, below -1, and taken again before new ones. Keys are
    packed tuples of one column or more, so NULL is a key like others. Made anew around its regions
    in constant time. width: words of a key.
    """

    def __init__(self, regions: Regions, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._regions, self._dtypes = regions, tuple(dtypes)
        self.width = n_words(len(self._dtypes))
        self._facts = regions.array("facts", "int64", 3)
        self._heads = regions.array("heads", "int32", 2 * _FIRST)
        self._next = regions.array("next", "int32", _FIRST)
        self._words = regions.array("words", "int64", _FIRST * self.width)

    def __len__(self) -> int:
        """Keys in the table."""
        return int(self._facts[_LIVE])

    @property
    def capacity(self) -> int:
        """Above all slots; it only grows."""
        return len(self._next)

    @property
    def words(self) -> Ints:
        """int64[capacity * width]: the packed keys, slot by slot; until the next one comes in."""
        return self._words

    @property
    def bytes_per_key(self) -> int:
        """Bytes that a key takes."""
        return 8 * self.width + 3 * 4

    def slots(self, columns: Sequence[Column64], insert: bool = True) -> Ints:
        """int64[n]: the slot of each row's key; those that are new come in, or are -1."""
        packed = pack(columns, len(columns[0]))
        slots = np.empty(len(packed), np.int64)
        at = 0
        while True:
            at = _look_up(
                packed, self._words, self._heads, self._next, self._facts, insert, slots, at
            )
            if at == len(packed):
                return slots
            self._grow()

    def release(self, slots: Ints) -> None:
        """Forget the keys of some slots, which may be named twice and be free already."""
        _release(slots, self._words, self.width, self._heads, self._next, self._facts)

    def columns(self, slots: Ints) -> tuple[Column64, ...]:
        """The keys of some slots."""
        return unpack(self._words.reshape(-1, self.width)[slots], self._dtypes)

    def live(self) -> Ints:
        """int64[len]: all slots with a key, ascending."""
        return np.flatnonzero(self._next[: self._facts[_USED]] >= -1)

    def _grow(self) -> None:
        size = 2 * self.capacity
        self._words = self._regions.resized("words", size * self.width)
        self._next = self._regions.resized("next", size)
        self._heads = self._regions.resized("heads", 2 * size)
        self._heads[:] = 0
        _link_all(self._words, self.width, self._heads, self._next, self._facts)


class SlotValues:
    """Some values beside each slot of a table, 0 at first; who releases a slot leaves 0 there."""

    def __init__(
        self, regions: Regions, name: str, dtype: str, table: KeyTable, per_slot: int = 1
    ) -> None:
        self._regions, self._name, self._table, self._per_slot = regions, name, table, per_slot
        self._array = regions.array(name, dtype, table.capacity * per_slot)

    @property
    def array(self) -> NDArray[Any]:
        """[capacity * per_slot]: with room for all slots there are now."""
        size = self._table.capacity * self._per_slot
        if len(self._array) < size:
            self._array = self._regions.resized(self._name, size)
        return self._array


def key_columns(block: Block, places: Sequence[int]) -> tuple[Column64, ...]:
    """The columns at some places as a key; without places one key for all."""
    if not places:
        return (Column64(np.zeros(len(block), np.int64)),)
    return tuple(block.columns[place] for place in places)


def exact_number(column: Column64) -> tuple[Column64, Column64]:
    """A number as the nearest float64 and what is left: equal for equal numbers of both types."""
    values = column.values
    nearest = values.astype(np.float64)
    if values.dtype == np.float64:
        return column, Column64(np.zeros(len(values), np.int64))
    # 2**63, which the largest integers round to, is no int64.
    is_above = nearest >= 2.0**63
    whole = np.where(is_above, 0.0, nearest).astype(np.int64)
    rest = np.where(is_above, values - np.int64(2**63 - 1) - 1, values - whole)
    return Column64(nearest, column.valid), Column64(rest)


@inlined
def _bucket(words: Ints, at: int, width: int, n_buckets: int) -> int:
    hashed = np.uint64(width)
    for word in range(width):
        hashed = (hashed ^ np.uint64(words[at + word])) * FACTORS[0]
        hashed ^= hashed >> np.uint64(32)
    hashed = hashed * FACTORS[1]
    return int(hashed >> np.uint64(32)) & (n_buckets - 1)


@inlined
def _is_equal(words: Ints, at: int, other: Ints, place: int, width: int) -> bool:
    for word in range(width):  # noqa: SIM110 -- numba compiles no generators without references
        if words[at + word] != other[place + word]:
            return False
    return True


@kernel
def _look_up(
    packed: Ints,
    words: Ints,
    heads: NDArray[np.int32],
    links: NDArray[np.int32],
    facts: Ints,
    insert: bool,
    slots: Ints,
    first: int,
) -> int:
    """Slots of the keys from ``first`` on; returns the first key not done for want of a slot."""
    n, width = packed.shape
    flat = packed.reshape(n * width)
    for i in range(first, n):
        at = i * width
        bucket = _bucket(flat, at, width, len(heads))
        slot = int(heads[bucket]) - 1
        while slot >= 0 and not _is_equal(flat, at, words, slot * width, width):
            slot = int(links[slot])
        if slot < 0 and insert:
            slot = facts[_FREE] - 1
            if slot >= 0:
                facts[_FREE] = -2 - links[slot]
            elif facts[_USED] < len(links):
                slot = facts[_USED]
                facts[_USED] += 1
            else:
                return i
            facts[_LIVE] += 1
            for word in range(width):
                words[slot * width + word] = flat[at + word]
            links[slot] = heads[bucket] - 1
            heads[bucket] = slot + 1
        slots[i] = slot
    return int(n)


@kernel
def _release(
    slots: Ints,
    words: Ints,
    width: int,
    heads: NDArray[np.int32],
    links: NDArray[np.int32],
    facts: Ints,
) -> None:
    for slot in slots:
        if links[slot] < -1:
            continue
        bucket = _bucket(words, slot * width, width, len(heads))
        at = int(heads[bucket]) - 1
        if at == slot:
            heads[bucket] = links[slot] + 1
        else:
            while links[at] != slot:
                at = int(links[at])
            links[at] = links[slot]
        links[slot] = -2 - facts[_FREE]
        facts[_FREE] = slot + 1
        facts[_LIVE] -= 1


@kernel
def _link_all(
    words: Ints, width: int, heads: NDArray[np.int32], links: NDArray[np.int32], facts: Ints
) -> None:
    """Link all slots anew in empty buckets; none is free."""
    for slot in range(facts[_USED]):
        bucket = _bucket(words, slot * width, width, len(heads))
        links[slot] = heads[bucket] - 1
        heads[bucket] = slot + 1
