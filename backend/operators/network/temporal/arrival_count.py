"""What windows that may drop tuples count their rows by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from backend.operators.network.core.blocks import Block, Ints
from backend.operators.network.core.contract import Clock
from backend.operators.network.kinds.windows import WindowOp


class ArrivalCount:
    """Numbers of a window's tuples: those in the stream ``counted``, of all its tuples in all
    shards, or their own where that is ''."""

    def __init__(self, window: WindowOp, counted: str, clock: Clock) -> None:
        self._is_numbered = bool(counted)
        first, taus = clock.arrived.get(counted, (0, np.zeros(0, np.int64)))
        self._by_rows = window.kind == "rows"
        self._first, self._taus = first, taus[: len(taus) * self._by_rows]

    def numbered(self, block: Block, own: Ints) -> Block:
        """The tuples of a batch with their numbers, from 1 on. own: int64[1], how many had numbers
        of their own."""
        if self._is_numbered and block.seq is not None:
            return replace(block, seq=block.seq + 1)
        first = int(own[0])
        if not self._is_numbered:  # else the clock has them, of all shards
            self._first, self._taus = first, block.tau[: len(block) * self._by_rows]
        own += len(block)
        return replace(block, seq=np.arange(first + 1, own[0] + 1))

    @property
    def ticks(self) -> tuple[Ints, Ints]:
        """Those at which the stream has tuples in the batch, and the number of the last of each;
        none for windows of time."""
        ticks = np.unique(self._taus)
        return ticks, self._first + np.searchsorted(self._taus, ticks, side="right")
