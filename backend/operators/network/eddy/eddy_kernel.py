"""The compiled part of eddies: every element is built into its state, then takes its route past the
others (AMRI, section 2; card A9). At each step the access method of its pattern is searched.
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
from backend.operators.network.eddy.bit_kernel import link_bits
from backend.operators.network.eddy.search_kernel import begin_search, next_by_bits
from backend.operators.network.eddy.words import (
    AGREED,
    BUCKETS,
    BY_BITS,
    CODES_READ,
    COMPARED,
    ELEMENTS,
    HIGH,
    IN_RANGE,
    IN_VAIN,
    IS_FLOAT,
    IS_STRICT,
    LOW,
    N_REQUEST,
    ORDERED,
    PATTERN,
    RANGES,
    REQUESTS,
    VISITED,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.network.kinds.eddy import MOST_ATTRIBUTES
from backend.operators.network.stores.store_kernels import mixed
from backend.operators.selection.bits import called, inlined, kernel


@inlined
def drawn_route(at: Pointer, port: int, number: int) -> Any:
    """Which route an element takes: by a hash of its number, so that it does not depend on how
    elements are cut into batches."""
    hash = mixed(mixed(np.uint64(port), number), np.int64(1))
    n_routes = line(at, A.n_routes)[port]
    if n_routes == 1 or np.int64(hash >> np.uint64(32)) >= line(at, A.explored)[port]:
        return np.int64(0)
    return 1 + np.int64((hash & np.uint64(0xFFFFFFFF)) % np.uint64(n_routes - 1))


@called
def begin_step(at: Pointer, step: Pointer, tally: Ints, level: int) -> None:
    """A search request comes to a state."""
    tally[level, joins.PROBES] += 1
    if step[joins.STEP_INDEX] == BY_BITS:
        begin_search(at, step, tally, level)
        return
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    progress, values = table(at, A.progress), line(at, A.values)
    line(at, A.cursor)[level] = joins.newest(step, inputs, keys, indexes, progress, values)


@called
def next_at_step(at: Pointer, step: Pointer, tally: Ints, level: int) -> Any:
    """The next tuple that matches a request, -1: there is none."""
    if step[joins.STEP_INDEX] == BY_BITS:
        return next_by_bits(at, step, tally, level)
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    values, cursor, progress = line(at, A.values), line(at, A.cursor), table(at, A.progress)
    return joins.next_match(step, inputs, keys, indexes, progress, values, cursor, tally, level)


@called
def is_ordered(at: Pointer, condition: Pointer) -> Any:
    """Whether a condition by order is true for the values at work, none of which is NULL."""
    values = line(at, A.values)
    a, b = values[condition[LOW]], values[condition[HIGH]]
    if condition[IS_FLOAT] != 0:
        x, y = np.int64(a).view(np.float64), np.int64(b).view(np.float64)
        return x < y or (condition[IS_STRICT] == 0 and x == y)
    return a < b or (condition[IS_STRICT] == 0 and a == b)


@called
def are_ordered(at: Pointer, step: Pointer, tally: Ints, level: int) -> Any:
    """Whether all conditions of a step are true for the values at work. Counts the tuple, which
    agrees in all that is equal, and of each attribute whether it is in its range."""
    asked, held = step[ORDERED], np.int64(0)
    for k in range(size(at, A.conditions, 0)):
        if asked >> k & 1 and is_ordered(at, row(at, A.conditions, k)):
            held |= np.int64(1) << k
    tally[level, AGREED] += 1
    for a in range(MOST_ATTRIBUTES):
        range_of = step[RANGES + a]
        if range_of != 0 and held & range_of == range_of:
            tally[level, IN_RANGE + a] += 1
    return held == asked


@inlined
def combine(at: Pointer, steps: int, tally: Ints, out: Ints, n_out: int) -> Any:
    """Have all combinations of an element with the other states in ``out``, behind ``n_out``
    results: how many there are then, -1 where the room does not do. steps: the row of its route."""
    chosen, n = line(at, A.chosen), len(out)
    level, last = 0, n - 2
    begin_step(at, row_in(at, A.steps, steps, 0), tally, 0)
    while level >= 0:
        step = row_in(at, A.steps, steps, level)
        seq = next_at_step(at, step, tally, level)
        if seq < 0:
            level -= 1
            continue
        chosen[step[joins.TARGET]] = seq
        if step[ORDERED] != 0 and not are_ordered(at, step, tally, level):
            continue
        tally[level, joins.MATCHES] += 1
        if level < last:
            level += 1
            begin_step(at, row_in(at, A.steps, steps, level), tally, level)
            continue
        if n_out == out.shape[1]:
            return np.int64(-1)
        for k in range(n):
            out[k, n_out] = chosen[k]
        n_out += 1
    return np.int64(n_out)


@called
def count_requests(at: Pointer, port: int, route: int, steps: int, tally: Ints) -> None:
    """Add what an element asked for to the counts of states and routes."""
    counts, routes = cube(at, A.counts), cube(at, A.routes)
    routes[port, route, ELEMENTS] += 1
    for level in range(len(tally)):
        step = row_in(at, A.steps, steps, level)
        target, pattern = step[joins.TARGET], step[PATTERN]
        routes[port, route, REQUESTS] += tally[level, joins.PROBES]
        routes[port, route, COMPARED] += tally[level, joins.SCANNED]
        routes[port, route, VISITED] += tally[level, BUCKETS]
        routes[port, route, IN_VAIN] += tally[level, CODES_READ]
        for what in range(N_REQUEST if tally[level, AGREED] else AGREED):
            counts[target, pattern, what] += tally[level, what]


@called
def build(at: Pointer, port: int, seq: int, sign: int) -> None:
    """Add a tuple to its own state, or take it from it."""
    inputs, progress = table(at, A.inputs), table(at, A.progress)
    joins.place(port, seq, sign, inputs, table(at, A.keys), table(at, A.indexes), progress)
    if sign > 0:
        link_bits(at, port, seq + 1)


@kernel
def link_states(arrays: Ints) -> None:
    """Take what the stubs hold into access methods that are new, or have been emptied."""
    at = words_of(arrays)
    inputs, keys, indexes = table(at, A.inputs), table(at, A.keys), table(at, A.indexes)
    for port in range(len(inputs)):
        joins.link(inputs, port, keys, indexes, row(at, A.progress, port)[joins.HI])
        link_bits(at, port, row(at, A.progress, port)[joins.HI])


@kernel
def route_elements(
    arrays: Ints, ports: Ints, seqs: Ints, signs: Signs, begin: int, out: Ints, elements: Ints
) -> tuple[int, int]:
    """Join elements ``begin`` and on with the other states, then build them into their own. out[j,
    r]: the tuple of input j in result r; elements[r]: of which element. Returns the element it
    stopped at, for want of room in ``out``, and the number of results."""
    at = words_of(arrays)
    n_out: Any = np.int64(0)
    numbers, chosen, tally = line(at, A.numbers), line(at, A.chosen), table(at, A.tally)
    keys, n_variants = table(at, A.keys), size(at, A.routes, 1)
    for i in range(begin, len(ports)):
        port, seq, before = ports[i], seqs[i], n_out
        route = drawn_route(at, port, numbers[port])
        steps = port * n_variants + route
        input = row(at, A.inputs, port)
        rows, base = words_at(input[joins.ROWS]), (seq & input[joins.MASK]) * input[joins.WIDTH]
        first, end = input[joins.KEYS], input[joins.KEYS_END]
        tally[:] = 0
        chosen[port] = seq
        if joins.binds(rows, base, input[joins.NULLS], keys, first, end, 0, line(at, A.values)):
            n_out = combine(at, steps, tally, out, n_out)
            if n_out < 0:
                return i, before
            elements[before:n_out] = i
        numbers[port] += 1
        count_requests(at, port, route, steps, tally)
        build(at, port, seq, signs[i])
    return len(ports), n_out
