"""Relations that change: kernels of k-Mon's join for elements that take a tuple away (erratum D3).

A child that leaves may be replaced, so its parents are not in No: they wait anew. In such a join
No is empty, Yes is kept of roots too, what constraints let go always lies aside, and a tuple is in
a result while all below it is in Yes.
"""

from __future__ import annotations

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    edges,
    entry,
    facts,
    indexes,
    inputs,
    link,
    removed,
    set_word,
    widths,
    word,
)
from backend.operators.network.kmon.linking import (
    free,
    next_equal,
    next_parent,
    push,
    turn,
)
from backend.operators.selection.bits import called


@called
def change(m: Pointer, slot: int) -> bool:
    """The element of a slot takes an equal tuple away, or is one that is renewed; it is in its
    indexes. False: it is not inserted.

    Whatever constraints let go is held aside, so who is not held came and went within a tick. The
    first element of a renewed tuple stays in its place until the second one comes.
    """
    facts_of = link(m, slot, w.FACTS)
    goes, renews = facts_of & w.TAKES != 0, facts_of & w.RENEWS != 0
    other = -1 if facts_of & w.FAILS else _equal(m, slot, not goes)
    if other >= 0 and goes:
        if entry(m, other, w.STATE) == w.YES:
            _tell_removed(m, other)
        reopen(m, other)
    if other >= 0:
        free(m, other)
    if other < 0 or (goes and not renews):
        free(m, slot)
    return other >= 0 and not goes


@called
def _equal(m: Pointer, slot: int, is_new: bool) -> int:
    """A tuple that is held and equal to a slot's in all columns; is_new: the first element of a
    renewed one. -1: none."""
    port, place = link(m, slot, w.INPUT), int(widths(m)[4])
    for index in range(len(indexes(m))):
        if indexes(m)[index, w.OF_INPUT] == port:
            other = next_equal(m, slot, index, index, slot)
            while other >= 0 and (
                word(m, other, place) != word(m, slot, place)
                or (entry(m, other, w.STATE) == w.NEW) != is_new
            ):
                other = next_equal(m, slot, index, index, other)
            return int(other)
    return -1


@called
def _tell_removed(m: Pointer, slot: int) -> None:
    removed(m)[0, 0] += 1
    row = int(removed(m)[0, 0])
    removed(m)[row, 0], removed(m)[row, 1] = link(m, slot, w.INPUT), word(m, slot, w.NUMBER)
    removed(m)[row, 2] = facts(m)[w.NOW]


@called
def reopen(m: Pointer, slot: int) -> None:
    """Parents of a tuple that leaves Yes wait anew, from now on; and so do theirs."""
    port = link(m, slot, w.INPUT)
    for e in range(len(edges(m))):
        if edges(m)[e, w.CHILD] != port:
            continue
        parent = next_parent(m, e, slot, -1)
        while parent >= 0:
            set_word(m, parent, int(edges(m)[e, w.WAITS_AT]), int(inputs(m)[port, w.COUNT]))
            if entry(m, parent, w.STATE) == w.YES:
                turn(m, parent, w.UNKNOWN)
                push(m, w.REOPEN, parent)
            parent = next_parent(m, e, slot, parent)
