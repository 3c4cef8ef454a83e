"""What a window that may shed wants and has of memory that many share: pages by accuracy. [AL11]

A page is worth the accuracy that its tuples add, by the curve A(M) of the window as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from backend.operators.network.shedding.curve import AccuracyCurve
from storage.vocabulary.memory import PAGE_BYTES, Bid, MemoryUse, Tier

#: The only part of a bid.
_PART: Final = "window"
#: Pages that are asked for in each shard before anything is known.
_FIRST: Final = 256
#: A larger limit is taken from this share on, so that tuples are not turned for a page.
_MORE: Final = 0.125
_NS: Final = 1000
#: Of the last batches, arrivals count with this weight.
_NEW: Final = 0.125


@dataclass(slots=True)
class StatePool:
    """The pages of a window. limit_bytes: of its own, 0 = none; weight: of its accuracy; price:
    microseconds a tuple that one per cent of it is worth. n_shards: that it is in; row_bytes: of a
    tuple. granted: pages of each shard, by the pool of the run, None = that has no limit;
    in_force: pages that its limit is of, likewise. tiers: wanted in each shard; arrivals: of a
    batch, lately."""

    limit_bytes: int = 0
    weight: float = 1.0
    price: float = 0.0
    n_shards: int = 1
    row_bytes: int = 1
    in_force: int | None = None
    tiers: tuple[Tier, ...] = ()
    arrivals: float = 0.0

    def observe(self, curve: AccuracyCurve | None, n_arrived: int, enough: int = 0) -> None:
        """A batch is over. enough: tuples, more of which are not wanted; 0: all are."""
        self.arrivals += _NEW * (n_arrived - self.arrivals)
        if curve is not None and curve.is_new:
            self.tiers = tuple(self._tiers(curve, enough or math.inf))

    def _tiers(self, curve: AccuracyCurve, enough: float) -> Iterator[Tier]:
        """Of the concave envelope: per cent of accuracy that a page of a run of them adds. The
        first is worth all of it, as there is no answer without."""
        yield Tier(1, 100.0)
        hull = curve.envelope
        axis, accuracies = zip(*hull, strict=True)
        known = float(np.interp(self._per_page, axis, accuracies))
        had, least = 1, 100.0
        for tuples, accuracy in hull:
            n_pages = self._pages(min(tuples, enough)) - had
            if n_pages > 0:
                least = min(least, max(0.0, 100 * (accuracy - known) / n_pages))
                yield Tier(n_pages, least)
                had, known = had + n_pages, accuracy

    @property
    def _per_page(self) -> float:
        """Tuples in all that a page in each shard holds."""
        return self.n_shards * PAGE_BYTES / self.row_bytes

    def _pages(self, tuples: float) -> int:
        """In each shard, for so many tuples in all."""
        return math.ceil(tuples / self._per_page)

    @property
    def wants(self) -> list[Tier]:
        """What its curve says, in nanoseconds a tuple; and, last of all bids, room to grow into
        until it is looked at again."""
        worth = self.weight * self.price * _NS
        known = sum(tier.n_pages for tier in self.tiers)
        room = max(known, self._pages(2 * self.arrivals), 4) if known else _FIRST
        return [*(Tier(n, per_cent * worth) for n, per_cent in self.tiers), Tier(room, 0.0)]

    def bid(self, entity: str, kept: str) -> Bid:
        """Of a window. entity: of its operator; kept: of what that keeps."""
        bid = Bid(
            {_PART: self.wants},
            0,
            self.n_shards,
            self.arrivals,
            entity,
            {_PART: kept},
            "ns",
            "state_pool_bytes",
            endless=True,
        )
        return bid.limited(self.limit_bytes)

    @property
    def own_pages(self) -> int | None:
        """In each shard, by its own limit; None: it has none."""
        return self.limit_bytes // (PAGE_BYTES * self.n_shards) if self.limit_bytes else None

    def grant(self, n_pages: int | None) -> None:
        """Pages of each shard by the pool of the run. Fewer are obeyed at once."""
        now = self.in_force
        is_more = now is not None and n_pages is not None and n_pages > now
        if is_more and n_pages is not None and n_pages <= (1 + _MORE) * (now or 0):
            return
        self.in_force = n_pages

    @property
    def n_pages(self) -> int | None:
        """That it may have in each shard; None: as many as it wants."""
        limits = [pages for pages in (self.own_pages, self.in_force) if pages is not None]
        return min(limits, default=None)

    def limited(self, memory_tuples: int) -> int:
        """Tuples that it may keep in a shard, if it may keep so many by itself; 0 = all. Where
        there is not a page, one."""
        if self.n_pages is None:
            return memory_tuples
        fits = max(1, self.n_pages * PAGE_BYTES // self.row_bytes)
        return min(memory_tuples, fits) if memory_tuples else fits

    def use(self, n_tuples: int) -> MemoryUse:
        """Of a batch, in all shards."""
        asked = sum(tier.n_pages for tier in self.wants)
        granted = asked if self.n_pages is None else min(asked, self.n_pages)
        return MemoryUse(granted * PAGE_BYTES * self.n_shards, {_PART: n_tuples * self.row_bytes})

    def state(self) -> dict[str, Any]:
        """What a run that is resumed bids, and has, until the next batch."""
        return {"tiers": self.tiers, "in_force": self.in_force, "arrivals": self.arrivals}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take that up."""
        self.tiers = tuple(Tier(*tier) for tier in state["tiers"])
        self.in_force, self.arrivals = state["in_force"], state["arrivals"]
