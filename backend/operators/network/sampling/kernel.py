"""A window of which each tuple is kept with a known probability, event by event. Card B8

A tuple is kept where the hash of its number is below the probability in force. That falls by a step
where more is kept than the limit allows, for all tuples, and those above it go at once; where there
is room again it rises, for what comes from then on. So the probability with which a tuple is there
is the least since it came, and whether it is does not depend on any other's rank.
"""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import FOREVER, Ints
from backend.operators.network.sampling.words import (
    DROPPED,
    EVENT,
    HAS_DROPPED,
    HI,
    IS_FULL,
    IS_OVER,
    LAST,
    LEVEL,
    LO,
    N_BELOW,
    N_SHED,
    N_TOLD,
    POSITION,
    PROB,
    RANK,
    REACHED,
    SHOWN,
    TAKEN,
    TICKED,
    TOLD_PROB,
    TOLD_SIGN,
    TOLD_TAU,
    TOLD_TUPLE,
    TUPLE,
    KeptSample,
    SampleArrivals,
    SampleRules,
)
from backend.operators.selection.bits import called, inlined, kernel

#: Steps of the probability to a half; the last one there is, below which ranks do not tell.
_STEPS, _LAST_LEVEL = 4, 200
#: A larger probability is taken where what it is expected to keep leaves so much room.
_ROOM = 0.85


@kernel
def play(
    arrivals: SampleArrivals,
    heartbeat: int,
    begin: int,
    rules: SampleRules,
    sample: KeptSample,
    out: Ints,
    done: Ints,
) -> None:
    """All that happens until before the heartbeat, and with the arrivals, as far as there is room.
    begin: the tick from which on the rules are in force. out: int64[room, TOLD_TUPLE + words]."""
    facts = sample.facts
    if rules.limit and facts[HI] - facts[LO] > rules.limit:
        if 2 * (facts[HI] - facts[LO]) > len(out) - done[N_TOLD]:
            return
        _lower(max(facts[EVENT], begin), rules, sample, out, done)
    while 2 * (facts[HI] - facts[LO] + 1) <= len(out) - done[N_TOLD]:
        i = done[TAKEN]
        has_arrival = i < len(arrivals.taus)
        limit = arrivals.taus[i] if has_arrival else heartbeat
        if rules.by_rows:
            at = done[TICKED]
            if at < len(arrivals.ticks) and arrivals.ticks[at] < limit:
                _leave_rows(arrivals.positions[at], arrivals.ticks[at], rules, sample, out, done)
                done[TICKED] += 1
                continue
        else:
            due = _due(rules, sample)
            if due < limit + has_arrival:
                _move(due, rules, sample, out, done)
                continue
            facts[REACHED] = max(facts[REACHED], limit - 1 + has_arrival)
        if not has_arrival:
            done[IS_OVER] = 1
            return
        if facts[HI] == len(sample.rows) and not _compact(sample):
            done[IS_FULL] = 1
            return
        _arrive(arrivals, i, rules, sample, out, done)
        done[TAKEN] = i + 1


# ---------------------------------------------------------------------- the window


@inlined
def _shown_at(tick: int, rules: SampleRules) -> int:
    """When a window of time shows what came at a tick."""
    return -(-tick // rules.slide) * rules.slide


@inlined
def _gone_at(tick: int, rules: SampleRules) -> int:
    """When it does no more."""
    return ((tick + rules.size) // rules.slide + 1) * rules.slide


@inlined
def _due(rules: SampleRules, sample: KeptSample) -> int:
    """The next tick at which a window of time moves."""
    rows, facts = sample.rows, sample.facts
    due = FOREVER
    if facts[LO] < facts[HI]:
        due = _gone_at(rows[facts[LO], POSITION], rules)
    if facts[SHOWN] < facts[HI]:
        due = min(due, _shown_at(rows[facts[SHOWN], POSITION], rules))
    return due


@called
def _move(tick: int, rules: SampleRules, sample: KeptSample, out: Ints, done: Ints) -> None:
    """What a window of time shows, and loses, at a tick."""
    rows, facts = sample.rows, sample.facts
    while facts[LO] < facts[SHOWN] and _gone_at(rows[facts[LO], POSITION], rules) <= tick:
        _leave(tick, sample, out, done)
    while facts[SHOWN] < facts[HI] and _shown_at(rows[facts[SHOWN], POSITION], rules) <= tick:
        _tell(facts[SHOWN], tick, 1, sample, out, done)
        facts[SHOWN] += 1


@called
def _leave_rows(
    number: int, tick: int, rules: SampleRules, sample: KeptSample, out: Ints, done: Ints
) -> None:
    """What a window of rows loses when the tuple of a number arrives."""
    rows, facts = sample.rows, sample.facts
    facts[REACHED] = max(facts[REACHED], number)
    while facts[LO] < facts[HI] and rows[facts[LO], POSITION] + rules.size <= number:
        _leave(tick, sample, out, done)


@inlined
def _leave(tick: int, sample: KeptSample, out: Ints, done: Ints) -> None:
    """The oldest tuple goes."""
    facts, probs = sample.facts, sample.rows.view(np.float64)
    _tell(facts[LO], tick, -1, sample, out, done)
    prob = probs[facts[LO], PROB]
    facts[N_BELOW] -= prob < 1
    facts[LO] += 1
    sample.weight[0] = sample.weight[0] - 1 / prob if facts[LO] < facts[HI] else 0.0


@inlined
def _tell(row: int, tick: int, sign: int, sample: KeptSample, out: Ints, done: Ints) -> None:
    place = done[N_TOLD]
    out[place, TOLD_TAU], out[place, TOLD_SIGN] = tick, sign
    out[place, TOLD_PROB] = sample.rows[row, PROB]
    for word in range(sample.rows.shape[1] - TUPLE):
        out[place, TOLD_TUPLE + word] = sample.rows[row, TUPLE + word]
    done[N_TOLD] = place + 1
    sample.facts[EVENT] = tick


# ---------------------------------------------------------------------- arrivals


@called
def _arrive(
    arrivals: SampleArrivals,
    i: int,
    rules: SampleRules,
    sample: KeptSample,
    out: Ints,
    done: Ints,
) -> None:
    facts, tick = sample.facts, arrivals.taus[i]
    if tick + 1 != facts[LAST]:
        facts[LAST] = tick + 1
        _rise(rules, sample)
    position = tick
    if rules.by_rows:
        position = arrivals.numbers[i]
        _leave_rows(position, tick, rules, sample, out, done)
    elif _gone_at(tick, rules) <= _shown_at(tick, rules):
        return
    prob = prob_of(facts[LEVEL], rules)
    if arrivals.ranks[i] >= prob:
        _shed(position, facts, done)
        return
    _keep(arrivals, i, position, prob, sample)
    if rules.by_rows or _shown_at(tick, rules) == tick:
        _tell(facts[SHOWN], tick, 1, sample, out, done)
        facts[SHOWN] += 1
    if rules.limit and facts[HI] - facts[LO] > rules.limit:
        _lower(tick, rules, sample, out, done)


@inlined
def _keep(arrivals: SampleArrivals, i: int, position: int, prob: float, sample: KeptSample) -> None:
    rows, facts = sample.rows, sample.facts
    floats, row = rows.view(np.float64), facts[HI]
    floats[row, RANK], floats[row, PROB] = arrivals.ranks[i], prob
    rows[row, POSITION] = position
    for word in range(arrivals.tuples.shape[1]):
        rows[row, TUPLE + word] = arrivals.tuples[i, word]
    facts[HI] = row + 1
    facts[N_BELOW] += prob < 1
    sample.weight[0] += 1 / prob


@inlined
def _shed(position: int, facts: Ints, done: Ints) -> None:
    facts[HAS_DROPPED], facts[DROPPED] = 1, max(facts[DROPPED], position)
    done[N_SHED] += 1


@called
def _compact(sample: KeptSample) -> bool:
    """Move all rows to the front, if half of them are free."""
    rows, facts = sample.rows, sample.facts
    first, n = facts[LO], facts[HI] - facts[LO]
    if not first or 2 * n > len(rows):
        return False
    for row in range(n):
        for word in range(rows.shape[1]):
            rows[row, word] = rows[first + row, word]
    facts[LO], facts[SHOWN], facts[HI] = 0, facts[SHOWN] - first, n
    return True


# ---------------------------------------------------------------------- the probability


@inlined
def prob_of(level: int, rules: SampleRules) -> float:
    """With which a tuple is kept."""
    return float(min(rules.most, 2.0 ** (-level / _STEPS)))


@called
def _rise(rules: SampleRules, sample: KeptSample) -> None:
    """There may be room for more of what comes."""
    facts = sample.facts
    if not rules.limit:
        facts[LEVEL] = 0
    room = _ROOM * rules.target
    while facts[LEVEL] and sample.weight[0] * prob_of(facts[LEVEL] - 1, rules) <= room:
        facts[LEVEL] -= 1


@called
def _lower(tick: int, rules: SampleRules, sample: KeptSample, out: Ints, done: Ints) -> None:
    """Shed by lower probabilities until no more than the target is kept."""
    facts, floats = sample.facts, sample.rows.view(np.float64)
    n, prob = facts[HI] - facts[LO], 1.0
    while n > rules.target and facts[LEVEL] < _LAST_LEVEL:
        facts[LEVEL] += 1
        prob = prob_of(facts[LEVEL], rules)
        n = 0
        for row in range(facts[LO], facts[HI]):
            n += floats[row, RANK] < prob
    kept = facts[LO]
    shown, sample.weight[0], facts[N_BELOW] = facts[SHOWN], 0.0, 0
    for row in range(facts[LO], facts[HI]):
        is_kept, before = floats[row, RANK] < prob, floats[row, PROB]
        if row < shown and not (is_kept and before <= prob):
            _tell(row, tick, -1, sample, out, done)
        if not is_kept:
            _shed(sample.rows[row, POSITION], facts, done)
            facts[SHOWN] -= row < shown
            continue
        floats[row, PROB] = min(before, prob)
        if row < shown and before > prob:
            _tell(row, tick, 1, sample, out, done)
        for word in range(sample.rows.shape[1]):
            sample.rows[kept, word] = sample.rows[row, word]
        facts[N_BELOW] += floats[kept, PROB] < 1
        sample.weight[0] += 1 / floats[kept, PROB]
        kept += 1
    facts[HI] = kept
