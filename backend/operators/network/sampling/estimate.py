"""estimate: aggregates of a whole window from those of a sample, with intervals. Card B8"""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Block, Column64, Ints, dtype_of
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.sampling import EstimateOp
from backend.operators.network.relational.episodes import EpisodeFinder, Episodes
from backend.operators.network.relational.keys import KeyTable, SlotValues, key_columns
from backend.operators.network.relational.telling import GroupTeller, Results
from backend.operators.network.sampling.estimates import (
    AVG,
    COUNT,
    FIRST,
    LINKED,
    SUM,
    Cells,
    Estimated,
    follow,
)

_FUNCTIONS: Final = {"count": COUNT, "sum": SUM, "avg": AVG}


class EstimateOperator(GroupTeller):
    """Estimates at work. A cell is what came of a group with one probability; a group all of whose
    tuples are there for sure is told as it is."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        work = self._work = planned.doing(EstimateOp)
        counts = [call.function == "count" for call in work.calls]
        every = [*counts, *(is_count for is_count in counts for _ in range(2))]
        super().__init__(planned, surroundings, range(work.n_groups), every)
        fields, first = self.input_fields(0), work.n_groups + 1
        keys = dtypes_of(fields[: work.n_groups]) or (np.dtype(np.int64),)
        self._groups = KeyTable(self._regions.scope("groups"), keys)
        cell_key = np.dtype(np.int64), np.dtype(np.float64)
        self._cells = KeyTable(self._regions.scope("cells"), cell_key)
        self._heads = SlotValues(self._regions, "heads", "int64", self._groups)
        self._width = FIRST + 2 * (len(fields) - first)
        self._words = SlotValues(self._regions, "words", "int64", self._cells, self._width)
        floats = [dtype_of(field.type) == np.float64 for field in fields[first:]]
        self._floats = np.array(floats, bool)
        self._calls = np.array(
            [
                (_FUNCTIONS[call.function], *(place - first for place in places))
                for call in work.calls
                for places in [(call.exact, call.n, call.total, call.squares)]
            ]
        )
        results = self.fields[work.n_groups : work.n_groups + len(work.calls)]
        self._dtypes = dtypes_of(results)
        self._finder = EpisodeFinder()

    def _changes(self, block: Block, begin: int) -> Block:
        groups = self._groups.slots(key_columns(block, self._group_places))
        episodes = self._finder.find(groups, block.tau, self._groups.capacity)
        slots = self._cells.slots((Column64(groups), block.columns[self._work.n_groups]))
        out = self._followed(block, episodes, slots)
        existed, exists = out.exists
        if not self._work.n_groups:
            existed, exists = block.tau[episodes.first] > begin, np.ones_like(exists)
        changes = self._told(block, episodes, existed, exists, self._results(out))
        self._cells.release(slots[self._words.array[slots * self._width + LINKED] == 0])
        self._groups.release(episodes.group[self._heads.array[episodes.group] == 0])
        return changes

    def _followed(self, block: Block, episodes: Episodes, slots: Ints) -> Estimated:
        shape = 2, len(episodes), len(self._work.calls)
        out = Estimated(
            np.zeros(shape, np.int64),
            np.zeros((*shape, 2)),
            np.zeros(shape, bool),
            np.zeros(shape, bool),
            np.zeros(shape[:2], bool),
        )
        columns = block.columns[self._work.n_groups + 1 :]
        values = [np.ascontiguousarray(column.values).view(np.int64) for column in columns]
        given = np.stack([*values, *(column.is_valid for column in columns)], axis=1)
        cells = Cells(
            self._cells.words.reshape(-1, self._cells.width),
            self._words.array.reshape(-1, self._width),
            self._heads.array,
            self._floats,
        )
        is_whole = np.array([dtype == np.int64 for dtype in self._dtypes])
        last = np.empty(len(episodes), np.int64)
        last[episodes.number] = np.arange(len(block))
        elements = episodes.slot, episodes.number, last, slots, block.sign.astype(np.int64), given
        follow(*elements, cells, self._calls, is_whole, out)
        return out

    def _results(self, out: Estimated) -> list[Results]:
        """Of each call, then the ends of its interval."""
        calls = range(len(self._work.calls))
        values = [
            [
                Column64(out.values[side, :, k].copy().view(dtype), out.is_known[side, :, k])
                for side in (0, 1)
            ]
            for k, dtype in zip(calls, self._dtypes, strict=True)
        ]
        ends = [
            [
                Column64(np.ascontiguousarray(out.ends[side, :, k, end]), out.has_ends[side, :, k])
                for side in (0, 1)
            ]
            for k in calls
            for end in (0, 1)
        ]
        return [*values, *ends]

    @property
    def n_tuples(self) -> int:
        """Groups by probability."""
        return len(self._cells)

    @property
    def n_bytes(self) -> int:
        of_cells = len(self._cells) * (self._cells.bytes_per_key + 8 * self._width)
        return of_cells + len(self._groups) * (self._groups.bytes_per_key + 8)
