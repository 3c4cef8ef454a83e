"""Intervals of value groups in order of start and arrival, in arrays: a treap for each group.

Each node knows the largest end at and below it, so that what an interval touches is found, and how
many runs begin there; those in memory know the best candidates, too. ``at``: where the words of a
tree begin, MEMORY or BESIDE.
"""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.words import (
    BESIDE,
    BEST,
    BEST_ONE,
    DELTA,
    END,
    FLAGS,
    FREE,
    GROUP,
    HEAD_BESIDE,
    HEAD_MEMORY,
    HEADS,
    LEFT,
    LENGTH,
    MANY,
    MEMORY,
    NUMBER,
    PARENT,
    RIGHT,
    SIZE,
    START,
    TOP,
)
from backend.operators.selection.bits import called, inlined


@inlined
def rank_of(node: int) -> np.uint64:
    """Of which the highest is the root."""
    mixed = np.uint64(node + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(31))


@inlined
def tree_of(at: int) -> int:
    """The column of ``roots``."""
    return int(at == BESIDE)


@inlined
def head_flag(at: int) -> int:
    """Of a tuple a run begins with."""
    return HEAD_MEMORY if at == MEMORY else HEAD_BESIDE


@inlined
def is_before(node: int, start: int, number: int, tuples: Ints) -> bool:
    """By start, then arrival."""
    if tuples[node, START] == start:
        return bool(tuples[node, NUMBER] < number)
    return bool(tuples[node, START] < start)


@inlined
def is_better(this: int, other: int, tuples: Ints) -> bool:
    """Of candidates that make as many pieces, as stored; 0: there is none."""
    if not this or not other:
        return this > 0
    if tuples[this - 1, LENGTH] == tuples[other - 1, LENGTH]:
        return bool(tuples[this - 1, NUMBER] < tuples[other - 1, NUMBER])
    return bool(tuples[this - 1, LENGTH] < tuples[other - 1, LENGTH])


@inlined
def pull(node: int, at: int, tuples: Ints) -> None:
    """What a node knows of all at and below it."""
    left, right = tuples[node, at + LEFT] - 1, tuples[node, at + RIGHT] - 1
    top = tuples[node, END]
    if left >= 0:
        top = max(top, tuples[left, at + TOP])
    if right >= 0:
        top = max(top, tuples[right, at + TOP])
    tuples[node, at + TOP] = top
    tuples[node, at + HEADS] = _has_heads(node, left, right, at, tuples)
    if at == MEMORY:
        _pull_best(node, left, right, tuples)


@inlined
def _has_heads(node: int, left: int, right: int, at: int, tuples: Ints) -> int:
    """Whether a run begins at or below a node."""
    has = tuples[node, FLAGS] & head_flag(at) != 0
    if left >= 0:
        has = has or tuples[left, at + HEADS] != 0
    if right >= 0:
        has = has or tuples[right, at + HEADS] != 0
    return int(has)


@called
def _pull_best(node: int, left: int, right: int, tuples: Ints) -> None:
    best, splitter, many, size = 0, 0, 0, 1
    if tuples[node, FLAGS] & FREE:
        delta = tuples[node, DELTA]
        best, splitter = (node + 1 if delta == 0 else 0), (node + 1 if delta == 1 else 0)
        many = 1 if delta > 1 else 0
    for below in (left, right):
        if below >= 0:
            if is_better(tuples[below, BEST], best, tuples):
                best = tuples[below, BEST]
            if is_better(tuples[below, BEST_ONE], splitter, tuples):
                splitter = tuples[below, BEST_ONE]
            many += tuples[below, MANY]
            size += tuples[below, SIZE]
    tuples[node, BEST] = best
    tuples[node, BEST_ONE] = splitter
    tuples[node, MANY] = many
    tuples[node, SIZE] = size


@called
def freshen(node: int, at: int, tuples: Ints) -> None:
    """A node has changed: so has what those above it know."""
    while node >= 0:
        pull(node, at, tuples)
        node = tuples[node, at + PARENT] - 1


@called
def freshen_heads(node: int, at: int, tuples: Ints) -> None:
    """A run begins with a tuple, or no more."""
    while node >= 0:
        left, right = tuples[node, at + LEFT] - 1, tuples[node, at + RIGHT] - 1
        has = _has_heads(node, left, right, at, tuples)
        if tuples[node, at + HEADS] == has:
            return
        tuples[node, at + HEADS] = has
        node = tuples[node, at + PARENT] - 1


@called
def freshen_best(node: int, tuples: Ints) -> None:
    """The loss of a tuple in memory does something else, or it may be dropped now, or no more: up
    to where another one is the best in either case."""
    changed = node + 1
    while node >= 0:
        best, splitter, many = tuples[node, BEST], tuples[node, BEST_ONE], tuples[node, MANY]
        left, right = tuples[node, MEMORY + LEFT] - 1, tuples[node, MEMORY + RIGHT] - 1
        _pull_best(node, left, right, tuples)
        is_same = tuples[node, BEST] == best and tuples[node, BEST_ONE] == splitter
        is_same = is_same and tuples[node, MANY] == many
        if is_same and best != changed and splitter != changed:
            return
        node = tuples[node, MEMORY + PARENT] - 1


@inlined
def _hang(node: int, parent: int, before: int, at: int, tuples: Ints, roots: Ints) -> None:
    """``node`` (-1: none) takes the place of ``before`` below ``parent``."""
    if parent < 0:
        roots[tuples[before, GROUP], tree_of(at)] = node + 1
    elif tuples[parent, at + LEFT] == before + 1:
        tuples[parent, at + LEFT] = node + 1
    else:
        tuples[parent, at + RIGHT] = node + 1
    if node >= 0:
        tuples[node, at + PARENT] = parent + 1


@called
def _rotate(node: int, at: int, tuples: Ints, roots: Ints) -> None:
    """A node takes the place of its parent, which goes below it."""
    parent = tuples[node, at + PARENT] - 1
    _hang(node, tuples[parent, at + PARENT] - 1, parent, at, tuples, roots)
    if tuples[parent, at + LEFT] == node + 1:
        inner = tuples[node, at + RIGHT] - 1
        tuples[parent, at + LEFT] = inner + 1
        tuples[node, at + RIGHT] = parent + 1
    else:
        inner = tuples[node, at + LEFT] - 1
        tuples[parent, at + RIGHT] = inner + 1
        tuples[node, at + LEFT] = parent + 1
    if inner >= 0:
        tuples[inner, at + PARENT] = parent + 1
    tuples[parent, at + PARENT] = node + 1
    pull(parent, at, tuples)


@called
def tree_insert(node: int, at: int, tuples: Ints, roots: Ints) -> None:
    """A tuple comes into the tree of its group."""
    group, tree = tuples[node, GROUP], tree_of(at)
    start, number = tuples[node, START], tuples[node, NUMBER]
    parent, below, is_left = -1, roots[group, tree] - 1, False
    while below >= 0:
        parent = below
        is_left = not is_before(below, start, number, tuples)
        below = tuples[below, at + (LEFT if is_left else RIGHT)] - 1
    tuples[node, at + LEFT] = tuples[node, at + RIGHT] = 0
    tuples[node, at + PARENT] = parent + 1
    if parent < 0:
        roots[group, tree] = node + 1
    else:
        tuples[parent, at + (LEFT if is_left else RIGHT)] = node + 1
    rank = rank_of(node)
    pull(node, at, tuples)
    while tuples[node, at + PARENT] > 0 and rank_of(tuples[node, at + PARENT] - 1) < rank:
        _rotate(node, at, tuples, roots)
    freshen(node, at, tuples)


@called
def tree_delete(node: int, at: int, tuples: Ints, roots: Ints) -> None:
    """A tuple goes from its tree."""
    while tuples[node, at + LEFT] and tuples[node, at + RIGHT]:
        left, right = tuples[node, at + LEFT] - 1, tuples[node, at + RIGHT] - 1
        _rotate(left if rank_of(left) > rank_of(right) else right, at, tuples, roots)
    below = max(tuples[node, at + LEFT], tuples[node, at + RIGHT]) - 1
    parent = tuples[node, at + PARENT] - 1
    _hang(below, parent, node, at, tuples, roots)
    freshen(parent, at, tuples)


@inlined
def neighbour(node: int, side: int, at: int, tuples: Ints) -> int:
    """The next node by a side, RIGHT or LEFT, in the order of the tree; -1: none."""
    other = LEFT + RIGHT - side
    below = tuples[node, at + side] - 1
    if below >= 0:
        while tuples[below, at + other]:
            below = tuples[below, at + other] - 1
        return int(below)
    above = tuples[node, at + PARENT] - 1
    while above >= 0 and tuples[above, at + side] == node + 1:
        node, above = above, tuples[above, at + PARENT] - 1
    return int(above)


@called
def following(node: int, at: int, tuples: Ints) -> int:
    """The next node; -1: none."""
    return int(neighbour(node, RIGHT, at, tuples))


@called
def node_at(group: int, start: int, number: int, at: int, tuples: Ints, roots: Ints) -> int:
    """The node of a tuple; -1: it is in no node."""
    node = roots[group, tree_of(at)] - 1
    while node >= 0 and tuples[node, NUMBER] != number:
        is_right = is_before(node, start, number, tuples)
        node = tuples[node, at + (RIGHT if is_right else LEFT)] - 1
    return int(node)


@called
def first_from(group: int, start: int, at: int, tuples: Ints, roots: Ints) -> int:
    """The first node that begins at ``start`` or later; -1: none."""
    node, head = roots[group, tree_of(at)] - 1, -1
    while node >= 0:
        if tuples[node, START] >= start:
            head, node = node, tuples[node, at + LEFT] - 1
        else:
            node = tuples[node, at + RIGHT] - 1
    return int(head)


@called
def reach_before(node: int, at: int, tuples: Ints) -> int:
    """The largest end of what is before a node of the tree; its start: no end is larger."""
    reach = tuples[node, START]
    below = tuples[node, at + LEFT] - 1
    if below >= 0:
        reach = max(reach, tuples[below, at + TOP])
    above = tuples[node, at + PARENT] - 1
    while above >= 0:
        if tuples[above, at + RIGHT] == node + 1:
            reach = max(reach, tuples[above, END])
            left = tuples[above, at + LEFT] - 1
            if left >= 0:
                reach = max(reach, tuples[left, at + TOP])
        node, above = above, tuples[above, at + PARENT] - 1
    return int(reach)


@called
def touching_from(node: int, start: int, at: int, tuples: Ints) -> int:
    """The first that ends at ``start`` or later at or below a node; there is one."""
    while True:
        left, right = tuples[node, at + LEFT] - 1, tuples[node, at + RIGHT] - 1
        if left >= 0 and tuples[left, at + TOP] >= start:
            node = left
        elif tuples[node, END] >= start:
            return int(node)
        else:
            node = right


@called
def next_touching(node: int, start: int, at: int, tuples: Ints) -> int:
    """The next one behind a node that ends at ``start`` or later; -1: none."""
    right = tuples[node, at + RIGHT] - 1
    if right >= 0 and tuples[right, at + TOP] >= start:
        return int(touching_from(right, start, at, tuples))
    above = tuples[node, at + PARENT] - 1
    while above >= 0:
        if tuples[above, at + LEFT] == node + 1:
            if tuples[above, END] >= start:
                return int(above)
            right = tuples[above, at + RIGHT] - 1
            if right >= 0 and tuples[right, at + TOP] >= start:
                return int(touching_from(right, start, at, tuples))
        node, above = above, tuples[above, at + PARENT] - 1
    return -1


@called
def head_of(group: int, start: int, number: int, at: int, tuples: Ints, roots: Ints) -> int:
    """The last tuple a run begins with, up to (start, number); -1: none."""
    flag = head_flag(at)
    node, head = roots[group, tree_of(at)] - 1, -1
    subtree = -1
    while node >= 0:
        if is_before(node, start, number + 1, tuples):
            left = tuples[node, at + LEFT] - 1
            if tuples[node, FLAGS] & flag:
                head, subtree = node, -1
            elif left >= 0 and tuples[left, at + HEADS]:
                head, subtree = -1, left
            node = tuples[node, at + RIGHT] - 1
        else:
            node = tuples[node, at + LEFT] - 1
    if subtree >= 0:
        head = _outer_head(subtree, flag, at + RIGHT, at + LEFT, at + HEADS, tuples)
    return int(head)


@called
def _outer_head(node: int, flag: int, near: int, far: int, heads: int, tuples: Ints) -> int:
    """The head nearest to one side, at or below a node; there is one."""
    while True:
        below = tuples[node, near] - 1
        if below >= 0 and tuples[below, heads]:
            node = below
        elif tuples[node, FLAGS] & flag:
            return int(node)
        else:
            node = tuples[node, far] - 1


@called
def next_head(node: int, at: int, tuples: Ints) -> int:
    """The next tuple behind a node that a run begins with; -1: none."""
    flag = head_flag(at)
    right = tuples[node, at + RIGHT] - 1
    if right >= 0 and tuples[right, at + HEADS]:
        return int(_outer_head(right, flag, at + LEFT, at + RIGHT, at + HEADS, tuples))
    above = tuples[node, at + PARENT] - 1
    while above >= 0:
        if tuples[above, at + LEFT] == node + 1:
            if tuples[above, FLAGS] & flag:
                return int(above)
            right = tuples[above, at + RIGHT] - 1
            if right >= 0 and tuples[right, at + HEADS]:
                return int(_outer_head(right, flag, at + LEFT, at + RIGHT, at + HEADS, tuples))
        node, above = above, tuples[above, at + PARENT] - 1
    return -1


@called
def first_head(group: int, start: int, at: int, tuples: Ints, roots: Ints) -> int:
    """The first tuple from ``start`` on that a run begins with; -1: none."""
    node = first_from(group, start, at, tuples, roots)
    flag = head_flag(at)
    if node < 0 or tuples[node, FLAGS] & flag:
        return int(node)
    return int(next_head(node, at, tuples))
