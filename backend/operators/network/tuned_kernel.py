"""The compiled part of joins that are tuned: caches, profiles, shadow look-ups, drop probing.

An element with more combinations than there is room for goes on where it stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network import cache_kernel as caching
from backend.operators.network.blocks import Ints, Signs
from backend.operators.network.clock_kernel import nanoseconds
from backend.operators.network.join_kernel import (
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
    settle,
    words_at,
)
from backend.operators.network.pipeline_kernel import (
    bind_chosen,
    first_match,
    join_element,
    match,
    n_joined,
)
from backend.operators.network.store_kernels import mixed
from backend.operators.network.tuned_words import (
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
    KEYED,
    KEYED_END,
    LEVEL,
    MARK,
    N_BUILT,
    N_PROBED,
    N_SCANNED,
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
    Program,
    Workroom,
)
from backend.operators.selection.bits import inlined, kernel


@inlined
def bind_element(p: Program, w: Workroom, port: int, seq: int) -> Any:
    """Give classes the values of an element: whether it may join with anything."""
    rows = words_at(p.inputs[port, ROWS])
    base = (seq & p.inputs[port, MASK]) * p.inputs[port, WIDTH]
    nulls, first, end = p.inputs[port, NULLS], p.inputs[port, KEYS], p.inputs[port, KEYS_END]
    return binds(rows, base, nulls, p.keys, first, end, 0, w.values)


@inlined
def draw(p: Program, w: Workroom, port: int) -> int:
    """How the next element of an input is watched: by its number, so that it can be repeated."""
    pipeline = p.pipelines[port]
    hash = mixed(mixed(mixed(np.uint64(0), pipeline[SEED]), port), w.numbers[port])
    hash = np.int64(mixed(hash, np.int64(0)) >> np.uint64(11))
    w.numbers[port] += 1
    if hash < pipeline[PROFILED]:
        return WATCH_ALL if w.n_observed[port] < w.observed.shape[1] else UNWATCHED
    return WATCH_TIMES if hash < pipeline[TIMED] else UNWATCHED


@inlined
def is_dropped(p: Program, w: Workroom, port: int) -> bool:
    """Drop probing: whether a window has no partner (card 7)."""
    for k in range(p.pipelines[port, DROPS], p.pipelines[port, DROPS_END]):
        walk, goes_on = p.drops[k, WALK], p.drops[k, GOES_ON]
        w.cursor[0] = first_match(p, w, p.walks[walk])
        w.aside[0, PROBES] += 1
        found = match(p, w, p.walks[walk], w.aside, 0)
        if found < 0:
            return True
        if goes_on >= 0:
            w.starts[goes_on] = found
    return False


@inlined
def droppers(p: Program, w: Workroom, port: int) -> Any:
    """The inputs in which nothing joins with the element along their path, as bits."""
    found = np.int64(0)
    for k in range(p.pipelines[port, PATHS], p.pipelines[port, PATHS_END]):
        if n_joined(p, w, p.paths[k, PATH], p.paths[k, PATH_END], 1) == 0:
            found |= 1 << p.paths[k, PATH_TO]
    return found


@inlined
def begin_element(p: Program, w: Workroom, port: int, seq: int) -> int:
    """Get ready for an element: what it may do."""
    w.tally[:] = 0
    w.aside[:] = 0
    w.starts[:] = -1
    w.chosen[port] = seq
    watch = draw(p, w, port)
    w.state[WATCH] = watch
    does = GOES if bind_element(p, w, port, seq) else UNBOUND
    if watch == WATCH_ALL:
        everyone = (1 << len(p.inputs)) - 1 - (1 << port)
        w.state[DROPPED] = droppers(p, w, port) if does == GOES else everyone
    elif does == GOES and is_dropped(p, w, port):
        does = PARTNERLESS
    if watch != UNWATCHED:
        w.busy[:] = 0
        w.state[MARK] = nanoseconds(w.state[CLOCK])
    return does


@inlined
def count_witnesses(p: Program, w: Workroom, c: int) -> None:
    """Settle the entries that an element made: tuples without a witness go (card 11 B)."""
    cache = p.caches[c]
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
            at = cell * cache[caching.CELL_WORDS]
            for place in range(n_windows):
                w.chosen[p.lists[begin + place]] = cells[at + caching.NUMBERS + place]
            bind_chosen(p, w, cache[caching.BINDS], cache[caching.BINDS_END])
            n = n_joined(p, w, cache[caching.WALK], cache[caching.WALK_END], 1 << 62)
            next = cells[at + caching.NEXT]
            if n:
                cells[at + caching.NUMBERS + n_windows] = n
                before = cell
            else:
                caching.remove_tuple(cache, entry, before, cell)
            cell = next
        if cache[caching.DROPS_EMPTY] and cells[word + caching.FIRST] < 0:
            for j in range(cache[caching.KEY], cache[caching.KEY_END]):
                value = cells[word + caching.KEY_WORDS + j - cache[caching.KEY]]
                w.values[p.lists[j]] = value
            hash = caching.key_hash(cache, p.lists, w.values)
            caching.drop_entry(cache, caching.slot_of(cache, p.lists, w.values, hash))
    opened[0] = 0


@inlined
def check_keyed(p: Program, w: Workroom, c: int, port: int, seq: int) -> None:
    """A tuple has left the input that keeps entries alive: the one with its key goes, unless
    another tuple has that (card 11, keyed)."""
    cache = p.caches[c]
    bind_element(p, w, port, seq)
    hash = caching.key_hash(cache, p.lists, w.values)
    slot = caching.slot_of(cache, p.lists, w.values, hash)
    if slot >= 0 and n_joined(p, w, cache[caching.WALK], cache[caching.WALK_END], 1) == 0:
        caching.drop_entry(cache, slot)


@inlined
def finish_element(p: Program, w: Workroom, port: int, seq: int, sign: int, does: int) -> None:
    """An element is in, or out of, its window."""
    pipeline = p.pipelines[port]
    for k in range(pipeline[COUNTED], pipeline[COUNTED_END]):
        count_witnesses(p, w, p.lists[k])
    if sign < 0 and does != UNBOUND:
        for k in range(pipeline[KEYED], pipeline[KEYED_END]):
            check_keyed(p, w, p.lists[k], port, seq)
    for step in range(len(w.aside)):
        w.operations[port, N_PROBED] += w.aside[step, PROBES]
        w.operations[port, N_BUILT] += w.aside[step, MATCHES]
        w.operations[port, N_SCANNED] += w.aside[step, SCANNED]


@inlined
def note_times(p: Program, w: Workroom) -> None:
    """What look-ups and updates took."""
    n_steps = len(p.inputs) - 1
    for c in range(len(p.caches)):
        look, change = n_steps + 2 * c, n_steps + 2 * c + 1
        counts = w.cache_counts[c]
        counts[caching.LOOKUP_NS] += max(0, w.busy[look, 0])
        counts[caching.LOOKUPS_TIMED] += w.busy[look, 1]
        counts[caching.UPDATE_NS] += max(0, w.busy[change, 0])
        counts[caching.UPDATES_TIMED] += w.busy[change, 1]


@inlined
def observe(p: Program, w: Workroom, port: int, tau: int) -> None:
    """Keep what was seen of an element that is profiled."""
    n = len(p.inputs)
    row = w.observed[port, w.n_observed[port]]
    row[TAU], row[DROPPED_BY] = tau, w.state[DROPPED]
    for step in range(n - 1):
        row[ENTERING + step] = w.tally[step, PROBES]
        row[ENTERING + n + step] = max(0, w.busy[step, 0])
        row[ENTERING + 2 * n - 1 + step] = w.tally[step, SCANNED]
    row[ENTERING + n - 1] = w.tally[n - 2, MATCHES]
    w.n_observed[port] += 1


@kernel
def probe_tuned(
    p: Program,
    w: Workroom,
    ports: Ints,
    seqs: Ints,
    signs: Signs,
    taus: Ints,
    begin: int,
    out: Ints,
    elements: Ints,
) -> tuple[int, int]:
    """join_kernel.probe for a join that is tuned."""
    n_out = np.int64(0)
    for i in range(begin, len(ports)):
        port, seq, before = ports[i], seqs[i], n_out
        does = GOES if w.state[LEVEL] >= 0 else begin_element(p, w, port, seq)
        if does == GOES:
            n_out = join_element(p, w, port, signs[i], out, n_out)
            elements[before:n_out] = i
            if w.state[LEVEL] >= 0:
                return i, n_out
        fixed = p.inputs, p.keys, p.indexes, p.steps, p.progress
        settle(port, seq, signs[i], *fixed, w.tally, w.counts)
        finish_element(p, w, port, seq, signs[i], does)
        if w.state[WATCH] != UNWATCHED:
            note_times(p, w)
        if w.state[WATCH] == WATCH_ALL:
            observe(p, w, port, taus[i])
    return len(ports), n_out
