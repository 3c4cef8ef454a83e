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


def net(block: Block, fields: Sequence[Attribute], strings: Strings) -> Block:
    """The net changes per τ: + and - of equal tuples at one τ cancel. Each τ in canonical order.

    A tuple that changed n times in sum is there n times, with one sign.
    """
    if len(block) == 0:
        return block
    ranks = ordinals(block.columns, fields, strings)
    order = canonical_order(block.tau, ranks)
    kept, sums = np.empty((2, len(block)), np.int64)
    n_kept = _net(block.tau, block.sign, ranks, order, kept, sums)
    rows = np.repeat(kept[:n_kept], np.abs(sums[:n_kept]))
    signs = np.repeat(np.sign(sums[:n_kept]), np.abs(sums[:n_kept])).astype(np.int8)
    return Block(block.tau[rows], signs, tuple(column.take(rows) for column in block.columns))


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
    order = np.arange(len(tau))
    _sort_ticks(tau, ranks, order, np.empty(len(tau), np.int64))
    return order


@inlined
def _compare(ranks: Ints, one: int, other: int) -> int:
    for place in range(ranks.shape[0]):
        if ranks[place, one] != ranks[place, other]:
            return -1 if ranks[place, one] < ranks[place, other] else 1
    return 0


@kernel
def _sort_ticks(tau: Ints, ranks: Ints, order: Ints, spare: Ints) -> None:
    """Sort the places of each tick by merging, stable."""
    n = len(tau)
    low = 0
    while low < n:
        high = low + 1
        while high < n and tau[high] == tau[low]:
            high += 1
        for first in range(low, high, _RUN):
            for i in range(first + 1, min(first + _RUN, high)):
                one = order[i]
                at = i
                while at > first and _compare(ranks, order[at - 1], one) > 0:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = one
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
def _net(tau: Ints, sign: Signs, ranks: Ints, order: Ints, kept: Ints, sums: Ints) -> int:
    """The first place of each tuple that changed at a tick, and by how much; how many those are."""
    n_kept = 0
    i = 0
    while i < len(order):
        one = order[i]
        total = 0
        while i < len(order) and (
            tau[order[i]] == tau[one] and _compare(ranks, one, order[i]) == 0
        ):
            total += sign[order[i]]
            i += 1
        if total != 0:
            kept[n_kept] = one
            sums[n_kept] = total
            n_kept += 1
    return n_kept
