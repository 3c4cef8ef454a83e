"""Which tuple goes next: the best of each run, and of those the best. Card B3, B7"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.rules import CALS, CALS_V, OLD, RAND, REACH, ShedRules
from backend.operators.network.shedding.words import (
    BESIDE,
    BEST,
    BEST_ONE,
    CHOSEN,
    DELTA,
    DIRTY,
    END,
    FLAGS,
    FREE,
    GROUP,
    HAS_REACHED,
    LEFT,
    LENGTH,
    MANY,
    MEMORY,
    N_DIRTY,
    N_HEAP,
    N_OPEN,
    NUMBER,
    REACHED,
    RIGHT,
    RUN_END,
    SIZE,
    START,
    TOP,
    ShedArrays,
)
from backend.operators.network.temporal.interval_tree import (
    first_from,
    following,
    freshen_best,
    head_flag,
    head_of,
    is_better,
    next_touching,
    touching_from,
    tree_of,
)
from backend.operators.network.temporal.shed_heap import mark, publish, unwatch, watch, withdraw
from backend.operators.network.temporal.shed_runs import loss_in, takes
from backend.operators.selection.bits import called, inlined

_RUN_END: Final = MEMORY + RUN_END
#: Of some tuples: the best candidates that make no piece and one, as stored, how many make more,
#: and how many tuples there are.
Best: TypeAlias = tuple[int, int, int, int]


@inlined
def by_number(rules: ShedRules) -> bool:
    """Whether the arrival alone decides."""
    return rules.algorithm in (RAND, OLD)


@inlined
def _rank(number: int, rules: ShedRules) -> int:
    """The lowest goes first: the number, or the hash, the highest first (model.draws)."""
    if rules.algorithm == OLD:
        return number
    mixed = np.uint64(np.int64(rules.seed)) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return int(np.int64(~mixed ^ np.uint64(1 << 63)))


@inlined
def base_head(node: int, rules: ShedRules, shed: ShedArrays) -> int:
    """Where the run begins that losses are shares of."""
    tuples = shed.tuples
    start, number = tuples[node, START], tuples[node, NUMBER]
    return head_of(tuples[node, GROUP], start, number, rules.base, tuples, shed.roots)


@called
def set_free(node: int, rules: ShedRules, shed: ShedArrays) -> None:
    """A tuple may be dropped from now on."""
    shed.tuples[node, FLAGS] |= FREE
    if by_number(rules):
        publish(node, 0.0, _rank(shed.tuples[node, NUMBER], rules), shed)
        return
    freshen_best(node, shed.tuples)
    mark(base_head(node, rules, shed), shed)


@called
def look_around(node: int, rules: ShedRules, shed: ShedArrays) -> None:
    """What the loss of those does now that a tuple touches, which has come or gone. Their runs are
    to be judged anyway."""
    tuples, start, end = shed.tuples, shed.tuples[node, START], shed.tuples[node, END]
    group = tuples[node, GROUP]
    root, head = shed.roots[group, tree_of(MEMORY)] - 1, -1
    if root < 0 or tuples[root, MEMORY + TOP] < start:
        return
    near = touching_from(root, start, MEMORY, tuples)
    while near >= 0 and tuples[near, START] <= end:
        begin, number = tuples[near, START], tuples[near, NUMBER]
        if head < 0 or begin >= tuples[head, _RUN_END]:
            head = head_of(group, begin, number, MEMORY, tuples, shed.roots)
        _look_at(near, head, rules, tuples)
        near = next_touching(near, start, MEMORY, tuples)


@called
def _look_at(node: int, head: int, rules: ShedRules, tuples: Ints) -> None:
    """What the loss of a tuple does now, whose run begins with ``head``."""
    pieces, length = loss_in(node, head, MEMORY, tuples)
    delta, key = max(0, pieces - 1), 0 if rules.algorithm == CALS_V else length
    if tuples[node, DELTA] != delta or tuples[node, LENGTH] != key:
        tuples[node, DELTA] = delta
        tuples[node, LENGTH] = key
        if tuples[node, FLAGS] & FREE:
            freshen_best(node, tuples)


# ---------------------------------------------------------------------- the best of a run


@inlined
def _score(delta: int, length: int, base: int, rules: ShedRules) -> float:
    """One division of whole numbers, as in ``shedding.scored``."""
    if rules.algorithm == CALS_V:
        return float(delta)
    if rules.algorithm != CALS:
        return length / base
    if rules.is_whole_weight:
        return (delta * np.int64(rules.weight) * base + length) / base
    return (delta * rules.weight * base + length) / base


@called
def _better(this: int, other: int, base: int, rules: ShedRules, tuples: Ints) -> bool:
    """Of two candidates of a run, whatever they make; as stored, 0: there is none."""
    if not this or not other:
        return this > 0
    deltas = tuples[this - 1, DELTA], tuples[other - 1, DELTA]
    lengths = tuples[this - 1, LENGTH], tuples[other - 1, LENGTH]
    if rules.algorithm == REACH:
        if deltas[0] != deltas[1]:
            return bool(deltas[0] < deltas[1])
        if lengths[0] != lengths[1]:
            return bool(lengths[0] < lengths[1])
    else:
        mine = _score(deltas[0], lengths[0], base, rules)
        its = _score(deltas[1], lengths[1], base, rules)
        if mine != its:
            return bool(mine < its)
    return bool(tuples[this - 1, NUMBER] < tuples[other - 1, NUMBER])


@inlined
def _best_below(node: int, so_far: Best, tuples: Ints) -> Best:
    """With all at and below a node; -1: there is none."""
    best, splitter, many, n = so_far
    if node >= 0:
        if is_better(tuples[node, BEST], best, tuples):
            best = tuples[node, BEST]
        if is_better(tuples[node, BEST_ONE], splitter, tuples):
            splitter = tuples[node, BEST_ONE]
        many += tuples[node, MANY]
        n += tuples[node, SIZE]
    return best, splitter, many, n


@inlined
def _best_own(node: int, so_far: Best, tuples: Ints) -> Best:
    """With a node alone."""
    best, splitter, many, n = so_far
    if tuples[node, FLAGS] & FREE:
        delta = tuples[node, DELTA]
        if delta == 0 and is_better(node + 1, best, tuples):
            best = node + 1
        elif delta == 1 and is_better(node + 1, splitter, tuples):
            splitter = node + 1
        many += delta > 1
    return best, splitter, many, n + 1


@called
def _best_between(group: int, low: int, high: int, shed: ShedArrays) -> Best:
    """Of tuples in memory that begin in [low, high)."""
    tuples = shed.tuples
    so_far: Best = (0, 0, 0, 0)
    node = shed.roots[group, tree_of(MEMORY)] - 1
    while node >= 0 and not low <= tuples[node, START] < high:
        side = RIGHT if tuples[node, START] < low else LEFT
        node = tuples[node, MEMORY + side] - 1
    if node < 0:
        return so_far
    so_far = _best_own(node, so_far, tuples)
    left, right = tuples[node, MEMORY + LEFT] - 1, tuples[node, MEMORY + RIGHT] - 1
    while left >= 0:
        if tuples[left, START] >= low:
            so_far = _best_own(left, so_far, tuples)
            so_far = _best_below(tuples[left, MEMORY + RIGHT] - 1, so_far, tuples)
            left = tuples[left, MEMORY + LEFT] - 1
        else:
            left = tuples[left, MEMORY + RIGHT] - 1
    while right >= 0:
        if tuples[right, START] < high:
            so_far = _best_own(right, so_far, tuples)
            so_far = _best_below(tuples[right, MEMORY + LEFT] - 1, so_far, tuples)
            right = tuples[right, MEMORY + RIGHT] - 1
        else:
            right = tuples[right, MEMORY + LEFT] - 1
    return so_far


@called
def _best_of(head: int, rules: ShedRules, shed: ShedArrays) -> int:
    """The best candidate of a run, as stored; 0: it has none."""
    tuples = shed.tuples
    group, low, high = tuples[head, GROUP], tuples[head, START], tuples[head, rules.base + RUN_END]
    best, splitter, many, _ = _best_between(group, low, high, shed)
    if _better(splitter, best, high - low, rules, tuples):
        best = splitter
    if many:
        node = first_from(group, low, MEMORY, tuples, shed.roots)
        while node >= 0 and tuples[node, START] < high:
            is_free = tuples[node, FLAGS] & FREE
            if is_free and _better(node + 1, best, high - low, rules, tuples):
                best = node + 1
            node = following(node, MEMORY, tuples)
    return int(best)


# ---------------------------------------------------------------------- reach


@called
def _reach_score(head: int, chosen: int, rules: ShedRules, shed: ShedArrays) -> float:
    """What is lost of the answer for each tuple that goes; -1: the run is worth nothing."""
    tuples, facts = shed.tuples, shed.facts
    length = tuples[head, _RUN_END] - tuples[head, START]
    exact = length
    if rules.on_exact:
        start, number = tuples[head, START], tuples[head, NUMBER]
        whole = head_of(tuples[head, GROUP], start, number, BESIDE, tuples, shed.roots)
        exact = tuples[whole, BESIDE + RUN_END] - tuples[whole, START]
    if rules.most >= 0 and exact > rules.most:
        return -1.0
    if not facts[HAS_REACHED] or tuples[head, _RUN_END] >= facts[REACHED]:
        watch(head, shed)
    elif length < rules.least and not _is_growing(head, shed):
        return -1.0
    missing = max(0, rules.least - length)
    between = _best_between(tuples[head, GROUP], tuples[head, START], tuples[head, _RUN_END], shed)
    whole_run = length / ((exact + missing) * between[3])
    lost = tuples[chosen, LENGTH]
    if tuples[chosen, DELTA] or not takes(length - lost, rules):
        return float(whole_run)
    return float(min(lost / exact, whole_run))


@called
def _is_growing(head: int, shed: ShedArrays) -> bool:
    """Whether a tuple that may not be dropped yet is in a run."""
    tuples, node, end = shed.tuples, head, shed.tuples[head, _RUN_END]
    while node >= 0 and tuples[node, START] < end:
        if not tuples[node, FLAGS] & FREE:
            return True
        node = following(node, MEMORY, tuples)
    return False


@called
def reach_to(start: int, shed: ShedArrays) -> None:
    """No tuple that comes from now on begins before: some runs are over."""
    facts = shed.facts
    if facts[HAS_REACHED] and start <= facts[REACHED]:
        return
    facts[HAS_REACHED] = 1
    facts[REACHED] = start
    while facts[N_OPEN] and shed.tuples[shed.opens[0], _RUN_END] < start:
        run = shed.opens[0]
        unwatch(run, shed)
        mark(run, shed)


@called
def mark_within(group: int, low: int, high: int, shed: ShedArrays) -> None:
    """Runs in memory that begin in [low, high) are to be looked at again."""
    tuples = shed.tuples
    head = head_of(group, high - 1, 1 << 62, MEMORY, tuples, shed.roots)
    while head >= 0 and tuples[head, START] >= low:
        mark(head, shed)
        head = head_of(group, tuples[head, START] - 1, 1 << 62, MEMORY, tuples, shed.roots)


# ---------------------------------------------------------------------- the best of all


@called
def choose(rules: ShedRules, shed: ShedArrays) -> int:
    """The tuple to drop; -1: none may be."""
    tuples, facts = shed.tuples, shed.facts
    for place in range(facts[N_DIRTY]):
        run = shed.dirty[place]
        tuples[run, FLAGS] &= ~DIRTY
        if tuples[run, FLAGS] & head_flag(rules.base):
            _judge(run, rules, shed)
    facts[N_DIRTY] = 0
    if not facts[N_HEAP]:
        return -1
    top = shed.heap[0]
    return int(top if by_number(rules) else tuples[top, CHOSEN])


@called
def _judge(run: int, rules: ShedRules, shed: ShedArrays) -> None:
    """Publish the best candidate of a run."""
    tuples = shed.tuples
    best = _best_of(run, rules, shed) - 1
    if best < 0:
        withdraw(run, shed)
        return
    tuples[run, CHOSEN] = best
    if rules.algorithm == REACH:
        score = _reach_score(run, best, rules, shed)
    else:
        base = tuples[run, rules.base + RUN_END] - tuples[run, START]
        score = _score(tuples[best, DELTA], tuples[best, LENGTH], base, rules)
    publish(run, score, tuples[best, NUMBER], shed)


@called
def leave_candidates(node: int, rules: ShedRules, shed: ShedArrays) -> None:
    """A tuple is about to leave memory: it is no candidate any more. Runs in memory that change by
    that are to be judged anyway."""
    tuples = shed.tuples
    tuples[node, FLAGS] &= ~FREE
    if by_number(rules):
        withdraw(node, shed)
    elif rules.base == BESIDE:
        mark(base_head(node, rules, shed), shed)
