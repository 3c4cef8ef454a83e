"""The compiled part of codes: what of a value is in a tuple's bucket number (AMRI, section 4; card
A2, A14.4).

Of an attribute that is equal to others a code is the top bits of its mix. One that is compared by
order has codes by cuts, values that as many tuples of a partition lie between: they rise with the
value, and equal values have the same. Codes of fewer bits are prefixes of those of more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.operators.network.core.addressing import Pointer, row, table, words_at
from backend.operators.network.core.blocks import Ints
from backend.operators.network.eddy.words import (
    CODES,
    COUNT,
    CUTS,
    FIRST_BITS,
    KEY_IS_FLOAT,
    N_BITS,
    N_CUT,
    N_ORDERED,
    ORDER_PLACE,
    PARTITION_WORDS,
    PARTITIONS,
    ROOM,
    SAMPLES,
    SCRATCH,
    SIZE,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.network.stores.store_kernels import mixed
from backend.operators.selection.bits import called, inlined
from storage.vocabulary.amri_costs import ORDERED_BITS

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def partition_row(index: Pointer, number: int) -> Pointer:
    """The facts of a partition."""
    return words_at(index[PARTITIONS] + 8 * (number % index[ROOM]) * index[PARTITION_WORDS])


@inlined
def cells_of(index: Pointer, what: int, number: int) -> Pointer:
    """The codes or the numbers of a partition's tuples."""
    return words_at(index[what] + 8 * (number % index[ROOM]) * index[SIZE])


@inlined
def attribute_code(value: Any, n_bits: int) -> Any:
    """The top bits of a value's mix."""
    return mixed(np.uint64(0), value) >> np.uint64(64 - n_bits)


@inlined
def appended(code: Any, part: Any, n_bits: int) -> Any:
    """A code with the bits of one attribute more."""
    return part if n_bits == 64 else (code << np.uint64(n_bits)) | part


@inlined
def order_word(word: Any, is_float: Any) -> Any:
    """An integer that is less than another one if the value is. NaN is above all."""
    return word ^ _MAGNITUDE if is_float != 0 and word < 0 else word


@inlined
def cuts_of(index: Pointer, number: int, place: int) -> Pointer:
    """Of a partition and of an attribute that is compared by order."""
    column = (number % index[ROOM]) * index[N_ORDERED] + place
    return words_at(index[CUTS] + 8 * column * N_CUT)


@inlined
def rank(cuts: Pointer, word: Any) -> Any:
    """How many cuts are not above a value: its code of ``ORDERED_BITS`` bits."""
    begin, end = np.int64(0), np.int64(N_CUT)
    while begin < end:
        middle = (begin + end) >> 1
        if cuts[middle] <= word:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def ordered_code(rank: Any, n_bits: int) -> Any:
    """The top bits of a rank; what is more than it has is 0."""
    if n_bits > ORDERED_BITS:
        return np.uint64(rank) << np.uint64(n_bits - ORDERED_BITS)
    return np.uint64(rank) >> np.uint64(ORDERED_BITS - n_bits)


@inlined
def rank_of(index: Pointer, number: int, keys: Ints, k: int, value: Any) -> Any:
    """The rank of a value of an attribute that is compared by order."""
    cuts = cuts_of(index, number, keys[k, ORDER_PLACE])
    return rank(cuts, order_word(value, keys[k, KEY_IS_FLOAT]))


@inlined
def key_code(index: Pointer, number: int, keys: Ints, k: int, value: Any, n_bits: int) -> Any:
    """The code of a value of a join attribute in a partition."""
    if keys[k, ORDER_PLACE] >= 0:
        return ordered_code(rank_of(index, number, keys, k, value), n_bits)
    return attribute_code(value, n_bits)


# ------------------------------------------------------------------------------------- cuts


@inlined
def sift(words: Pointer, at: Any, end: Any) -> None:
    """Have the largest of a part of a heap on its top, where it alone may be out of place."""
    value = words[at]
    child = 2 * at + 1
    while child < end:
        if child + 1 < end and words[child] < words[child + 1]:
            child += 1
        if words[child] <= value:
            break
        words[at] = words[child]
        at, child = child, 2 * child + 1
    words[at] = value


@called
def sort_words(words: Pointer, n: int) -> None:
    """Sort integers, without room beside them."""
    for at in range(n // 2 - 1, -1, -1):
        sift(words, at, n)
    for end in range(n - 1, 0, -1):
        largest = words[0]
        words[0] = words[end]
        words[end] = largest
        sift(words, np.int64(0), end)


@inlined
def inherit_cuts(index: Pointer, number: int, before: int) -> None:
    """Of a partition to which tuples begin to come: those of the one before; none, -1: one code for
    all values."""
    for place in range(index[N_ORDERED]):
        cuts, old = cuts_of(index, number, place), cuts_of(index, max(before, 0), place)
        for k in range(N_CUT):
            cuts[k] = old[k] if before >= 0 else _MAGNITUDE


@inlined
def sample(at: Pointer, port: int, seq: int, place: int) -> None:
    """Keep the values that a tuple of the open partition is compared by order in."""
    index, input, keys = row(at, A.bits, port), row(at, A.inputs, port), table(at, A.keys)
    base = (seq & input[joins.MASK]) * input[joins.WIDTH]
    for k in range(input[joins.KEYS], input[joins.KEYS_END]):
        own = keys[k, ORDER_PLACE]
        if own >= 0:
            word = words_at(input[joins.ROWS])[base + keys[k, joins.COLUMN]]
            word = order_word(word, keys[k, KEY_IS_FLOAT])
            words_at(index[SAMPLES])[own * index[SIZE] + place] = word


@called
def learn_cuts(at: Pointer, port: int, number: int) -> None:
    """A partition takes no more tuples: as many of them lie between any two of its cuts from now
    on. It depends on its tuples alone, however they were cut into batches."""
    index, input, keys = row(at, A.bits, port), row(at, A.inputs, port), table(at, A.keys)
    facts = partition_row(index, number)
    n, below, rising = facts[COUNT], facts[N_BITS], words_at(index[SCRATCH])
    for k in range(input[joins.KEYS], input[joins.KEYS_END]):
        n_bits, own = facts[FIRST_BITS + k - input[joins.KEYS]], keys[k, ORDER_PLACE]
        below -= n_bits
        if own >= 0 and n > 0:
            samples = words_at(index[SAMPLES] + 8 * own * index[SIZE])
            for i in range(n):
                rising[i] = samples[i]
            sort_words(rising, n)
            cuts = cuts_of(index, number, own)
            for cut in range(N_CUT):
                cuts[cut] = rising[((cut + 1) * n) >> ORDERED_BITS]
            if n_bits > 0:
                recode(index, number, samples, cuts, n_bits, below)


@inlined
def recode(
    index: Pointer, number: int, samples: Pointer, cuts: Pointer, n_bits: int, below: Any
) -> None:
    """Codes of an attribute by its cuts. below: the bits of the attributes after it."""
    codes, facts = cells_of(index, CODES, number), partition_row(index, number)
    own = (ALL >> np.uint64(64 - n_bits)) << np.uint64(below)
    for i in range(facts[COUNT]):
        code = ordered_code(rank(cuts, samples[i]), n_bits) << np.uint64(below)
        codes[i] = np.int64((np.uint64(codes[i]) & ~own) | code)
