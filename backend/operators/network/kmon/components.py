"""Tuples between Yes, No and Unknown: kernels of k-Mon's join ([B05] Fig. 6.4 to 6.7, card B3).

What follows of an arrival lies on a stack of actions: whichever tuples they are of, an action looks
at the state its tuple has by then. What is let go by a constraint is dropped, or lies aside where
results are to be exact (card F5), and comes back when a partner is found there.
"""

from __future__ import annotations

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    constraints,
    cursors,
    edges,
    entry,
    estimates,
    facts,
    inputs,
    link,
    moved,
    out,
    set_link,
    settings,
    stack,
    steps,
    taus,
    thinned,
    word,
)
from backend.operators.network.kmon.estimating import released
from backend.operators.network.kmon.letting_go import (
    blamed_below,
    hopeless_by,
    is_over,
    reason_above,
)
from backend.operators.network.kmon.linking import (
    ASIDE,
    child_of,
    free,
    leave_order,
    next_equal,
    next_parent,
    order,
    push,
    turn,
)
from backend.operators.network.kmon.losing import remember_gone, remember_waiting
from backend.operators.network.kmon.reopening import reopen
from backend.operators.selection.bits import called


@called
def drain(m: Pointer) -> bool:
    """Do what lies on the stack; False: the buffer of results is full, go on when it is empty."""
    while facts(m)[w.N_STACK] > 0:
        top = stack(m)[facts(m)[w.N_STACK] - 1]
        action, slot = top & 7, int(top >> 3)
        if action == w.EMIT:
            if not emit(m, slot):
                return False
            facts(m)[w.N_STACK] -= 1
            if settings(m)[w.SINGLE_ROOT]:
                free(m, slot)
            continue
        facts(m)[w.N_STACK] -= 1
        if action == w.INSERT:
            insert(m, slot)
        elif action == w.PUT_NO:
            put_no(m, slot)
        elif action == w.DROP:
            drop(m, slot)
        elif action == w.REOPEN:
            reopen(m, slot)
        else:
            restore(m, slot)
    return True


@called
def insert(m: Pointer, slot: int) -> None:
    """Which component a tuple belongs to, by its filter and its children (theorems 6.3.1, 6.3.2):
    one in No wins over a missing one."""
    if entry(m, slot, w.STATE) not in (w.NEW, w.UNKNOWN):
        return
    port, is_open = link(m, slot, w.INPUT), False
    if settings(m)[w.REOPENS] and link(m, slot, w.FACTS) & w.FAILS:
        free(m, slot)
        return
    if link(m, slot, w.FACTS) & w.FAILS or _has_child(m, port, slot, w.NO):
        push(m, w.PUT_NO, slot)
        return
    for e in range(len(edges(m))):
        if edges(m)[e, w.PARENT] == port:
            child = child_of(m, e, slot)
            state = w.FREE if child < 0 else entry(m, child, w.STATE)
            if state == w.SPILLED_YES:
                push(m, w.INSERT, slot)
                push(m, w.RESTORE, child)
                constraints(m)[reason_above(m, e), w.RETURNED] += 1
                return
            is_open = is_open or state != w.YES
    if is_open:
        _wait(m, port, slot)
    else:
        put_yes(m, slot)


@called
def _has_child(m: Pointer, port: int, slot: int, state: int) -> bool:
    for e in range(len(edges(m))):
        if edges(m)[e, w.PARENT] == port:
            child = child_of(m, e, slot)
            if child >= 0 and entry(m, child, w.STATE) == state:
                return True
    return False


@called
def _wait(m: Pointer, port: int, slot: int) -> None:
    """A tuple some child of which is not in Yes: Unknown, unless a constraint says that it cannot
    come, or it lies aside itself."""
    if _has_child(m, port, slot, w.SPILLED):
        push(m, w.DROP, slot)
        return
    for e in range(len(edges(m))):
        if edges(m)[e, w.PARENT] == port and child_of(m, e, slot) < 0:
            reason = hopeless_by(m, e, slot)
            if reason >= 0:
                let_go(m, e, slot, reason)
                return
    if entry(m, slot, w.STATE) == w.NEW:
        turn(m, slot, w.UNKNOWN)


@called
def let_go(m: Pointer, e: int, slot: int, reason: int) -> None:
    """A constraint says that the child of a tuple cannot come."""
    constraints(m)[reason, w.EVICTED] += 1
    ends = is_over(m, e)
    if ends == w.FOR_EVER:  # nothing lies aside, and nothing is lost
        push(m, w.PUT_NO, slot)
        return
    is_estimated = reason == edges(m)[e, w.RIDS_OF] and constraints(m)[reason, w.DECLARED] < 0
    if is_estimated and not ends:
        stamp = word(m, slot, int(edges(m)[e, w.WAITS_AT]))
        released(estimates(m), reason, int(inputs(m)[edges(m)[e, w.CHILD], w.COUNT]) - stamp)
    if settings(m)[w.EXACT]:
        push(m, w.DROP, slot)
    else:
        remember_waiting(m, e, slot, reason)
        push(m, w.PUT_NO, slot)


@called
def put_yes(m: Pointer, slot: int) -> None:
    """All children are in Yes: results, or news for parents that wait."""
    turn(m, slot, w.YES)
    port = link(m, slot, w.INPUT)
    if inputs(m)[port, w.IS_ROOT]:
        push(m, w.EMIT, slot)
        return
    for e in range(len(edges(m))):
        if edges(m)[e, w.CHILD] != port:
            continue
        parent = next_parent(m, e, slot, -1)
        while parent >= 0:
            state = entry(m, parent, w.STATE)
            if state == w.SPILLED:
                move(m, parent, w.UNKNOWN)
                reason = blamed_below(m, e)
                if reason >= 0:
                    constraints(m)[reason, w.RETURNED] += 1
            if state in (w.UNKNOWN, w.SPILLED):
                push(m, w.INSERT, parent)
            parent = next_parent(m, e, slot, parent)


@called
def put_no(m: Pointer, slot: int) -> None:
    """A tuple is in no result any more, and neither are the parents that join it."""
    state, port = entry(m, slot, w.STATE), link(m, slot, w.INPUT)
    if state in (w.FREE, w.NO):
        return
    refute(m, slot)
    if not inputs(m)[port, w.STORES_NO]:
        free(m, slot)
        return
    if state in (w.SPILLED, w.SPILLED_YES):
        move(m, slot, w.NO)
    turn(m, slot, w.NO)
    thinned(m)[facts(m)[w.N_THINNED]] = slot
    facts(m)[w.N_THINNED] += 1


@called
def refute(m: Pointer, slot: int) -> None:
    """Parents of a tuple that is in no result any more."""
    port = link(m, slot, w.INPUT)
    for e in range(len(edges(m))):
        if edges(m)[e, w.CHILD] != port:
            continue
        parent = next_parent(m, e, slot, -1)
        while parent >= 0:
            if entry(m, parent, w.STATE) != w.NO:
                push(m, w.PUT_NO, parent)
            parent = next_parent(m, e, slot, parent)


@called
def expire(m: Pointer, slot: int) -> None:
    """A tuple leaves its window; its results are taken back where they are kept (erratum D4)."""
    if settings(m)[w.REOPENS]:
        reopen(m, slot)
    elif entry(m, slot, w.STATE) != w.NO:
        refute(m, slot)
    free(m, slot)


@called
def drop(m: Pointer, slot: int) -> None:
    """No future result needs a tuple, by the constraints: it goes with the parents and ancestors
    that join it, or they lie aside."""
    state, port = entry(m, slot, w.STATE), link(m, slot, w.INPUT)
    if state in (w.FREE, w.SPILLED, w.SPILLED_YES):
        return
    is_exact = settings(m)[w.EXACT] and state != w.NO
    if not settings(m)[w.EXACT] and not link(m, slot, w.FACTS) & w.FAILS:
        remember_gone(m, slot)
    for e in range(len(edges(m))):
        if edges(m)[e, w.CHILD] != port:
            continue
        parent = next_parent(m, e, slot, -1)
        while parent >= 0:
            above = entry(m, parent, w.STATE)
            if above in (w.YES, w.NO) or (is_exact and above == w.UNKNOWN):
                push(m, w.DROP, parent)
            parent = next_parent(m, e, slot, parent)
    if is_exact:
        move(m, slot, w.SPILLED_YES if state == w.YES else w.SPILLED)
    else:
        free(m, slot)


@called
def move(m: Pointer, slot: int, state: int) -> None:
    """A tuple is laid aside, or comes back, as its new state says."""
    goes = state in (w.SPILLED, w.SPILLED_YES)
    leave_order(m, slot, 0 if goes else ASIDE)
    turn(m, slot, state)
    order(m, slot, ASIDE if goes else 0)
    if not link(m, slot, w.FACTS) & w.MOVED:  # however often it moves, it is listed once
        set_link(m, slot, w.FACTS, link(m, slot, w.FACTS) | w.MOVED)
        moved(m)[facts(m)[w.N_MOVED]] = slot
        facts(m)[w.N_MOVED] += 1


@called
def restore(m: Pointer, slot: int) -> None:
    """A tuple of Yes that lies aside is needed after all, with what joins it; its results so far
    have been told."""
    if entry(m, slot, w.STATE) != w.SPILLED_YES:
        return
    port = link(m, slot, w.INPUT)
    move(m, slot, w.YES)
    set_link(m, slot, w.COVERED, 0)
    for e in range(len(edges(m))):
        if edges(m)[e, w.PARENT] == port:
            child = child_of(m, e, slot)
            if child >= 0 and entry(m, child, w.STATE) == w.SPILLED_YES:
                push(m, w.RESTORE, child)
        if edges(m)[e, w.CHILD] == port:
            parent = next_parent(m, e, slot, -1)
            while parent >= 0:
                if entry(m, parent, w.STATE) == w.SPILLED_YES:
                    push(m, w.RESTORE, parent)
                parent = next_parent(m, e, slot, parent)


@called
def emit(m: Pointer, root: int) -> bool:
    """The results with a new tuple of a root: one for each way through Yes of all other inputs.
    False: there is no room for the next one."""
    last, port = steps(m).shape[1] - 1, link(m, root, w.INPUT)
    level = int(facts(m)[w.LEVEL])
    if level < 0:
        level = 0
        cursors(m)[0, port] = root
        cursors(m)[1, 0] = _candidate(m, port, 0, -1)
    while level >= 0:
        slot = int(cursors(m)[1, level])
        if slot < 0:
            level -= 1
            if level >= 0:
                cursors(m)[1, level] = _candidate(m, port, level, int(cursors(m)[1, level]))
            continue
        cursors(m)[0, steps(m)[port, level, 3]] = slot
        if level < last:
            level += 1
            cursors(m)[1, level] = _candidate(m, port, level, -1)
        elif facts(m)[w.N_OUT] == out(m).shape[1]:
            facts(m)[w.LEVEL] = level
            return False
        else:
            _write(m)
            cursors(m)[1, level] = _candidate(m, port, level, slot)
    facts(m)[w.LEVEL] = -1
    return True


@called
def _write(m: Pointer) -> None:
    at = facts(m)[w.N_OUT]
    for k in range(len(inputs(m))):
        out(m)[k, at] = cursors(m)[0, k]
    taus(m)[at] = facts(m)[w.NOW]
    facts(m)[w.N_OUT] += 1


@called
def _candidate(m: Pointer, port: int, level: int, before: int) -> int:
    """The next tuple of Yes at a step of a root's way, after ``before``; -1: no more."""
    e, is_down = int(steps(m)[port, level, 0]), steps(m)[port, level, 1]
    reads, index = int(edges(m)[e, w.CHILD_INDEX]), int(edges(m)[e, w.PARENT_INDEX])
    if is_down:
        reads, index = index, reads
    known = int(cursors(m)[0, steps(m)[port, level, 2]])
    slot = next_equal(m, known, reads, index, before)
    while slot >= 0 and entry(m, slot, w.STATE) != w.YES:
        slot = next_equal(m, known, reads, index, slot)
    return slot
