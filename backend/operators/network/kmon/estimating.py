"""k of each constraint, from the distances that a join under k-constraints observes. [B05] 6.4

Kernels that run inside the join, arrival by arrival; all is counted in arrivals and observations,
so that it does not matter where batches are cut. Of each constraint c of ``Estimates`` e:

    observed(e, c, distance, weight)  a pair joined. weight: 1 where all pairs of that distance are
                                      seen (those that come back, too), 1/p where only a sample is,
                                      kept beyond k_e. Pairs whose child was there already count,
                                      with 0; arrivals without a pair do not
    released(e, c, age)               a tuple that has waited ``age`` arrivals is let go, or leaves
                                      its window; not asked of orders and clusters of arrivals
    arrived(e, c, distance)           an arrival where the constraint is observed, after its pairs
                                      and before tuples are let go. distance: that of card B6, 0 for
                                      none; the literal estimator is made of these
    wants_look(e, c)                  after each arrival. If so: waits(e, c, age, weight) for tuples
                                      that wait (all, or some with weight), then look(e, c)

rows[c, K] is the k in use and rows[c, KEPT] is k_e, the largest distance surely noticed; -1: none.
"""

from __future__ import annotations

import math
from typing import Final

from backend.operators.network.kmon.estimates import (
    ALARM,
    ARRIVALS,
    BEFORE,
    BLOCK,
    BUDGET,
    CHANGED,
    CREDIT,
    ESTIMATE,
    FACTOR,
    HEAD,
    HIGH,
    IF_JOINED,
    IF_RELEASED,
    IS_LITERAL,
    IS_OPEN,
    KEPT,
    LEAST,
    LEVEL,
    LOST,
    LOW,
    N_ROW,
    N_SUM,
    OVER,
    PATIENCE,
    SLACK,
    SQUARES,
    STEP,
    UNLOOKED,
    WEIGHT,
    WINDOW,
    Estimates,
    Floats,
    K,
    N,
)
from backend.operators.network.kmon.survival import (
    at_tail,
    bin_end,
    distance_bin,
    joining_share,
    upper_end,
)
from backend.operators.network.kmon.tuning import DISTANCE_BINS, UNKNOWN_K
from backend.operators.selection.bits import called, inlined

#: So many tuples let go raise a false alarm at the least; what one that was false multiplies.
_ALARMING: Final = 8
_MOST_PATIENT: Final = 64
#: What rounding may add to a sum of shares.
_ROUNDED: Final = 1 + 1e-9


@called
def begin_anew(e: Estimates, c: int) -> None:
    """No k, and nothing is known."""
    for i in range(N_ROW):
        e.rows[c, i] = UNKNOWN_K if i <= HIGH or i == BEFORE else 0
    e.rows[c, PATIENCE] = 1
    for i in range(N_SUM):
        e.sums[c, i] = 0.0
    for i in range(DISTANCE_BINS):
        e.events[c, i] = e.bins[c, i] = e.waiting[c, i] = e.gone[c, i] = 0.0


# ---------------------------------------------------------------------- what is told


@inlined
def arrived(e: Estimates, c: int, distance: int) -> None:
    """An arrival. Literal: k is the greatest distance of W arrivals, and none at once when one is
    above (errata D10, D11)."""
    e.rows[c, ARRIVALS] += 1
    if e.settings[IS_LITERAL] > 0:
        _slide(e, c, distance)


@called
def _slide(e: Estimates, c: int, distance: int) -> None:
    """The ring holds distances in falling order, the greatest at its head."""
    if e.rows[c, K] >= 0 and distance > e.rows[c, K]:
        begin_anew(e, c)
        return
    row, size, now = e.rows[c], e.ring.shape[1], e.rows[c, ARRIVALS]
    window = int(e.settings[WINDOW])
    while row[N] > 0 and e.ring[c, (row[HEAD] + row[N] - 1) % size] <= distance:
        row[N] -= 1
    while row[N] > 0 and e.came[c, row[HEAD]] <= now - window:
        row[HEAD] = (row[HEAD] + 1) % size
        row[N] -= 1
    last = (row[HEAD] + row[N]) % size
    e.ring[c, last], e.came[c, last] = distance, now
    row[N] += 1
    row[ESTIMATE] = e.ring[c, row[HEAD]]
    if now >= window:
        row[K] = row[ESTIMATE]
        row[KEPT] = math.floor(e.settings[FACTOR] * row[K])


@inlined
def observed(e: Estimates, c: int, distance: int, weight: float) -> None:
    """A pair joined, of that distance. k rises with it where more than the budget is above."""
    if e.settings[IS_LITERAL] > 0:
        return
    head, is_alike = e.rows[c, HEAD], False
    if e.rows[c, N] >= e.settings[WINDOW] and not 0 <= e.rows[c, K] < distance:
        is_alike = e.ring[c, head] == distance and e.weights[c, head] == weight
    if is_alike:  # as the one that is forgotten: all sums stay
        e.rows[c, HEAD] = head + 1 if head + 1 < e.ring.shape[1] else 0
        e.rows[c, N] -= 1
    while e.rows[c, N] >= e.settings[WINDOW]:
        _forget(e, c)
    last = _place(e, c, e.rows[c, N])
    e.ring[c, last], e.weights[c, last], e.came[c, last] = distance, weight, e.rows[c, ARRIVALS]
    e.rows[c, N] += 1
    e.rows[c, UNLOOKED] += 1
    if not is_alike:
        e.events[c, distance_bin(distance)] += weight
        e.sums[c, WEIGHT] += weight
        e.sums[c, SQUARES] += weight * weight
    if e.rows[c, K] >= 0:
        if weight == 1:
            _joined(e, c)
        elif distance > e.rows[c, KEPT] or distance <= e.rows[c, ARRIVALS]:
            e.sums[c, LOST] += weight
        if distance > e.rows[c, K]:
            e.sums[c, OVER] += weight
        if distance > e.rows[c, K] or weight > 1:
            _follow(e, c)


@inlined
def _place(e: Estimates, c: int, i: int) -> int:
    """Where the i-th oldest observation is."""
    at = int(e.rows[c, HEAD]) + i
    return at - e.ring.shape[1] if at >= e.ring.shape[1] else at


@inlined
def _forget(e: Estimates, c: int) -> None:
    """The oldest observation."""
    head = e.rows[c, HEAD]
    distance, weight = e.ring[c, head], e.weights[c, head]
    e.rows[c, HEAD] = head + 1 if head + 1 < e.ring.shape[1] else 0
    e.rows[c, N] -= 1
    e.events[c, distance_bin(distance)] -= weight
    e.sums[c, WEIGHT] -= weight
    e.sums[c, SQUARES] -= weight * weight
    if e.rows[c, K] >= 0 and distance > e.rows[c, K]:
        e.sums[c, OVER] -= weight


@called
def _follow(e: Estimates, c: int) -> None:
    """A pair was above k, or let go but for being sampled. Where more than the budget is lost, k is
    given up; where more is above, it is raised to the least distance that leaves the budget."""
    allowed = e.settings[BUDGET] * e.sums[c, WEIGHT] * _ROUNDED
    if e.sums[c, LOST] > allowed:
        _give_up(e, c, UNKNOWN_K)
        return
    k, over = e.rows[c, K], e.sums[c, OVER]
    if over <= allowed:
        return
    while over > allowed:
        above = 2**62
        for i in range(e.rows[c, N]):
            distance = int(e.ring[c, _place(e, c, i)])
            above = distance if k < distance < above else above
        k = above
        over = _weight_above(e, c, k)
    _adopt(e, c, k)
    e.sums[c, BLOCK] += min(math.log((e.rows[c, N] + 2) / 4), e.settings[ALARM] / _ALARMING)


@called
def _weight_above(e: Estimates, c: int, k: int) -> float:
    weight = 0.0
    for i in range(e.rows[c, N]):
        at = _place(e, c, i)
        weight += e.weights[c, at] if e.ring[c, at] > k else 0.0
    return weight


@called
def _adopt(e: Estimates, c: int, k: int) -> None:
    """k is in use. Tuples that are older than k_e now tell nothing when they are let go."""
    kept = max(math.floor(e.settings[FACTOR] * k), k + int(e.settings[SLACK]))
    if kept < e.rows[c, KEPT] or e.rows[c, KEPT] < 0:
        e.rows[c, CHANGED] = e.rows[c, ARRIVALS]
    e.rows[c, K], e.rows[c, KEPT] = k, kept
    e.sums[c, OVER] = _weight_above(e, c, k)


@called
def _give_up(e: Estimates, c: int, before: int) -> None:
    """No k. before: k_e, where it is but suspected to be too small."""
    patience = e.rows[c, PATIENCE]
    begin_anew(e, c)
    e.rows[c, PATIENCE], e.rows[c, BEFORE] = patience, before


# ------------------------------------------------ more is let go than used to be


@inlined
def released(e: Estimates, c: int, age: int) -> None:
    """A tuple was let go. Where more are than the share that never joins, k is too small: a
    cumulative sum of log likelihoods notices before a sampled one joins. [Page 1954]"""
    if e.settings[IS_LITERAL] > 0:
        return
    _expose(e.gone, c, age, 1.0, _span(e, c))
    kept = e.rows[c, KEPT]
    if kept >= 0 and age - (e.rows[c, ARRIVALS] - e.rows[c, CHANGED]) < kept:
        e.rows[c, IS_OPEN] = 1
        e.sums[c, BLOCK] += e.sums[c, IF_RELEASED]
        evidence = e.sums[c, LEVEL] + e.sums[c, BLOCK]
        if evidence > e.settings[ALARM] * e.rows[c, PATIENCE]:
            _give_up(e, c, kept)


@inlined
def _joined(e: Estimates, c: int) -> None:
    """A block: pairs that joined, then tuples let go, however many at once. Evidence is not below 0
    at its end; meanwhile it is, by as much as a window's tuples that never join come to."""
    if e.rows[c, IS_OPEN]:
        e.sums[c, LEVEL] = max(0.0, e.sums[c, LEVEL] + e.sums[c, BLOCK])
        e.sums[c, BLOCK] = 0.0
        e.rows[c, IS_OPEN] = 0
    least = -e.sums[c, CREDIT] - e.sums[c, LEVEL]
    e.sums[c, BLOCK] = max(e.sums[c, BLOCK] + e.sums[c, IF_JOINED], least)


@called
def _expect(e: Estimates, c: int, joining: float) -> None:
    """How much of an outcome is let go, and what each therefore says for a quarter more."""
    share = 0.0
    for i in range(distance_bin(e.rows[c, KEPT]) + 1):
        share += e.bins[c, i]
    never = min(max(1 - joining * share, 1 / (e.rows[c, N] + 2)), 1 - 1e-6)
    more = never + (1 - never) / 4
    e.sums[c, IF_RELEASED] = min(math.log(more / never), e.settings[ALARM] / _ALARMING)
    e.sums[c, IF_JOINED] = math.log((1 - more) / (1 - never))
    n_never = e.settings[WINDOW] * never / (1 - never)
    e.sums[c, CREDIT] = n_never * e.sums[c, IF_RELEASED]


# ---------------------------------------------------------------------- the estimate


@inlined
def _span(e: Estimates, c: int) -> int:
    """Arrivals that the observations are of."""
    is_full = e.rows[c, N] >= e.settings[WINDOW]
    return int(e.rows[c, ARRIVALS] - (e.came[c, e.rows[c, HEAD]] if is_full else 0))


@inlined
def _expose(ages: Floats, c: int, age: int, weight: float, span: int) -> None:
    """A tuple might have joined up to its age, but was not looked at before the span began."""
    ages[c, distance_bin(age)] += weight
    if age > span:
        ages[c, distance_bin(age - span)] -= weight


@inlined
def wants_look(e: Estimates, c: int) -> bool:
    """Whether it is time to look at the tuples that wait, and to estimate anew."""
    enough = e.rows[c, K] >= 0 or e.rows[c, N] >= e.settings[LEAST]
    return bool(enough and e.rows[c, UNLOOKED] >= e.settings[STEP])


@inlined
def waits(e: Estimates, c: int, age: int, weight: float) -> None:
    """A tuple that has not joined, and how many arrivals it has waited."""
    _expose(e.waiting, c, age, weight, _span(e, c))


@called
def look(e: Estimates, c: int) -> None:
    """The quantile of the distance given that a pair joins, 1 - budget, with its 95 % interval."""
    if e.rows[c, N] == 0:
        return
    joining = joining_share(e, c)
    _measure(e, c)
    estimate = e.rows[c, ESTIMATE]
    if e.rows[c, K] < 0:
        if e.rows[c, N] >= e.settings[LEAST] and e.rows[c, ARRIVALS] >= 2 * estimate:
            _adopt(e, c, estimate)
            _learn(e, c)
    elif estimate > e.rows[c, K] or estimate + e.settings[SLACK] <= e.rows[c, K]:
        _adopt(e, c, estimate)
    if e.rows[c, K] >= 0:
        _expect(e, c, joining)
    forgotten = min(1.0, e.rows[c, UNLOOKED] / e.settings[WINDOW])
    e.sums[c, LOST] *= 1 - forgotten
    for i in range(DISTANCE_BINS):
        e.gone[c, i] *= 1 - forgotten
        e.waiting[c, i] = 0.0
    e.rows[c, UNLOOKED] = 0


@called
def _measure(e: Estimates, c: int) -> None:
    """The estimate, and order statistics around it: as many of n are above the quantile as Poisson
    says (by Anscombe's root); where that may be none, an exponential tail says how far it is.
    n: weighted observations are worth fewer (Kish)."""
    budget, n = e.settings[BUDGET], e.sums[c, WEIGHT] ** 2 / e.sums[c, SQUARES]
    root = math.sqrt(budget * n + 0.375)
    most = math.floor((root + 0.98) ** 2 - 0.375)
    least = math.floor(max(root - 0.98, 0.0) ** 2 - 0.375)
    low, bin = at_tail(e, c, most / n), at_tail(e, c, budget)
    e.rows[c, LOW] = 0 if low == 0 else bin_end(low - 1) + 1
    e.rows[c, ESTIMATE] = _largest_in(e, c, bin)
    if least >= 1:
        e.rows[c, HIGH] = bin_end(at_tail(e, c, (least - 1) / n))
    else:
        e.rows[c, HIGH] = upper_end(e, c, n, budget)


@called
def _largest_in(e: Estimates, c: int, bin: int) -> int:
    """The largest observed distance of a bin, 0 without one."""
    largest = 0
    for i in range(e.rows[c, N]):
        distance = int(e.ring[c, _place(e, c, i)])
        if distance > largest and (distance <= bin_end(bin) or bin == DISTANCE_BINS - 1):
            largest = distance
    return largest


@called
def _learn(e: Estimates, c: int) -> None:
    """A suspicion that came to nothing makes the next one slower."""
    if e.rows[c, BEFORE] >= 0:
        was_false = e.rows[c, KEPT] <= e.rows[c, BEFORE]
        e.rows[c, PATIENCE] = min(2 * e.rows[c, PATIENCE], _MOST_PATIENT) if was_false else 1
    e.rows[c, BEFORE] = UNKNOWN_K
