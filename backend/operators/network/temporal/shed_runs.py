"""What tuples that come and go do to the runs of a tree, and what their loss would do. Card B3"""

from __future__ import annotations

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    ANSWERED_BESIDE,
    ANSWERED_MEMORY,
    END,
    EVENT,
    FLAGS,
    GROUP,
    IS_BUILT,
    LOST,
    MEMORY,
    N_TOLD,
    NUMBER,
    OPENED,
    RUN_END,
    RUNS_BESIDE,
    RUNS_MEMORY,
    START,
    ShedArrays,
    ShedTold,
)
from backend.operators.network.temporal.interval_tree import (
    following,
    freshen_heads,
    head_flag,
    head_of,
    next_head,
    reach_before,
    tree_delete,
    tree_insert,
)
from backend.operators.network.temporal.shed_heap import mark, unwatch, watch, withdraw
from backend.operators.selection.bits import called, inlined


@inlined
def takes(length: int, rules: ShedRules) -> bool:
    """Whether a coalesced tuple of this length is in the answer."""
    if length < rules.least or (rules.most >= 0 and length > rules.most):
        return False
    for gap in range(len(rules.gaps)):
        if rules.gaps[gap, 0] <= length <= rules.gaps[gap, 1]:
            return False
    return True


@called
def _tell(
    node: int, end: int, sign: int, at: int, rules: ShedRules, shed: ShedArrays, out: ShedTold
) -> None:
    """There is a run that begins with a tuple, or no more."""
    tuples, facts = shed.tuples, shed.facts
    start, is_answered = tuples[node, START], takes(end - tuples[node, START], rules)
    facts[ANSWERED_MEMORY if at == MEMORY else ANSWERED_BESIDE] += sign * is_answered
    if at != MEMORY:
        return
    row, slide = out.done[N_TOLD], rules.slide
    out.changes[row, 0] = -(-facts[EVENT] // slide) * slide
    out.changes[row, 1] = tuples[node, GROUP]
    out.changes[row, 2] = start
    out.changes[row, 3] = end
    out.changes[row, 4] = sign
    out.done[N_TOLD] = row + 1


@called
def _begin(node: int, end: int, at: int, shed: ShedArrays) -> None:
    """A run begins with a tuple."""
    tuples = shed.tuples
    tuples[node, FLAGS] |= head_flag(at)
    tuples[node, at + RUN_END] = end
    shed.facts[RUNS_MEMORY if at == MEMORY else RUNS_BESIDE] += 1
    if at == MEMORY:
        tuples[node, LOST] = 0
    freshen_heads(node, at, tuples)


@called
def _cease(node: int, at: int, rules: ShedRules, shed: ShedArrays) -> None:
    """No run begins with it any more."""
    tuples = shed.tuples
    tuples[node, FLAGS] &= ~head_flag(at)
    shed.facts[RUNS_MEMORY if at == MEMORY else RUNS_BESIDE] -= 1
    if at == rules.base and shed.facts[IS_BUILT]:
        withdraw(node, shed)
    if at == MEMORY:
        unwatch(node, shed)


@called
def _changed(node: int, at: int, rules: ShedRules, shed: ShedArrays) -> None:
    """A run that begins with a tuple is another."""
    if shed.facts[IS_BUILT] and at == rules.base:
        mark(node, shed)
    if at == MEMORY and shed.tuples[node, OPENED]:
        watch(node, shed)


@called
def enter(node: int, at: int, rules: ShedRules, shed: ShedArrays, out: ShedTold) -> int:
    """A tuple comes: it is a run, lengthens one, or joins several; returns where its run begins."""
    tuples, top = shed.tuples, at + RUN_END
    tree_insert(node, at, tuples, shed.roots)
    group, start, end = tuples[node, GROUP], tuples[node, START], tuples[node, END]
    head = head_of(group, start, tuples[node, NUMBER], at, tuples, shed.roots)
    if head >= 0 and tuples[head, top] >= end:
        _changed(head, at, rules, shed)
        return int(head)
    home, high, lost = node, end, 0
    if head >= 0 and tuples[head, top] >= start:
        home, lost = head, tuples[head, LOST]
        _tell(head, tuples[head, top], -1, at, rules, shed, out)
    other = next_head(node, at, tuples)
    while other >= 0 and tuples[other, START] <= end:
        after = next_head(other, at, tuples)
        _tell(other, tuples[other, top], -1, at, rules, shed, out)
        high, lost = max(high, tuples[other, top]), lost + tuples[other, LOST]
        _cease(other, at, rules, shed)
        freshen_heads(other, at, tuples)
        other = after
    if home == node:
        _begin(node, high, at, shed)
    tuples[home, top] = high
    if at == MEMORY:
        tuples[home, LOST] = lost
    _tell(home, high, 1, at, rules, shed, out)
    _changed(home, at, rules, shed)
    return int(home)


@called
def _close(
    home: int,
    end: int,
    known: int,
    at: int,
    rules: ShedRules,
    shed: ShedArrays,
    out: ShedTold,
) -> None:
    """A piece that is left ends here. known: length of the run and of what went from it; -1: that
    is forgotten."""
    tuples = shed.tuples
    tuples[home, at + RUN_END] = end
    if at == MEMORY:
        tuples[home, LOST] = known - (end - tuples[home, START]) if known >= 0 else 0
    _tell(home, end, 1, at, rules, shed, out)
    _changed(home, at, rules, shed)


@called
def leave(
    node: int, known: int, at: int, rules: ShedRules, shed: ShedArrays, out: ShedTold
) -> None:
    """A tuple goes; its run is shorter, in pieces, or gone. known: see ``_close``."""
    tuples, top = shed.tuples, at + RUN_END
    start, end = tuples[node, START], tuples[node, END]
    head = head_of(tuples[node, GROUP], start, tuples[node, NUMBER], at, tuples, shed.roots)
    low, high = tuples[head, START], tuples[head, top]
    since, place, home = reach_before(node, at, tuples), following(node, at, tuples), head
    if head == node:
        _cease(node, at, rules, shed)
        home = place if place >= 0 and tuples[place, START] <= high else -1
    tree_delete(node, at, tuples, shed.roots)
    if head == node and home >= 0:
        _begin(home, high, at, shed)
    is_whole = True
    while since < end:
        until = tuples[place, START] if place >= 0 else end
        if until > since:
            stop = min(until, end)
            if is_whole:
                _tell_gone(node, low, high, at, rules, shed, out)
                is_whole = False
            if since > low:
                _close(home, since, known, at, rules, shed, out)
                home = -1
                if stop < high:
                    home = place
                    _begin(home, high, at, shed)
        if until >= end:
            break
        since, place = max(since, tuples[place, END]), following(place, at, tuples)
    if home >= 0 and is_whole:
        if at == MEMORY:
            tuples[home, LOST] = known - (high - low) if known >= 0 else 0
        _changed(home, at, rules, shed)
    elif home >= 0:
        _close(home, high, known, at, rules, shed, out)


@called
def _tell_gone(
    node: int,
    low: int,
    high: int,
    at: int,
    rules: ShedRules,
    shed: ShedArrays,
    out: ShedTold,
) -> None:
    """The run of a tuple is there no more, which has left the tree: its start is lent."""
    start = shed.tuples[node, START]
    shed.tuples[node, START] = low
    _tell(node, high, -1, at, rules, shed, out)
    shed.tuples[node, START] = start


@called
def loss_of(node: int, at: int, tuples: Ints, roots: Ints) -> tuple[int, int]:
    """Pieces that are left of a tuple's run without it, 0: it is alone; the length that nothing
    else covers."""
    start, number = tuples[node, START], tuples[node, NUMBER]
    head = head_of(tuples[node, GROUP], start, number, at, tuples, roots)
    return loss_in(node, head, at, tuples)


@called
def loss_in(node: int, head: int, at: int, tuples: Ints) -> tuple[int, int]:
    """The same of a tuple in the run that begins with ``head``."""
    low, high, end = tuples[head, START], tuples[head, at + RUN_END], tuples[node, END]
    since, place = reach_before(node, at, tuples), following(node, at, tuples)
    inner, length = 0, 0
    while since < end:
        until = tuples[place, START] if place >= 0 else end
        if until > since:
            stop = min(until, end)
            length += stop - since
            inner += since > low and stop < high
        if until >= end:
            break
        since, place = max(since, tuples[place, END]), following(place, at, tuples)
    return (0 if length == high - low else 1 + inner), length
