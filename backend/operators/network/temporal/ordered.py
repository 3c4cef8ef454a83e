"""Intervals in order of their start, one list for each value group, in arrays: a skip list.

Numbers of nodes are stored plus one: 0 is none, and arrays that are all 0 are empty lists.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.selection.bits import called, inlined

Links: TypeAlias = NDArray[np.int32]
#: Of a list; a node is at each next level with probability 1/4.
LEVELS: Final = 12
#: Columns of ``nodes``.
START, END = range(2)
#: Of ``facts``: rows ever used, the row given back last plus one, and rows given back.
USED, FREE, N_FREE = range(3)
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)


class IntervalArrays(NamedTuple):
    """The lists of all groups. nodes: int64[n, 2 or more], start and end first; links: int32[n,
    LEVELS], the next node at each level; heads: int32[groups, LEVELS], the first node of each group
    at each level; facts: int64[3]."""

    nodes: Ints
    links: Links
    heads: Links
    facts: Ints


@inlined
def _n_levels(node: int) -> int:
    hashed = np.uint64(node + 1) * _FACTOR
    hashed ^= hashed >> np.uint64(29)
    hashed = hashed * _FACTOR
    hashed >>= np.uint64(32)
    n_levels = 1
    while n_levels < LEVELS and hashed & np.uint64(3) == np.uint64(0):
        n_levels += 1
        hashed >>= np.uint64(2)
    return n_levels


@inlined
def following(node: int, group: int, level: int, lists: IntervalArrays) -> int:
    """The next node, -1: none; of node -1 the first one of its group."""
    if node < 0:
        return int(lists.heads[group, level]) - 1
    return int(lists.links[node, level]) - 1


@called
def seek(start: int, end: int, group: int, lists: IntervalArrays, path: Ints) -> int:
    """The last node before (start, end), -1: none. path: int64[LEVELS], the same at each level."""
    node = -1
    for below in range(LEVELS):
        level = LEVELS - 1 - below
        after = following(node, group, level, lists)
        while after >= 0 and _is_before(lists.nodes, after, start, end):
            node = after
            after = following(node, group, level, lists)
        path[level] = node
    return node


@inlined
def _is_before(nodes: Ints, node: int, start: int, end: int) -> bool:
    if nodes[node, START] == start:
        return bool(nodes[node, END] < end)
    return bool(nodes[node, START] < start)


@called
def insert(start: int, end: int, group: int, lists: IntervalArrays, path: Ints) -> int:
    """A new node, behind ``path`` as ``seek`` left it; there is room for it."""
    nodes, facts = lists.nodes, lists.facts
    node = facts[FREE] - 1
    if node >= 0:
        facts[FREE] = nodes[node, START]
        facts[N_FREE] -= 1
    else:
        node = facts[USED]
        facts[USED] += 1
    nodes[node, START] = start
    nodes[node, END] = end
    for level in range(_n_levels(node)):
        before = path[level]
        if before < 0:
            lists.links[node, level] = lists.heads[group, level]
            lists.heads[group, level] = node + 1
        else:
            lists.links[node, level] = lists.links[before, level]
            lists.links[before, level] = node + 1
    return int(node)


@called
def delete(node: int, group: int, lists: IntervalArrays, path: Ints) -> None:
    """Take a node away, the first one behind ``path`` as ``seek`` left it."""
    for level in range(_n_levels(node)):
        before = path[level]
        if before < 0:
            lists.heads[group, level] = lists.links[node, level]
        else:
            lists.links[before, level] = lists.links[node, level]
    lists.nodes[node, START] = lists.facts[FREE]
    lists.facts[FREE] = node + 1
    lists.facts[N_FREE] += 1
