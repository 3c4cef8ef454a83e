"""How often each value of a column is there in each group: for Distinct, min and max."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Column64, Ints, Signs, dtype_of
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.strings import Strings
from backend.operators.network.relational.episodes import Episodes
from backend.operators.network.relational.extremes import CODE, FLOAT, INTEGER, Extremes
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.selection.bits import kernel


class GroupValues:
    """The distinct values of one column in each group, NULL left out."""

    def __init__(
        self,
        regions: Regions,
        groups: KeyTable,
        field: Attribute,
        extremes: Collection[Literal["min", "max"]],
        strings: Strings,
    ) -> None:
        dtype = dtype_of(field.type)
        self._strings, self._is_text = strings, field.type == "string"
        self._kind = CODE if self._is_text else FLOAT if dtype == np.float64 else INTEGER
        self._values = KeyTable(regions.scope("values"), [np.dtype(np.int64), dtype])
        self._counts = SlotValues(regions, "counts", "int64", self._values)
        self._extremes = {
            word: Extremes(regions.scope(word), groups, self._values, word == "max")
            for word in sorted(extremes)
        }
        self._slots = self._deltas = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def n_bytes(self) -> int:
        """Bytes in use."""
        links = 3 * 4 * len(self._extremes)
        return len(self._values) * (self._values.bytes_per_key + 8 + links)

    def take(self, episodes: Episodes, column: Column64, sign: Signs) -> Ints:
        """The next elements' values; int64[n]: 1 for a value new in its group, -1 for one that is
        there no more, else 0."""
        n = len(column)
        self._slots, self._deltas = np.full(n, -1), np.zeros(n, np.int64)
        rows = np.arange(n) if column.valid is None else np.flatnonzero(column.valid)
        if len(rows):
            key = (Column64(episodes.slot[rows]), Column64(column.values[rows]))
            self._slots[rows] = self._values.slots(key)
            _count(self._counts.array, self._slots, sign, self._deltas)
        return self._deltas

    def extreme(self, word: Literal["min", "max"], episodes: Episodes) -> tuple[Column64, Column64]:
        """The extremes before and after each episode of the elements taken last; NULL of nothing.
        Asked for once for each word."""
        ranks = self._strings.ranks() if self._is_text else np.zeros(0, np.int64)
        change = self._extremes[word].follow(episodes, self._slots, self._deltas, self._kind, ranks)
        return self._column(change.before), self._column(change.after)

    def tidy(self) -> None:
        """Forget the values that are there no more after the elements taken last."""
        taken = self._slots[self._slots >= 0]
        self._values.release(taken[self._counts.array[taken] == 0])

    def _column(self, slots: Ints) -> Column64:
        column = self._values.columns(np.maximum(slots, 0))[1]
        return Column64(np.where(slots >= 0, column.values, 0), slots >= 0)


@kernel
def _count(counts: Ints, slots: Ints, sign: Signs, deltas: Ints) -> None:
    for i in range(len(slots)):
        if slots[i] >= 0:
            before = counts[slots[i]]
            after = before + sign[i]
            counts[slots[i]] = after
            deltas[i] = np.int64(after > 0) - np.int64(before > 0)
