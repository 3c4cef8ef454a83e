"""The compiled part of migration: a partition is bucketed anew (AMRI, section 8)."""

from __future__ import annotations

from backend.operators.network.core.addressing import row, words_at, words_of
from backend.operators.network.core.blocks import Ints
from backend.operators.network.eddy.bit_kernel import append, code_of, seal
from backend.operators.network.eddy.code_kernel import cells_of, partition_row, sample
from backend.operators.network.eddy.words import (
    CODES,
    COUNT,
    FIRST_BITS,
    HEAD_MASK,
    HEADS,
    N_BITS,
    NUMBER,
    NUMBERS,
    SCRATCH,
    SEALED,
    A,
)
from backend.operators.network.joins import join_kernel as joins
from backend.operators.selection.bits import kernel


@kernel
def migrate_partition(arrays: Ints, port: int, number: int, bits: Ints) -> int:
    """Bucket a partition anew under other bits; tuples that have left the store go. Returns how
    many tuples are in it."""
    at = words_of(arrays)
    index, oldest = row(at, A.bits, port), row(at, A.inputs, port)[joins.OLDEST]
    facts = partition_row(index, number)
    if facts[NUMBER] != number:
        return 0
    n, was_open = facts[COUNT], facts[SEALED] == 0
    own, code = words_of(bits), words_at(index[SCRATCH])
    facts[COUNT], facts[N_BITS] = 0, 0
    for k in range(len(bits)):
        facts[FIRST_BITS + k] = bits[k]
        facts[N_BITS] += bits[k]
    if was_open:
        for bucket in range(index[HEAD_MASK] + 1):
            words_at(index[HEADS])[bucket] = -1
    numbers, codes = cells_of(index, NUMBERS, number), cells_of(index, CODES, number)
    for i in range(n):
        seq = numbers[i]
        if seq >= oldest and code_of(at, port, seq, number, own, code):
            if was_open:
                sample(at, port, seq, facts[COUNT])
                append(index, number, code[0], seq)
            else:
                codes[facts[COUNT]], numbers[facts[COUNT]] = code[0], seq
                facts[COUNT] += 1
    if not was_open:
        seal(index, number)
    return int(facts[COUNT])
