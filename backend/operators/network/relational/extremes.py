"""The least and the largest value of each group, exact when values go.

A pairing heap for each group over the slots of a table of (group, value): what comes is compared
with the top alone, what goes is cut out where it lies, and each takes O(log n) at the most in the
long run, whatever the order. [M. Fredman et al., The pairing heap, Algorithmica 1, 1986]
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.episodes import BeforeAfter, Episodes
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import inlined, kernel

#: How the bits of a value are to be compared.
INTEGER, FLOAT, CODE = range(3)
_BELOW_SIGN: Final = np.int64(2**63 - 1)


class _Heaps(NamedTuple):
    """top: by group; the others by slot of a value. All are slots + 1, 0 for none. before: the left
    sibling, or the parent of a first child."""

    top: NDArray[np.int32]
    child: NDArray[np.int32]
    sibling: NDArray[np.int32]
    before: NDArray[np.int32]


class _Order(NamedTuple):
    """words: of the table of values, ``width`` each, the value second. ranks: of codes. flip: -1
    turns the order round, 0 leaves it."""

    words: Ints
    width: int
    kind: int
    ranks: Ints
    flip: int


class Extremes:
    """The first value of each group in an order of values: the least, or the largest."""

    def __init__(self, regions: Regions, groups: KeyTable, values: KeyTable, is_max: bool) -> None:
        self._values, self._flip = values, -1 if is_max else 0
        self._top = SlotValues(regions, "top", "int32", groups)
        names = ("child", "sibling", "before")
        self._links = [SlotValues(regions, name, "int32", values) for name in names]

    def follow(
        self, episodes: Episodes, slots: Ints, deltas: Ints, kind: int, ranks: Ints
    ) -> BeforeAfter:
        """Values come (delta 1) and go (-1): the slots of the extremes, -1 for none, int64[m].

        slots: int64[n] of values. ranks: of all codes, in the order of their strings.
        """
        heaps = _Heaps(self._top.array, *(link.array for link in self._links))
        order = _Order(self._values.words, self._values.width, kind, ranks, self._flip)
        before, after = np.empty((2, len(episodes)), np.int64)
        _follow(heaps, order, episodes.slot, episodes.number, slots, deltas, before, after)
        return BeforeAfter(before, after)


@kernel
def _follow(
    heaps: _Heaps,
    order: _Order,
    group: Ints,
    number: Ints,
    slots: Ints,
    deltas: Ints,
    before: Ints,
    after: Ints,
) -> None:
    n_begun = 0
    for i in range(len(group)):
        top = np.int64(heaps.top[group[i]])
        if number[i] == n_begun:
            before[n_begun] = top - 1
            n_begun += 1
        if deltas[i] > 0:
            top = _meld(heaps, order, top, slots[i] + 1)
        elif deltas[i] < 0:
            top = _cut(heaps, order, top, slots[i] + 1)
        heaps.top[group[i]] = top
        after[number[i]] = top - 1


@inlined
def _key(order: _Order, slot: np.int64) -> int:
    word = order.words[(slot - 1) * order.width + 1]
    if order.kind == FLOAT:
        word ^= (word >> 63) & _BELOW_SIGN
    elif order.kind == CODE:
        word = order.ranks[word]
    return int(word ^ order.flip)


@kernel
def _meld(heaps: _Heaps, order: _Order, top: np.int64, other: np.int64) -> np.int64:
    """One heap of two, of which the first may be none; its top."""
    if top == 0:
        return other
    if _key(order, other) < _key(order, top):
        top, other = other, top
    first = np.int64(heaps.child[top - 1])
    heaps.sibling[other - 1] = first
    if first != 0:
        heaps.before[first - 1] = other
    heaps.child[top - 1] = other
    heaps.before[other - 1] = top
    return top


@kernel
def _cut(heaps: _Heaps, order: _Order, top: np.int64, slot: np.int64) -> np.int64:
    """The heap without a value; its top, 0 for none."""
    rest = _pair_up(heaps, order, np.int64(heaps.child[slot - 1]))
    heaps.child[slot - 1] = 0
    if slot == top:
        return rest
    before = np.int64(heaps.before[slot - 1])
    sibling = np.int64(heaps.sibling[slot - 1])
    if heaps.child[before - 1] == slot:
        heaps.child[before - 1] = sibling
    else:
        heaps.sibling[before - 1] = sibling
    if sibling != 0:
        heaps.before[sibling - 1] = before
    heaps.sibling[slot - 1] = 0
    return _meld(heaps, order, top, rest) if rest != 0 else top


@kernel
def _pair_up(heaps: _Heaps, order: _Order, first: np.int64) -> np.int64:
    """One heap of a list of siblings: neighbours in pairs, then the pairs from the last on."""
    pairs = np.int64(0)
    while first != 0:
        other = np.int64(heaps.sibling[first - 1])
        after = np.int64(0)
        pair = first
        heaps.sibling[first - 1] = 0
        if other != 0:
            after = np.int64(heaps.sibling[other - 1])
            heaps.sibling[other - 1] = 0
            pair = _meld(heaps, order, first, other)
        heaps.sibling[pair - 1] = pairs
        pairs = pair
        first = after
    melded = np.int64(0)
    while pairs != 0:
        after = np.int64(heaps.sibling[pairs - 1])
        heaps.sibling[pairs - 1] = 0
        melded = _meld(heaps, order, melded, pairs)
        pairs = after
    return melded
