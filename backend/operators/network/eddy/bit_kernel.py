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
    line,
    row,
    table,
    words_at,
)
from backend.operators.network.core.blocks import Ints
from backend.operators.network.eddy.words import (
    AT,
    BELOW,
    BITS,
    BUCKETS,
    CODES,
    CODES_READ,
    COMBINATION,
    COUNT,
    DEPTH,
    DIGITS,
    DIRECTORIES,
    END,
    FACTS,
    FIRST_BITS,
    FIXED,
    HEAD_MASK,
    HEADS,
    IN_CHAINS,
    IN_CODES,
    IN_STRETCHES,
    LEFT,
    LINKED,
    MASK,
    MODE,
    MOST_DEPTH,
    N_BITS,
    NUMBER,
    NUMBERS,
    OLDER,
    OPEN,
    PART,
    PARTITION_WORDS,
    PARTITIONS,
    ROOM,
    SCRATCH,
    SEALED,
    SIZE,
    WILD,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.network.kinds.eddy import CODES_A_BUCKET
from backend.operators.network.stores.store_kernels import GONE, is_null, mixed
from backend.operators.selection.bits import called, inlined

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def attribute_code(value: Any, n_bits: int) -> Any:
    """The top bits of a value's mix: codes of fewer bits are prefixes of those of more."""
    return mixed(np.uint64(0), value) >> np.uint64(64 - n_bits)


@inlined
def appended(code: Any, part: Any, n_bits: int) -> Any:
    """A code with the bits of one attribute more."""
    return part if n_bits == 64 else (code << np.uint64(n_bits)) | part


@inlined
def partition_row(index: Pointer, number: int) -> Pointer:
    """The facts of a partition."""
    return words_at(index[PARTITIONS] + 8 * (number % index[ROOM]) * index[PARTITION_WORDS])


@inlined
def cells_of(index: Pointer, what: int, number: int) -> Pointer:
    """The codes or the numbers of a partition's tuples."""
    return words_at(index[what] + 8 * (number % index[ROOM]) * index[SIZE])


@inlined
def directory_of(index: Pointer, number: int) -> Pointer:
    """The offsets of a sealed partition."""
    n_words = (1 << index[MOST_DEPTH]) + 1
    return words_at(index[DIRECTORIES] + 8 * (number % index[ROOM]) * n_words)


@called
def code_of(at: Pointer, port: int, seq: int, bits: Pointer, code: Pointer) -> bool:
    """Have the code of a tuple in code[0]. False: it has NULL, and joins with nothing."""
    input, keys = row(at, A.inputs, port), table(at, A.keys)
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
            made = appended(made, attribute_code(value, n_bits), n_bits)
    code[0] = np.int64(made)
    return True


@inlined
def begin_partition(index: Pointer, number: int, n_attributes: int) -> None:
    """Make room for the tuples of a partition, with the bits that new ones have."""
    facts, bits = partition_row(index, number), words_at(index[BITS])
    facts[NUMBER], facts[COUNT], facts[SEALED], facts[N_BITS] = number, 0, 0, 0
    for k in range(n_attributes):
        facts[FIRST_BITS + k] = bits[k]
        facts[N_BITS] += bits[k]
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
            seal(index, facts[OPEN])
        begin_partition(index, number, input[joins.KEYS_END] - input[joins.KEYS])
        facts[OPEN] = number
    code = words_at(index[SCRATCH])
    own = words_at(index[PARTITIONS] + 8 * (number % index[ROOM]) * index[PARTITION_WORDS])
    bits = words_at(
        index[PARTITIONS] + 8 * ((number % index[ROOM]) * index[PARTITION_WORDS] + FIRST_BITS)
    )
    if own[COUNT] < index[SIZE] and code_of(at, port, seq, bits, code):
        append(index, number, code[0], seq)


# ------------------------------------------------------------------------------------- search


@called
def enter_partition(at: Pointer, step: Pointer, tally: Ints, level: int) -> None:
    """Get ready to search the partition of a level's search."""
    index, search = row(at, A.bits, step[joins.TARGET]), row(at, A.searches, level)
    number = search[PART]
    facts = partition_row(index, number)
    search[LEFT], search[AT], search[END], search[MODE] = 0, 0, 0, IN_CODES
    if number < 0 or facts[NUMBER] != number or facts[COUNT] == 0:
        return
    input, keys, values = row(at, A.inputs, step[joins.TARGET]), table(at, A.keys), A.values
    fixed, mask, n_known, below = np.uint64(0), np.uint64(0), np.int64(0), np.int64(0)
    for k in range(input[joins.KEYS], input[joins.KEYS_END]):
        n_bits, group = facts[FIRST_BITS + k - input[joins.KEYS]], keys[k, joins.GROUP]
        if n_bits > 0 and step[joins.STEP_KNOWN] >> group & 1:
            code = attribute_code(line(at, values)[group], n_bits)
            fixed = appended(fixed, code, n_bits)
            mask = appended(mask, _ALL >> np.uint64(64 - n_bits), n_bits)
            n_known, below = n_known + n_bits, np.int64(0)
        elif n_bits > 0:
            fixed = appended(fixed, np.uint64(0), n_bits)
            mask = appended(mask, np.uint64(0), n_bits)
            below += n_bits
    n_wild = facts[N_BITS] - n_known
    search[FIXED], search[MASK] = np.int64(fixed), np.int64(mask)
    search[BELOW] = below if facts[SEALED] else 0
    n_wild -= search[BELOW]
    if n_known == 0 or n_wild > 40 or (CODES_A_BUCKET << n_wild) > facts[COUNT]:
        search[END] = facts[COUNT]
        tally[level, BUCKETS] += 1
        return
    every: Any = _ALL >> np.uint64(64 - facts[N_BITS])
    under: Any = (np.uint64(1) << np.uint64(search[BELOW])) - np.uint64(1)
    search[MODE] = IN_STRETCHES if facts[SEALED] else IN_CHAINS
    search[WILD] = np.int64(~mask & every & ~under)
    search[COMBINATION], search[LEFT] = 0, np.int64(1) << n_wild
    search[AT] = 0 if facts[SEALED] else -1


@inlined
def lower_bound(codes: Pointer, begin: int, end: int, code: Any) -> Any:
    """The place of the first code that is not less."""
    while begin < end:
        middle = (begin + end) >> 1
        if np.uint64(codes[middle]) < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def find_stretch(index: Pointer, search: Pointer, code: Any) -> None:
    """Where the tuples of a code and of those that differ in the bits below lie."""
    facts, number = partition_row(index, search[PART]), search[PART]
    directory, codes = directory_of(index, number), cells_of(index, CODES, number)
    last = code | ((np.uint64(1) << np.uint64(search[BELOW])) - np.uint64(1))
    rest = np.uint64(facts[N_BITS] - facts[DEPTH])
    first, final = np.int64(code >> rest), np.int64(last >> rest)
    begin, end = directory[first], directory[final + 1]
    if search[BELOW] < np.int64(rest):
        begin = lower_bound(codes, begin, directory[first + 1], code)
        if last == _ALL:
            end = directory[final + 1]
        else:
            end = lower_bound(codes, directory[final], end, last + np.uint64(1))
    search[AT], search[END] = begin, end


@inlined
def next_bucket(index: Pointer, search: Pointer) -> None:
    """Go to the next bucket that the wild cards stand for."""
    code = np.uint64(search[FIXED]) | np.uint64(search[COMBINATION])
    if search[MODE] == IN_STRETCHES:
        find_stretch(index, search, code)
    else:
        search[AT] = words_at(index[HEADS])[bucket_of(index, np.int64(code))]
    search[END] = search[END] if search[MODE] == IN_STRETCHES else np.int64(code)
    wild = np.uint64(search[WILD])
    search[COMBINATION] = np.int64((np.uint64(search[COMBINATION]) - wild) & wild)
    search[LEFT] -= 1


@called
def next_in_partition(index: Pointer, search: Pointer, tally: Ints, level: int) -> Any:
    """The number of the next tuple in the buckets addressed, -1: there is none. Of chains END is
    the code that is looked for. Codes that were read in vain count as tuples compared."""
    number, mode = search[PART], search[MODE]
    codes, numbers = cells_of(index, CODES, number), cells_of(index, NUMBERS, number)
    while True:
        if mode == IN_CHAINS:
            while search[AT] >= 0:
                place = search[AT]
                search[AT] = words_at(index[OLDER])[place]
                if codes[place] == search[END]:
                    return np.int64(numbers[place])
                tally[level, joins.SCANNED] += 1
                tally[level, CODES_READ] += 1
        else:
            while search[AT] < search[END]:
                place = search[AT]
                search[AT] = place + 1
                if mode == IN_STRETCHES or codes[place] & search[MASK] == search[FIXED]:
                    return np.int64(numbers[place])
                tally[level, joins.SCANNED] += 1
                tally[level, CODES_READ] += 1
        if search[LEFT] == 0:
            return np.int64(-1)
        tally[level, BUCKETS] += 1
        next_bucket(index, search)


@inlined
def begin_search(at: Pointer, step: Pointer, tally: Ints, level: int) -> None:
    """Look for what matches at a step, from the newest partition on."""
    target = step[joins.TARGET]
    index, progress = row(at, A.bits, target), row(at, A.progress, target)
    row(at, A.searches, level)[PART] = (progress[joins.HI] - 1) // index[SIZE]
    enter_partition(at, step, tally, level)


@called
def next_by_bits(at: Pointer, step: Pointer, tally: Ints, level: int) -> Any:
    """The next tuple that matches at a step, or -1."""
    target = step[joins.TARGET]
    index, search = row(at, A.bits, target), row(at, A.searches, level)
    input, progress = row(at, A.inputs, target), row(at, A.progress, target)
    rows, lo, hi = words_at(input[joins.ROWS]), progress[joins.LO], progress[joins.HI]
    keys, values, known = table(at, A.keys), line(at, A.values), step[joins.STEP_KNOWN]
    begin, end = input[joins.KEYS], input[joins.KEYS_END]
    if lo >= hi:
        return np.int64(-1)
    while True:
        seq = next_in_partition(index, search, tally, level)
        if seq < 0:
            search[PART] -= 1
            if (search[PART] + 1) * index[SIZE] <= lo:
                return np.int64(-1)
            enter_partition(at, step, tally, level)
            continue
        tally[level, joins.SCANNED] += 1
        if seq < lo or seq >= hi:
            continue
        base = (seq & input[joins.MASK]) * input[joins.WIDTH]
        is_there = input[joins.STATE] < 0 or rows[base + input[joins.STATE]] != GONE
        if is_there and joins.binds(
            rows, base, input[joins.NULLS], keys, begin, end, known, values
        ):
            return np.int64(seq)
