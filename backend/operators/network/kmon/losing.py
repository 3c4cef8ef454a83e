"""Results that a join loses because it dropped tuples too early: kernels of k-Mon's join (card F5).

Of what is dropped for good, keys are remembered: a partner that comes after all is a loss. It is
counted in results, with all that came of the other parents of its child.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    constraints,
    edges,
    entry,
    ghosts,
    inputs,
    link,
    settings,
    word,
)
from backend.operators.network.kmon.letting_go import reason_above
from backend.operators.network.kmon.linking import hashed, next_equal, next_parent
from backend.operators.selection.bits import called

#: Cells that a key may be in, side by side; a power of two.
_CELLS: Final = 8


@called
def _cell(m: Pointer, table: int, tag: int) -> int:
    """The cell of a key; -1: it is not remembered."""
    first = _first_cell(m, tag)
    for at in range(first, first + _CELLS):
        if ghosts(m)[table, at, w.GONE_TAG] == tag:
            return at
    return -1


@called
def _first_cell(m: Pointer, tag: int) -> int:
    return (tag >> 32) & int(ghosts(m).shape[1] - _CELLS)


@called
def _tag(m: Pointer, slot: int, reads: int) -> int:
    return int(np.int64(hashed(m, slot, reads))) | 1


@called
def _filled(m: Pointer, table: int, tag: int) -> int:
    """The cell of a key: its own, an empty one, or that of the tuple that came first."""
    at = _cell(m, table, tag)
    if at >= 0:
        return at
    first = _first_cell(m, tag)
    oldest = first
    for at in range(first, first + _CELLS):
        if ghosts(m)[table, at, w.GONE_TAG] == 0:
            oldest = at
            break
        if ghosts(m)[table, at, w.GONE_STAMP] < ghosts(m)[table, oldest, w.GONE_STAMP]:
            oldest = at
    for k in range(w.END_GONE):
        ghosts(m)[table, oldest, k] = 0
    ghosts(m)[table, oldest, w.GONE_TAG] = tag
    ghosts(m)[table, oldest, w.GONE_STAMP] = -1
    return oldest


@called
def _remember(m: Pointer, table: int, tag: int, stamp: int, reason: int, n: int) -> int:
    """The cell it is in."""
    at = _filled(m, table, tag)
    known = ghosts(m)[table, at, w.GONE_STAMP]
    ghosts(m)[table, at, w.GONE_STAMP] = stamp if known < 0 else min(known, stamp)
    ghosts(m)[table, at, w.GONE_COUNT] += n
    ghosts(m)[table, at, w.GONE_BY] = reason
    return at


@called
def _remember_parent(m: Pointer, e: int, slot: int, reason: int, n: int) -> None:
    """The key by which a tuple joins its child. n: results it may be in."""
    stamp = word(m, slot, int(edges(m)[e, w.WAITS_AT]))
    tag = _tag(m, slot, int(edges(m)[e, w.PARENT_INDEX]))
    _remember(m, 2 * e, tag, stamp, reason, n)


@called
def _remember_child(m: Pointer, e: int, slot: int, reason: int) -> int:
    """The key by which parents join a tuple."""
    at = int(edges(m)[e, w.MEETS_AT])
    stamp = word(m, slot, at if at >= 0 else w.NUMBER)
    tag = _tag(m, slot, int(edges(m)[e, w.CHILD_INDEX]))
    return _remember(m, 2 * e + 1, tag, stamp, reason, 1)


@called
def remember_waiting(m: Pointer, e: int, slot: int, reason: int) -> None:
    """A tuple that waits for its child no more, with the parents it has; of those that come later
    it is known what they would have waited for."""
    port = link(m, slot, w.INPUT)
    n = int(inputs(m)[port, w.IS_ROOT] != 0)
    for above in range(len(edges(m))):
        if edges(m)[above, w.CHILD] == port:
            n += n_parents(m, above, slot)
            at = _remember_child(m, above, slot, reason)
            ghosts(m)[2 * above + 1, at, w.GONE_EDGE] = e + 1
            ghosts(m)[2 * above + 1, at, w.GONE_WAITS] = _tag(
                m, slot, int(edges(m)[e, w.PARENT_INDEX])
            )
    _remember_parent(m, e, slot, reason, n)


@called
def remember_gone(m: Pointer, slot: int) -> None:
    """A tuple that no parent joins any more, as constraints say. Parents that wait for another
    child of theirs will be in no result. Where there is one root, parents that had all of theirs
    have been in their results."""
    port = link(m, slot, w.INPUT)
    for e in range(len(edges(m))):
        reason = reason_above(m, e)
        if edges(m)[e, w.PARENT] == port and not settings(m)[w.SINGLE_ROOT]:
            _remember_parent(m, e, slot, reason, 1)
        if edges(m)[e, w.CHILD] != port:
            continue
        _remember_child(m, e, slot, reason)
        parent = next_parent(m, e, slot, -1)
        while parent >= 0:
            constraints(m)[reason, w.LOST] += entry(m, parent, w.STATE) == w.UNKNOWN
            parent = next_parent(m, e, slot, parent)


@called
def n_parents(m: Pointer, e: int, slot: int) -> int:
    """Parents of a tuple that are held."""
    n, parent = 0, next_parent(m, e, slot, -1)
    while parent >= 0:
        n += 1
        parent = next_parent(m, e, slot, parent)
    return n


# ---------------------------------------------------------------------- a partner comes after all


@called
def gone(m: Pointer, e: int, side: int, slot: int) -> int:
    """The cell of dropped tuples that a new one would join, -1: none. side 0: parents that waited;
    1: the child."""
    reads = int(edges(m)[e, w.PARENT_INDEX if side == 1 else w.CHILD_INDEX])
    return _cell(m, 2 * e + side, _tag(m, slot, reads))


@called
def child_came(m: Pointer, e: int, slot: int) -> None:
    """A child: each parent that was dropped would have been in a result with each combination of
    the others."""
    at, port = gone(m, e, 0, slot), link(m, slot, w.INPUT)
    if at < 0 or link(m, slot, w.FACTS) & w.FAILS:
        return
    ghosts(m)[2 * e, at, w.GONE_CAME] = 1
    n = int(ghosts(m)[2 * e, at, w.GONE_COUNT])
    for other in range(len(edges(m))):
        if other != e and edges(m)[other, w.CHILD] == port:
            n *= _n_came(m, other, slot, int(edges(m)[other, w.CHILD_INDEX]))
    constraints(m)[ghosts(m)[2 * e, at, w.GONE_BY], w.LOST] += n


@called
def _n_came(m: Pointer, e: int, slot: int, reads: int) -> int:
    """Parents with the key that a tuple has by index ``reads``: held, or remembered as dropped."""
    n, index = 0, int(edges(m)[e, w.PARENT_INDEX])
    parent = next_equal(m, slot, reads, index, -1)
    while parent >= 0:
        n += 1
        parent = next_equal(m, slot, reads, index, parent)
    at = _cell(m, 2 * e, _tag(m, slot, reads))
    return n + (int(ghosts(m)[2 * e, at, w.GONE_COUNT]) if at >= 0 else 0)


@called
def parent_came(m: Pointer, e: int, slot: int, child: int) -> None:
    """A parent, and the child that is there, -1: none. The child, or other parents of it, may have
    been dropped."""
    if link(m, slot, w.FACTS) & w.FAILS:
        return
    if child >= 0 and link(m, child, w.FACTS) & w.FAILS:
        return
    if child >= 0 and entry(m, child, w.STATE) != w.NO:
        _others_gone(m, e, child)
        return
    at = gone(m, e, 1, slot)
    if at >= 0 and not _is_waiting_still(m, e, at):
        reads, n = int(edges(m)[e, w.PARENT_INDEX]), 1
        for other in range(len(edges(m))):
            if other != e and edges(m)[other, w.CHILD_INDEX] == edges(m)[e, w.CHILD_INDEX]:
                n *= _n_came(m, other, slot, reads)
        constraints(m)[ghosts(m)[2 * e + 1, at, w.GONE_BY], w.LOST] += n


@called
def _is_waiting_still(m: Pointer, e: int, at: int) -> bool:
    """Whether the child of a dropped child has not come yet: one more result waits for it."""
    below = int(ghosts(m)[2 * e + 1, at, w.GONE_EDGE]) - 1
    if below < 0:
        return False
    cell = _cell(m, 2 * below, int(ghosts(m)[2 * e + 1, at, w.GONE_WAITS]))
    if cell < 0 or ghosts(m)[2 * below, cell, w.GONE_CAME]:
        return False
    ghosts(m)[2 * below, cell, w.GONE_COUNT] += 1
    return True


@called
def _others_gone(m: Pointer, e: int, child: int) -> None:
    """Results of a new parent with other parents of its child that were dropped."""
    n, n_held, reason = 1, 1, -1
    for other in range(len(edges(m))):
        if other != e and edges(m)[other, w.CHILD] == edges(m)[e, w.CHILD]:
            n *= _n_came(m, other, child, int(edges(m)[other, w.CHILD_INDEX]))
            n_held *= n_parents(m, other, child)
            reason = reason_above(m, other)
    if reason >= 0:
        constraints(m)[reason, w.LOST] += n - n_held
