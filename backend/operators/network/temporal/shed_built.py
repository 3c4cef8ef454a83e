"""What is kept beside, and which tuples may be dropped: built when the limit is met. Card B3"""

from __future__ import annotations

from typing import Final

from backend.operators.network.shedding.rules import CALS_V, REACH, ShedRules
from backend.operators.network.shedding.words import (
    ANSWERED_BESIDE,
    BESIDE,
    BEST,
    BEST_ONE,
    DELTA,
    DIRTY,
    FLAGS,
    FREE,
    GROUP,
    GROUP_AUDITED,
    HEAD_BESIDE,
    IN_BESIDE,
    IN_MEMORY,
    IS_BUILT,
    LENGTH,
    MANY,
    MEMORY,
    N_ALONE,
    N_BESIDE,
    N_DIRTY,
    N_HEAP,
    N_OPEN,
    NEWEST,
    NEXT,
    NUMBER,
    OLDEST,
    OPEN,
    OPENED,
    PLACE,
    RUN_END,
    RUNS_BESIDE,
    START,
    ChargeArrays,
    ShedArrays,
    ShedTold,
)
from backend.operators.network.temporal.interval_tree import head_of
from backend.operators.network.temporal.shed_choice import (
    by_number,
    mark_within,
    set_free,
)
from backend.operators.network.temporal.shed_drops import (
    let_go,
)
from backend.operators.network.temporal.shed_runs import enter, leave, loss_of
from backend.operators.selection.bits import called, inlined, kernel

_AUDITED: Final = 2


@inlined
def is_beside(node: int, rules: ShedRules, shed: ShedArrays, owing: ChargeArrays) -> bool:
    """Whether a tuple is kept beside: all are, or those of the audited value groups."""
    group = shed.tuples[node, GROUP]
    return bool(rules.needs_exact or owing.groups[group, GROUP_AUDITED] == _AUDITED)


@called
def enter_beside(node: int, rules: ShedRules, shed: ShedArrays, out: ShedTold) -> None:
    """A tuple comes into the tree of those kept beside."""
    tuples = shed.tuples
    tuples[node, FLAGS] |= IN_BESIDE
    shed.facts[N_BESIDE] += 1
    head = enter(node, BESIDE, rules, shed, out)
    if rules.algorithm == REACH and rules.on_exact:
        mark_within(tuples[node, GROUP], tuples[head, START], tuples[head, BESIDE + RUN_END], shed)


@called
def leave_beside(node: int, rules: ShedRules, shed: ShedArrays, out: ShedTold) -> None:
    """A tuple goes from the tree of those kept beside."""
    tuples, roots = shed.tuples, shed.roots
    group = tuples[node, GROUP]
    head = head_of(group, tuples[node, START], tuples[node, NUMBER], BESIDE, tuples, roots)
    low, high = tuples[head, START], tuples[head, BESIDE + RUN_END]
    tuples[node, FLAGS] &= ~IN_BESIDE
    shed.facts[N_BESIDE] -= 1
    leave(node, -1, BESIDE, rules, shed, out)
    if rules.algorithm == REACH and rules.on_exact:
        mark_within(group, low, high, shed)


@called
def build(rules: ShedRules, shed: ShedArrays, owing: ChargeArrays, out: ShedTold) -> None:
    """Candidates, and what is kept beside, of the tuples there are."""
    tuples, facts = shed.tuples, shed.facts
    facts[IS_BUILT] = 0
    node = facts[OLDEST] - 1
    while node >= 0:
        after = tuples[node, NEXT] - 1
        if is_beside(node, rules, shed, owing):
            enter_beside(node, rules, shed, out)
        elif not tuples[node, FLAGS] & IN_MEMORY:
            let_go(node, shed, owing)
        node = after
    facts[IS_BUILT] = 1
    node = facts[OLDEST] - 1
    while node >= 0:
        if tuples[node, FLAGS] & IN_MEMORY:
            _offer(node, rules, shed)
        node = tuples[node, NEXT] - 1


@called
def _offer(node: int, rules: ShedRules, shed: ShedArrays) -> None:
    """What the loss of a tuple does, and whether it may be dropped."""
    tuples, facts = shed.tuples, shed.facts
    if not by_number(rules):
        pieces, length = loss_of(node, MEMORY, tuples, shed.roots)
        tuples[node, DELTA] = max(0, pieces - 1)
        tuples[node, LENGTH] = 0 if rules.algorithm == CALS_V else length
    if not tuples[node, FLAGS] & OPEN and (not rules.protects or facts[NEWEST] != node + 1):
        set_free(node, rules, shed)


@kernel
def rebuild(
    builds: bool, rules: ShedRules, shed: ShedArrays, owing: ChargeArrays, out: ShedTold
) -> None:
    """What is beside and which tuples are candidates under other rules; neither, unless ``builds``:
    the window is whole."""
    tuples, facts = shed.tuples, shed.facts
    node = facts[OLDEST] - 1
    while node >= 0:
        tuples[node, FLAGS] &= ~(FREE | IN_BESIDE | HEAD_BESIDE)
        tuples[node, PLACE] = tuples[node, OPENED] = 0
        tuples[node, BEST] = tuples[node, BEST_ONE] = tuples[node, MANY] = 0
        shed.roots[tuples[node, GROUP], 1] = 0
        node = tuples[node, NEXT] - 1
    for place in range(facts[N_DIRTY]):
        tuples[shed.dirty[place], FLAGS] &= ~DIRTY
    facts[N_DIRTY] = facts[N_HEAP] = facts[N_OPEN] = 0
    facts[N_BESIDE] = facts[N_ALONE] = facts[RUNS_BESIDE] = facts[ANSWERED_BESIDE] = 0
    facts[IS_BUILT] = 0
    if builds:
        build(rules, shed, owing, out)
        facts[N_ALONE] = _alone(shed)


@called
def _alone(shed: ShedArrays) -> int:
    """Tuples that are kept beside and not in memory."""
    tuples, node, n = shed.tuples, shed.facts[OLDEST] - 1, 0
    while node >= 0:
        n += not tuples[node, FLAGS] & IN_MEMORY
        node = tuples[node, NEXT] - 1
    return n
