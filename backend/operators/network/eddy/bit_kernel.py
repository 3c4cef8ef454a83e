"""The compiled part of bit-address indexes (AMRI, section 4; card A2, A3, A14.15).

A tuple's code is its attributes' codes one after the other, the first in the top bits. Partitions
of consecutive tuples have bits of their own. The one that takes new tuples has hash chains of equal
codes; a complete one is sealed: sorted by code, with a directory of offsets by the top bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import (
    Pointer,
    row,
    table,
    words_at,
)
from backend.operators.network.eddy.code_kernel import (
    appended,
    cells_of,
    inherit_cuts,
    key_code,
    learn_cuts,
    partition_row,
    sample,
)
from backend.operators.network.eddy.words import (
    BITS,
    CODES,
    COUNT,
    DEPTH,
    DIGITS,
    DIRECTORIES,
    FACTS,
    FIRST_BITS,
    HEAD_MASK,
    HEADS,
    LINKED,
    MOST_DEPTH,
    N_BITS,
    NUMBER,
    NUMBERS,
    OLDER,
    OPEN,
    PARTITION_WORDS,
    PARTITIONS,
    ROOM,
    SCRATCH,
    SEALED,
    SIZE,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.network.stores.store_kernels import is_null, mixed
from backend.operators.selection.bits import called, inlined


@inlined
def directory_of(index: Pointer, number: int) -> Pointer:
    """The offsets of a sealed partition."""
    n_words = (1 << index[MOST_DEPTH]) + 1
    return words_at(index[DIRECTORIES] + 8 * (number % index[ROOM]) * n_words)


@called
def code_of(at: Pointer, port: int, seq: int, number: int, bits: Pointer, code: Pointer) -> bool:
    """Have the code of a tuple of a partition in code[0]. False: it has NULL, and joins with
    nothing."""
    index, input, keys = row(at, A.bits, port), row(at, A.inputs, port), table(at, A.keys)
    rows = words_at(input[joins.ROWS])
    base = (seq & input[joins.MASK]) * input[joins.WIDTH]
    made = np.uint64(0)
    for k in range(input[joins.KEYS], input[joins.KEYS_END]):
        column = keys[k, joins.COLUMN]
        if is_null(rows, base, input[joins.NULLS], column):
            return False
        n_bits = bits[k - input[joins.KEYS]]
        if n_bits > 0:
            value = joins.key_word(rows, base + column, keys[k, joins.AS_FLOAT])
            made = appended(made, key_code(index, number, keys, k, value, n_bits), n_bits)
    code[0] = np.int64(made)
    return True


@inlined
def begin_partition(index: Pointer, number: int, n_attributes: int, before: int) -> None:
    """Make room for the tuples of a partition, with the bits that new ones have and the cuts of the
    one before."""
    facts, bits = partition_row(index, number), words_at(index[BITS])
    facts[NUMBER], facts[COUNT], facts[SEALED], facts[N_BITS] = number, 0, 0, 0
    for k in range(n_attributes):
        facts[FIRST_BITS + k] = bits[k]
        facts[N_BITS] += bits[k]
    inherit_cuts(index, number, before)
    heads = words_at(index[HEADS])
    for bucket in range(index[HEAD_MASK] + 1):
        heads[bucket] = -1


@inlined
def bucket_of(index: Pointer, code: Any) -> Any:
    """Where the chain of a code begins."""
    return np.int64(mixed(np.uint64(1), code) & np.uint64(index[HEAD_MASK]))


@inlined
def append(index: Pointer, number: int, code: int, seq: int) -> None:
    """Add a tuple to the open partition."""
    facts = partition_row(index, number)
    place, bucket = facts[COUNT], bucket_of(index, code)
    cells_of(index, CODES, number)[place] = code
    cells_of(index, NUMBERS, number)[place] = seq
    heads = words_at(index[HEADS])
    words_at(index[OLDER])[place] = heads[bucket]
    heads[bucket] = place
    facts[COUNT] = place + 1


@called
def sort_cells(index: Pointer, number: int) -> None:
    """Sort a partition's tuples by their codes, byte after byte; equal ones stay in their order."""
    facts, n = partition_row(index, number), partition_row(index, number)[COUNT]
    codes, numbers = cells_of(index, CODES, number), cells_of(index, NUMBERS, number)
    sorted_codes = words_at(index[SCRATCH])
    sorted_numbers = words_at(index[SCRATCH] + 8 * index[SIZE])
    begins = words_at(index[SCRATCH] + 16 * index[SIZE])
    for shift in range(0, facts[N_BITS], 8):
        for digit in range(DIGITS):
            begins[digit] = 0
        for i in range(n):
            begins[np.int64((np.uint64(codes[i]) >> np.uint64(shift)) & np.uint64(255))] += 1
        n_before = np.int64(0)
        for digit in range(DIGITS):
            n_before, begins[digit] = n_before + begins[digit], n_before
        for i in range(n):
            own = np.int64((np.uint64(codes[i]) >> np.uint64(shift)) & np.uint64(255))
            sorted_codes[begins[own]], sorted_numbers[begins[own]] = codes[i], numbers[i]
            begins[own] += 1
        for i in range(n):
            codes[i], numbers[i] = sorted_codes[i], sorted_numbers[i]


@called
def seal(index: Pointer, number: int) -> None:
    """A partition takes no more tuples: sort it, and note where each of its buckets begins."""
    facts = partition_row(index, number)
    sort_cells(index, number)
    codes, directory = cells_of(index, CODES, number), directory_of(index, number)
    depth = min(facts[N_BITS], index[MOST_DEPTH])
    below, bucket = np.uint64(facts[N_BITS] - depth), np.int64(0)
    for i in range(facts[COUNT]):
        own = np.int64(np.uint64(codes[i]) >> below) if depth > 0 else np.int64(0)
        while bucket <= own:
            directory[bucket] = i
            bucket += 1
    while bucket <= 1 << depth:
        directory[bucket] = facts[COUNT]
        bucket += 1
    facts[SEALED], facts[DEPTH] = 1, depth


@inlined
def link_bits(at: Pointer, port: int, until: int) -> None:
    """Take the tuples of an input before ``until`` into its bit-address index."""
    index, input = row(at, A.bits, port), row(at, A.inputs, port)
    if index[SIZE] == 0:
        return
    facts = words_at(index[FACTS])
    for seq in range(max(facts[LINKED], input[joins.OLDEST]), until):
        link_one(at, port, seq)
    facts[LINKED] = max(facts[LINKED], until)


@called
def link_one(at: Pointer, port: int, seq: int) -> None:
    """Take a tuple in: the partition before it is sealed with the first one of the next."""
    index, input = row(at, A.bits, port), row(at, A.inputs, port)
    facts, number = words_at(index[FACTS]), seq // index[SIZE]
    if facts[OPEN] != number:
        if facts[OPEN] >= 0:
            learn_cuts(at, port, facts[OPEN])
            seal(index, facts[OPEN])
        n_attributes = input[joins.KEYS_END] - input[joins.KEYS]
        begin_partition(index, number, n_attributes, facts[OPEN])
        facts[OPEN] = number
    code = words_at(index[SCRATCH])
    own = words_at(index[PARTITIONS] + 8 * (number % index[ROOM]) * index[PARTITION_WORDS])
    bits = words_at(
        index[PARTITIONS] + 8 * ((number % index[ROOM]) * index[PARTITION_WORDS] + FIRST_BITS)
    )
    if own[COUNT] < index[SIZE] and code_of(at, port, seq, number, bits, code):
        sample(at, port, seq, own[COUNT])
        append(index, number, code[0], seq)
