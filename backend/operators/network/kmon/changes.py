"""Relations that change, tick by tick: what is taken away, renewed, and what comes (erratum D3)."""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import Block, Ints
from backend.operators.network.core.hashing import FACTORS
from backend.operators.network.core.merging import Came

#: Signs of a tuple that goes and comes in one tick.
RENEWED_GOES, RENEWED_COMES = -2, 2


def whole_words(block: Block) -> Ints:
    """int64[n]: numbers that are equal where all columns are, and by chance in one of 2^64."""
    mixed = np.zeros(len(block), np.uint64)
    for column in block.columns:
        values = np.where(column.is_valid, column.values.view(np.int64), 0).view(np.uint64)
        for part in (values, column.is_valid.astype(np.uint64)):
            mixed = (mixed ^ part) * FACTORS[0]
            mixed = (mixed ^ mixed >> np.uint64(29)) * FACTORS[1]
            mixed ^= mixed >> np.uint64(32)
    return mixed.view(np.int64)


def net_changes(block: Block) -> Block:
    """By tick and tuple what its elements come to: so many with sign + or -. Where as many came as
    went, one with RENEWED_GOES and one with RENEWED_COMES: the tuple is renewed if it was there
    before, else it came and went."""
    if not len(block):
        return block
    words = whole_words(block)
    order = np.lexsort((words, block.tau))
    tau, words = block.tau[order], words[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (tau[1:] != tau[:-1]) | (words[1:] != words[:-1])
    firsts = np.flatnonzero(is_first)
    totals = np.add.reduceat(block.sign[order].astype(np.int64), firsts)
    kept = np.repeat(np.arange(len(firsts)), np.where(totals == 0, 2, np.abs(totals)))
    signs = np.sign(totals)[kept]
    renewed = np.flatnonzero(signs == 0)
    signs[renewed[::2]], signs[renewed[1::2]] = RENEWED_GOES, RENEWED_COMES
    rows = order[firsts[kept]]
    in_time = np.lexsort((rows, block.tau[rows]))
    rows = rows[in_time]
    columns = tuple(column.take(rows) for column in block.columns)
    return Block(block.tau[rows], signs[in_time].astype(np.int8), columns)


def in_turn(came: Came, below: Ints) -> Came:
    """Of one tick first what takes tuples away, then children before their parents: who comes with
    its child has not waited."""
    order = np.lexsort((-below[came.ports], came.signs > 0, came.tau))
    return Came(came.ports[order], came.seqs[order], came.signs[order], came.tau[order])
