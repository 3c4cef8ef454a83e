"""Net changes, and the canonical order of tuples: by decoded values, NULL first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, Ints, Signs
from backend.operators.network.core.strings import Strings
from backend.operators.selection.bits import inlined, kernel

#: Runs of so many tuples are sorted by insertion, then merged.
_RUN: Final = 8
#: Bits of an integer that is not negative.
_WORD: Final = 63


def net(block: Block, fields: Sequence[Attribute], strings: Strings, sign: int = 0) -> Block:
    """The net changes per τ: + and - of equal tuples at one τ cancel. Each τ in canonical order.

    A tuple that changed n times in sum is there n times, with one sign. sign: the one that is told
    alone; 0: both.
    """
    n = len(block)
    if n == 0:
        return block
    ranks = ordinals(block.columns, fields, strings)
    order, groups = _sorted_ticks(block.tau, ranks)
    kept, signs = np.empty(n, np.int64), np.empty(n, np.int8)
    n_kept = _net(groups, block.sign, ranks, order, sign, kept, signs)
    rows = kept[:n_kept]
    columns = tuple(column.take(rows) for column in block.columns)
    return Block(block.tau[rows], signs[:n_kept], columns)


def ordinals(columns: Sequence[Column64], fields: Sequence[Attribute], strings: Strings) -> Ints:
    """int64[k, n]: numbers for each tuple that are in the order of the tuples; equal where those
    are."""
    numbers: list[Ints] = []
    for column, field in zip(columns, fields, strict=True):
        if column.valid is not None:
            numbers.append(column.valid.astype(np.int64))
        numbers.append(ordinal(column, field.type, strings))
    return np.stack(numbers)


def ordinal(column: Column64, type_name: str, strings: Strings) -> Ints:
    """int64[n]: numbers in the order of the values; NaN is above all others."""
    values = column.values
    if type_name == "string":
        ranks = strings.ranks()
        return ranks[values] if len(ranks) else np.zeros(len(values), np.int64)
    if values.dtype == np.float64:
        bits = values.view(np.int64)
        return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    return values


def canonical_order(tau: Ints, ranks: Ints) -> Ints:
    """int64[n]: the places in nondecreasing τ, each τ sorted by ``ranks``, int64[k, n]. tau:
    nondecreasing."""
    return _sorted_ticks(tau, ranks)[0]


def _sorted_ticks(tau: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """The canonical order, and by place in it groups of tuples that alone may be equal: numbers in
    nondecreasing order."""
    order, groups = _by_first_rank(tau, ranks[0])
    _sort_groups(groups, ranks, order, np.empty(len(tau), np.int64))
    return order, groups


def _by_first_rank(tau: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """The places in order of τ and rank, stable, and a number for each pair of these; where they do
    not fit into a word together in order of τ alone."""
    n = len(tau)
    if not n:
        return np.arange(0), tau
    low, n_place = int(ranks.min()), n.bit_length()
    n_rank = (int(ranks.max()) - low).bit_length()
    if int(tau[-1] - tau[0]).bit_length() + n_rank + n_place > _WORD:
        return np.arange(n), tau
    words = ((tau - tau[0] << n_rank) | (ranks - low)) << n_place | np.arange(n)
    words.sort()
    return words & ((1 << n_place) - 1), words >> n_place


@inlined
def _compare(ranks: Ints, row: int, other: int) -> int:
    for place in range(ranks.shape[0]):
        if ranks[place, row] != ranks[place, other]:
            return -1 if ranks[place, row] < ranks[place, other] else 1
    return 0


@kernel
def _sort_groups(groups: Ints, ranks: Ints, order: Ints, spare: Ints) -> None:
    """Sort the places of each group by merging, stable."""
    n = len(groups)
    low = 0
    while low < n:
        high = low + 1
        while high < n and groups[high] == groups[low]:
            high += 1
        for first in range(low, high, _RUN):
            for i in range(first + 1, min(first + _RUN, high)):
                row = order[i]
                at = i
                while at > first and _compare(ranks, order[at - 1], row) > 0:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = row
        width = _RUN
        while width < high - low:
            for first in range(low, high, 2 * width):
                _merge(
                    ranks, order, spare, first, min(first + width, high), first + 2 * width, high
                )
            width *= 2
        low = high


@inlined
def _merge(
    ranks: Ints, order: Ints, spare: Ints, first: int, middle: int, last: int, high: int
) -> None:
    """Merge order[first:middle] and order[middle:last], which ends at ``high`` at the latest."""
    last = min(last, high)
    if middle >= last or _compare(ranks, order[middle - 1], order[middle]) <= 0:
        return
    for i in range(first, middle):
        spare[i] = order[i]
    left = first
    right = middle
    at = first
    while left < middle:
        if right < last and _compare(ranks, spare[left], order[right]) > 0:
            order[at] = order[right]
            right += 1
        else:
            order[at] = spare[left]
            left += 1
        at += 1


@kernel
def _net(
    groups: Ints,
    sign: Signs,
    ranks: Ints,
    order: Ints,
    wanted: int,
    kept: Ints,
    signs: Signs,
) -> int:
    """The first place of each tuple that changed at a tick, as often as it did, and which way; how
    many those are. wanted: the sign that is told, 0: both."""
    n_kept = 0
    i = 0
    while i < len(order):
        first = i
        total = 0
        while i < len(order) and (
            i == first
            or (groups[i] == groups[first] and _compare(ranks, order[first], order[i]) == 0)
        ):
            total += sign[order[i]]
            i += 1
        direction = 1 if total > 0 else -1
        if wanted == 0 or wanted == direction:
            for _ in range(abs(total)):
                kept[n_kept] = order[first]
                signs[n_kept] = direction
                n_kept += 1
    return n_kept
