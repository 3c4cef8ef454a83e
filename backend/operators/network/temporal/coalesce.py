"""coalesce: one tuple for each run of intervals of equal values. [AL11], card B1"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Block, Bools, Column64, Ints, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.coalesce import CoalesceOp
from backend.operators.network.relational.keys import KeyTable, SlotValues, key_columns
from backend.operators.network.temporal.coalesce_kernel import (
    MEMBER_WORDS,
    RUN_WORDS,
    TAKEN,
    TOLD,
    TOLD_WORDS,
    ValidElements,
    coalesce,
    work_path,
)
from backend.operators.network.temporal.ordered import LEVELS, N_FREE, USED, IntervalArrays

_FIRST: Final = 64
_ROOM: Final = 256


class IntervalLists:
    """A list of intervals for each value group, in regions. words: columns of a node."""

    def __init__(self, regions: Regions, words: int, groups: KeyTable) -> None:
        self._regions, self._words = regions, words
        self.facts: Ints = regions.array("facts", "int64", 3)
        self._nodes = regions.array("nodes", "int64", _FIRST * words)
        self._links = regions.array("links", "int32", _FIRST * LEVELS)
        self._heads = SlotValues(regions, "heads", "int32", groups, LEVELS)

    def __len__(self) -> int:
        return int(self.facts[USED] - self.facts[N_FREE])

    def make_room(self, n_more: int) -> None:
        """For so many nodes more."""
        size, needed = len(self._nodes) // self._words, len(self) + n_more
        if needed > size:
            size = max(2 * size, needed)
            self._nodes = self._regions.resized("nodes", size * self._words)
            self._links = self._regions.resized("links", size * LEVELS)

    @property
    def arrays(self) -> IntervalArrays:
        """As the kernel takes them."""
        return IntervalArrays(
            self._nodes.reshape(-1, self._words),
            self._links.reshape(-1, LEVELS),
            self._heads.array.reshape(-1, LEVELS),
            self.facts,
        )


def valid_elements(block: Block, closed: int) -> Block:
    """The elements that are valid at some instant, with half-open intervals in the last two
    columns. closed: what ends grow by for that."""
    start, end = block.columns[-2:]
    if closed:
        end = Column64(end.values + closed, end.valid)
        block = block.having((*block.columns[:-1], end))
    keep: Bools = start.is_valid & end.is_valid & (start.values < end.values)
    return block if keep.all() else block.take(keep)


class CoalesceOperator(OperatorFrame):
    """Tells a run that ends, grows or falls apart with -, and what it is then with +.

    Tuples valid at no instant (NULL, or an end that is not after the start) are in no run. Between
    the first and the last element of a tick it may tell what is not true at its end.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._closed = planned.doing(CoalesceOp).closed
        self._n_values = len(self.fields) - 2
        fields = self.fields[: self._n_values]
        self._groups = KeyTable(self._regions.scope("groups"), dtypes_of(fields))
        self._sizes = SlotValues(self._regions, "sizes", "int64", self._groups)
        self._members = IntervalLists(self._regions.scope("members"), MEMBER_WORDS, self._groups)
        self._runs = IntervalLists(self._regions.scope("runs"), RUN_WORDS, self._groups)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = valid_elements(inputs[0], self._closed)
        if not len(block):
            return empty(self.fields)
        slots = self._groups.slots(key_columns(block, range(self._n_values)))
        changes = self._changes(slots, block)
        rows = changes[:, 0]
        values = [column.take(rows) for column in block.columns[: self._n_values]]
        ends = (Column64(np.ascontiguousarray(changes[:, place])) for place in (1, 2))
        self._groups.release(slots[self._sizes.array[slots] == 0])
        return Block(block.tau[rows], changes[:, 3].astype(np.int8), (*values, *ends))

    def _changes(self, slots: Ints, block: Block) -> Ints:
        """int64[m, TOLD_WORDS]: what the elements do to runs, in their order."""
        starts, ends = (column.values for column in block.columns[-2:])
        elements = ValidElements(slots, block.sign, starts, ends)
        for lists in (self._members, self._runs):
            lists.make_room(len(block) + 1)
        done, path = np.zeros(2, np.int64), work_path()
        parts, room = [], max(_ROOM, 4 * len(block))
        while done[TAKEN] < len(block):
            changes, taken = np.empty((room, TOLD_WORDS), np.int64), done[TAKEN]
            members, runs, sizes = self._members.arrays, self._runs.arrays, self._sizes.array
            coalesce(elements, members, runs, sizes, changes, done, path)
            parts.append(changes[: done[TOLD]])
            room *= 1 + (done[TAKEN] == taken)
        return np.concatenate(parts)

    @property
    def n_tuples(self) -> int:
        """Different tuples that are coalesced."""
        return len(self._members)

    @property
    def n_bytes(self) -> int:
        per_node = 8 * MEMBER_WORDS + 4 * LEVELS
        per_run = 8 * RUN_WORDS + 4 * LEVELS
        groups = len(self._groups) * (self._groups.bytes_per_key + 8 + 8 * LEVELS)
        return len(self._members) * per_node + len(self._runs) * per_run + groups

    def counters(self) -> Mapping[str, float]:
        return {"runs": len(self._runs)}
