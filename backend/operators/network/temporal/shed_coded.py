"""Tuples of a window as runs: values once, starts and ends as differences. Card B7

``shedding.forms`` says what a tuple takes. Rows are made of the bytes for a batch, and forgotten
with it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    END,
    FLAGS,
    GROUP,
    HEAD_MEMORY,
    IN_BESIDE,
    IN_MEMORY,
    LEFT,
    LOST,
    MEMORY,
    NUMBER,
    PARENT,
    POSITION,
    RIGHT,
    RUN_END,
    START,
    ShedArrays,
)
from backend.operators.network.temporal.interval_tree import (
    first_from,
    following,
    freshen,
    neighbour,
    pull,
    rank_of,
    tree_of,
)
from backend.operators.selection.bits import called, inlined, kernel

Bytes: TypeAlias = NDArray[np.uint8]
_LEAST: Final = np.iinfo(np.int64).min
#: Of a tuple, at most.
MOST_BYTES: Final = 33


# ---------------------------------------------------------------------- what a tuple takes


@inlined
def _code(number: int) -> int:
    """0 to 3: no, 1, 4 or 8 bytes hold it."""
    if number == 0:
        return 0
    if -128 <= number < 128:
        return 1
    return 2 if -(1 << 31) <= number < 1 << 31 else 3


@inlined
def _size(code: int) -> int:
    return (1 << code) * (code > 1) + (code == 1)


@inlined
def _differences(before: int, node: int, by_rows: bool, tuples: Ints) -> tuple[int, int, int, int]:
    """Of a tuple from the one before, -1: there is none: gap, length, arrival and place."""
    start, number = tuples[node, START], tuples[node, NUMBER]
    length, moved = tuples[node, END] - start, tuples[node, POSITION] - start
    if before >= 0:
        first, last = tuples[before, START], tuples[before, END]
        length -= last - first
        number -= tuples[before, NUMBER]
        moved -= tuples[before, POSITION] - first
        start -= last
    if by_rows:
        moved = 0
    return start, length, number - 1, moved


@called
def _coded_bytes(before: int, node: int, by_rows: bool, tuples: Ints) -> int:
    """Of a tuple behind another."""
    gap, length, number, moved = _differences(before, node, by_rows, tuples)
    n = _size(_code(gap)) + _size(_code(length)) + _size(_code(number)) + _size(_code(moved))
    return 1 + n


@called
def added_bytes(node: int, rules: ShedRules, shed: ShedArrays) -> int:
    """By which what is in memory is larger for a tuple, as runs."""
    tuples, by_rows = shed.tuples, rules.by_rows
    before, after = neighbour(node, LEFT, MEMORY, tuples), following(node, MEMORY, tuples)
    n = _coded_bytes(before, node, by_rows, tuples)
    if after >= 0:
        n += _coded_bytes(node, after, by_rows, tuples)
        n -= _coded_bytes(before, after, by_rows, tuples)
    elif before < 0:
        n += rules.group_bytes
    return int(n)


@kernel
def bytes_as_runs(rules: ShedRules, shed: ShedArrays) -> int:
    """Of what is in memory."""
    n = 0
    for group in range(len(shed.roots)):
        before, node = -1, first_from(group, _LEAST, MEMORY, shed.tuples, shed.roots)
        n += rules.group_bytes * (node >= 0)
        while node >= 0:
            n += _coded_bytes(before, node, rules.by_rows, shed.tuples)
            before, node = node, following(node, MEMORY, shed.tuples)
    return n


# ---------------------------------------------------------------------- from rows to bytes


@inlined
def _put(number: int, code: int, at: int, coded: Bytes) -> int:
    """Write a number; where the next one comes."""
    for place in range(_size(code)):
        coded[at + place] = (number >> (8 * place)) & 255
    return at + _size(code)


@called
def _write(at: int, before: int, node: int, by_rows: bool, tuples: Ints, coded: Bytes) -> int:
    """A tuple; where the next one comes."""
    gap, length, number, moved = _differences(before, node, by_rows, tuples)
    codes = _code(gap), _code(length), _code(number), _code(moved)
    coded[at] = codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6
    at = _put(gap, codes[0], at + 1, coded)
    at = _put(length, codes[1], at, coded)
    at = _put(number, codes[2], at, coded)
    return int(_put(moved, codes[3], at, coded))


@kernel
def encode(
    tree: int, by_rows: bool, shed: ShedArrays, coded: Bytes, heads: Ints, lost: Ints
) -> tuple[int, int, int]:
    """Tuples of a tree, of the one beside those that are not in memory. heads: int64[n, 2], slot
    and tuples of a group; lost: int64[n, 2], a tuple, as they are numbered here, and the length
    that went from the run which begins there. How many of each there are, bytes first."""
    tuples, at, n, n_groups, n_lost = shed.tuples, 0, 0, 0, 0
    for group in range(len(shed.roots)):
        before, begun = -1, n
        node = first_from(group, _LEAST, tree, tuples, shed.roots)
        while node >= 0:
            if tree == MEMORY or not tuples[node, FLAGS] & IN_MEMORY:
                at = _write(at, before, node, by_rows, tuples, coded)
                if tree == MEMORY and tuples[node, FLAGS] & HEAD_MEMORY and tuples[node, LOST]:
                    lost[n_lost, 0] = n
                    lost[n_lost, 1] = tuples[node, LOST]
                    n_lost += 1
                before, n = node, n + 1
            node = following(node, tree, tuples)
        if n > begun:
            heads[n_groups, 0] = group
            heads[n_groups, 1] = n - begun
            n_groups += 1
    return at, n_groups, n_lost


# ---------------------------------------------------------------------- from bytes to rows


@inlined
def _taken(code: int, at: int, coded: Bytes) -> int:
    """The number that was written there."""
    n = _size(code)
    if n == 0:
        return 0
    number = np.int64(0)
    for place in range(n):
        number |= np.int64(coded[at + place]) << (8 * place)
    return int((number << (64 - 8 * n)) >> (64 - 8 * n))


@kernel
def decode(tree: int, by_rows: bool, first: int, heads: Ints, coded: Bytes, tuples: Ints) -> None:
    """Rows of tuples from ``first`` on, as ``encode`` had them; in no tree yet."""
    at, node = 0, first
    for place in range(len(heads)):
        start, end, number, moved = 0, 0, 0, 0
        for _ in range(heads[place, 1]):
            codes = int(coded[at])
            length, at = end - start, at + 1
            start = end + _taken(codes & 3, at, coded)
            at += _size(codes & 3)
            end = start + length + _taken(codes >> 2 & 3, at, coded)
            at += _size(codes >> 2 & 3)
            number += 1 + _taken(codes >> 4 & 3, at, coded)
            at += _size(codes >> 4 & 3)
            moved += _taken(codes >> 6, at, coded)
            at += _size(codes >> 6)
            tuples[node, NUMBER] = number
            tuples[node, GROUP] = heads[place, 0]
            tuples[node, START] = start
            tuples[node, END] = end
            tuples[node, POSITION] = number if by_rows else start + moved
            tuples[node, FLAGS] = IN_MEMORY if tree == MEMORY else IN_BESIDE
            node += 1


@kernel
def plant(n: int, shed: ShedArrays) -> None:
    """The first rows are in memory, together by group and in order there: runs begin with some, and
    each group is a tree."""
    tuples, head, last = shed.tuples, -1, -1
    for node in range(n):
        if last >= 0 and tuples[last, GROUP] != tuples[node, GROUP]:
            freshen(last, MEMORY, tuples)
            head = last = -1
        if head < 0 or tuples[node, START] > tuples[head, MEMORY + RUN_END]:
            head = node
            tuples[node, FLAGS] |= HEAD_MEMORY
            tuples[node, MEMORY + RUN_END] = tuples[node, END]
        tuples[head, MEMORY + RUN_END] = max(tuples[head, MEMORY + RUN_END], tuples[node, END])
        _hang_behind(node, last, tuples, shed.roots)
        last = node
    freshen(last, MEMORY, tuples)


@called
def _hang_behind(node: int, last: int, tuples: Ints, roots: Ints) -> None:
    """A tuple comes behind all of its tree; what is complete below it knows all there is."""
    below, above, rank = -1, last, rank_of(node)
    while above >= 0 and rank_of(above) < rank:
        pull(above, MEMORY, tuples)
        below, above = above, tuples[above, MEMORY + PARENT] - 1
    tuples[node, MEMORY + LEFT] = below + 1
    tuples[node, MEMORY + PARENT] = above + 1
    if below >= 0:
        tuples[below, MEMORY + PARENT] = node + 1
    if above >= 0:
        tuples[above, MEMORY + RIGHT] = node + 1
    else:
        roots[tuples[node, GROUP], tree_of(MEMORY)] = node + 1
