"""Which tuples go, and how accurate the answer is then: everything looked at, drop after drop.

For a few hundred tuples at most: each drop looks at all of them, and at its own run again. Card B3
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Bools, Ints
from backend.operators.selection.bits import called, inlined, kernel

#: How a tuple is scored, the lowest goes: by δ⁺ and ρ⁻, δ⁺, ρ⁻, an order that is given, the
#: accuracy after it has gone, or what the answer loses for each tuple that goes.
BOTH, PIECES, SHARE, GIVEN, ACCURATE, REACH = range(6)
#: Of exact runs: share of the length that the answer has, Σ max(1, k) of it, stray pieces, whether
#: it is answered; whatever their lengths: length that is kept, in how many pieces.
REDUCTION, SPREAD, STRAY, ANSWERED, KEPT, COUNT = range(6)
RUN_WORDS: Final = 6
_ALIKE: Final = 1e-12
Floats = NDArray[np.float64]


class LookedAt(NamedTuple):
    """Tuples by exact run, start and number. firsts: of each run its first tuple, then how many
    there are; bases: length of each run; ranks: an order of all, for GIVEN."""

    starts: Ints
    ends: Ints
    numbers: Ints
    ranks: Ints
    firsts: Ints
    bases: Ints


class DropRule(NamedTuple):
    """kind: of scores; weight: of δ⁺; on_exact: ρ⁻ is a share of the exact run, else of that in
    memory; metric: 1 to 3, for ACCURATE; least, most, gaps: lengths that are answered, most < 0:
    any; reached: no tuple that comes from now on begins before."""

    kind: int
    weight: float
    on_exact: bool
    metric: int
    least: int
    most: int
    gaps: Ints
    reached: int


class DropWork(NamedTuple):
    """scores, lengths: of each tuple, length that its loss takes; pieces: that are left of its run
    in memory; run_of: its exact run; runs: of each what RUN_WORDS says; bests: of each the tuple
    that may go first, -1: none; totals: of what is answered REDUCTION, SPREAD with STRAY, and how
    many exact runs."""

    scores: Floats
    lengths: Ints
    pieces: Ints
    run_of: Ints
    runs: Floats
    bests: Ints
    totals: Floats


@inlined
def holds(rule: DropRule, length: int) -> bool:
    """Whether a coalesced tuple of this length is in the answer."""
    if length < rule.least or (rule.most >= 0 and length > rule.most):
        return False
    for gap in range(len(rule.gaps)):
        if rule.gaps[gap, 0] <= length <= rule.gaps[gap, 1]:
            return False
    return True


@kernel
def drop(
    looked: LookedAt,
    rule: DropRule,
    kept: Bools,
    held: Bools,
    n_left: int,
    work: DropWork,
    order: Ints,
    accuracy: Floats,
) -> int:
    """Drop tuples until so many are kept, or none may go. held: that may not; order: tuples as they
    went; accuracy: R1 with so many kept. How many went."""
    n_kept, n_gone = 0, 0
    for run in range(len(looked.bases)):
        for i in range(looked.firsts[run], looked.firsts[run + 1]):
            work.run_of[i] = run
            n_kept += kept[i]
        look(looked, rule, kept, held, run, work)
        count(work, run, 1.0)
    accuracy[n_kept] = answered(work)
    while n_kept > n_left:
        i = most_accurate(looked, rule, kept, held, work)
        if i < 0:
            break
        kept[i] = False
        order[n_gone] = i
        n_kept, n_gone = n_kept - 1, n_gone + 1
        count(work, work.run_of[i], -1.0)
        look(looked, rule, kept, held, work.run_of[i], work)
        count(work, work.run_of[i], 1.0)
        accuracy[n_kept] = answered(work)
    return n_gone


@inlined
def count(work: DropWork, run: int, sign: float) -> None:
    """A run is among the totals, or no longer."""
    work.totals[0] += sign * work.runs[run, REDUCTION]
    work.totals[1] += sign * (work.runs[run, SPREAD] + work.runs[run, STRAY])
    work.totals[2] += sign * work.runs[run, ANSWERED]


@inlined
def answered(work: DropWork) -> float:
    """R1."""
    if work.totals[2] == 0.0:
        return 1.0 if work.totals[1] == 0.0 else 0.0
    share = work.totals[0] / work.totals[1]
    return 0.0 if share < _ALIKE else min(1.0, share)


@called
def most_accurate(
    looked: LookedAt, rule: DropRule, kept: Bools, held: Bools, work: DropWork
) -> int:
    """The tuple to drop, the oldest of several; -1: none may go."""
    best = -1
    if rule.kind != ACCURATE:
        for run in range(len(work.bests)):
            best = first_of(looked, work, best, work.bests[run], 0.0)
        return best
    price(looked, rule, kept, work)
    for i in range(len(kept)):
        if kept[i] and not held[i]:
            best = first_of(looked, work, best, i, _ALIKE)
    return best


@inlined
def first_of(looked: LookedAt, work: DropWork, first: int, other: int, slack: float) -> int:
    """Which of two tuples goes first; -1 is none. slack: scores that are no further apart are
    equal."""
    if first < 0 or other < 0:
        return max(first, other)
    apart = work.scores[other] - work.scores[first]
    is_older = looked.numbers[other] < looked.numbers[first]
    return other if apart < -slack or (abs(apart) <= slack and is_older) else first


@called
def price(looked: LookedAt, rule: DropRule, kept: Bools, work: DropWork) -> None:
    """Scores: what is lacking of the accuracy of all coalesced tuples once a tuple has gone."""
    reduction, spread, surviving, divided = 0.0, 0.0, 0.0, 0.0
    for run in range(len(looked.bases)):
        share = work.runs[run, KEPT] / looked.bases[run]
        reduction += share
        spread += max(1.0, work.runs[run, COUNT])
        surviving += min(1.0, work.runs[run, COUNT])
        divided += share / max(1.0, work.runs[run, COUNT])
    for i in range(len(kept)):
        if not kept[i]:
            continue
        run = work.run_of[i]
        k, n = work.runs[run, COUNT], work.runs[run, KEPT]
        then = k + work.pieces[i] - 1.0
        left, base = n - work.lengths[i], looked.bases[run]
        value = (reduction - work.lengths[i] / base) / (spread + max(1.0, then) - max(1.0, k))
        if rule.metric == 2:
            value *= (surviving + min(1.0, then) - min(1.0, k)) / len(looked.bases)
        elif rule.metric == 3:
            value = divided - n / base / max(1.0, k) + left / base / max(1.0, then)
            value /= len(looked.bases)
        work.scores[i] = 1.0 - value


@called
def look(
    looked: LookedAt, rule: DropRule, kept: Bools, held: Bools, run: int, work: DropWork
) -> None:
    """What is left of an exact run, and what the loss of each of its tuples does."""
    low, end = looked.firsts[run], looked.firsts[run + 1]
    is_answered, k, length = holds(rule, looked.bases[run]), 0, 0
    work.runs[run, KEPT] = work.runs[run, COUNT] = 0.0
    work.bests[run] = -1
    while low < end:
        if not kept[low]:
            low += 1
            continue
        high, n, until = low + 1, 1, looked.ends[low]
        while high < end and (not kept[high] or looked.starts[high] <= until):
            n += kept[high]
            until = max(until, looked.ends[high] if kept[high] else until)
            high += 1
        own = until - looked.starts[low]
        work.runs[run, COUNT] += 1.0
        work.runs[run, KEPT] += own
        if holds(rule, own):
            k, length = k + 1, length + own
        look_piece(looked, kept, low, high, until, work)
        if rule.kind == REACH:
            reach(looked, rule, kept, held, low, high, n, until, work)
        elif rule.kind != ACCURATE:
            score(looked, rule, kept, held, low, high, own, work)
        low = high
    work.runs[run, ANSWERED] = is_answered
    work.runs[run, REDUCTION] = length / looked.bases[run] if is_answered else 0.0
    work.runs[run, SPREAD] = max(1, k) if is_answered else 0
    work.runs[run, STRAY] = 0 if is_answered else k


@called
def look_piece(
    looked: LookedAt, kept: Bools, low: int, high: int, until: int, work: DropWork
) -> None:
    """What the loss of each tuple of a run in memory takes of it, whatever they overlap."""
    start, covered = looked.starts[low], looked.starts[low]
    for i in range(low, high):
        if not kept[i]:
            continue
        first, last = looked.starts[i], looked.ends[i]
        since, place, length, inner, is_alone = max(covered, first), i + 1, 0, 0, False
        while since < last:
            while place < high and not kept[place]:
                place += 1
            upto = looked.starts[place] if place < high else last
            if upto > since:
                gap = min(upto, last)
                length += gap - since
                inner += since > start and gap < until
                is_alone = since == start and gap == until
            if upto >= last:
                break
            since = max(since, looked.ends[place])
            place += 1
        work.lengths[i], work.pieces[i] = length, 0 if is_alone else 1 + inner
        covered = max(covered, last)


@called
def score(
    looked: LookedAt,
    rule: DropRule,
    kept: Bools,
    held: Bools,
    low: int,
    high: int,
    own: int,
    work: DropWork,
) -> None:
    """Of the tuples of a run in memory of this length, and the one of them that may go first."""
    run = work.run_of[low]
    base = looked.bases[run] if rule.on_exact else own
    for i in range(low, high):
        if not kept[i] or held[i]:
            continue
        delta = max(0, work.pieces[i] - 1)
        if rule.kind == GIVEN:
            work.scores[i] = looked.ranks[i]
        elif rule.kind == PIECES:
            work.scores[i] = delta
        elif rule.kind == SHARE:
            work.scores[i] = work.lengths[i] / base
        else:
            work.scores[i] = (delta * rule.weight * base + work.lengths[i]) / base
        work.bests[run] = first_of(looked, work, work.bests[run], i, 0.0)


@called
def reach(
    looked: LookedAt,
    rule: DropRule,
    kept: Bools,
    held: Bools,
    low: int,
    high: int,
    n: int,
    until: int,
    work: DropWork,
) -> None:
    """Of the tuples of a run in memory only one may go: whose loss splits least, is shortest."""
    best, is_growing, own = -1, False, until - looked.starts[low]
    for i in range(low, high):
        is_growing = is_growing or (kept[i] and held[i])
        if kept[i] and not held[i] and (best < 0 or is_less(looked, work, i, best)):
            best = i
    if best < 0:
        return
    exact = looked.bases[work.run_of[best]] if rule.on_exact else own
    missing, lost = max(0, rule.least - own), work.lengths[best]
    whole = own / ((exact + missing) * n)
    is_lost = until < rule.reached and own < rule.least and not is_growing
    if is_lost or 0 <= rule.most < exact:
        whole = -1.0
    elif work.pieces[best] <= 1 and holds(rule, own - lost):
        whole = min(lost / exact, whole)
    run = work.run_of[best]
    work.scores[best] = whole
    work.bests[run] = first_of(looked, work, work.bests[run], best, 0.0)


@inlined
def is_less(looked: LookedAt, work: DropWork, i: int, other: int) -> bool:
    """By δ⁺, then length, then age."""
    delta, others = max(0, work.pieces[i] - 1), max(0, work.pieces[other] - 1)
    if delta != others:
        return bool(delta < others)
    if work.lengths[i] != work.lengths[other]:
        return bool(work.lengths[i] < work.lengths[other])
    return bool(looked.numbers[i] < looked.numbers[other])
