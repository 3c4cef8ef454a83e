"""An arrival of k-Mon's join, step by step: the kernel that the operator calls (card B3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import Pointer, words_of
from backend.operators.network.core.blocks import Ints
from backend.operators.network.joins.clock_kernel import nanoseconds
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import facts, inputs, link, repeated, word
from backend.operators.network.kmon.components import drain, expire
from backend.operators.network.kmon.garbage import collect
from backend.operators.network.kmon.letting_go import bound_waiting
from backend.operators.network.kmon.linking import free, link_slot, push
from backend.operators.network.kmon.reopening import change
from backend.operators.network.kmon.repeating import is_repeated
from backend.operators.network.kmon.watching import watch
from backend.operators.network.kmon.words import Ints32
from backend.operators.selection.bits import called, kernel

#: Of an arrival: it is to come; it is inserted, what follows from that is not done yet.
_COMES, _INSERTED = range(2)


@kernel
def play(memory: Ints, arrivals: Ints32, begin: int, end: int) -> int:
    """Have arrivals ``begin`` to ``end`` come, in their order. memory: see ``addressed``. Returns
    the first that is not done because the buffer of results is full: go on when that is empty."""
    m = words_of(memory)
    for n in range(begin, end):
        slot: Any = np.int64(arrivals[n])
        if facts(m)[w.PHASE] == _COMES:
            _come(m, slot)
            facts(m)[w.PHASE] = _INSERTED
        if not drain(m):
            return n
        facts(m)[w.PHASE] = _COMES
        _leave_rows(m, link(m, slot, w.INPUT))
        facts(m)[w.TO_GARBAGE] -= 1
        if facts(m)[w.TO_GARBAGE] <= 0:
            collect(m)
    return end


@kernel
def leave(memory: Ints, now: int) -> None:
    """Have time go on to a tick: tuples leave windows of time."""
    m = words_of(memory)
    _leave_ranges(m, now)
    drain(m)


@kernel
def let_go_all(memory: Ints) -> None:
    """Collect all garbage, whenever that was done last."""
    collect(words_of(memory))


@called
def _come(m: Pointer, slot: int) -> None:
    port, now = link(m, slot, w.INPUT), word(m, slot, w.TAU)
    if facts(m)[w.IS_STALE]:
        bound_waiting(m)
    if now != facts(m)[w.NOW]:
        _leave_ranges(m, now)
        drain(m)
    facts(m)[w.NOW] = now
    is_taken = link(m, slot, w.FACTS) & w.TAKES != 0
    facts(m)[w.ARRIVALS] += not is_taken
    inputs(m)[port, w.COUNT] += not is_taken
    link_slot(m, slot)
    if link(m, slot, w.FACTS) & (w.TAKES | w.RENEWS) and not change(m, slot):
        return
    if is_repeated(m, port, slot):
        if facts(m)[w.REPEATED] < len(repeated(m)):
            repeated(m)[facts(m)[w.REPEATED]] = slot
        facts(m)[w.REPEATED] += 1
        free(m, slot)
        return
    if facts(m)[w.ARRIVALS] % w.TIMED == 0:
        begun = nanoseconds(facts(m)[w.CLOCK_AT])
        watch(m, slot)
        took = nanoseconds(facts(m)[w.CLOCK_AT]) - begun - facts(m)[w.CLOCK_NS]
        if took < w.DISTURBED:
            facts(m)[w.WATCH_NS] += max(took, 0)
    else:
        watch(m, slot)
    push(m, w.INSERT, slot)


@called
def _leave_ranges(m: Pointer, now: int) -> None:
    """Tuples older than windows of time leave them (closed, erratum D1)."""
    for port in range(len(inputs(m))):
        if inputs(m)[port, w.WINDOW] != w.RANGE:
            continue
        for end in (w.OLDEST, w.OLDEST_ASIDE):
            slot = int(inputs(m)[port, end])
            while slot >= 0 and word(m, slot, w.TAU) < now - inputs(m)[port, w.SIZE]:
                expire(m, slot)
                slot = int(inputs(m)[port, end])


@called
def _leave_rows(m: Pointer, port: int) -> None:
    """Tuples that newer ones of their input push out of the window."""
    if inputs(m)[port, w.WINDOW] != w.ROWS:
        return
    last = inputs(m)[port, w.COUNT] - inputs(m)[port, w.SIZE]
    for end in (w.OLDEST, w.OLDEST_ASIDE):
        slot = int(inputs(m)[port, end])
        while slot >= 0 and word(m, slot, w.NUMBER) <= last:
            expire(m, slot)
            slot = int(inputs(m)[port, end])
    drain(m)
