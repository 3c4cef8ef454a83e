"""The compiled part of stores and windows.

Tuples lie in a ring of ``rows``: int64 words, ``width`` of them a tuple. Tuple number s lies at
slot s & mask. ``nulls``: the place of the first word of NULL bits, 32 columns in each.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.selection.bits import inlined, kernel

#: What the words after a tuple's NULL bits hold, by kind of store.
TAU, NUMBER = 0, 1
STATE, OLDEST, COUNT, LATER = 0, 1, 2, 3
#: Of STATE: the tuple leaves within the block that is at work, or has left.
LEAVES, GONE = 1, 2

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF, _THIRD = np.uint64(32), np.uint64(29)


@inlined
def mixed(hash: Any, word: Any) -> Any:
    """A hash (uint64) with one word more. Low bits of words may all be 0, as those of floats."""
    x = hash ^ np.uint64(word)
    x ^= x >> _HALF
    x *= _FACTOR
    return x ^ (x >> _THIRD)


@inlined
def is_null(rows: Any, base: int, nulls: int, column: int) -> Any:
    """Whether a column of the tuple at word ``base`` is NULL: 0 or 1."""
    return (rows[base + nulls + (column >> 5)] >> (column & 31)) & 1


@inlined
def group_hash(rows: Ints, base: int, nulls: int, columns: Ints) -> Any:
    """Equal for tuples that are equal in the columns, NULL being a value."""
    hash = np.uint64(0)
    for c in columns:
        hash = mixed(hash, rows[base + c])
        if is_null(rows, base, nulls, c):
            hash = mixed(hash, c + 1)
    return hash


@inlined
def same_group(rows: Ints, base: int, other: int, nulls: int, columns: Ints) -> bool:
    """Whether two tuples are equal in the columns, NULL being a value."""
    for c in columns:
        if rows[base + c] != rows[other + c]:
            return False
        if is_null(rows, base, nulls, c) != is_null(rows, other, nulls, c):
            return False
    return True


@kernel
def gather(
    rows: Ints, width: int, mask: int, seqs: Ints, words: Ints, nulls: Ints, out: Ints
) -> int:
    """out[k, i] = word words[k] of tuple seqs[i]. Returns what is set in any of their words
    ``nulls``."""
    bits = 0
    for i in range(len(seqs)):
        base = (seqs[i] & mask) * width
        for k in range(len(words)):
            out[k, i] = rows[base + words[k]]
        for word in nulls:
            bits |= rows[base + word]
    return int(bits)


@kernel
def number(sign: Signs, lo: int, hi: int, seqs: Ints) -> int:
    """The numbers of tuples that come (sign +) behind ``hi`` and go from ``lo`` on; how many
    come."""
    first = hi
    for i in range(len(sign)):
        if sign[i] > 0:
            seqs[i] = hi
            hi += 1
        else:
            seqs[i] = lo
            lo += 1
    return int(hi - first)


@kernel
def spread(rows: Ints, width: int, lo: int, hi: int, old_mask: int, mask: int) -> None:
    """Move tuples lo .. hi-1 to their slots in a ring that has grown to mask + 1."""
    for s in range(lo, hi):
        old, new = (s & old_mask) * width, (s & mask) * width
        if new != old:
            for w in range(width):
                rows[new + w] = rows[old + w]


@kernel
def compact(rows: Ints, width: int, state: int, mask: int, lo: int, hi: int, moved: Ints) -> int:
    """Close the gaps of tuples that are gone. moved[s - lo] becomes the new number of tuple s, -1
    if it is gone. Returns the new hi."""
    to = lo
    for s in range(lo, hi):
        old = (s & mask) * width
        moved[s - lo] = -1
        if rows[old + state] != GONE:
            moved[s - lo] = to
            new = (to & mask) * width
            for w in range(width):
                rows[new + w] = rows[old + w]
            to += 1
    return to


@kernel
def renumber(rows: Ints, width: int, own: int, mask: int, lo: int, hi: int, moved: Ints) -> None:
    """Let OLDEST and LATER of tuples name others by their new numbers; those of tuples that are
    not the newest, or the newest, of their group mean nothing and may stay."""
    for s in range(lo, hi):
        base = (s & mask) * width + own
        for word in (OLDEST, LATER):
            place = rows[base + word] - lo
            if 0 <= place < len(moved):
                rows[base + word] = moved[place]


@kernel
def first_live(rows: Ints, width: int, state: int, mask: int, lo: int, hi: int) -> int:
    """The number of the oldest tuple that is not gone."""
    while lo < hi and rows[(lo & mask) * width + state] == GONE:
        lo += 1
    return lo


@inlined
def shown_at(time: int, slide: int) -> int:
    """When the window first shows a tuple: the first multiple of ``slide`` not before it."""
    return time if slide == 1 else -(-time // slide) * slide


@inlined
def leaves_at(time: int, size: int, slide: int) -> int:
    """When a tuple is no longer in the window: the first multiple of ``slide`` > time + size."""
    return time + size + 1 if slide == 1 else ((time + size) // slide + 1) * slide


@kernel
def count_due(
    rows: Ints, width: int, word: int, mask: int, span: Ints, size: int, slide: int, limit: int
) -> int:
    """Of the tuples span[0] .. span[1]-1, how many have left at ``limit``; size < 0: are shown.
    Their times do not decrease."""
    first, end = span[0], span[1]
    while first < end:
        middle = (first + end) >> 1
        time = rows[(middle & mask) * width + word]
        due = shown_at(time, slide) if size < 0 else leaves_at(time, size, slide)
        if due > limit:
            end = middle
        else:
            first = middle + 1
    return int(first - span[0])


@kernel
def move_window(
    rows: Ints,
    width: int,
    word: int,
    mask: int,
    span: Ints,
    size: int,
    slide: int,
    shows_first: bool,
    seqs: Ints,
    times: Ints,
    signs: Signs,
) -> None:
    """Fill the arrays with what comes and goes, in order of time: tuples span[1] .. span[2]-1
    come, those from span[0] on go, as many as there is room for. word: where a tuple's time is.
    shows_first: at the same time what comes goes before what goes."""
    lo, shown, last = span[0], span[1], span[2]
    for i in range(len(seqs)):
        coming = leaving = 0
        comes = shown < last
        if comes:
            coming = shown_at(rows[(shown & mask) * width + word], slide)
        if lo < shown:
            leaving = leaves_at(rows[(lo & mask) * width + word], size, slide)
            comes = comes and (coming < leaving or (shows_first and coming == leaving))
        if comes:
            seqs[i], times[i], signs[i] = shown, coming, 1
            shown += 1
        else:
            seqs[i], times[i], signs[i] = lo, leaving, -1
            lo += 1


@kernel
def link_groups(
    rows: Ints,
    width: int,
    nulls: int,
    state: int,
    mask: int,
    head: Ints,
    next: Ints,
    columns: Ints,
    span: Ints,
) -> None:
    """Take tuples span[0] .. span[1]-1 into an index on the columns in which NULL is a value."""
    for s in range(span[0], span[1]):
        base = (s & mask) * width
        if rows[base + state] != GONE:
            hash = group_hash(rows, base, nulls, columns)
            bucket = np.int64(hash & np.uint64(len(head) - 1))
            next[s & mask], head[bucket] = head[bucket], s


@kernel
def partition(
    rows: Ints,
    width: int,
    nulls: int,
    own: int,
    mask: int,
    head: Ints,
    next: Ints,
    by: Ints,
    span: Ints,
    size: int,
    seqs: Ints,
    signs: Signs,
) -> int:
    """Let tuples span[1] .. span[2]-1 into the windows of their groups, each followed by the one
    it pushes out; older tuples begin at span[0]. Returns how many elements that makes."""
    n, lo = 0, span[0]
    for s in range(span[1], span[2]):
        base = (s & mask) * width
        bucket = np.int64(group_hash(rows, base, nulls, by) & np.uint64(len(head) - 1))
        before = head[bucket]
        while before >= lo and not same_group(rows, base, (before & mask) * width, nulls, by):
            before = next[before & mask]
        oldest, count = s, 1
        if before >= lo:
            newest = (before & mask) * width + own
            oldest, count = rows[newest + OLDEST], rows[newest + COUNT] + 1
            rows[newest + LATER] = s
        next[s & mask], head[bucket] = head[bucket], s
        seqs[n], signs[n] = s, 1
        n += 1
        if count > size:
            seqs[n], signs[n] = oldest, -1
            n += 1
            gone = (oldest & mask) * width + own
            rows[gone + STATE] = GONE
            oldest, count = rows[gone + LATER], count - 1
        rows[base + own + OLDEST], rows[base + own + COUNT] = oldest, count
    return n


@kernel
def take_away(
    rows: Ints,
    width: int,
    nulls: int,
    own: int,
    mask: int,
    head: Ints,
    next: Ints,
    columns: Ints,
    lo: int,
    seqs: Ints,
    signs: Signs,
) -> int:
    """Find what elements take away from a bag. seqs: the numbers of their tuples, which all lie
    in the ring; those with sign - become the number of an equal one that is there, marked LEAVES.
    Returns the first element that takes away what is not there, or the number of elements."""
    for i in range(len(seqs)):
        base = (seqs[i] & mask) * width
        bucket = np.int64(group_hash(rows, base, nulls, columns) & np.uint64(len(head) - 1))
        if signs[i] > 0:
            next[seqs[i] & mask], head[bucket] = head[bucket], seqs[i]
            continue
        s = head[bucket]
        while s >= lo:
            other = (s & mask) * width
            if rows[other + own + STATE] == 0 and same_group(rows, base, other, nulls, columns):
                break
            s = next[s & mask]
        if s < lo:
            return i
        rows[(s & mask) * width + own + STATE] = LEAVES
        seqs[i] = s
    return len(seqs)
