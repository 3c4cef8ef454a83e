"""The compiled part of joins: elements of all inputs, in order of time, probe the others' synopses.

One kernel serves joins of any number of inputs: it gets tables of integers, among them the
addresses of the arrays that stores and indexes lie in.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.network.core.addressing import words_at
from backend.operators.network.core.blocks import Ints
from backend.operators.network.stores.store_kernels import GONE, is_null, mixed
from backend.operators.selection.bits import inlined, kernel

#: Columns of the table of inputs. State: where the word is that says whether a tuple of a bag has
#: left, -1 where tuples leave in order; oldest: tuple of the store; ends of its keys and indexes.
ROWS, WIDTH, MASK, NULLS, STATE, OLDEST, KEYS, KEYS_END, INDEXES, INDEXES_END = range(10)
N_INPUT: Final = 10
#: Columns of the table of indexes. Known: the classes whose columns are its key, as bits.
KNOWN, HEAD, NEXT, BUCKETS, LINKED = range(5)
N_INDEX: Final = 5
#: Of the steps of pipelines: the input that is probed, the classes known, the index or -1.
TARGET, STEP_KNOWN, STEP_INDEX = range(3)
#: Of the columns that are keys: column, class, whether an integer is compared as a float.
COLUMN, GROUP, AS_FLOAT = range(3)
#: Of the progress of inputs: what the stub holds, and how many of a bag have left.
LO, HI, N_GONE = range(3)
#: Of what steps count: probes, matches, the tuples that were looked at, and the pairs of tuples
#: that were compared by that.
PROBES, MATCHES, SCANNED, PAIRS = range(4)
N_COUNT: Final = 4


@inlined
def key_word(rows: Any, word: int, as_float: int) -> Any:
    """A value that is equal for what is equal in a class."""
    value = rows[word]
    return np.float64(value).view(np.int64) if as_float else value


@inlined
def binds(
    rows: Any, base: int, nulls: int, keys: Ints, begin: int, end: int, known: int, values: Ints
) -> bool:
    """Whether a tuple agrees with the values of the classes known; gives others their values."""
    for k in range(begin, end):
        if is_null(rows, base, nulls, keys[k, COLUMN]):
            return False
        value = key_word(rows, base + keys[k, COLUMN], keys[k, AS_FLOAT])
        group = keys[k, GROUP]
        if known >> group & 1:
            if values[group] != value:
                return False
        else:
            values[group] = value
            known |= 1 << group
    return True


@inlined
def link(inputs: Ints, port: int, keys: Ints, indexes: Ints, until: int) -> None:
    """Take the tuples of an input before ``until`` into its indexes. One with NULL is left out."""
    rows, width, mask = words_at(inputs[port, ROWS]), inputs[port, WIDTH], inputs[port, MASK]
    for m in range(inputs[port, INDEXES], inputs[port, INDEXES_END]):
        linked, known = words_at(indexes[m, LINKED]), indexes[m, KNOWN]
        head, next = words_at(indexes[m, HEAD]), words_at(indexes[m, NEXT])
        for s in range(max(linked[0], inputs[port, OLDEST]), until):
            base = (s & mask) * width
            hash, has_null = np.uint64(0), np.int64(0)
            for k in range(inputs[port, KEYS], inputs[port, KEYS_END]):
                if known >> keys[k, GROUP] & 1:
                    column = keys[k, COLUMN]
                    has_null |= is_null(rows, base, inputs[port, NULLS], column)
                    hash = mixed(hash, key_word(rows, base + column, keys[k, AS_FLOAT]))
            if not has_null:
                bucket = np.int64(hash & np.uint64(indexes[m, BUCKETS]))
                next[s & mask] = head[bucket]
                head[bucket] = s
        linked[0] = max(linked[0], until)


@inlined
def newest(
    step: Ints, inputs: Ints, keys: Ints, indexes: Ints, progress: Ints, values: Ints
) -> Any:
    """The newest tuple of the input that is probed next that may match."""
    port, m = step[TARGET], step[STEP_INDEX]
    if m < 0:
        return progress[port, HI] - 1
    hash = np.uint64(0)
    for k in range(inputs[port, KEYS], inputs[port, KEYS_END]):
        if indexes[m, KNOWN] >> keys[k, GROUP] & 1:
            hash = mixed(hash, values[keys[k, GROUP]])
    return words_at(indexes[m, HEAD])[np.int64(hash & np.uint64(indexes[m, BUCKETS]))]


@kernel
def link_all(inputs: Ints, keys: Ints, indexes: Ints, progress: Ints) -> None:
    """Take what the stubs hold into indexes that are new, or have been emptied."""
    for port in range(len(inputs)):
        link(inputs, port, keys, indexes, progress[port, HI])


@inlined
def next_match(
    step: Ints,
    inputs: Ints,
    keys: Ints,
    indexes: Ints,
    progress: Ints,
    values: Ints,
    cursor: Ints,
    tally: Ints,
    level: int,
) -> Any:
    """The next tuple that matches at a step, from where its cursor is towards older ones, or -1;
    the cursor goes on. It passes over tuples that the stub has not come to, or that are gone."""
    port, m, known = step[TARGET], step[STEP_INDEX], step[STEP_KNOWN]
    rows, width, mask = words_at(inputs[port, ROWS]), inputs[port, WIDTH], inputs[port, MASK]
    nulls, state = inputs[port, NULLS], inputs[port, STATE]
    begin, end = inputs[port, KEYS], inputs[port, KEYS_END]
    lo, hi, older = progress[port, LO], progress[port, HI], words_at(indexes[max(m, 0), NEXT])
    at, partner, n_seen = cursor[level], np.int64(-1), np.int64(0)
    while at >= lo and partner < 0:
        n_seen += 1
        base = (at & mask) * width
        is_there = at < hi and (state < 0 or rows[base + state] != GONE)
        if is_there and binds(rows, base, nulls, keys, begin, end, known, values):
            partner = at
        at = older[at & mask] if m >= 0 else at - 1
    cursor[level] = at
    tally[level, SCANNED] += n_seen
    return partner


@inlined
def place(
    port: int, seq: int, sign: int, inputs: Ints, keys: Ints, indexes: Ints, progress: Ints
) -> None:
    """Add a tuple to its own synopsis, or take it from it."""
    if sign > 0:
        progress[port, HI] = seq + 1
        link(inputs, port, keys, indexes, seq + 1)
    elif inputs[port, STATE] < 0:
        progress[port, LO] = seq + 1
    else:
        base = (seq & inputs[port, MASK]) * inputs[port, WIDTH]
        words_at(inputs[port, ROWS])[base + inputs[port, STATE]] = GONE
        progress[port, N_GONE] += 1


@inlined
def settle(
    port: int,
    seq: int,
    sign: int,
    inputs: Ints,
    keys: Ints,
    indexes: Ints,
    steps: Ints,
    progress: Ints,
    tally: Ints,
    counts: Ints,
) -> None:
    """Add a tuple to its own synopsis or take it away, and count what it met."""
    for step in range(len(inputs) - 1):
        j = steps[port, step, TARGET]
        n_there = progress[j, HI] - progress[j, LO] - progress[j, N_GONE]
        counts[port, step, PROBES] += tally[step, PROBES]
        counts[port, step, MATCHES] += tally[step, MATCHES]
        counts[port, step, SCANNED] += tally[step, SCANNED]
        counts[port, step, PAIRS] += tally[step, PROBES] * n_there
    place(port, seq, sign, inputs, keys, indexes, progress)


@inlined
def combine(
    inputs: Ints,
    keys: Ints,
    indexes: Ints,
    steps: Ints,
    progress: Ints,
    values: Ints,
    cursor: Ints,
    chosen: Ints,
    tally: Ints,
    out: Ints,
    n_out: int,
) -> int:
    """Have all combinations of a tuple with the other inputs in ``out``, behind ``n_out`` results:
    how many there are then, -1 where the room does not do. steps: of the tuple's input."""
    level, last = 0, len(inputs) - 2
    cursor[0] = newest(steps[0], inputs, keys, indexes, progress, values)
    tally[0, PROBES] += 1
    while level >= 0:
        step = steps[level]
        partner = next_match(step, inputs, keys, indexes, progress, values, cursor, tally, level)
        if partner < 0:
            level -= 1
            continue
        tally[level, MATCHES] += 1
        chosen[step[TARGET]] = partner
        if level < last:
            level += 1
            cursor[level] = newest(steps[level], inputs, keys, indexes, progress, values)
            tally[level, PROBES] += 1
            continue
        if n_out == out.shape[1]:
            return -1
        for k in range(len(inputs)):
            out[k, n_out] = chosen[k]
        n_out += 1
    return n_out


@inlined
def join_plainly(
    port: int,
    seq: int,
    sign: int,
    inputs: Ints,
    keys: Ints,
    indexes: Ints,
    steps: Ints,
    progress: Ints,
    values: Ints,
    cursor: Ints,
    chosen: Ints,
    tally: Ints,
    counts: Ints,
    out: Ints,
    n_out: int,
) -> int:
    """Have the results of an element in ``out``, behind ``n_out`` others, then add it to, or take
    it from, its synopsis: how many results there are then, -1 where the room does not do."""
    rows, base = words_at(inputs[port, ROWS]), (seq & inputs[port, MASK]) * inputs[port, WIDTH]
    nulls, first, end = inputs[port, NULLS], inputs[port, KEYS], inputs[port, KEYS_END]
    tally[:] = 0
    chosen[port] = seq
    if binds(rows, base, nulls, keys, first, end, 0, values):
        table = steps[port]
        n_out = combine(
            inputs, keys, indexes, table, progress, values, cursor, chosen, tally, out, n_out
        )
    if n_out >= 0:
        settle(port, seq, sign, inputs, keys, indexes, steps, progress, tally, counts)
    return n_out
