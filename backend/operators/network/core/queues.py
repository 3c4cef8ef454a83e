"""Queues: elements that wait for an operator in nondecreasing τ, and what later ones can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import FOREVER, NEVER, Block, Ints, concat, empty


class Queue:
    """Connects an operator to one input of another. heartbeat: no later element has a smaller τ.

    fields: columns of its elements; capacity: the most it should hold, None: without limit.
    """

    def __init__(self, fields: Sequence[Attribute], capacity: int | None = None) -> None:
        self.heartbeat = NEVER
        self.capacity = capacity
        self.n_passed, self.high = 0, 0
        self._none = empty(fields)
        self._blocks: deque[Block] = deque()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def room(self) -> int:
        """Elements that it may take in."""
        return FOREVER if self.capacity is None else max(0, self.capacity - self._length)

    @property
    def element_bytes(self) -> int:
        """Of one element, as in the queue."""
        return 9 + 8 * len(self._none.columns)

    @property
    def head(self) -> int:
        """τ of the first element; FOREVER where there is none."""
        return int(self._blocks[0].tau[0]) if self._blocks else FOREVER

    def push(self, block: Block, heartbeat: int) -> None:
        """Append elements, and say what holds for those after them."""
        if len(block):
            self._blocks.append(block)
            self._length += len(block)
            self.n_passed += len(block)
            self.high = max(self.high, self._length)
        self.heartbeat = max(self.heartbeat, heartbeat)

    def first(self, n: int) -> Ints:
        """τ of the first n elements, fewer where there are no more."""
        taus: list[Ints] = []
        for block in self._blocks:
            if n <= 0:
                break
            taus.append(block.tau[:n])
            n -= len(taus[-1])
        return np.concatenate(taus) if taus else self._none.tau

    def take(self, n: int) -> Block:
        """The first n elements, or all."""
        blocks: list[Block] = []
        while self._blocks and n > 0:
            block = self._blocks.popleft()
            if len(block) > n:
                self._blocks.appendleft(block.take(slice(n, None)))
                block = block.take(slice(n))
            blocks.append(block)
            n -= len(block)
            self._length -= len(block)
        return concat(blocks) if blocks else self._none

    def take_until(self, tau: int) -> Block:
        """All elements up to τ, those with τ included."""
        n = 0
        for block in self._blocks:
            own = int(np.searchsorted(block.tau, tau, side="right"))
            n += own
            if own < len(block):
                break
        return self.take(n)
