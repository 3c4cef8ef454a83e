"""Coalescing, interval by interval: what an arrival or a departure does to the runs it lies in.

Of each value group there are two lists by start: its different intervals (``members``; the reach of
one is the largest end up to it in the list), and its runs, the maximal intervals they cover without
a gap. [AL11], card B1
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.network.temporal.ordered import (
    END,
    LEVELS,
    START,
    IntervalArrays,
    delete,
    following,
    insert,
    seek,
)
from backend.operators.selection.bits import called, kernel

#: Columns of members, beside START and END: how often the interval is there besides once.
COUNT, REACH = 2, 3
MEMBER_WORDS: Final = 4
RUN_WORDS: Final = 2
#: Columns of what is changes: the element it follows from, start, end, sign.
TOLD_WORDS: Final = 4
#: Of ``done``: elements taken, changes told.
TAKEN, TOLD = range(2)
_LAST: Final = np.iinfo(np.int64).max


class ValidElements(NamedTuple):
    """Elements: their value groups, signs, starts and ends."""

    groups: Ints
    signs: Signs
    starts: Ints
    ends: Ints


@kernel
def coalesce(
    elements: ValidElements,
    members: IntervalArrays,
    runs: IntervalArrays,
    sizes: Ints,
    changes: Ints,
    done: Ints,
    path: Ints,
) -> None:
    """Elements from ``done[TAKEN]`` on, as far as ``changes`` has room. sizes: int64[groups],
    members of each; path: int64[LEVELS], to work with."""
    done[TOLD] = 0
    for i in range(done[TAKEN], len(elements.groups)):
        group, start, end = elements.groups[i], elements.starts[i], elements.ends[i]
        if done[TOLD] + sizes[group] + 3 > len(changes):
            break
        before = seek(start, end, group, members, path)
        node, nodes = following(before, group, 0, members), members.nodes
        is_there = node >= 0 and nodes[node, START] == start and nodes[node, END] == end
        if elements.signs[i] > 0:
            if is_there:
                nodes[node, COUNT] += 1
            else:
                node = insert(start, end, group, members, path)
                sizes[group] += 1
                _reach_on(before, node, group, members)
                _cover(i, start, end, group, runs, changes, done, path)
        elif is_there:
            nodes[node, COUNT] -= 1
            if nodes[node, COUNT] < 0:
                delete(node, group, members, path)
                sizes[group] -= 1
                _reach_again(before, group, members)
                _uncover(i, start, end, before, group, members, runs, changes, done, path)
        done[TAKEN] = i + 1


@called
def _reach_on(before: int, node: int, group: int, members: IntervalArrays) -> None:
    """A new interval reaches as far as itself or the one before, and so do those behind it."""
    nodes = members.nodes
    nodes[node, COUNT] = 0
    reach = nodes[node, END]
    if before >= 0:
        reach = max(reach, nodes[before, REACH])
    nodes[node, REACH] = reach
    after = following(node, group, 0, members)
    while after >= 0 and nodes[after, REACH] < reach:
        nodes[after, REACH] = reach
        after = following(after, group, 0, members)


@called
def _reach_again(before: int, group: int, members: IntervalArrays) -> None:
    """How far intervals reach behind one that is gone, until that is as it was."""
    nodes = members.nodes
    node = following(before, group, 0, members)
    while node >= 0:
        reach = nodes[node, END]
        if before >= 0:
            reach = max(reach, nodes[before, REACH])
        if nodes[node, REACH] == reach:
            break
        nodes[node, REACH] = reach
        before, node = node, following(node, group, 0, members)


@called
def _tell(element: int, start: int, end: int, sign: int, changes: Ints, done: Ints) -> None:
    row = done[TOLD]
    changes[row, 0] = element
    changes[row, 1] = start
    changes[row, 2] = end
    changes[row, 3] = sign
    done[TOLD] = row + 1


@called
def _cover(
    element: int,
    start: int,
    end: int,
    group: int,
    runs: IntervalArrays,
    changes: Ints,
    done: Ints,
    path: Ints,
) -> None:
    """An interval becomes a run, or part of one that joins all it touches."""
    nodes = runs.nodes
    run = seek(start, _LAST, group, runs, path)
    if run < 0 or nodes[run, END] < start:
        run = following(run, group, 0, runs)
    elif nodes[run, END] >= end:
        return
    low, high, grown = start, end, -1
    while run >= 0 and nodes[run, START] <= end:
        low, high = min(low, nodes[run, START]), max(high, nodes[run, END])
        after = following(run, group, 0, runs)
        _tell(element, nodes[run, START], nodes[run, END], -1, changes, done)
        if grown < 0:
            grown = run
        else:
            seek(nodes[run, START], nodes[run, END], group, runs, path)
            delete(run, group, runs, path)
        run = after
    _set_run(element, grown, low, high, group, runs, changes, done, path)


@called
def _uncover(
    element: int,
    start: int,
    end: int,
    before: int,
    group: int,
    members: IntervalArrays,
    runs: IntervalArrays,
    changes: Ints,
    done: Ints,
    path: Ints,
) -> None:
    """The run of an interval that is gone falls into the pieces that others still cover. before:
    the interval next to it."""
    nodes = members.nodes
    run = seek(start, _LAST, group, runs, path)
    first, last = runs.nodes[run, START], runs.nodes[run, END]
    has_piece = before >= 0 and nodes[before, START] >= first
    low, high = first, (nodes[before, REACH] if has_piece else first)
    if has_piece and high >= end:
        return
    _tell(element, first, last, -1, changes, done)
    node = following(before, group, 0, members)
    while not (has_piece and high >= end):
        if node < 0 or nodes[node, START] > last:
            last = high
            break
        if not has_piece or nodes[node, START] > high:
            if has_piece:
                _set_run(element, run, low, high, group, runs, changes, done, path)
                run = -1
            has_piece, low = True, nodes[node, START]
        high = nodes[node, REACH]
        node = following(node, group, 0, members)
    if has_piece:
        _set_run(element, run, low, last, group, runs, changes, done, path)
    else:
        seek(first, last, group, runs, path)
        delete(run, group, runs, path)


@called
def _set_run(
    element: int,
    run: int,
    start: int,
    end: int,
    group: int,
    runs: IntervalArrays,
    changes: Ints,
    done: Ints,
    path: Ints,
) -> None:
    """A run has another interval, between the same neighbours; -1: it is new."""
    if run < 0:
        seek(start, end, group, runs, path)
        insert(start, end, group, runs, path)
    else:
        runs.nodes[run, START] = start
        runs.nodes[run, END] = end
    _tell(element, start, end, 1, changes, done)


def work_path() -> Ints:
    """int64[LEVELS], for the kernel to work with."""
    return np.zeros(LEVELS, np.int64)
