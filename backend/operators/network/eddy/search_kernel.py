"""The compiled part of searches by bits (AMRI, section 4; card A2).

What a request specifies by a value is one code of an attribute, what it compares by order a range
of codes, the rest is wild cards. Codes are enumerated, but those that lie side by side in a sealed
partition are one stretch; every tuple that comes of it is compared as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import (
    Pointer,
    line,
    row,
    size,
    table,
    words_at,
)
from backend.operators.network.core.blocks import Ints
from backend.operators.network.eddy.bit_kernel import bucket_of, directory_of
from backend.operators.network.eddy.code_kernel import (
    ALL,
    cells_of,
    key_code,
    partition_row,
    rank_of,
)
from backend.operators.network.eddy.words import (
    AT,
    BELOW,
    BUCKETS,
    CODES,
    CODES_READ,
    COMBINATION,
    COUNT,
    DEPTH,
    EACH,
    END,
    ENDS_IN_RANGE,
    FIELD,
    FIRST_BITS,
    FIRST_RANGE,
    FIXED,
    HEADS,
    HIGH,
    IN_CHAINS,
    IN_CODES,
    IN_STRETCHES,
    LARGEST,
    LEAST,
    LEFT,
    LOW,
    MASK,
    MODE,
    N_BITS,
    N_KNOWN,
    N_RANGE,
    N_RANGES,
    NUMBER,
    NUMBERS,
    OLDER,
    ORDER_PLACE,
    ORDERED,
    PART,
    SEALED,
    SIZE,
    SPAN,
    WILD,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.network.stores.store_kernels import GONE
from backend.operators.selection.bits import called, inlined
from storage.vocabulary.amri_costs import ORDERED_BITS

#: Looking a bucket up takes about as long as reading so many codes.
_CODES_A_BUCKET = 4
_MOST_RANK = (1 << ORDERED_BITS) - 1


@inlined
def ones(n_bits: Any) -> Any:
    """The lowest bits."""
    return ALL >> np.uint64(64 - n_bits) if n_bits > 0 else np.uint64(0)


@inlined
def of_range(r: Any, what: int) -> Any:
    """Where a number of a range is in a search."""
    return FIRST_RANGE + N_RANGE * r + what


@called
def add_range(at: Pointer, step: Pointer, search: Pointer, k: int, n_bits: int, below: int) -> bool:
    """Have the codes of an attribute that a request may match as a range, if it is compared by
    order there and these are not all of them. False: there are none."""
    index, keys, values = row(at, A.bits, step[joins.TARGET]), table(at, A.keys), line(at, A.values)
    group, known, number = keys[k, joins.GROUP], step[joins.STEP_KNOWN], search[PART]
    least, largest = np.int64(0), np.int64(_MOST_RANK)
    for c in range(size(at, A.conditions, 0)):
        condition = row(at, A.conditions, c)
        is_asked = step[ORDERED] >> c & 1 != 0
        if is_asked and condition[HIGH] == group and known >> condition[LOW] & 1 != 0:
            least = max(least, rank_of(index, number, keys, k, values[condition[LOW]]))
        elif is_asked and condition[LOW] == group and known >> condition[HIGH] & 1 != 0:
            largest = min(largest, rank_of(index, number, keys, k, values[condition[HIGH]]))
    unused = max(0, ORDERED_BITS - n_bits)
    least, largest = least >> unused, largest >> unused
    if least == 0 and largest == _MOST_RANK >> unused:
        return True
    r, shift = search[N_RANGES], np.uint64(below + max(0, n_bits - ORDERED_BITS))
    search[of_range(r, LEAST)] = np.int64(np.uint64(least) << shift)
    search[of_range(r, LARGEST)] = np.int64(np.uint64(largest) << shift)
    search[of_range(r, FIELD)] = np.int64(ones(min(n_bits, ORDERED_BITS)) << shift)
    search[N_RANGES] = r + 1
    return bool(least <= largest)


@called
def address(at: Pointer, step: Pointer, search: Pointer) -> bool:
    """Have in a search the codes that may match in its partition. False: there are none."""
    index, input = row(at, A.bits, step[joins.TARGET]), row(at, A.inputs, step[joins.TARGET])
    keys, values, number = table(at, A.keys), line(at, A.values), search[PART]
    facts = partition_row(index, number)
    fixed, mask, wild = np.uint64(0), np.uint64(0), np.uint64(0)
    after, below, n_known = np.int64(facts[N_BITS]), np.int64(0), np.int64(0)
    search[N_RANGES], search[ENDS_IN_RANGE], search[SPAN] = 0, 0, 0
    for k in range(input[joins.KEYS], input[joins.KEYS_END]):
        n_bits, group = facts[FIRST_BITS + k - input[joins.KEYS]], keys[k, joins.GROUP]
        if n_bits == 0:
            continue
        after -= n_bits
        own, n_before = ones(n_bits) << np.uint64(after), search[N_RANGES]
        is_known = step[joins.STEP_KNOWN] >> group & 1 != 0
        if is_known:
            code = key_code(index, number, keys, k, values[group], n_bits)
            fixed, mask = fixed | (code << np.uint64(after)), mask | own
        elif keys[k, ORDER_PLACE] >= 0 and not add_range(at, step, search, k, n_bits, after):
            return False
        if search[N_RANGES] > n_before:
            fixed |= np.uint64(search[of_range(n_before, LEAST)])
            mask |= own & ~np.uint64(search[of_range(n_before, FIELD)])
        elif not is_known:
            wild, below = wild | own, below + n_bits
            continue
        n_known, below = n_known + n_bits, np.int64(0)
        search[ENDS_IN_RANGE] = search[N_RANGES] - n_before
    search[BELOW] = below if facts[SEALED] else 0
    search[FIXED], search[MASK], search[N_KNOWN] = np.int64(fixed), np.int64(mask), n_known
    search[WILD] = np.int64(wild & ~ones(search[BELOW]))
    return True


@called
def enter_partition(at: Pointer, step: Pointer, tally: Ints, level: int) -> None:
    """Get ready to search the partition of a level's search."""
    index, search = row(at, A.bits, step[joins.TARGET]), row(at, A.searches, level)
    number = search[PART]
    facts = partition_row(index, number)
    search[LEFT], search[AT], search[END], search[MODE] = 0, 0, 0, IN_CODES
    if number < 0 or facts[NUMBER] != number or facts[COUNT] == 0:
        return
    if not address(at, step, search):
        return
    n_wild = facts[N_BITS] - search[N_KNOWN] - search[BELOW]
    as_stretch = search[ENDS_IN_RANGE] if facts[SEALED] else 0
    n_buckets = 2.0**n_wild
    for r in range(search[N_RANGES] - as_stretch):
        n_buckets *= codes_in(search, r)
    if search[N_KNOWN] == 0 or _CODES_A_BUCKET * n_buckets > facts[COUNT]:
        search[END] = facts[COUNT]
        n_buckets *= 2.0 ** search[BELOW]
        n_buckets *= codes_in(search, search[N_RANGES] - 1) if as_stretch else 1.0
        tally[level, BUCKETS] += np.int64(min(n_buckets, np.float64(facts[COUNT])))
        return
    search[MODE] = IN_STRETCHES if facts[SEALED] else IN_CHAINS
    if as_stretch:
        search[N_RANGES] -= 1
        last = search[N_RANGES]
        search[SPAN] = search[of_range(last, LARGEST)] - search[of_range(last, LEAST)]
    search[EACH] = np.int64(1) << n_wild
    search[COMBINATION], search[LEFT] = 0, search[EACH]
    search[AT] = 0 if facts[SEALED] else -1


@inlined
def codes_in(search: Pointer, r: Any) -> Any:
    """How many codes a range has."""
    field = np.uint64(search[of_range(r, FIELD)])
    span = np.uint64(search[of_range(r, LARGEST)]) - np.uint64(search[of_range(r, LEAST)])
    return np.float64(span) / np.float64(field & (~field + np.uint64(1))) + 1.0


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
    """Where the tuples of a code, of those up to the end of a range and of those that differ in the
    bits below lie."""
    facts, number = partition_row(index, search[PART]), search[PART]
    directory, codes = directory_of(index, number), cells_of(index, CODES, number)
    last = (code + np.uint64(search[SPAN])) | ones(search[BELOW])
    rest = np.uint64(facts[N_BITS] - facts[DEPTH])
    first, final = np.int64(code >> rest), np.int64(last >> rest)
    begin, end = directory[first], directory[final + 1]
    if search[BELOW] < np.int64(rest):
        begin = lower_bound(codes, begin, directory[first + 1], code)
        if last == ALL:
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


@inlined
def next_codes(search: Pointer) -> bool:
    """Go to the next codes of the ranges, with all wild cards before them. False: that were all."""
    fixed = np.uint64(search[FIXED])
    for r in range(search[N_RANGES] - 1, -1, -1):
        field = np.uint64(search[of_range(r, FIELD)])
        if fixed & field < np.uint64(search[of_range(r, LARGEST)]):
            search[FIXED] = np.int64(fixed + (field & (~field + np.uint64(1))))
            search[COMBINATION], search[LEFT] = 0, search[EACH]
            return True
        fixed = (fixed & ~field) | np.uint64(search[of_range(r, LEAST)])
    return False


@inlined
def is_addressed(search: Pointer, code: int) -> bool:
    """Whether a code may match."""
    if (code ^ search[FIXED]) & search[MASK] != 0:
        return False
    for r in range(search[N_RANGES]):
        own = np.uint64(code & search[of_range(r, FIELD)])
        if own < np.uint64(search[of_range(r, LEAST)]):
            return False
        if own > np.uint64(search[of_range(r, LARGEST)]):
            return False
    return True


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
                if mode == IN_STRETCHES or is_addressed(search, codes[place]):
                    return np.int64(numbers[place])
                tally[level, joins.SCANNED] += 1
                tally[level, CODES_READ] += 1
        if search[LEFT] == 0 and (mode == IN_CODES or not next_codes(search)):
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
