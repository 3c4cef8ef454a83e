"""Tuples that go on: how long they are valid is known later. Card B1

The newest reading of a key is valid to the end of the tick, and no candidate until the next one of
its key ends it.
"""

from __future__ import annotations

from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    END,
    ENDS,
    FLAGS,
    GROUP,
    IN_BESIDE,
    IN_MEMORY,
    IS_BUILT,
    LOST,
    MEMORY,
    N_CHANGED,
    NEWEST,
    NUMBER,
    OPEN,
    START,
    ChargeArrays,
    ShedArrays,
    ShedArrivals,
    ShedTold,
)
from backend.operators.network.temporal.interval_tree import (
    head_of,
    node_at,
)
from backend.operators.network.temporal.shed_built import enter_beside, leave_beside
from backend.operators.network.temporal.shed_choice import (
    by_number,
    leave_candidates,
    look_around,
    set_free,
)
from backend.operators.network.temporal.shed_drops import forget_in_memory, has_room_among, let_go
from backend.operators.network.temporal.shed_growth import (
    answered_near,
    book_growth,
    charges_growth,
)
from backend.operators.network.temporal.shed_runs import enter, leave, loss_of
from backend.operators.selection.bits import called, inlined


@inlined
def is_open(node: int, shed: ShedArrays) -> bool:
    """Whether its end is not known."""
    return bool(shed.tuples[node, FLAGS] & OPEN)


@called
def lengthen(
    arrivals: ShedArrivals,
    i: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> bool:
    """A tuple that goes on, if it is in the window, is valid up to another end; one without a valid
    time is no tuple. False: there was no room to tell of it."""
    tuples, facts, end = shed.tuples, shed.facts, arrivals.ends[i]
    group, start, number = arrivals.groups[i], arrivals.starts[i], arrivals.numbers[i]
    node = node_at(group, start, number, MEMORY, tuples, shed.roots)
    if node < 0:
        return True
    n = 5 + 2 * loss_of(node, MEMORY, tuples, shed.roots)[0]  # what its run falls into without it
    if not has_room_among(n, group, tuples[node, END], end, shed, owing, out):
        return False
    facts[N_CHANGED] += 1
    if end <= start:
        forget_in_memory(node, -1, rules, shed, out)
        if tuples[node, FLAGS] & IN_BESIDE:
            leave_beside(node, rules, shed, out)
        let_go(node, shed, owing)
        return True
    if end != tuples[node, END]:
        _set_end(node, end, rules, shed, owing, out)
    if arrivals.kinds[i] == ENDS:
        tuples[node, FLAGS] &= ~OPEN
        if facts[IS_BUILT] and (facts[NEWEST] != node + 1 or not rules.protects):
            set_free(node, rules, shed)
    return True


@called
def _set_end(
    node: int,
    end: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> None:
    """It leaves memory, and what is beside, and comes again. What its run lost stays lost."""
    tuples, facts, grows = shed.tuples, shed.facts, charges_growth(rules, shed.facts)
    answered = (0, 0, 0.0, 0, 0)
    if grows:
        answered = answered_near(node, end, rules, shed)
    group, start, number = tuples[node, GROUP], tuples[node, START], tuples[node, NUMBER]
    lost = tuples[head_of(group, start, number, MEMORY, tuples, shed.roots), LOST]
    tuples[node, FLAGS] &= ~IN_MEMORY
    if facts[IS_BUILT]:
        leave_candidates(node, rules, shed)
    leave(node, -1, MEMORY, rules, shed, out)
    is_beside = tuples[node, FLAGS] & IN_BESIDE
    if is_beside:
        leave_beside(node, rules, shed, out)
    tuples[node, END] = end
    if is_beside:
        enter_beside(node, rules, shed, out)
    tuples[node, FLAGS] |= IN_MEMORY
    tuples[enter(node, MEMORY, rules, shed, out), LOST] += lost
    if facts[IS_BUILT] and not by_number(rules):
        look_around(node, rules, shed)
    if grows:
        book_growth(node, answered, rules, shed, owing)
