"""How many tuples of each key group a window would hold if it kept all. Card B8"""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.core.regions import Regions


class KeyCounts:
    """Arrivals of the span at work and of the one before by key group, in the window's regions:
    those of the one before count as far as the window reaches back. span: ticks or rows."""

    def __init__(self, regions: Regions, span: int) -> None:
        self._now = regions.array("key span", "int64", 1)
        counts = regions.array("key counts", "int64", 2 * N_GROUPS)
        self._counts, self._span = counts.reshape(2, N_GROUPS), span

    def add(self, groups: Ints, marks: Ints) -> None:
        """Tuples that come. marks: when, ascending."""
        if not len(marks):
            return
        spans = marks // self._span
        self._go_on(int(spans[-1]))
        for before, counts in enumerate(self._counts):
            counts += np.bincount(groups[spans == self._now[0] - before], minlength=N_GROUPS)

    def at(self, mark: int) -> Ints:
        """int64[N_GROUPS]."""
        self._go_on(mark // self._span)
        left = self._span - 1 - mark % self._span
        whole: Ints = self._counts[0] + self._counts[1] * left // self._span
        return whole

    def _go_on(self, span: int) -> None:
        n = span - int(self._now[0])
        if n > 0:
            self._counts[1] = self._counts[0] if n == 1 else 0
            self._counts[0], self._now[0] = 0, span
