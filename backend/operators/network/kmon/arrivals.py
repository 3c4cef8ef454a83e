"""Tuples that come, as slots: their keys, filters and draws, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.draws import draws, seed_of
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Bools, Column64, Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.merging import Came
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.changes import whole_words
from backend.operators.network.kmon.shape import KMonShape
from backend.operators.network.kmon.tuning import KMonTuning
from backend.operators.network.kmon.words import Memory

_MANTISSA: Final = np.int64(2**63 - 1)


class ArrivingSlots:
    """What comes of it."""

    def __init__(
        self,
        shape: KMonShape,
        fields: Sequence[Sequence[Attribute]],
        tuning: KMonTuning,
        surroundings: Surroundings,
    ) -> None:
        self._shape, self._tuning = shape, tuning
        strings, functions = surroundings.strings, surroundings.functions
        self._filters = [
            None
            if input.filter is None
            else compile_expression(input.filter, own, strings, functions)
            for input, own in zip(shape.work.inputs, fields, strict=True)
        ]

    def enter(
        self, m: Memory, slots: Ints, places: Ints, inputs: Sequence[Block], came: Came
    ) -> list[Bools]:
        """Fill slots with some arrivals, which rows ``came.seqs`` of the inputs are; at places in
        memory. Returns for each input which of its own pass its filter."""
        n_words, n_links, n_entry = m.widths[:3].tolist()
        entries, links = m.entries.reshape(-1, n_entry), m.links.reshape(-1, n_links)
        entries[slots, w.PLACE], entries[slots, w.STATE] = places, w.NEW
        links[places] = 0
        links[places, w.INPUT], links[places, w.PAY] = came.ports, -2 - came.seqs
        words = m.words.reshape(-1, n_words)
        words[places] = 0
        words[places, w.TAU] = came.tau
        passed = []
        for port, block in enumerate(inputs):
            own = np.flatnonzero(came.ports == port)
            mine, rows, signs = places[own], came.seqs[own], came.signs[own]
            words[mine, w.NUMBER] = m.inputs[port, w.COUNT] + np.cumsum(signs > 0)
            passed.append(self._passes(port, block.take(rows)))
            facts = self._facts(port, block, rows, words, mine, passed[-1])
            facts |= np.where(signs < 0, w.TAKES, 0) | np.where(np.abs(signs) > 1, w.RENEWS, 0)
            links[mine, w.FACTS] = facts
            if self._shape.changes:
                words[mine, self._shape.whole_word] = whole_words(block.take(rows))
        return passed

    def _passes(self, port: int, block: Block) -> Bools:
        condition = self._filters[port]
        if condition is None or not len(block):
            return np.ones(len(block), bool)
        verdict = condition(block)
        passes: Bools = (verdict.values != 0) & verdict.is_valid
        return passes

    def _facts(
        self, port: int, block: Block, rows: Ints, words: Ints, places: Ints, passes: Bools
    ) -> Ints:
        """Writes the words of join attributes; returns what there is to say of each tuple."""
        shape, facts = self._shape, np.where(passes, 0, w.FAILS)
        is_null = []
        for k, place in enumerate(shape.attributes[port].places):
            column = block.columns[place].take(rows)
            words[places, shape.first_word + k] = sortable(column)
            is_null.append(~column.is_valid)
            facts |= np.where(is_null[-1], w.NULLS << k | w.FAILS, 0)
        for index in shape.indexes[shape.indexes[:, w.OF_INPUT] == port]:
            own = index[w.WORDS : w.WORDS + index[w.N_WORDS]] - shape.first_word
            lacks = np.any([is_null[place] for place in own], axis=0)
            facts |= np.where(lacks, w.UNLINKED << int(index[w.LINK]), 0)
        is_exact = self._tuning.loss == "never" or shape.changes
        if not is_exact and self._tuning.sample_prob > 0:
            drawn = draws(seed_of(self._tuning.seed, port), words[places, w.NUMBER])
            facts |= np.where(drawn < self._tuning.sample_prob * 2.0**32, w.SAMPLED, 0)
        return facts


def sortable(column: Column64) -> Ints:
    """int64[n]: words that are equal, and in the same order, as the values."""
    bits: Ints = column.values.view(np.int64)
    if column.values.dtype == np.float64:
        bits = np.where(bits < 0, bits ^ _MANTISSA, bits)
    return bits
