"""union, except, intersect: of bags, against SQL's bare words (thesis, table 2.1; card A4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Block, Ints, Signs, concat, empty
from backend.operators.network.core.contract import NetworkOperator, Surroundings
from backend.operators.network.core.frame import OperatorFrame, by_time, dtypes_of, merged, typed
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.set_operations import SetOp
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import kernel


def set_operator(planned: PlannedOperator, surroundings: Surroundings) -> NetworkOperator:
    """The operator of a ``SetOp``."""
    kind = BagUnion if planned.doing(SetOp).word == "union" else BagComparison
    return kind(planned, surroundings)


class BagUnion(OperatorFrame):
    """union: all elements of both inputs."""

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        union = merged([typed(block, self.fields) for block in inputs])
        return Block(union.tau, union.sign, union.columns)


class BagComparison(OperatorFrame):
    """except and intersect: by how often each tuple is there on the left and on the right.

    l and r times: max(0, l - r) and min(l, r) times in the answer. An element changes either by one
    at most, so the answer's changes are some of the inputs' elements, with a sign of their own.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._is_except = planned.doing(SetOp).word == "except"
        self._table = KeyTable(self._regions, dtypes_of(self.fields))
        self._counts = SlotValues(self._regions, "counts", "int64", self._table, per_slot=2)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        if not any(map(len, inputs)):
            return empty(self.fields)
        left, right = (typed(side, self.fields) for side in inputs)
        order = by_time(left.tau, right.tau)
        block = concat([left, right]).take(order)
        is_right = order >= len(left)
        slots = self._table.slots(block.columns)
        counts = self._counts.array
        changes = np.empty(len(block), np.int8)
        _compare(counts, slots, is_right, block.sign, self._is_except, changes)
        both = counts.reshape(-1, 2)[slots]
        self._table.release(slots[(both == 0).all(axis=1)])
        changed = block.take(changes != 0)
        return Block(changed.tau, changes[changes != 0], changed.columns)

    @property
    def n_tuples(self) -> int:
        return len(self._table)

    @property
    def n_bytes(self) -> int:
        return len(self._table) * (self._table.bytes_per_key + 16)


@kernel
def _compare(
    counts: Ints,
    slots: Ints,
    is_right: NDArray[np.bool_],
    sign: Signs,
    is_except: bool,
    changes: Signs,
) -> None:
    """changes: what each element changes of the answer, -1, 0 or 1. counts: left, right by slot."""
    for i in range(len(slots)):
        at = 2 * slots[i]
        left = counts[at]
        right = counts[at + 1]
        before = max(0, left - right) if is_except else max(0, min(left, right))
        if is_right[i]:
            right += sign[i]
        else:
            left += sign[i]
        after = max(0, left - right) if is_except else max(0, min(left, right))
        counts[at] = left
        counts[at + 1] = right
        changes[i] = after - before
