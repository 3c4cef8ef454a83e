"""What a join under k-constraints has of the memory that all units of a run share."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from storage.vocabulary.memory import PAGE_BYTES, Bid, MemoryUse, Tier

#: All that it holds.
_PART: Final = "components"


class PoolPart(NamedTuple):
    """held_bytes: of the last batch; n_pages: that are granted, None: without limit; arrivals: of a
    batch."""

    held_bytes: int
    n_pages: int | None
    arrivals: float

    @property
    def wanted(self) -> int:
        """Pages."""
        return math.ceil(self.held_bytes / PAGE_BYTES)

    @property
    def time_weight(self) -> float:
        """What processor time is worth: less, the less of what is held is granted."""
        if self.n_pages is None or not self.wanted:
            return 1.0
        return min(1.0, self.n_pages / self.wanted)

    def bid(self, entity: str) -> Bid:
        """For the tuples it holds. They are there and needed, so they are served first; what
        constraints save is not asked for, and left to others."""
        wants = {_PART: [Tier(self.wanted, math.inf)]}
        return Bid(wants, self.wanted, 1, self.arrivals, entity)

    @property
    def use(self) -> MemoryUse:
        """Of the last batch."""
        granted = self.wanted if self.n_pages is None else min(self.wanted, self.n_pages)
        return MemoryUse(granted * PAGE_BYTES, {_PART: self.held_bytes})
