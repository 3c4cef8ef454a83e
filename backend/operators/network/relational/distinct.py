"""duplicate-eliminate: every tuple that is there, once (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, Signs, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import kernel


class DuplicateEliminate(OperatorFrame):
    """Tells a tuple when its count leaves 0 and when it comes back to it."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._table = KeyTable(self._regions, dtypes_of(self.fields))
        self._counts = SlotValues(self._regions, "counts", "int64", self._table)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = inputs[0]
        if not len(block):
            return empty(self.fields)
        slots = self._table.slots(block.columns)
        counts = self._counts.array
        changes = np.empty(len(block), np.int8)
        _count(counts, slots, block.sign, changes)
        self._table.release(slots[counts[slots] == 0])
        changed = block.take(changes != 0)
        return Block(changed.tau, changes[changes != 0], changed.columns)

    @property
    def n_tuples(self) -> int:
        return len(self._table)

    @property
    def n_bytes(self) -> int:
        return len(self._table) * (self._table.bytes_per_key + 8)


@kernel
def _count(counts: Ints, slots: Ints, sign: Signs, changes: Signs) -> None:
    """changes: what each element changes of the distinct tuples, -1, 0 or 1."""
    for i in range(len(slots)):
        before = counts[slots[i]]
        after = before + sign[i]
        counts[slots[i]] = after
        changes[i] = np.int8(after > 0) - np.int8(before > 0)
