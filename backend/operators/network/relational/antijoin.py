"""antijoin: tuples of the left input with no match in the right one (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backend.operators.network.core.blocks import (
    Block,
    Bools,
    Column64,
    Ints,
    Signs,
    dtype_of,
    empty,
)
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, by_time, dtypes_of, merged
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions import arithmetic
from backend.operators.network.kinds.antijoin import AntiJoinOp
from backend.operators.network.relational.keys import (
    KeyTable,
    SlotValues,
    exact_number,
    key_columns,
)
from backend.operators.selection.bits import inlined, kernel

#: Of ``facts``: right tuples; those of them with NULL in the key; the slot of that key, + 1.
_RIGHTS, _NULLS, _NULL_KEY = range(3)
#: Of a key: right tuples; distinct left tuples; the first of these, + 1.
_MATCHES, _LEFTS, _FIRST = range(3)
#: Of a left tuple: how often it is there; the next and the last one of its key, + 1.
_COUNT, _NEXT, _LAST = range(3)


class AntiJoinOperator(OperatorFrame):
    """Keeps the left tuples by key, and how many right tuples each key has.

    A NULL in the key matches nothing, and such tuples are not kept. Null-aware (NOT IN): on the
    right it matches everything, on the left anything there is. NaN compares like NULL.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(AntiJoinOp)
        self._equal, self._null_aware = work.equal, work.null_aware
        left, right = dtypes_of(self.fields), dtypes_of(self.input_fields(1))
        self._is_mixed = [left[place] != right[other] for place, other in self._equal]
        keys = []
        for (place, _), is_mixed in zip(self._equal, self._is_mixed, strict=True):
            keys += [dtype_of("double"), dtype_of("bigint")] if is_mixed else [left[place]]
        self._facts = self._regions.array("facts", "int64", 3)
        self._tuples = KeyTable(self._regions.scope("tuples"), left)
        self._lefts = SlotValues(self._regions, "lefts", "int64", self._tuples, per_slot=3)
        self._keys = KeyTable(self._regions.scope("keys"), keys or [dtype_of("bigint")])
        self._by_key = SlotValues(self._regions, "by_key", "int64", self._keys, per_slot=3)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        if not any(map(len, inputs)):
            return empty(self.fields)
        left, right = inputs
        if self._null_aware:
            return self._changes(left, right)
        unknown = self._has_null(left, 0)
        changes = self._changes(left.take(~unknown), right.take(~self._has_null(right, 1)))
        passed = left.take(unknown)
        return merged([Block(passed.tau, passed.sign, passed.columns), changes])

    def _has_null(self, block: Block, side: int) -> Bools:
        is_null = np.zeros(len(block), bool)
        for pair in self._equal:
            column = block.columns[pair[side]]
            is_null |= ~column.is_valid
            known = arithmetic.is_known(column.values)
            if known is not None:
                is_null |= ~known
        return is_null

    def _key_slots(self, block: Block, side: int) -> Ints:
        """The slot of each element's key; one for all with NULL in it."""
        unknown = self._has_null(block, side)
        columns: list[Column64] = []
        for pair, is_mixed in zip(self._equal, self._is_mixed, strict=True):
            column = block.columns[pair[side]]
            columns += exact_number(column) if is_mixed else [column]
        if unknown.any():
            columns = [
                Column64(np.where(unknown, 0, key_column.values), ~unknown)
                for key_column in columns
            ]
        slots = self._keys.slots(columns or key_columns(block, ()))
        if unknown.any():
            self._facts[_NULL_KEY] = slots[unknown][0] + 1
        return slots

    def _changes(self, left: Block, right: Block) -> Block:
        """What elements of both inputs change, in τ."""
        order = by_time(left.tau, right.tau)
        tuples = self._tuples.slots(left.columns)
        keys = np.concatenate([self._key_slots(left, 0), self._key_slots(right, 1)])
        tau = np.concatenate([left.tau, right.tau])[order]
        elements = _Elements(
            np.concatenate([tuples, np.full(len(right), -1)])[order],
            keys[order],
            np.concatenate([left.sign, right.sign])[order],
        )
        changes = self._match(elements)
        rows = np.repeat(np.arange(len(changes.tuple)), np.abs(changes.change))
        columns = tuple(column.take(rows) for column in self._tuples.columns(changes.tuple))
        block = Block(
            tau[changes.element][rows], np.sign(changes.change)[rows].astype(np.int8), columns
        )
        self._release(tuples, keys)
        return block

    def _match(self, elements: _Elements) -> _Told:
        """Take the elements; in pieces, where much is to be told."""
        state = _Joined(self._facts, self._lefts.array, self._by_key.array)
        n, n_tuples = len(elements.key), len(self._tuples)
        pieces: list[Ints] = []
        at = 0
        while at < n or not pieces:
            piece = _Told(*np.empty((3, n + 2 * n_tuples), np.int64))
            at, n_told = _take(state, elements, at, n_tuples, piece)
            pieces.append(np.stack([part[:n_told] for part in piece]))
        return _Told(*np.concatenate(pieces, axis=1))

    def _release(self, tuples: Ints, keys: Ints) -> None:
        """Forget what is there no more, of what was touched."""
        self._tuples.release(tuples[self._lefts.array.reshape(-1, 3)[tuples, _COUNT] == 0])
        by_key = self._by_key.array.reshape(-1, 3)[keys]
        gone = keys[(by_key[:, _MATCHES] == 0) & (by_key[:, _LEFTS] == 0)]
        if (gone == self._facts[_NULL_KEY] - 1).any():
            self._facts[_NULL_KEY] = 0
        self._keys.release(gone)

    @property
    def n_tuples(self) -> int:
        """Left tuples, and keys with their numbers of right ones."""
        return len(self._tuples) + len(self._keys)

    @property
    def n_bytes(self) -> int:
        tuples = len(self._tuples) * (self._tuples.bytes_per_key + 24)
        return tuples + len(self._keys) * (self._keys.bytes_per_key + 24)


class _Elements(NamedTuple):
    """tuple: slot of a left one, -1: of the right input. key: its slot."""

    tuple: Ints
    key: Ints
    sign: Signs


class _Joined(NamedTuple):
    """facts; three numbers for each left tuple, and for each key."""

    facts: Ints
    lefts: Ints
    by_key: Ints


class _Told(NamedTuple):
    """Left tuple ``tuple`` comes (change > 0) or goes so often, with an element."""

    tuple: Ints
    change: Ints
    element: Ints


@kernel
def _take(
    state: _Joined, elements: _Elements, first: int, n_tuples: int, changes: _Told
) -> tuple[int, int]:
    """Take elements from ``first`` on; the first not taken for want of room, and how many told."""
    n_told = 0
    for i in range(first, len(elements.key)):
        slot, key, sign = elements.tuple[i], elements.key[i], elements.sign[i]
        if slot >= 0:
            if n_told + 1 > len(changes.tuple):
                return i, n_told
            _count_left(state, slot, key, sign)
            if not _is_matched(state, key):
                changes.tuple[n_told], changes.change[n_told] = slot, sign
                changes.element[n_told] = i
                n_told += 1
        else:
            if n_told + n_tuples > len(changes.tuple):
                return i, n_told
            n_told = _count_right(state, key, sign, i, changes, n_told)
    return len(elements.key), n_told


@inlined
def _is_matched(state: _Joined, key: int) -> bool:
    if key == state.facts[_NULL_KEY] - 1:
        return bool(state.facts[_RIGHTS] > 0)
    return bool(state.by_key[3 * key + _MATCHES] > 0 or state.facts[_NULLS] > 0)


@inlined
def _count_left(state: _Joined, slot: int, key: int, sign: int) -> None:
    """One more or less of a left tuple, which is in its key's list as long as it is there."""
    lefts, by_key = state.lefts, state.by_key
    at, of_key = 3 * slot, 3 * key
    before = lefts[at + _COUNT]
    after = before + sign
    lefts[at + _COUNT] = after
    if before == 0:
        head = by_key[of_key + _FIRST]
        lefts[at + _NEXT] = head
        lefts[at + _LAST] = 0
        if head > 0:
            lefts[3 * (head - 1) + _LAST] = slot + 1
        by_key[of_key + _FIRST] = slot + 1
        by_key[of_key + _LEFTS] += 1
    elif after == 0:
        head, last = lefts[at + _NEXT], lefts[at + _LAST]
        if head > 0:
            lefts[3 * (head - 1) + _LAST] = last
        if last > 0:
            lefts[3 * (last - 1) + _NEXT] = head
        else:
            by_key[of_key + _FIRST] = head
        by_key[of_key + _LEFTS] -= 1


@inlined
def _count_right(
    state: _Joined, key: int, sign: int, element: int, changes: _Told, n_told: int
) -> int:
    """One more or less of a right tuple; tells the left ones that it lets go or brings back."""
    facts, null_key = state.facts, state.facts[_NULL_KEY] - 1
    had_any, had_null = facts[_RIGHTS] > 0, facts[_NULLS] > 0
    had_match = state.by_key[3 * key + _MATCHES] > 0
    facts[_RIGHTS] += sign
    state.by_key[3 * key + _MATCHES] += sign
    if key == null_key:
        facts[_NULLS] += sign
    has_match = state.by_key[3 * key + _MATCHES] > 0
    if null_key >= 0 and had_any != (facts[_RIGHTS] > 0):
        n_told = _tell(state, null_key, had_any, element, changes, n_told)
    if had_null != (facts[_NULLS] > 0):
        for other in range(len(state.by_key) // 3):
            if other != null_key and state.by_key[3 * other + _MATCHES] <= 0:
                n_told = _tell(state, other, had_null, element, changes, n_told)
    elif key != null_key and had_match != has_match and not had_null:
        n_told = _tell(state, key, had_match, element, changes, n_told)
    return n_told


@inlined
def _tell(state: _Joined, key: int, comes: bool, element: int, changes: _Told, n_told: int) -> int:
    """All left tuples of a key come, or go."""
    slot = state.by_key[3 * key + _FIRST] - 1
    while slot >= 0:
        count = state.lefts[3 * slot + _COUNT]
        changes.tuple[n_told] = slot
        changes.change[n_told] = count if comes else -count
        changes.element[n_told] = element
        n_told += 1
        slot = state.lefts[3 * slot + _NEXT] - 1
    return n_told
