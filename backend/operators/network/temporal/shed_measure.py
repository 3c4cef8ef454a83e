"""What a window holds, counted: accuracy of value groups, pieces of runs. Card B2"""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    BESIDE,
    FLAGS,
    FREE,
    GROUP,
    HEAD_MEMORY,
    MEMORY,
    NEXT,
    NUMBER,
    OLDEST,
    RUN_END,
    START,
    Floats,
    ShedArrays,
)
from backend.operators.network.temporal.interval_tree import (
    first_head,
    following,
    head_of,
    next_head,
)
from backend.operators.network.temporal.shed_runs import loss_of, takes
from backend.operators.selection.bits import called, kernel

#: Columns of ``counts``, as ``AccuracyParts`` names them, and of ``sums``.
_EXACT, _SURVIVING, _PIECES, _STRAY, _UNCHANGED, _SHORTENED, _SPLIT, _LOST, _EXTRANEOUS = range(9)
N_COUNTS = 9
_LAST = np.iinfo(np.int64).max
_LEAST = np.iinfo(np.int64).min
#: Above all numbers of arrivals.
_BEHIND = 1 << 62


@kernel
def measure(
    groups: Ints, at: int, rules: ShedRules, shed: ShedArrays, counts: Ints, sums: Floats
) -> None:
    """Of each of some value groups: how near what is kept of its runs (in the tree ``at``) is to
    them. counts: int64[n, N_COUNTS]; sums: float64[n, 2], Σ of shares kept, and divided."""
    tuples = shed.tuples
    for row in range(len(groups)):
        run = first_head(groups[row], _LEAST, at, tuples, shed.roots)
        while run >= 0:
            _compare(row, run, at, rules, shed, counts, sums)
            run = next_head(run, at, tuples)


@called
def _compare(
    row: int,
    run: int,
    at: int,
    rules: ShedRules,
    shed: ShedArrays,
    counts: Ints,
    sums: Floats,
) -> None:
    tuples, k, kept = shed.tuples, 0, 0
    low, high = tuples[run, START], tuples[run, at + RUN_END]
    piece = first_head(tuples[run, GROUP], low, MEMORY, tuples, shed.roots)
    while piece >= 0 and tuples[piece, START] < high:
        length = tuples[piece, MEMORY + RUN_END] - tuples[piece, START]
        if takes(length, rules):
            k, kept = k + 1, kept + length
        piece = next_head(piece, MEMORY, tuples)
    if not takes(high - low, rules):
        counts[row, _STRAY] += k
        return
    counts[row, _EXACT] += 1
    counts[row, _SURVIVING] += min(1, k)
    counts[row, _PIECES] += max(1, k)
    counts[row, _UNCHANGED] += k == 1 and kept == high - low
    counts[row, _SHORTENED] += k == 1 and kept < high - low
    counts[row, _SPLIT] += k > 1
    counts[row, _LOST] += k == 0
    counts[row, _EXTRANEOUS] += max(0, k - 1)
    sums[row, 0] += kept / (high - low)
    sums[row, 1] += kept / (high - low) / max(1, k)


@kernel
def pieces_of(group: int, at: int, most: int, shed: ShedArrays, pieces: Ints) -> int:
    """How many pieces runs of a value group are in, counted to about ``most``; the last ones are in
    ``pieces``, the last one first: int64[n, 4], both ends of the run and of the piece. An end of -1
    behind a start of 0: nothing is left."""
    tuples, roots, n = shed.tuples, shed.roots, 0
    run = head_of(group, _LAST, _BEHIND, at, tuples, roots)
    while run >= 0 and n < most:
        low, high, before = tuples[run, START], tuples[run, at + RUN_END], n
        piece = head_of(group, high - 1, _BEHIND, MEMORY, tuples, roots)
        while piece >= 0 and tuples[piece, START] >= low:
            _write(n, low, high, tuples[piece, START], tuples[piece, MEMORY + RUN_END], pieces)
            n += 1
            piece = head_of(group, tuples[piece, START] - 1, _BEHIND, MEMORY, tuples, roots)
        if n == before:
            _write(n, low, high, 0, -1, pieces)
            n += 1
        run = head_of(group, low - 1, _BEHIND, at, tuples, roots)
    return n


@called
def _write(n: int, low: int, high: int, start: int, end: int, pieces: Ints) -> None:
    if n < len(pieces):
        pieces[n, 0] = low
        pieces[n, 1] = high
        pieces[n, 2] = start
        pieces[n, 3] = end


@kernel
def losses(shed: ShedArrays, rows: Ints) -> int:
    """Of each tuple that may be dropped: its row, what it leaves and takes, and where its exact run
    begins. rows: int64[n, 4]."""
    tuples, node, n = shed.tuples, shed.facts[OLDEST] - 1, 0
    while node >= 0:
        if tuples[node, FLAGS] & FREE:
            pieces, length = loss_of(node, MEMORY, tuples, shed.roots)
            rows[n, 0] = node
            rows[n, 1] = pieces
            rows[n, 2] = length
            rows[n, 3] = _exact(node, shed)
            n += 1
        node = tuples[node, NEXT] - 1
    return n


@kernel
def runs_in_memory(shed: ShedArrays, rows: Ints) -> int:
    """Of each run: where it and its exact run begin, and its length. rows: int64[n, 3]."""
    tuples, node, n = shed.tuples, shed.facts[OLDEST] - 1, 0
    while node >= 0:
        if tuples[node, FLAGS] & HEAD_MEMORY:
            rows[n, 0] = node
            rows[n, 1] = _exact(node, shed)
            rows[n, 2] = tuples[node, MEMORY + RUN_END] - tuples[node, START]
            n += 1
        node = tuples[node, NEXT] - 1
    return n


@called
def _exact(node: int, shed: ShedArrays) -> int:
    tuples = shed.tuples
    start, number = tuples[node, START], tuples[node, NUMBER]
    return int(head_of(tuples[node, GROUP], start, number, BESIDE, tuples, shed.roots))


@kernel
def count_answered(rules: ShedRules, shed: ShedArrays) -> int:
    """Runs in memory that are in the answer."""
    tuples, node, n = shed.tuples, shed.facts[OLDEST] - 1, 0
    while node >= 0:
        if tuples[node, FLAGS] & HEAD_MEMORY:
            n += takes(tuples[node, MEMORY + RUN_END] - tuples[node, START], rules)
        node = tuples[node, NEXT] - 1
    return n


@kernel
def members_of(heads: Ints, at: int, most: int, shed: ShedArrays, rows: Ints, firsts: Ints) -> int:
    """How many of some runs have room in ``rows``: at most so many tuples of each, by start and
    arrival. firsts: of each where it begins, then how many tuples there are."""
    tuples = shed.tuples
    for run in range(len(heads)):
        node, n = heads[run], firsts[run]
        end, limit = tuples[node, at + RUN_END], n + most
        while node >= 0 and tuples[node, START] < end and n < limit:
            if n == len(rows):
                return run
            rows[n] = node
            n += 1
            node = following(node, at, tuples)
        firsts[run + 1] = n
    return len(heads)
