"""What the indexes of an eddy want and have of memory that many share. [B05] §5.5.6, A14.16"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storage.vocabulary.memory import PAGE_BYTES, Bid, MemoryUse, Tier, served, wanted


@dataclass(slots=True)
class IndexPool:
    """The pages of an eddy. limit_bytes: of its own, 0 = none; granted: in each shard, by the pool
    of the run, None = that has no limit; n_shards: that it is in. wants: of each state, by name, in
    pages of each shard."""

    limit_bytes: int = 0
    granted: int | None = None
    wants: Mapping[str, Sequence[Tier]] = field(default_factory=dict)
    n_shards: int = 1

    @property
    def own_pages(self) -> int | None:
        """In each shard, by its own limit; None: it has none."""
        return self.limit_bytes // (PAGE_BYTES * self.n_shards) if self.limit_bytes else None

    @property
    def n_pages(self) -> int | None:
        """That it may have in each shard; None: as many as it wants."""
        limits = [limit for limit in (self.own_pages, self.granted) if limit is not None]
        return min(limits, default=None)

    def bid(self, arrivals: float, entity: str, indexes: Mapping[str, str]) -> Bid:
        """For the indexes of all states; arrivals: of a batch; indexes: the entity of each."""
        bid = Bid(
            self.wants,
            0,
            self.n_shards,
            arrivals,
            entity,
            indexes,
            "work",
            "index_pool_bytes",
            endless=True,
        )
        return bid.limited(self.limit_bytes)

    @property
    def bytes_by_state(self) -> dict[str, float]:
        """In each shard; infinite without a limit. States that want nothing yet share evenly what
        the others leave: their first tuples come before they can tell."""
        if self.n_pages is None:
            return dict.fromkeys(self.wants, math.inf)
        pages = served(self.n_pages, self.wants)
        new = [state for state, tiers in self.wants.items() if not tiers]
        left = (self.n_pages - sum(pages.values())) // max(1, len(new))
        pages |= dict.fromkeys(new, left)
        return {state: float(n * PAGE_BYTES) for state, n in pages.items()}

    def use(self, used: Mapping[str, int]) -> MemoryUse:
        """Of a batch, in all shards. used: bytes, by state."""
        n_pages, wishes = self.n_pages, wanted(self.wants)
        granted = wishes if n_pages is None else min(wishes, n_pages)
        return MemoryUse(granted * PAGE_BYTES * self.n_shards, used)
