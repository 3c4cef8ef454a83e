"""The hash table over composite keys against a dict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from backend.operators.network.core.blocks import Column64
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.relational.keys import KeyTable, SlotValues, exact_number
from backend.operators.network.relational.packing import n_words, pack, unpack

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
INTS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63)]))
FLOATS = st.sampled_from([None, 0.0, 0.5, -1e300, math.nan, math.inf])
KEYS = st.lists(st.tuples(INTS, FLOATS), max_size=8)


def columns_of(keys: list[tuple[Any, ...]], dtypes: list[np.dtype[Any]]) -> list[Column64]:
    """Columns of keys; a mask only where there is a NULL."""
    found = []
    for place, dtype in enumerate(dtypes):
        values = [key[place] for key in keys]
        valid = np.array([value is not None for value in values], bool)
        held = np.array([0 if value is None else value for value in values], dtype)
        found.append(Column64(held, None if valid.all() else valid))
    return found


def keys_of(columns: tuple[Column64, ...]) -> list[tuple[Any, ...]]:
    """The keys of columns; NaN as text, which equals itself."""
    lists = [
        [
            _plain(value) if ok else None
            for value, ok in zip(c.values.tolist(), c.is_valid, strict=True)
        ]
        for c in columns
    ]
    return list(zip(*lists, strict=True))


def _plain(value: Any) -> Any:
    return "nan" if value != value else value


class KeyTableMachine(RuleBasedStateMachine):
    """Rows come and go; the table is made anew around its regions before every step."""

    def __init__(self) -> None:
        super().__init__()
        self.regions = MemoryRegions()
        self.known: dict[tuple[Any, ...], int] = {}

    @property
    def table(self) -> KeyTable:
        return KeyTable(self.regions, [INT, FLOAT])

    @rule(keys=KEYS)
    def insert(self, keys: list[tuple[Any, ...]]) -> None:
        slots = self.table.slots(columns_of(keys, [INT, FLOAT])).tolist()
        for key, slot in zip(self.plain(keys), slots, strict=True):
            assert self.known.setdefault(key, slot) == slot
        assert len(set(self.known.values())) == len(self.known)

    @rule(first=st.integers(-(10**6), 10**6), n=st.integers(50, 300))
    def insert_many(self, first: int, n: int) -> None:
        self.insert([(first + i, 0.25) for i in range(n)])

    @rule(keys=KEYS)
    def find(self, keys: list[tuple[Any, ...]]) -> None:
        slots = self.table.slots(columns_of(keys, [INT, FLOAT]), insert=False).tolist()
        assert slots == [self.known.get(key, -1) for key in self.plain(keys)]

    @rule(data=st.data(), share=st.integers(1, 5))
    def release(self, data: st.DataObject, share: int) -> None:
        if self.known:
            gone = data.draw(st.permutations(sorted(self.known, key=str)[:8])) + list(self.known)
            gone = gone[:: share + 1]
            slots = [self.known[key] for key in gone]
            self.table.release(np.array(slots + slots[:3], np.int64))
            self.known = {key: slot for key, slot in self.known.items() if key not in set(gone)}

    @invariant()
    def holds_what_is_known(self) -> None:
        table = self.table
        assert len(table) == len(self.known)
        live = table.live()
        assert sorted(self.known.values()) == live.tolist()
        assert len(live) == 0 or live[-1] < table.capacity
        found = dict(zip(keys_of(table.columns(live)), live.tolist(), strict=True))
        assert found == self.known

    def plain(self, keys: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [tuple(map(_plain, key)) for key in keys]


TestKeyTable = KeyTableMachine.TestCase
TestKeyTable.settings = settings(max_examples=30, stateful_step_count=12)


def test_slots_are_used_again() -> None:
    """Keys that come and go need no more room than those that are there together."""
    table = KeyTable(MemoryRegions(), [INT])
    for first in range(0, 10_000, 50):
        slots = table.slots([Column64(np.arange(first, first + 50))])
        table.release(slots)
    assert table.capacity == 64
    assert len(table) == 0


def test_values_beside_slots_grow_with_them() -> None:
    regions = MemoryRegions()
    table = KeyTable(regions, [INT])
    pairs = SlotValues(regions, "pairs", "int64", table, per_slot=2)
    slots = table.slots([Column64(np.arange(40))])
    pairs.array[2 * slots + 1] = np.arange(40)
    table.slots([Column64(np.arange(1000))])
    again = SlotValues(regions, "pairs", "int64", table, per_slot=2)
    for values in (pairs, again):
        assert len(values.array) == 2 * table.capacity
        assert values.array[2 * slots + 1].tolist() == list(range(40))


@given(st.lists(st.tuples(INTS, FLOATS), min_size=1, max_size=5), st.sampled_from([1, 40]))
def test_packed_tuples(keys: list[tuple[Any, ...]], repeats: int) -> None:
    """Also with more columns than a word has flags."""
    dtypes = [INT, FLOAT] * repeats
    columns = columns_of([key * repeats for key in keys], dtypes)
    words = pack(columns, len(keys))
    assert words.shape == (len(keys), n_words(len(dtypes)))
    assert keys_of(unpack(words, dtypes)) == keys_of(tuple(columns))
    plain = keys_of(tuple(columns))
    for i, one in enumerate(plain):
        for j, other in enumerate(plain):
            assert (one == other) == (words[i] == words[j]).all()


EDGES = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 512, -(2**63)]


@given(st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1)))
def test_numbers_of_both_types_are_equal_when_their_values_are(integer: int) -> None:
    whole = exact_number(Column64(np.array([integer])))
    for value in (float(integer), 0.5, 2.0**63, math.inf):
        other = exact_number(Column64(np.array([value])))
        is_equal = all(a.values[0] == b.values[0] for a, b in zip(whole, other, strict=True))
        assert is_equal == (integer == value)
