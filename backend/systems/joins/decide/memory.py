"""Memory of caches: whole pages of one pool, to those that make most of them. [B05] §5.5.6

Each cache wants pages in tiers. Without more knowledge it is one tier: all it expects to need, at
the priority (benefit - cost) / memory of the text. Where reuse distances were seen it is a tier for
each stretch of its miss-ratio curve, at what a page of it saves (card 15.9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

#: Keys that are expected at most, for each look-up.
_MOST_KEYS: Final = 64


class Tier(NamedTuple):
    """So many pages at a priority: what a page saves, per element of the join; infinite for what is
    to be served first."""

    n_pages: int
    priority: float


#: A cache, or a cache of one of several joins.
CacheT = TypeVar("CacheT", str, tuple[str, str])


def served(n_pages: int, wants: Mapping[str, Sequence[Tier]]) -> dict[str, int]:
    """Pages by cache, from the highest priority down: never more than there are. Tiers of a cache
    come in the order it fills them, priorities falling; of equal ones the first id is first.

    It is where the protocol of the text ends, in which a cache takes a free page, else one from a
    cache of lower priority.
    """
    found, left = dict.fromkeys(wants, 0), n_pages
    for cache, tier in _by_priority(wants):
        granted = min(left, tier.n_pages)
        found[cache] += granted
        left -= granted
    return found


class JoinDemand(NamedTuple):
    """What a join wants of the memory of a run. wants: of its caches, in pages of each shard.
    n_pages: its own pool, in each shard. n_shards: that its caches are in. share: its elements per
    element of all joins."""

    wants: Mapping[str, Sequence[Tier]]
    n_pages: int
    n_shards: int
    share: float


def divided(n_pages: int, demands: Mapping[str, JoinDemand]) -> dict[str, int]:
    """Pages of each shard by join, when joins share so many pages, all shards together: from the
    highest saving of a page per element of all joins down, none above its own pool.

    Inside a join caches are served in that order as well, so that ``served`` with these pages
    is what each of them has.
    """
    wants = {
        (join, cache): [_in_run(tier, one) for tier in tiers]
        for join, one in demands.items()
        for cache, tiers in one.wants.items()
    }
    found, left = dict.fromkeys(demands, 0), n_pages
    for (join, _), tier in _by_priority(wants):
        one = demands[join]
        granted = min(tier.n_pages, one.n_pages - found[join], left // one.n_shards)
        found[join] += granted
        left -= granted * one.n_shards
    return found


def _in_run(tier: Tier, demand: JoinDemand) -> Tier:
    if math.isinf(tier.priority):
        return tier
    return tier._replace(priority=tier.priority * demand.share / demand.n_shards)


def _by_priority(wants: Mapping[CacheT, Sequence[Tier]]) -> list[tuple[CacheT, Tier]]:
    ranked = [
        (-tier.priority, cache, place, tier)
        for cache, tiers in wants.items()
        for place, tier in enumerate(tiers)
    ]
    return [(cache, tier) for _, cache, _, tier in sorted(ranked)]


def pages(n_bytes: float, page_bytes: int) -> int:
    """Whole pages for so many bytes, at least one."""
    return max(1, -(-int(np.ceil(n_bytes)) // page_bytes))


def keys_behind(miss_prob: float, n_probes: int, n_before: int = 0) -> float:
    """How many keys there are, if ``miss_prob`` of so many look-ups, after ``n_before`` others,
    were the first ones of their keys and all keys are as frequent: D (e^(-B/D) - e^(-(B+N)/D)) of
    them are; at most 64 keys a look-up."""
    low, high = 1.0, float(_MOST_KEYS * n_probes)
    wanted = miss_prob * n_probes
    for _ in range(60):
        middle = (low + high) / 2
        new = -middle * math.exp(-n_before / middle) * math.expm1(-n_probes / middle)
        if new < wanted:
            low = middle
        else:
            high = middle
    return high


def single_tier(net: float, n_pages: int) -> list[Tier]:
    """All pages at the priority of the text. net: benefit - cost."""
    return [Tier(n_pages, net / n_pages)]


class MissRatioCurve(NamedTuple):
    """How often a cache hits, by the keys it has room for. n_keys: ascending; hit_probs: share of
    all look-ups that hit then."""

    n_keys: tuple[int, ...]
    hit_probs: tuple[float, ...]

    @classmethod
    def of(cls, reuse: NDArray[np.int64]) -> MissRatioCurve | None:
        """From a histogram of reuse distances in keys: bin b holds 2^b .. 2^(b+1)-1 (bin 0 also 0),
        the last one those not seen again. None: nothing was sampled."""
        n = int(reuse.sum())
        if not n:
            return None
        hits = np.cumsum(reuse[:-1]) / n
        last = int(np.argmax(hits >= hits[-1]))
        places = range(last + 1)
        return cls(tuple(2 << b for b in places), tuple(hits[: last + 1].tolist()))

    def tiers(self, gain: float, key_bytes: float, page_bytes: int) -> list[Tier]:
        """Pages along the concave hull of the curve, each at what it saves. gain: what it saves if
        every look-up hits instead of none; key_bytes: of an entry."""
        at = [(0, 0.0)] + [
            (pages(n * key_bytes, page_bytes), hit)
            for n, hit in zip(self.n_keys, self.hit_probs, strict=True)
        ]
        found: list[Tier] = []
        for (before, low), (after, high) in pairwise(_hull(at)):
            found.append(Tier(after - before, gain * (high - low) / (after - before)))
        return found


def _hull(points: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """The upper concave hull of points of rising x; points that add nothing are left out."""
    found: list[tuple[int, float]] = []
    for x, y in points:
        if found and (x == found[-1][0] or y <= found[-1][1]):
            if y > found[-1][1]:
                found.pop()
            else:
                continue
        while len(found) > 1 and _slope(found[-2], found[-1]) <= _slope(found[-1], (x, y)):
            found.pop()
        found.append((x, y))
    return found


def _slope(first: tuple[int, float], second: tuple[int, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])
