"""The compiled part of pipelines with caches: the way of an element's combinations (card 9).

It is that of join_kernel; on the way keys are looked up, and caches told of what they gain or lose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import (
    Pointer,
    line,
    row,
    row_in,
    size,
    table,
    words_at,
)
from backend.operators.network.core.blocks import Ints
from backend.operators.network.joins import cache_kernel as caching
from backend.operators.network.joins.clock_kernel import nanoseconds
from backend.operators.network.joins.join_kernel import (
    MASK,
    MATCHES,
    PROBES,
    ROWS,
    TARGET,
    WIDTH,
    key_word,
    newest,
    next_match,
)
from backend.operators.network.joins.join_tuning import FIRST_BLOCKS, RUN_BLOCKS
from backend.operators.network.joins.tuned_words import (
    AS_FLOAT,
    BITS_SET,
    BOUND,
    BOUND_END,
    CAME,
    CHAIN,
    CLOCK,
    COLUMN,
    ENDS,
    GROUP,
    HIT,
    IN_BLOCK,
    IN_RUN,
    INPUT,
    IS_PLAIN,
    IS_PLAIN_BEHIND,
    KEYS_BEFORE,
    LAST,
    LEVEL,
    MARK,
    MILLION,
    MISS,
    MODE,
    N_BUILT,
    N_CHAIN,
    OPEN,
    OVERHEAD,
    PLAIN,
    READER,
    SHADOW_BLOCKS,
    SHADOW_KEYS,
    SHADOW_MISSES,
    SHADOW_PROBES,
    SHADOW_RUNS,
    SHADOWS,
    SHADOWS_END,
    UNWATCHED,
    UPDATES,
    UPDATES_END,
    WATCH,
    WATCH_ALL,
    A,
)
from backend.operators.selection.bits import called, inlined


@called
def charge_watched(at: Pointer, account: int, n: int) -> None:
    """Of an element that is watched."""
    state = line(at, A.state)
    busy, now = row(at, A.busy, account), nanoseconds(state[CLOCK])
    busy[0] += now - state[MARK] - state[OVERHEAD]
    busy[1] += n
    state[MARK] = now


@inlined
def charge(at: Pointer, account: int, n: int) -> None:
    """The time since the last charge was for an account, and n operations of it."""
    if line(at, A.state)[WATCH] != UNWATCHED:
        charge_watched(at, account, n)


@inlined
def of_look_ups(at: Pointer, c: int) -> Any:
    """The account of the look-ups of a cache; behind it that of its updates."""
    return size(at, A.inputs, 0) - 1 + 2 * c


@inlined
def first_match(at: Pointer, step: Pointer) -> Any:
    """Where the search for tuples that match at a step begins."""
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    return newest(step, inputs, keys, indexes, table(at, A.progress), line(at, A.values))


@called
def match(at: Pointer, step: Pointer, tally: Ints, level: int) -> Any:
    """The next tuple that matches at a step, -1: none."""
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    values, cursor, progress = line(at, A.values), line(at, A.cursor), table(at, A.progress)
    return next_match(step, inputs, keys, indexes, progress, values, cursor, tally, level)


@called
def n_joined(at: Pointer, begin: int, end: int, most: int) -> Any:
    """With how many combinations, at most ``most``, of the inputs of a walk the values join."""
    cursor, aside = line(at, A.cursor), table(at, A.aside)
    level, n, is_new = 0, 0, True
    while level >= 0 and n < most:
        step = row(at, A.walks, begin + level)
        if is_new:
            cursor[level] = first_match(at, step)
            aside[level, PROBES] += 1
        partner = match(at, step, aside, level)
        aside[level, MATCHES] += partner >= 0
        is_new = partner >= 0 and begin + level + 1 < end
        if is_new:
            level += 1
        elif partner >= 0:
            n += 1
        else:
            level -= 1
    return n


# ---------------------------------------------------------------------- the way through a pipeline


@called
def shadow(at: Pointer, port: int, s: int) -> None:
    """Look a key up in a bitmap; at the end of a block, count the keys that are new in it (card
    10.2). Behind enough blocks it is closed: what W blocks say is not made surer by more. When it
    is opened again, other keys have come meanwhile: it begins with an empty bitmap."""
    bitmap, sums = row(at, A.shadows, s), row(at, A.shadow_sums, s)
    bits, facts = words_at(bitmap[caching.DIRECTORY]), words_at(bitmap[caching.FACTS])
    n_bits = bitmap[caching.N_CELLS]
    hash = caching.key_hash(bitmap, line(at, A.lists), line(at, A.values))
    bit = np.int64(((hash >> np.uint64(32)) * np.uint64(n_bits)) >> np.uint64(32))
    if not bits[bit >> 6] >> (bit & 63) & 1:
        bits[bit >> 6] |= 1 << (bit & 63)
        facts[BITS_SET] += 1
    facts[IN_BLOCK] += 1
    if facts[IN_BLOCK] < bitmap[caching.MOST]:
        return
    facts[IN_RUN] += 1
    n = float(facts[IN_RUN] * facts[IN_BLOCK])
    if facts[BITS_SET] < n_bits:
        n = min(n, -n_bits * np.log(1.0 - facts[BITS_SET] / n_bits))
    n_new = min(np.int64(n * MILLION) - facts[KEYS_BEFORE], facts[IN_BLOCK] * MILLION)
    if facts[IN_RUN] > FIRST_BLOCKS:
        sums[SHADOW_PROBES] += facts[IN_BLOCK]
        sums[SHADOW_MISSES] += n_new
        sums[SHADOW_BLOCKS] += 1
    facts[IN_BLOCK], facts[KEYS_BEFORE] = 0, np.int64(n * MILLION)
    is_over = sums[SHADOW_BLOCKS] == bitmap[caching.N_SETS] and facts[IN_RUN] > FIRST_BLOCKS
    if is_over:
        pipeline = row(at, A.pipelines, port)
        pipeline[OPEN] -= 1
        pipeline[IS_PLAIN] = pipeline[IS_PLAIN_BEHIND] if pipeline[OPEN] == 0 else 0
    if facts[IN_RUN] == RUN_BLOCKS:
        sums[SHADOW_KEYS] += facts[KEYS_BEFORE]
        sums[SHADOW_RUNS] += 1
    if is_over or facts[IN_RUN] == RUN_BLOCKS:
        facts[BITS_SET], facts[IN_RUN], facts[KEYS_BEFORE] = 0, 0, 0
        for word in range((n_bits + 63) >> 6):
            bits[word] = 0


@inlined
def look_up_shadows(at: Pointer, port: int, point: Pointer) -> None:
    """Those of a point that are open."""
    for k in range(point[SHADOWS], point[SHADOWS_END]):
        s = line(at, A.lists)[k]
        n_blocks = row(at, A.shadows, s)[caching.N_SETS]
        if not n_blocks or row(at, A.shadow_sums, s)[SHADOW_BLOCKS] < n_blocks:
            shadow(at, port, s)


@called
def look_up(at: Pointer, c: int, level: int) -> None:
    """Begin a segment with what its cache has, or else to fill that."""
    cache, counts, here = row(at, A.caches, c), row(at, A.cache_counts, c), row(at, A.levels, level)
    lists, values = line(at, A.lists), line(at, A.values)
    hash = caching.key_hash(cache, lists, values)
    counts[caching.PROBES] += 1
    caching.sample(cache, hash, counts)
    slot = caching.slot_of(cache, lists, values, hash)
    if slot < 0:
        here[MODE], here[CHAIN] = MISS, -1
        here[N_CHAIN] = 0 if cache[caching.N_SETS] else -1
        return
    counts[caching.HITS] += 1
    entry = words_at(cache[caching.DIRECTORY])[slot]
    if cache[caching.N_WAYS] > 1:
        caching.to_front(cache, slot)
    here[MODE] = HIT
    word = entry * cache[caching.CELL_WORDS] + caching.FIRST
    line(at, A.cursor)[level] = words_at(cache[caching.CELLS])[word]


@inlined
def enter(at: Pointer, port: int, level: int) -> None:
    """Come to a step with the tuples and values there are."""
    point, here = row_in(at, A.points, port, level), row(at, A.levels, level)
    if row(at, A.pipelines, port)[OPEN]:
        look_up_shadows(at, port, point)
    here[MODE] = PLAIN
    if point[READER] >= 0 and line(at, A.state)[WATCH] != WATCH_ALL:
        look_up(at, point[READER], level)
        charge(at, of_look_ups(at, point[READER]), 1)
        if here[MODE] == HIT:
            return
    row(at, A.tally, level)[PROBES] += 1
    begin = line(at, A.starts)[level]
    if begin < 0:
        begin = first_match(at, row_in(at, A.steps, port, level))
    line(at, A.cursor)[level] = begin


@called
def bind_chosen(at: Pointer, begin: int, end: int) -> None:
    """Give classes the values that tuples chosen have."""
    values, chosen = line(at, A.values), line(at, A.chosen)
    for k in range(begin, end):
        bound = row(at, A.bindings, k)
        input = row(at, A.inputs, bound[INPUT])
        base = (chosen[bound[INPUT]] & input[MASK]) * input[WIDTH]
        rows = words_at(input[ROWS])
        values[bound[GROUP]] = key_word(rows, base + bound[COLUMN], bound[AS_FLOAT])


@inlined
def forward(at: Pointer, port: int, level: int) -> None:
    """Take the next tuple of a segment from its entry."""
    point, cursor = row_in(at, A.points, port, level), line(at, A.cursor)
    cache, lists, chosen = row(at, A.caches, point[READER]), line(at, A.lists), line(at, A.chosen)
    cells, word = words_at(cache[caching.CELLS]), cursor[level] * cache[caching.CELL_WORDS]
    begin = cache[caching.WINDOWS]
    for k in range(begin, cache[caching.WINDOWS_END]):
        chosen[lists[k]] = cells[word + caching.NUMBERS + k - begin]
    cursor[level] = cells[word + caching.NEXT]
    bind_chosen(at, point[BOUND], point[BOUND_END])
    row(at, A.operations, port)[N_BUILT] += 1


@called
def collect(at: Pointer, c: int, level: int) -> None:
    """Have the tuple of a segment that is not in its cache in what will be."""
    cache, counts, here = row(at, A.caches, c), row(at, A.cache_counts, c), row(at, A.levels, level)
    if here[N_CHAIN] < 0:
        return
    cell = np.int64(-1)
    if here[N_CHAIN] < cache[caching.MOST]:
        lists, chosen = line(at, A.lists), line(at, A.chosen)
        cell = caching.linked(cache, lists, chosen, here[CHAIN], -1, counts)
    if cell < 0:
        caching.give_back_chain(cache, here[CHAIN])
        here[N_CHAIN] = -1
    else:
        here[CHAIN] = cell
        here[N_CHAIN] += 1


@called
def create(at: Pointer, c: int, level: int) -> None:
    """A segment that was not in its cache is complete. Where tuples have witnesses, those are
    counted when the element is done: it may be one itself (card 11 B)."""
    cache, counts, here = row(at, A.caches, c), row(at, A.cache_counts, c), row(at, A.levels, level)
    counted = cache[caching.KIND] == caching.COUNTED
    opened = words_at(cache[caching.OPENED])
    if here[N_CHAIN] < 0:
        return
    if counted and opened[0] == caching.MOST_OPENED:
        caching.give_back_chain(cache, here[CHAIN])
        return
    lists, values = line(at, A.lists), line(at, A.values)
    slot = caching.made_entry(cache, lists, values, here[CHAIN], here[N_CHAIN], counts)
    if slot >= 0 and counted:
        entry = words_at(cache[caching.DIRECTORY])[slot]
        opened[0] += 1
        opened[opened[0]] = entry
        word = entry * cache[caching.CELL_WORDS] + caching.PLACE
        words_at(cache[caching.CELLS])[word] = opened[0]


@inlined
def passed(at: Pointer, port: int, step: int, sign: int) -> None:
    """A combination has come through a step: caches that it changes are told."""
    point, lists = row_in(at, A.points, port, step), line(at, A.lists)
    for k in range(point[UPDATES], point[UPDATES_END]):
        c = lists[k]
        cache, counts = row(at, A.caches, c), row(at, A.cache_counts, c)
        caching.update(cache, lists, sign, line(at, A.values), line(at, A.chosen), counts)
        charge(at, of_look_ups(at, c) + 1, 1)
    first = point[ENDS]
    if first >= 0 and row(at, A.levels, first)[MODE] == MISS:
        c = row_in(at, A.points, port, first)[READER]
        collect(at, c, first)
        charge(at, of_look_ups(at, c) + 1, 1)


@inlined
def advance(at: Pointer, port: int, sign: int, level: int) -> Any:
    """The next combination of a level: the step it has come through, -1: there is no more."""
    point, mode = row_in(at, A.points, port, level), row(at, A.levels, level)[MODE]
    arrived: Any = np.int64(level)
    if mode == HIT:
        if line(at, A.cursor)[level] < 0:
            return np.int64(-1)
        forward(at, port, level)
        charge(at, of_look_ups(at, point[READER]), 0)
        arrived = point[LAST]
    else:
        step, tally = row_in(at, A.steps, port, level), table(at, A.tally)
        partner = match(at, step, tally, level)
        charge(at, level, 1)
        if partner < 0:
            if mode == MISS:
                create(at, point[READER], level)
                charge(at, of_look_ups(at, point[READER]) + 1, 1)
            return np.int64(-1)
        tally[level, MATCHES] += 1
        line(at, A.chosen)[step[TARGET]] = partner
    passed(at, port, arrived, sign)
    return arrived


@inlined
def give_out(at: Pointer, out: Ints, n_out: int) -> None:
    """The tuples that are chosen are a result."""
    chosen = line(at, A.chosen)
    for k in range(len(out)):
        out[k, n_out] = chosen[k]


@inlined
def join_element(at: Pointer, port: int, sign: int, out: Ints, n_out: int) -> Any:
    """Have the combinations of an element in ``out``, behind ``n_out`` results: how many there are
    then. state[LEVEL] >= 0: the next one found no room, and is the first of the next call."""
    last, state = len(out) - 2, line(at, A.state)
    level: Any = state[LEVEL]
    enters = level < 0
    if enters:
        level = np.int64(0)
        row(at, A.levels, 0)[CAME] = -1
    else:
        give_out(at, out, n_out)
        n_out += 1
    while level >= 0:
        if enters:
            enter(at, port, level)
        arrived = advance(at, port, sign, level)
        enters = 0 <= arrived < last
        if arrived < 0:
            level = row(at, A.levels, level)[CAME]
        elif enters:
            row(at, A.levels, arrived + 1)[CAME] = level
            level = arrived + 1
        elif n_out == out.shape[1]:
            break
        else:
            give_out(at, out, n_out)
            n_out += 1
    state[LEVEL] = level
    return n_out
