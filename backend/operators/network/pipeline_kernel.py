"""The compiled part of pipelines with caches: the way of an element's combinations (card 9).

It is that of join_kernel; on the way keys are looked up, and caches told of what they gain or lose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network import cache_kernel as caching
from backend.operators.network.blocks import Ints
from backend.operators.network.clock_kernel import nanoseconds
from backend.operators.network.join_kernel import (
    MASK,
    MATCHES,
    PROBES,
    ROWS,
    TARGET,
    WIDTH,
    key_word,
    newest,
    next_match,
    words_at,
)
from backend.operators.network.tuned_words import (
    AS_FLOAT,
    BOUND,
    BOUND_END,
    CAME,
    CHAIN,
    CLOCK,
    COLUMN,
    ENDS,
    GROUP,
    HIT,
    INPUT,
    LAST,
    LEVEL,
    MARK,
    MISS,
    MODE,
    N_BUILT,
    N_CHAIN,
    OVERHEAD,
    PLAIN,
    READER,
    SHADOW_BLOCKS,
    SHADOW_MISSES,
    SHADOW_PROBES,
    SHADOWS,
    SHADOWS_END,
    UNWATCHED,
    UPDATES,
    UPDATES_END,
    WATCH,
    WATCH_ALL,
    Program,
    Workroom,
)
from backend.operators.selection.bits import inlined


@inlined
def charge(w: Workroom, account: int) -> None:
    """The time since the last charge was for an account."""
    if w.state[WATCH] != UNWATCHED:
        now = nanoseconds(w.state[CLOCK])
        w.busy[account, 0] += now - w.state[MARK] - w.state[OVERHEAD]
        w.busy[account, 1] += 1
        w.state[MARK] = now


@inlined
def first_match(p: Program, w: Workroom, step: Ints) -> Any:
    """Where the search for tuples that match at a step begins."""
    return newest(step, p.inputs, p.keys, p.indexes, p.progress, w.values)


@inlined
def match(p: Program, w: Workroom, step: Ints, tally: Ints, level: int) -> Any:
    """The next tuple that matches at a step, -1: none."""
    fixed = p.inputs, p.keys, p.indexes, p.progress
    return next_match(step, *fixed, w.values, w.cursor, tally, level)


@inlined
def n_joined(p: Program, w: Workroom, begin: int, end: int, most: int) -> Any:
    """With how many combinations, at most ``most``, of the inputs of a walk the values join."""
    level, n = 0, 0
    w.cursor[0] = first_match(p, w, p.walks[begin])
    w.aside[0, PROBES] += 1
    while level >= 0 and n < most:
        found = match(p, w, p.walks[begin + level], w.aside, level)
        if found < 0:
            level -= 1
            continue
        w.aside[level, MATCHES] += 1
        if begin + level + 1 == end:
            n += 1
            continue
        level += 1
        w.cursor[level] = first_match(p, w, p.walks[begin + level])
        w.aside[level, PROBES] += 1
    return n


# ---------------------------------------------------------------------- the way through a pipeline


@inlined
def shadow(p: Program, w: Workroom, s: int) -> None:
    """Look a key up in a bitmap; at the end of a block, count its distinct keys (card 10.2)."""
    row = p.shadows[s]
    bits, facts = words_at(row[caching.DIRECTORY]), words_at(row[caching.FACTS])
    n_bits = row[caching.N_CELLS]
    hash = caching.key_hash(row, p.lists, w.values)
    bit = np.int64(((hash >> np.uint64(32)) * np.uint64(n_bits)) >> np.uint64(32))
    if not bits[bit >> 6] >> (bit & 63) & 1:
        bits[bit >> 6] |= 1 << (bit & 63)
        facts[0] += 1
    facts[1] += 1
    if facts[1] < row[caching.MOST]:
        return
    n = float(facts[1])
    if facts[0] < n_bits:
        n = min(n, -n_bits * np.log(1.0 - facts[0] / n_bits))
    w.shadow_sums[s, SHADOW_PROBES] += facts[1]
    w.shadow_sums[s, SHADOW_MISSES] += n
    w.shadow_sums[s, SHADOW_BLOCKS] += 1.0
    facts[0], facts[1] = 0, 0
    for word in range((n_bits + 63) >> 6):
        bits[word] = 0


@inlined
def look_up(p: Program, w: Workroom, c: int, level: int) -> None:
    """Begin a segment with what its cache has, or else to fill that."""
    cache, counts = p.caches[c], w.cache_counts[c]
    hash = caching.key_hash(cache, p.lists, w.values)
    counts[caching.PROBES] += 1
    caching.sample(cache, hash, counts)
    slot = caching.slot_of(cache, p.lists, w.values, hash)
    if slot < 0:
        w.levels[level, MODE], w.levels[level, CHAIN] = MISS, -1
        w.levels[level, N_CHAIN] = 0 if cache[caching.N_SETS] else -1
        return
    counts[caching.HITS] += 1
    entry = words_at(cache[caching.DIRECTORY])[slot]
    if cache[caching.N_WAYS] > 1:
        caching.to_front(cache, slot)
    w.levels[level, MODE] = HIT
    word = entry * cache[caching.CELL_WORDS] + caching.FIRST
    w.cursor[level] = words_at(cache[caching.CELLS])[word]


@inlined
def enter(p: Program, w: Workroom, port: int, level: int) -> None:
    """Come to a step with the tuples and values there are."""
    point = p.points[port, level]
    for k in range(point[SHADOWS], point[SHADOWS_END]):
        shadow(p, w, p.lists[k])
    w.levels[level, MODE] = PLAIN
    if point[READER] >= 0 and w.state[WATCH] != WATCH_ALL:
        look_up(p, w, point[READER], level)
        charge(w, len(p.inputs) - 1 + 2 * point[READER])
        if w.levels[level, MODE] == HIT:
            return
    w.tally[level, PROBES] += 1
    w.cursor[level] = w.starts[level]
    if w.starts[level] < 0:
        w.cursor[level] = first_match(p, w, p.steps[port, level])


@inlined
def forward(p: Program, w: Workroom, port: int, level: int) -> None:
    """Take the next tuple of a segment from its entry."""
    point = p.points[port, level]
    cache = p.caches[point[READER]]
    cells, word = words_at(cache[caching.CELLS]), w.cursor[level] * cache[caching.CELL_WORDS]
    begin = cache[caching.WINDOWS]
    for k in range(begin, cache[caching.WINDOWS_END]):
        w.chosen[p.lists[k]] = cells[word + caching.NUMBERS + k - begin]
    w.cursor[level] = cells[word + caching.NEXT]
    bind_chosen(p, w, point[BOUND], point[BOUND_END])
    w.operations[port, N_BUILT] += 1


@inlined
def bind_chosen(p: Program, w: Workroom, begin: int, end: int) -> None:
    """Give classes the values that tuples chosen have."""
    for k in range(begin, end):
        input = p.bindings[k, INPUT]
        at = (w.chosen[input] & p.inputs[input, MASK]) * p.inputs[input, WIDTH]
        rows, column = words_at(p.inputs[input, ROWS]), p.bindings[k, COLUMN]
        value = key_word(rows, at + column, p.bindings[k, AS_FLOAT])
        w.values[p.bindings[k, GROUP]] = value


@inlined
def collect(p: Program, w: Workroom, c: int, level: int) -> None:
    """Have the tuple of a segment that is not in its cache in what will be."""
    cache, counts, n = p.caches[c], w.cache_counts[c], w.levels[level, N_CHAIN]
    if n < 0:
        return
    cell = np.int64(-1)
    if n < cache[caching.MOST]:
        chain = w.levels[level, CHAIN]
        cell = caching.linked(cache, p.lists, w.chosen, chain, -1, counts)
    if cell < 0:
        caching.give_back_chain(cache, w.levels[level, CHAIN])
        w.levels[level, N_CHAIN] = -1
        return
    w.levels[level, CHAIN], w.levels[level, N_CHAIN] = cell, n + 1


@inlined
def create(p: Program, w: Workroom, c: int, level: int) -> None:
    """A segment that was not in its cache is complete. Where tuples have witnesses, those are
    counted when the element is done: it may be one itself (card 11 B)."""
    cache, chain, n = p.caches[c], w.levels[level, CHAIN], w.levels[level, N_CHAIN]
    counted = cache[caching.KIND] == caching.COUNTED
    opened = words_at(cache[caching.OPENED])
    if n < 0:
        return
    if counted and opened[0] == caching.MOST_OPENED:
        caching.give_back_chain(cache, chain)
        return
    slot = caching.made_entry(cache, p.lists, w.values, chain, n, w.cache_counts[c])
    if slot >= 0 and counted:
        entry = words_at(cache[caching.DIRECTORY])[slot]
        opened[0] += 1
        opened[opened[0]] = entry
        word = entry * cache[caching.CELL_WORDS] + caching.PLACE
        words_at(cache[caching.CELLS])[word] = opened[0]


@inlined
def passed(p: Program, w: Workroom, port: int, step: int, sign: int) -> None:
    """A combination has come through a step: caches that it changes are told."""
    point, first_update = p.points[port, step], len(p.inputs)
    for k in range(point[UPDATES], point[UPDATES_END]):
        c = p.lists[k]
        caching.update(p.caches[c], p.lists, sign, w.values, w.chosen, w.cache_counts[c])
        charge(w, first_update + 2 * c)
    first = point[ENDS]
    if first >= 0 and w.levels[first, MODE] == MISS:
        c = p.points[port, first, READER]
        collect(p, w, c, first)
        charge(w, first_update + 2 * c)


@inlined
def advance(p: Program, w: Workroom, port: int, sign: int, level: int) -> Any:
    """The next combination of a level: the step it has come through, -1: there is no more."""
    first_look_up, mode = len(p.inputs) - 1, w.levels[level, MODE]
    c = p.points[port, level, READER]
    arrived: Any = np.int64(level)
    if mode == HIT:
        if w.cursor[level] < 0:
            return np.int64(-1)
        forward(p, w, port, level)
        charge(w, first_look_up + 2 * c)
        arrived = p.points[port, level, LAST]
    else:
        found = match(p, w, p.steps[port, level], w.tally, level)
        charge(w, level)
        if found < 0:
            if mode == MISS:
                create(p, w, c, level)
                charge(w, first_look_up + 2 * c + 1)
            return np.int64(-1)
        w.tally[level, MATCHES] += 1
        w.chosen[p.steps[port, level, TARGET]] = found
    passed(p, w, port, arrived, sign)
    return arrived


@inlined
def give_out(w: Workroom, n_inputs: int, out: Ints, n_out: int) -> None:
    """The tuples that are chosen are a result."""
    for k in range(n_inputs):
        out[k, n_out] = w.chosen[k]


@inlined
def join_element(p: Program, w: Workroom, port: int, sign: int, out: Ints, n_out: int) -> Any:
    """Have the combinations of an element in ``out``, behind ``n_out`` results: how many there are
    then. state[LEVEL] >= 0: the next one found no room, and is the first of the next call."""
    n = len(p.inputs)
    level: Any = w.state[LEVEL]
    if level < 0:
        level = np.int64(0)
        w.levels[0, CAME] = -1
        enter(p, w, port, level)
    else:
        give_out(w, n, out, n_out)
        n_out += 1
    while level >= 0:
        arrived = advance(p, w, port, sign, level)
        if arrived < 0:
            level = w.levels[level, CAME]
        elif arrived < n - 2:
            w.levels[arrived + 1, CAME] = level
            level = arrived + 1
            enter(p, w, port, level)
        elif n_out == out.shape[1]:
            break
        else:
            give_out(w, n, out, n_out)
            n_out += 1
    w.state[LEVEL] = level
    return n_out
