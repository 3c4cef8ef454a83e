"""Sums that do not depend on the order of what is added and taken away.

Integers: in two halves, so that no sum overflows on its way. Floats: fixed-point numbers as wide as
the values ask for, rounded once when they are read (correctly, as math.fsum does); so nothing of a
value remains when it has gone, and a sum is the same for any order, batch cut or host.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Column64, Ints, Values
from backend.operators.network.core.regions import Regions
from backend.operators.network.relational.episodes import BeforeAfter, Episodes
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import inlined, kernel

_LOW: Final = np.int64(2**32 - 1)
#: Words of a group before its limbs: how many NaN, inf, -inf; the bits of the sum last read.
_NAN, _ABOVE, _BELOW, _TOLD, _LIMBS = range(5)


class IntegerSums:
    """Sums of int64 for each group, exact: as two numbers, of the upper and lower 32 bits."""

    bytes_per_group: Final = 16

    def __init__(self, regions: Regions, groups: KeyTable) -> None:
        self._high = SlotValues(regions, "high", "int64", groups)
        self._low = SlotValues(regions, "low", "int64", groups)
        self._told: list[tuple[Ints, Ints]] = []

    def add(self, episodes: Episodes, values: Values, deltas: Ints) -> None:
        """Add each value so many times, -1, 0 or 1."""
        high, low, high_after, low_after = np.empty((4, len(episodes)), np.int64)
        halves = self._high.array, self._low.array
        outputs = high, low, high_after, low_after
        _add_halves(*halves, episodes.slot, episodes.number, values, deltas, *outputs)
        self._told = [(high, low), (high_after, low_after)]

    def sums(self, counts: BeforeAfter) -> list[Column64]:
        """Before and after the episodes; NULL of nothing, and where 64 bits are too few."""
        columns = []
        for (high, low), count in zip(self._told, counts, strict=True):
            fits = (high >= -(2**31)) & (high < 2**31) & (count > 0)
            columns.append(Column64(np.where(fits, (high << 32) | low, 0), fits))
        return columns

    def means(self, counts: BeforeAfter) -> list[Column64]:
        """Before and after the episodes, rounded once; NULL of nothing."""
        columns = []
        for (high, low), count in zip(self._told, counts, strict=True):
            n = np.maximum(count, 1)
            means = ((high << 32) | low) / n
            for place in np.flatnonzero((high < -(2**20)) | (high >= 2**20)):
                means[place] = ((int(high[place]) << 32) + int(low[place])) / int(n[place])
            columns.append(Column64(np.where(count > 0, means, 0.0), count > 0))
        return columns


class FloatSums:
    """Sums of float64 for each group: exact inside, rounded when they are read.

    limb j of a group counts units of 2 ** (32 * (lowest + j) - 1074); limbs have a sign, and carry
    when the sum is read. All groups have as many limbs as the values so far need, and one more.
    """

    def __init__(self, regions: Regions, groups: KeyTable) -> None:
        self._regions, self._groups = regions, groups
        self._facts = regions.array("facts", "int64", 2)  # lowest limb, limbs
        self._words = regions.array("words", "int64", groups.capacity * self._stride)
        self._told = BeforeAfter(np.zeros(0), np.zeros(0))

    @property
    def bytes_per_group(self) -> int:
        """Bytes of one sum."""
        return 8 * self._stride

    @property
    def _stride(self) -> int:
        return _LIMBS + int(self._facts[1])

    def add(self, episodes: Episodes, values: Values, deltas: Ints) -> None:
        """Add each value so many times, -1, 0 or 1."""
        bits = values.view(np.int64)
        self._make_room(values[deltas != 0].view(np.int64))
        before, after = np.empty((2, len(episodes)))
        last = np.empty(len(episodes), np.int64)
        last[episodes.number] = np.arange(len(values))
        _add(
            self._words,
            self._stride,
            int(self._facts[0]),
            episodes.slot,
            episodes.number,
            bits,
            deltas,
            last,
            before,
            after,
        )
        self._told = BeforeAfter(before, after)

    def sums(self, counts: BeforeAfter) -> list[Column64]:
        """Before and after the episodes; NULL of nothing."""
        return [
            Column64(np.where(count > 0, total, 0.0), count > 0)
            for total, count in zip(self._told, counts, strict=True)
        ]

    def means(self, counts: BeforeAfter) -> list[Column64]:
        """Before and after the episodes; NULL of nothing."""
        return [
            Column64(total.values / np.maximum(count, 1) + 0.0, total.valid)  # no -0.0
            for total, count in zip(self.sums(counts), counts, strict=True)
        ]

    def _make_room(self, bits: Ints) -> None:
        """For all groups, and for the magnitudes of values with these bits."""
        exponents = (bits >> 52) & 2047
        exponents = exponents[(exponents < 2047) & (bits << 1 != 0)]
        lowest, n_limbs = (int(fact) for fact in self._facts)
        if len(exponents):
            first = max(int(exponents.min()) - 1, 0) >> 5
            end = (max(int(exponents.max()) - 1, 0) >> 5) + 4
            if n_limbs:
                first, end = min(first, lowest), max(end, lowest + n_limbs)
            if end - first > n_limbs:
                self._widen(first, end - first)
        size = self._groups.capacity * self._stride
        if len(self._words) < size:
            self._words = self._regions.resized("words", size)

    def _widen(self, lowest: int, n_limbs: int) -> None:
        shift, old_stride = int(self._facts[0]) - lowest, self._stride
        n_groups = len(self._words) // old_stride
        old = self._words[: n_groups * old_stride].reshape(n_groups, old_stride).copy()
        has_limbs = old_stride > _LIMBS
        self._facts[:] = lowest, n_limbs
        size = self._groups.capacity * self._stride
        self._words = self._regions.resized("words", size)
        self._words[:] = 0
        new = self._words[:size].reshape(-1, self._stride)
        new[:n_groups, :_LIMBS] = old[:, :_LIMBS]
        if has_limbs:
            first = _LIMBS + shift
            new[:n_groups, first : first + old_stride - _LIMBS] = old[:, _LIMBS:]


@kernel
def _add_halves(
    highs: Ints,
    lows: Ints,
    slot: Ints,
    number: Ints,
    values: Ints,
    deltas: Ints,
    high: Ints,
    low: Ints,
    high_after: Ints,
    low_after: Ints,
) -> None:
    """Add values to the sums of their groups, told before and after each episode; of what is told
    the lower halves are 0 .. 2**32 - 1."""
    n_begun = 0
    for i in range(len(slot)):
        group, episode = slot[i], number[i]
        if episode == n_begun:
            high[episode] = highs[group] + (lows[group] >> 32)
            low[episode] = lows[group] & _LOW
            n_begun += 1
        highs[group] += (values[i] >> 32) * deltas[i]
        lows[group] += (values[i] & _LOW) * deltas[i]
        high_after[episode] = highs[group] + (lows[group] >> 32)
        low_after[episode] = lows[group] & _LOW


@kernel
def _add(
    words: Ints,
    stride: int,
    lowest: int,
    slot: Ints,
    number: Ints,
    bits: Ints,
    deltas: Ints,
    last: Ints,
    before: Values,
    after: Values,
) -> None:
    """Add values to the sums of their groups and read those where an episode ends."""
    floats = words.view(np.float64)
    n_begun = 0
    for i in range(len(slot)):
        at = slot[i] * stride
        if number[i] == n_begun:
            before[n_begun] = floats[at + _TOLD]
            n_begun += 1
        if deltas[i] != 0:
            _add_one(words, at, lowest, bits[i], deltas[i])
        if last[number[i]] == i:
            after[number[i]] = _read(words, at, stride - _LIMBS, lowest)
            floats[at + _TOLD] = after[number[i]]


@inlined
def _add_one(words: Ints, at: int, lowest: int, bits: int, delta: int) -> None:
    exponent = (bits >> 52) & 2047
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 2047:
        special = _NAN if mantissa != 0 else _ABOVE if bits >= 0 else _BELOW
        words[at + special] += delta
        return
    if exponent > 0:
        mantissa |= 1 << 52
        exponent -= 1
    if mantissa == 0:
        return
    sign = -delta if bits < 0 else delta
    shift = np.uint64(exponent & 31)
    limb = at + _LIMBS + (exponent >> 5) - lowest
    low = (np.uint64(mantissa) & np.uint64(0xFFFFFFFF)) << shift
    high = ((np.uint64(mantissa) >> np.uint64(32)) << shift) + (low >> np.uint64(32))
    words[limb] += sign * np.int64(low & np.uint64(0xFFFFFFFF))
    words[limb + 1] += sign * np.int64(high & np.uint64(0xFFFFFFFF))
    words[limb + 2] += sign * np.int64(high >> np.uint64(32))


@inlined
def _read(words: Ints, at: int, n_limbs: int, lowest: int) -> float:
    """The sum, correctly rounded; its limbs have carried, all but the last are 0 .. 2**32 - 1."""
    if words[at + _NAN] > 0 or (words[at + _ABOVE] > 0 and words[at + _BELOW] > 0):
        return math.nan
    if words[at + _ABOVE] > 0:
        return math.inf
    if words[at + _BELOW] > 0:
        return -math.inf
    first = at + _LIMBS
    end = first + n_limbs
    carry = 0
    lowest_set = end
    for place in range(first, end):
        words[place] += carry
        if place < end - 1:
            carry = words[place] >> 32
            words[place] &= _LOW
        if words[place] != 0 and lowest_set == end:
            lowest_set = place
    if lowest_set == end:
        return 0.0
    is_negative = words[end - 1] < 0
    top = end - 1
    while _digit(words, top, first, end, lowest_set, is_negative) == 0:
        top -= 1
    high = _digit(words, top, first, end, lowest_set, is_negative) << np.uint64(32)
    high |= _digit(words, top - 1, first, end, lowest_set, is_negative)
    low = _digit(words, top - 2, first, end, lowest_set, is_negative)
    value = _rounded(high, low, lowest_set < top - 2, 32 * (top - 1 - first + lowest) - 1074)
    return -value if is_negative else value


@inlined
def _digit(
    words: Ints, place: int, first: int, end: int, lowest_set: int, is_negative: bool
) -> np.uint64:
    """32 bits of the magnitude."""
    if place < first or place < lowest_set:
        return np.uint64(0)
    digit = words[place]
    if is_negative:
        digit = -digit if place == lowest_set else -digit - 1
    return np.uint64(digit & 0xFFFFFFFF)


@inlined
def _rounded(high: np.uint64, low: np.uint64, is_more: bool, exponent: int) -> float:
    """(high + low / 2**32 and, with ``is_more``, less than 2**-32) * 2**exponent, to even.

    high: uint64, not 0 above its lower half; low: its next 32 bits.
    """
    step = 16
    while step > 0:
        if high >> np.uint64(64 - step) == np.uint64(0):
            high = (high << np.uint64(step)) | (low >> np.uint64(32 - step))
            low = (low << np.uint64(step)) & np.uint64(0xFFFFFFFF)
            exponent -= step
        step >>= 1
    kept = high >> np.uint64(11)
    rest = high & np.uint64(2047)
    is_inexact = is_more or low != np.uint64(0)
    half = np.uint64(1024)
    if rest > half or (rest == half and (is_inexact or kept & np.uint64(1) != np.uint64(0))):
        kept += np.uint64(1)
    return math.ldexp(np.float64(kept), exponent + 11)
