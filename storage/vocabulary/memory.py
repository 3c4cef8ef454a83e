"""Memory that many share: whole pages of one pool, to those that make most of them. [B05] §5.5.6

Each consumer wants pages in tiers, the first at what a page of it saves most; who saves most by a
page has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

#: Memory is granted in pages of so many bytes.
PAGE_BYTES: Final = 4096


class Tier(NamedTuple):
    """So many pages at a priority: what a page saves, per tuple of its consumer; infinite for what
    is to be served first."""

    n_pages: int
    priority: float


class Bid(NamedTuple):
    """What a consumer, such as a join with its caches, wants of the pool of a run. wants: of its
    parts, in pages of each shard. n_pages: its own limit, in each shard. n_shards: that it is in.
    weight: tuples it takes in a batch, lately; what it saves counts so often. entity: its pool.
    parts: of a part the entity it is for, of others its pool. unit: of what a page saves.
    limit: the knob behind n_pages, in bytes of all shards; '' = none. endless: 0 of it is no limit.
    rate: what all priorities are multiplied by, of the knob ``priced``, '' = none. ranked: they
    count for the run as they are, whatever tuples it takes and shards it is in.
    """

    wants: Mapping[str, Sequence[Tier]]
    n_pages: int
    n_shards: int
    weight: float
    entity: str = ""
    parts: Mapping[str, str] = {}
    unit: str = ""
    limit: str = ""
    endless: bool = False
    rate: float = 1.0
    priced: str = ""
    ranked: bool = False

    def in_run(self, priority: float) -> float:
        """A priority of its own as one among all consumers: for a page, per tuple of them all."""
        if math.isinf(priority):
            return priority
        return priority * self.rate * (1.0 if self.ranked else self.weight / self.n_shards)

    def limited(self, n_bytes: int) -> Bid:
        """It with another limit of its own, in bytes of all shards."""
        is_endless = self.endless and not n_bytes
        own = wanted(self.wants) if is_endless else n_bytes // (PAGE_BYTES * self.n_shards)
        return self._replace(n_pages=own)


class Grant(NamedTuple):
    """What a consumer has of it. n_pages: of each shard; None: the pool has no limit. share: its
    tuples per tuple of all consumers."""

    n_pages: int | None
    share: float


class MemoryUse(NamedTuple):
    """What a consumer did with it in a batch. used: bytes, by part."""

    granted_bytes: int
    used: Mapping[str, int]

    @property
    def used_bytes(self) -> int:
        """Of all parts."""
        return sum(self.used.values())


#: A part of a consumer, or a part of one of several consumers.
PartT = TypeVar("PartT", str, tuple[str, str])


def wanted(wants: Mapping[str, Sequence[Tier]]) -> int:
    """Pages of all parts."""
    return sum(tier.n_pages for tiers in wants.values() for tier in tiers)


def served(n_pages: int, wants: Mapping[str, Sequence[Tier]]) -> dict[str, int]:
    """Pages by part, from the highest priority down: never more than there are. Tiers of a part
    come in the order it fills them, priorities falling; of equal ones the first id is first.

    It is where the protocol of the text ends, in which a cache takes a free page, else one from a
    cache of lower priority.
    """
    pages, left = dict.fromkeys(wants, 0), n_pages
    for part, tier in _by_priority(wants):
        granted = min(left, tier.n_pages)
        pages[part] += granted
        left -= granted
    return pages


def divided(n_pages: int, bids: Mapping[str, Bid]) -> dict[str, int]:
    """Pages of each shard by consumer, when they share so many pages, all shards together: from the
    highest saving of a page per tuple of all consumers down, none above its own limit.

    Inside a consumer parts are served in that order as well, so that ``served`` with these pages
    is what each of them has.
    """
    wants = {
        (consumer, part): [Tier(n, bid.in_run(priority)) for n, priority in tiers]
        for consumer, bid in bids.items()
        for part, tiers in bid.wants.items()
    }
    pages, left = dict.fromkeys(bids, 0), n_pages
    for (consumer, _), tier in _by_priority(wants):
        bid = bids[consumer]
        granted = min(tier.n_pages, bid.n_pages - pages[consumer], left // bid.n_shards)
        pages[consumer] += granted
        left -= granted * bid.n_shards
    return pages


def _by_priority(wants: Mapping[PartT, Sequence[Tier]]) -> list[tuple[PartT, Tier]]:
    ranked = [
        (-tier.priority, part, place, tier)
        for part, tiers in wants.items()
        for place, tier in enumerate(tiers)
    ]
    return [(part, tier) for _, part, _, tier in sorted(ranked)]
