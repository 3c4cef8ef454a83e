"""Net changes, and the canonical order of tuples: by decoded values, NULL first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.blocks import Block, Column64, Ints, Signs
from backend.operators.network.strings import Strings
from backend.operators.selection.bits import inlined, kernel

#: Runs of so many tuples are sorted by insertion, then merged.
_RUN: Final = 8


def net(block: Block, fields: Sequence[Attribute], strings: Strings, sign: int = 0) -> Block:
    """The net changes per τ: + and - of equal tuples at one τ cancel. Each τ in canonical order.

    A tuple that changed n times in sum is there n times, with one sign. sign: the one that is told
    alone; 0: both.
    """
    n = len(block)
    if n == 0:
        return block
    ranks = ordinals(block.columns, fields, strings)
    order, firsts = _sorted_ticks(block.tau, ranks)
    kept, signs = np.empty(n, np.int64), np.empty(n, np.int8)
    n_kept = _net(block.tau, block.sign, ranks, order, firsts, sign, kept, signs)
    rows = kept[:n_kept]
    columns = tuple(column.take(rows) for column in block.columns)
    return Block(block.tau[rows], signs[:n_kept], columns)


def ordinals(columns: Sequence[Column64], fields: Sequence[Attribute], strings: Strings) -> Ints:
    """int64[k, n]: numbers for each tuple that are in the order of the tuples; equal where those
    are."""
    found: list[Ints] = []
    for column, field in zip(columns, fields, strict=True):
        if column.valid is not None:
            found.append(column.valid.astype(np.int64))
        found.append(ordinal(column, field.type, strings))
    return np.stack(found)


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
    """The canonical order, and the first rank of each tuple in it."""
    order, firsts = np.arange(len(tau)), ranks[0].copy()
    _sort_ticks(tau, ranks, order, firsts, *np.empty((2, len(tau)), np.int64))
    return order, firsts


@inlined
def _is_after(ranks: Ints, first: int, one: int, other_first: int, other: int) -> bool:
    """Whether a tuple comes after another. first, other_first: their first ranks, which lie
    together where tuples are sorted."""
    if first != other_first:
        return first > other_first
    for place in range(1, ranks.shape[0]):
        if ranks[place, one] != ranks[place, other]:
            return bool(ranks[place, one] > ranks[place, other])
    return False


@kernel
def _sort_ticks(
    tau: Ints, ranks: Ints, order: Ints, firsts: Ints, spare: Ints, spare_firsts: Ints
) -> None:
    """Sort the places of each tick by merging, stable, and their first ranks with them."""
    n = len(tau)
    low = 0
    while low < n:
        high = low + 1
        while high < n and tau[high] == tau[low]:
            high += 1
        for first in range(low, high, _RUN):
            for i in range(first + 1, min(first + _RUN, high)):
                one = order[i]
                own = firsts[i]
                at = i
                while at > first and _is_after(ranks, firsts[at - 1], order[at - 1], own, one):
                    order[at] = order[at - 1]
                    firsts[at] = firsts[at - 1]
                    at -= 1
                order[at] = one
                firsts[at] = own
        width = _RUN
        while width < high - low:
            for first in range(low, high, 2 * width):
                middle, last = min(first + width, high), min(first + 2 * width, high)
                _merge(ranks, order, firsts, spare, spare_firsts, first, middle, last)
            width *= 2
        low = high


@inlined
def _merge(
    ranks: Ints,
    order: Ints,
    firsts: Ints,
    spare: Ints,
    spare_firsts: Ints,
    first: int,
    middle: int,
    last: int,
) -> None:
    """Merge order[first:middle] and order[middle:last]."""
    if middle >= last or not _is_after(
        ranks, firsts[middle - 1], order[middle - 1], firsts[middle], order[middle]
    ):
        return
    for i in range(first, middle):
        spare[i] = order[i]
        spare_firsts[i] = firsts[i]
    left = first
    right = middle
    at = first
    while left < middle:
        if right < last and _is_after(
            ranks, spare_firsts[left], spare[left], firsts[right], order[right]
        ):
            order[at] = order[right]
            firsts[at] = firsts[right]
            right += 1
        else:
            order[at] = spare[left]
            firsts[at] = spare_firsts[left]
            left += 1
        at += 1


@kernel
def _net(
    tau: Ints,
    sign: Signs,
    ranks: Ints,
    order: Ints,
    firsts: Ints,
    wanted: int,
    kept: Ints,
    signs: Signs,
) -> int:
    """The first place of each tuple that changed at a tick, as often as it did, and which way; how
    many those are. wanted: the sign that is told, 0: both."""
    n_kept = 0
    i = 0
    while i < len(order):
        one = order[i]
        own = firsts[i]
        total = 0
        while i < len(order) and (
            firsts[i] == own
            and tau[order[i]] == tau[one]
            and not _is_after(ranks, own, order[i], own, one)
        ):
            total += sign[order[i]]
            i += 1
        direction = 1 if total > 0 else -1
        if wanted == 0 or wanted == direction:
            for _ in range(abs(total)):
                kept[n_kept] = one
                signs[n_kept] = direction
                n_kept += 1
    return n_kept
