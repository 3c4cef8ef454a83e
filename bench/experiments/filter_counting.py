"""The algorithms of [B05] chapter 4 over masks of drops, compiled: one profile tuple at a time.

backend.systems.agreedy is their specification: with batches of one tuple the decision core takes
the same decisions. Filters are numbered from 0; bit x of a tuple's mask says that filter x drops
it. Costs are whole numbers, so that ties are ties. At least two filters.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.bits import kernel

Masks: TypeAlias = NDArray[np.uint64]
Whole: TypeAlias = NDArray[np.int64]

#: Algorithms, as Rules has them.
STATIC, A_GREEDY, SWEEP, INDEPENDENT, LOCAL_SWAPS = range(5)
#: Columns of the counts, a row an interval: evaluations and their cost in regular execution, the
#: same made for the profile alone, profile tuples, tuples emitted, orders adopted.
EVALUATED, COST, PROBED, PROBE_COST, PROFILED, EMITTED, SWITCHED = range(7)
N_COUNTS: Final = 7
#: Places of State.at: tuples seen, oldest slot of the ring, tuples in it, turn and length of
#: Sweep's stage.
_SEEN, _HEAD, _HELD, _TURN, _STAGE = range(5)


class CountingRules(NamedTuple):
    """alpha: numerator, denominator. window, stage, least: profile tuples (least: to act on).
    interval: tuples a row of the counts."""

    algorithm: int
    alpha_above: int
    alpha_below: int
    window: int
    least: int
    stage: int
    interval: int


class State(NamedTuple):
    """order: filters by position. costs: by filter. v: V by position. ring: the window's masks
    of known drops."""

    order: Whole
    costs: Whole
    v: Whole
    ring: Masks
    at: Whole


def begin(rules: CountingRules, order: Whole, costs: Whole) -> State:
    """An empty window under the first order."""
    n = len(order)
    v, ring = np.zeros((n, n), dtype=np.int64), np.zeros(rules.window, dtype=np.uint64)
    return State(order.copy(), costs, v, ring, np.zeros(5, dtype=np.int64))


@kernel
def run_filters(
    masks: Masks, profiled: NDArray[np.bool_], rules: CountingRules, state: State, counts: Whole
) -> None:
    """Run tuples and add to counts, int64[intervals, N_COUNTS]; dropped ones in ``profiled`` are
    profiled."""
    n = len(state.order)
    for t in range(len(masks)):
        row = state.at[_SEEN] // rules.interval
        state.at[_SEEN] += 1
        place = 0
        while place < n:
            number = state.order[place]
            counts[row, EVALUATED] += 1
            counts[row, COST] += state.costs[number]
            if _has(masks[t], number):
                break
            place += 1
        if place == n:
            counts[row, EMITTED] += 1
        elif profiled[t] and rules.algorithm != STATIC:
            counts[row, PROFILED] += 1
            _slide(_probe(masks[t], place, rules, state, counts, row), rules, state)
            counts[row, SWITCHED] += _check(rules, state)


@kernel
def _has(mask: np.uint64, number: int) -> bool:
    return bool((mask >> np.uint64(number)) & np.uint64(1))


@kernel
def _bit(number: int) -> np.uint64:
    return np.uint64(1) << np.uint64(number)


@kernel
def _probe(
    mask: np.uint64, place: int, rules: CountingRules, state: State, counts: Whole, row: int
) -> np.uint64:
    """Ask filters behind the one at ``place``, which drops the tuple; the drops known then."""
    known = _bit(state.order[place])
    for behind in range(place + 1, len(state.order)):
        if rules.algorithm == LOCAL_SWAPS and behind != place + 1:
            continue
        if rules.algorithm == SWEEP and behind != _swept(state):
            continue
        number = state.order[behind]
        counts[row, PROBED] += 1
        counts[row, PROBE_COST] += state.costs[number]
        if _has(mask, number):
            known |= _bit(number)
    return known


@kernel
def _swept(state: State) -> int:
    """The position Sweep profiles: 1 .. n-1 in turn."""
    return 1 + int(state.at[_TURN]) % (len(state.order) - 1)


@kernel
def _slide(known: np.uint64, rules: CountingRules, state: State) -> None:
    """The window one profile tuple on, and V with it."""
    if state.at[_HELD] == rules.window:
        oldest = state.at[_HEAD]
        _tally(state.ring[oldest], -1, state)
        state.at[_HEAD] = (oldest + 1) % rules.window
        state.at[_HELD] -= 1
    state.ring[(state.at[_HEAD] + state.at[_HELD]) % rules.window] = known
    state.at[_HELD] += 1
    _tally(known, 1, state)


@kernel
def _tally(known: np.uint64, change: int, state: State) -> None:
    """Fig. 4.5: one profile tuple in or out of V."""
    n = len(state.order)
    first = 0
    while first < n and not _has(known, state.order[first]):
        first += 1
    for column in range(first, n):
        if _has(known, state.order[column]):
            for row in range(first + 1):
                state.v[row, column] += change


@kernel
def _rebuild(rules: CountingRules, state: State) -> None:
    """V from the window."""
    n = len(state.order)
    for row in range(n):
        for column in range(n):
            state.v[row, column] = 0
    for k in range(state.at[_HELD]):
        _tally(state.ring[(state.at[_HEAD] + k) % rules.window], 1, state)


@kernel
def _empty(rules: CountingRules, state: State) -> None:
    state.at[_HEAD] = state.at[_HELD] = 0
    _rebuild(rules, state)


@kernel
def _below(row: int, own: int, other: int, above: int, below: int, state: State) -> bool:
    """V[row, own]/cost < above/below · V[row, other]/cost, exactly; 0/0 = 0 (eq. 4.4)."""
    mine, others = state.v[row, own], state.v[row, other]
    if others == 0:
        return False
    cost, other_cost = state.costs[state.order[own]], state.costs[state.order[other]]
    return bool(mine == 0 or mine * other_cost * below < above * others * cost)


@kernel
def _check(rules: CountingRules, state: State) -> int:
    """One look at the invariant after a profile tuple; 1 when an order was adopted."""
    least = rules.least
    if rules.algorithm == SWEEP:
        least = min(least, rules.stage)
    acts = state.at[_HELD] >= least
    if rules.algorithm == SWEEP:
        return _sweep(acts, rules, state)
    if not acts:
        return 0
    if rules.algorithm == LOCAL_SWAPS:
        return _swap_neighbours(rules, state)
    if rules.algorithm == INDEPENDENT:
        return _rank(rules, state)
    return _greedy(rules, state)


@kernel
def _violated(rules: CountingRules, state: State) -> int:
    """The smallest position the Greedy Invariant does not hold at; -1 when it holds."""
    n = len(state.order)
    for i in range(n):
        for j in range(i + 1, n):
            if _below(i, i, j, rules.alpha_above, rules.alpha_below, state):
                return i
    return -1


@kernel
def _greedy(rules: CountingRules, state: State) -> int:
    """A-Greedy: correct until no violation is left (Fig. 4.7, looped)."""
    position = _violated(rules, state)
    if position < 0:
        return 0
    for _ in range(len(state.order)):
        if position < 0:
            break
        _correct(position, rules, state)
        position = _violated(rules, state)
    _rebuild(rules, state)
    return 1


@kernel
def _correct(position: int, rules: CountingRules, state: State) -> None:
    """Fig. 4.7, with exchanges."""
    last = row = position
    while row <= last:
        _count_row(row, rules, state)
        winner = row
        for column in range(row + 1, len(state.order)):
            if _below(row, winner, column, 1, 1, state):
                winner = column
        last = max(last, winner)
        _exchange(row, winner, row, state)
        row += 1


@kernel
def _count_row(row: int, rules: CountingRules, state: State) -> None:
    """Row ``row`` of V by one scan of the window."""
    before = np.uint64(0)
    for place in range(row):
        before |= _bit(state.order[place])
    for column in range(row, len(state.order)):
        state.v[row, column] = 0
    for k in range(state.at[_HELD]):
        known = state.ring[(state.at[_HEAD] + k) % rules.window]
        if known & before == 0:
            for column in range(row, len(state.order)):
                if _has(known, state.order[column]):
                    state.v[row, column] += 1


@kernel
def _exchange(left: int, right: int, last: int, state: State) -> None:
    """Exchange two positions, and their columns in the rows up to ``last``."""
    order, v = state.order, state.v
    order[left], order[right] = order[right], order[left]
    for row in range(last + 1):
        v[row, left], v[row, right] = v[row, right], v[row, left]


@kernel
def _rank(rules: CountingRules, state: State) -> int:
    """Independent: sort by unconditional drops per cost when two filters violate that order."""
    n, is_violated = len(state.order), False
    for i in range(n):
        for j in range(i + 1, n):
            if _below(0, i, j, rules.alpha_above, rules.alpha_below, state):
                is_violated = True
    if not is_violated:
        return 0
    for place in range(1, n):
        at = place
        while at and _below(0, at - 1, at, 1, 1, state):
            _exchange(at - 1, at, 0, state)
            at -= 1
    _rebuild(rules, state)
    return 1


@kernel
def _sweep(acts: bool, rules: CountingRules, state: State) -> int:
    """Sweep: move the profiled filter to the smallest violated position; count the stage."""
    source = _swept(state)
    state.at[_STAGE] += 1
    switched = 0
    for target in range(source):
        if acts and _below(target, target, source, rules.alpha_above, rules.alpha_below, state):
            for place in range(source, target, -1):
                _exchange(place, place - 1, -1, state)
            switched = 1
            break
    if switched or state.at[_STAGE] >= rules.stage:
        state.at[_TURN] += 1
        state.at[_STAGE] = 0
        _empty(rules, state)
    return switched


@kernel
def _swap_neighbours(rules: CountingRules, state: State) -> int:
    """LocalSwaps: exchange the first pair of neighbours that violates."""
    for i in range(len(state.order) - 1):
        if _below(i, i, i + 1, rules.alpha_above, rules.alpha_below, state):
            _exchange(i, i + 1, -1, state)
            _empty(rules, state)
            return 1
    return 0
