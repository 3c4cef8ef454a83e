"""The compiled part of joins that are tuned: caches, profiles, shadow look-ups, drop probing.

An element with more combinations than there is room for goes on where it stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import (
    Pointer,
    cube,
    line,
    row,
    row_in,
    size,
    table,
    words_at,
    words_of,
)
from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.network.joins import cache_kernel as caching
from backend.operators.network.joins.clock_kernel import nanoseconds
from backend.operators.network.joins.join_kernel import (
    KEYS,
    KEYS_END,
    MASK,
    MATCHES,
    NULLS,
    PROBES,
    ROWS,
    SCANNED,
    WIDTH,
    binds,
    join_plainly,
    settle,
)
from backend.operators.network.joins.pipeline_kernel import (
    bind_chosen,
    first_match,
    join_element,
    match,
    n_joined,
    of_look_ups,
)
from backend.operators.network.joins.tuned_words import (
    CLOCK,
    COUNTED,
    COUNTED_END,
    DROPPED,
    DROPPED_BY,
    DROPS,
    DROPS_END,
    ENTERING,
    GOES,
    GOES_ON,
    IS_PLAIN,
    KEYED,
    KEYED_END,
    LEVEL,
    MARK,
    N_BUILT,
    N_PROBED,
    N_SCANNED,
    NEVER,
    PARTNERLESS,
    PATH,
    PATH_END,
    PATH_TO,
    PATHS,
    PATHS_END,
    PROFILED,
    SEED,
    TAU,
    TIMED,
    UNBOUND,
    UNWATCHED,
    WALK,
    WATCH,
    WATCH_ALL,
    WATCH_TIMES,
    A,
)
from backend.operators.network.stores.store_kernels import mixed
from backend.operators.selection.bits import called, inlined, kernel


@called
def bind_element(at: Pointer, port: int, seq: int) -> Any:
    """Give classes the values of an element: whether it may join with anything."""
    input = row(at, A.inputs, port)
    rows, base = words_at(input[ROWS]), (seq & input[MASK]) * input[WIDTH]
    first, end = input[KEYS], input[KEYS_END]
    return binds(rows, base, input[NULLS], table(at, A.keys), first, end, 0, line(at, A.values))


@inlined
def next_drawn(pipeline: Pointer, port: int, kind: int, number: int) -> Any:
    """The first element of an input, from ``number`` on, that is watched in one way: of each 1 /
    share elements one, by a hash of which they are, so that it can be repeated however elements are
    cut into batches."""
    share: Any = np.int64(pipeline[kind]).view(np.float64)
    if not share > 0.0:
        return NEVER
    stratum: Any = max(np.int64(number * share) - 1, 0)
    drawn: Any = np.int64(-1)
    while drawn < number:
        first, end = np.int64(np.ceil(stratum / share)), np.int64(np.ceil((stratum + 1) / share))
        mixture = mixed(mixed(mixed(np.uint64(0), pipeline[SEED]), 2 * port + kind), stratum)
        hash = mixed(mixture, np.int64(0)) >> np.uint64(11)
        drawn = first + np.int64(hash % np.uint64(end - first))
        stratum += 1
    return drawn


@called
def set_due(at: Pointer, port: int, number: int) -> None:
    """Note which element of an input, from ``number`` on, is watched next."""
    pipeline = row(at, A.pipelines, port)
    profiled = next_drawn(pipeline, port, PROFILED, number)
    if line(at, A.n_observed)[port] >= size(at, A.observed, 1):
        profiled = NEVER
    line(at, A.due)[port] = min(profiled, next_drawn(pipeline, port, TIMED, number))


@called
def watch_due(at: Pointer, port: int, number: int) -> None:
    """An element that is watched: in which way; and when the next one is."""
    pipeline = row(at, A.pipelines, port)
    is_profiled = next_drawn(pipeline, port, PROFILED, number) == number
    has_room = line(at, A.n_observed)[port] < size(at, A.observed, 1)
    line(at, A.state)[WATCH] = WATCH_ALL if is_profiled and has_room else WATCH_TIMES
    set_due(at, port, number + 1)


@inlined
def goes_plainly(at: Pointer, port: int) -> Any:
    """Draw how the next element of an input is watched: whether it goes the way of joins that are
    not tuned, as nothing watches it and its pipeline knows no caches."""
    state, numbers = line(at, A.state), line(at, A.numbers)
    number = numbers[port]
    numbers[port] = number + 1
    state[WATCH] = UNWATCHED
    if number >= line(at, A.due)[port]:
        watch_due(at, port, number)
        return False
    return row(at, A.pipelines, port)[IS_PLAIN] != 0


@inlined
def is_dropped(at: Pointer, port: int) -> bool:
    """Drop probing: whether a window has no partner (card 7)."""
    pipeline, aside = row(at, A.pipelines, port), table(at, A.aside)
    for k in range(pipeline[DROPS], pipeline[DROPS_END]):
        drop = row(at, A.drops, k)
        step = row(at, A.walks, drop[WALK])
        line(at, A.cursor)[0] = first_match(at, step)
        aside[0, PROBES] += 1
        partner = match(at, step, aside, 0)
        if partner < 0:
            return True
        if drop[GOES_ON] >= 0:
            line(at, A.starts)[drop[GOES_ON]] = partner
    return False


@called
def droppers(at: Pointer, port: int) -> Any:
    """The inputs in which nothing joins with the element along their path, as bits."""
    pipeline, bits = row(at, A.pipelines, port), np.int64(0)
    for k in range(pipeline[PATHS], pipeline[PATHS_END]):
        path = row(at, A.paths, k)
        if n_joined(at, path[PATH], path[PATH_END], 1) == 0:
            bits |= 1 << path[PATH_TO]
    return bits


@inlined
def begin_element(at: Pointer, port: int, seq: int) -> int:
    """Get ready for an element: what it may do."""
    state, n_inputs = line(at, A.state), size(at, A.inputs, 0)
    table(at, A.tally)[:] = 0
    table(at, A.aside)[:] = 0
    for level in range(n_inputs):
        line(at, A.starts)[level] = -1
    line(at, A.chosen)[port] = seq
    does = GOES if bind_element(at, port, seq) else UNBOUND
    if state[WATCH] == WATCH_ALL:
        everyone = (1 << n_inputs) - 1 - (1 << port)
        state[DROPPED] = droppers(at, port) if does == GOES else everyone
    elif does == GOES and is_dropped(at, port):
        does = PARTNERLESS
    if state[WATCH] != UNWATCHED:
        table(at, A.busy)[:] = 0
        state[MARK] = nanoseconds(state[CLOCK])
    return does


@called
def count_witnesses(at: Pointer, c: int) -> None:
    """Settle the entries that an element made: tuples without a witness go (card 11 B)."""
    cache, lists, chosen = row(at, A.caches, c), line(at, A.lists), line(at, A.chosen)
    opened, cells = words_at(cache[caching.OPENED]), words_at(cache[caching.CELLS])
    begin, n_windows = cache[caching.WINDOWS], cache[caching.WINDOWS_END] - cache[caching.WINDOWS]
    for k in range(1, opened[0] + 1):
        entry = opened[k]
        if entry < 0:
            continue
        word = entry * cache[caching.CELL_WORDS]
        cells[word + caching.PLACE] = 0
        before: Any = np.int64(-1)
        cell = cells[word + caching.FIRST]
        while cell >= 0:
            numbers = cell * cache[caching.CELL_WORDS] + caching.NUMBERS
            next = cells[numbers - caching.NUMBERS + caching.NEXT]
            for place in range(n_windows):
                chosen[lists[begin + place]] = cells[numbers + place]
            bind_chosen(at, cache[caching.BINDS], cache[caching.BINDS_END])
            n = n_joined(at, cache[caching.WALK], cache[caching.WALK_END], 1 << 62)
            if n:
                cells[numbers + n_windows] = n
                before = cell
            else:
                caching.remove_tuple(cache, entry, before, cell)
            cell = next
        if cache[caching.DROPS_EMPTY] and cells[word + caching.FIRST] < 0:
            drop_by_key(at, c, word)
    opened[0] = 0


@inlined
def drop_by_key(at: Pointer, c: int, word: int) -> None:
    """Forget an entry. word: of the cells, where it begins."""
    cache, lists, values = row(at, A.caches, c), line(at, A.lists), line(at, A.values)
    cells, begin = words_at(cache[caching.CELLS]), word + caching.KEY_WORDS - cache[caching.KEY]
    for k in range(cache[caching.KEY], cache[caching.KEY_END]):
        values[lists[k]] = cells[begin + k]
    hash = caching.key_hash(cache, lists, values)
    caching.drop_entry(cache, caching.slot_of(cache, lists, values, hash))


@called
def check_keyed(at: Pointer, c: int, port: int, seq: int) -> None:
    """A tuple has left the input that keeps entries alive: the one with its key goes, unless
    another tuple has that (card 11, keyed)."""
    cache, lists, values = row(at, A.caches, c), line(at, A.lists), line(at, A.values)
    bind_element(at, port, seq)
    hash = caching.key_hash(cache, lists, values)
    slot = caching.slot_of(cache, lists, values, hash)
    if slot >= 0 and n_joined(at, cache[caching.WALK], cache[caching.WALK_END], 1) == 0:
        caching.drop_entry(cache, slot)


@called
def settle_element(at: Pointer, port: int, seq: int, sign: int) -> None:
    """Add a tuple to its own synopsis, or take it away."""
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    progress, tally = table(at, A.progress), table(at, A.tally)
    steps, counts = cube(at, A.steps), cube(at, A.counts)
    settle(port, seq, sign, inputs, keys, indexes, steps, progress, tally, counts)


@inlined
def finish_element(at: Pointer, port: int, seq: int, sign: int, does: int) -> None:
    """An element is in, or out of, its window."""
    pipeline, lists = row(at, A.pipelines, port), line(at, A.lists)
    for k in range(pipeline[COUNTED], pipeline[COUNTED_END]):
        count_witnesses(at, lists[k])
    if sign < 0 and does != UNBOUND:
        for k in range(pipeline[KEYED], pipeline[KEYED_END]):
            check_keyed(at, lists[k], port, seq)
    operations = row(at, A.operations, port)
    for step in range(size(at, A.aside, 0)):
        aside = row(at, A.aside, step)
        operations[N_PROBED] += aside[PROBES]
        operations[N_BUILT] += aside[MATCHES]
        operations[N_SCANNED] += aside[SCANNED]


@called
def note_times(at: Pointer) -> None:
    """What look-ups and updates took."""
    for c in range(size(at, A.caches, 0)):
        look, counts = of_look_ups(at, c), row(at, A.cache_counts, c)
        counts[caching.LOOKUP_NS] += max(0, row(at, A.busy, look)[0])
        counts[caching.LOOKUPS_TIMED] += row(at, A.busy, look)[1]
        counts[caching.UPDATE_NS] += max(0, row(at, A.busy, look + 1)[0])
        counts[caching.UPDATES_TIMED] += row(at, A.busy, look + 1)[1]


@called
def observe(at: Pointer, port: int, tau: int) -> None:
    """Keep what was seen of an element that is profiled."""
    n, n_observed = size(at, A.inputs, 0), line(at, A.n_observed)
    seen = row_in(at, A.observed, port, n_observed[port])
    seen[TAU], seen[DROPPED_BY] = tau, line(at, A.state)[DROPPED]
    for step in range(n - 1):
        tally = row(at, A.tally, step)
        seen[ENTERING + step] = tally[PROBES]
        seen[ENTERING + n + step] = max(0, row(at, A.busy, step)[0])
        seen[ENTERING + 2 * n - 1 + step] = tally[SCANNED]
    seen[ENTERING + n - 1] = row(at, A.tally, n - 2)[MATCHES]
    n_observed[port] += 1


@inlined
def note_watched(at: Pointer, port: int, tau: int) -> None:
    """Keep what was seen of an element, if it is watched."""
    watch = line(at, A.state)[WATCH]
    if watch != UNWATCHED:
        note_times(at)
    if watch == WATCH_ALL:
        observe(at, port, tau)


@inlined
def go_on(at: Pointer) -> None:
    """What passed since an element stopped is no work of it; elements are watched as their numbers
    say."""
    state = line(at, A.state)
    if state[LEVEL] >= 0 and state[WATCH] != UNWATCHED:
        state[MARK] = nanoseconds(state[CLOCK])
    for port in range(size(at, A.inputs, 0)):
        set_due(at, port, line(at, A.numbers)[port])


@kernel
def probe_tuned(
    arrays: Ints,
    ports: Ints,
    seqs: Ints,
    signs: Signs,
    taus: Ints,
    begin: int,
    out: Ints,
    elements: Ints,
) -> tuple[int, int]:
    """See ``TunedJoin.probe``. arrays: see ``addressed``."""
    n_out, at = 0, words_of(arrays)
    state = line(at, A.state)
    go_on(at)
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    steps, counts, progress = cube(at, A.steps), cube(at, A.counts), table(at, A.progress)
    values, cursor, chosen = line(at, A.values), line(at, A.cursor), line(at, A.chosen)
    tally = table(at, A.tally)
    for i in range(begin, len(ports)):
        port, seq, before = ports[i], seqs[i], n_out
        if state[LEVEL] < 0 and goes_plainly(at, port):
            n_out = join_plainly(
                port, seq, signs[i], inputs, keys, indexes, steps, progress, values, cursor,
                chosen, tally, counts, out, n_out,
            )  # fmt: skip
            if n_out < 0:
                line(at, A.numbers)[port] -= 1
                return i, before
            elements[before:n_out] = i
            continue
        does = GOES if state[LEVEL] >= 0 else begin_element(at, port, seq)
        if does == GOES:
            n_out = join_element(at, port, signs[i], out, n_out)
            elements[before:n_out] = i
            if state[LEVEL] >= 0:
                return i, n_out
        settle_element(at, port, seq, signs[i])
        finish_element(at, port, seq, signs[i], does)
        note_watched(at, port, taus[i])
    return len(ports), n_out
