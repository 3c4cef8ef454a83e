"""Memory of caches: whole pages of one pool, to those that make most of them. [B05] §5.5.6

Each cache wants pages in tiers. Without more knowledge it is one tier: all it expects to need, at
the priority (benefit - cost) / memory of the text. Where reuse distances were seen it is a tier for
each stretch of its miss-ratio curve, at what a page of it saves (card 15.9).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Tier(NamedTuple):
    """So many pages at a priority: what a page saves, per element of the join."""

    n_pages: int
    priority: float


class _Claim(NamedTuple):
    """A tier of a cache. rank: its place among all; 0 is served first."""

    rank: int
    cache: str
    n_pages: int


class PagePool:
    """Pages that caches hold. One that needs a page takes a free one, else one from a cache of
    lower priority, else goes on with what it has.

    n_granted, n_reclaimed: pages handed out, and taken back from caches that keep others.
    """

    def __init__(self, n_pages: int) -> None:
        self._n_pages = n_pages
        self._claims: dict[str, list[_Claim]] = {}
        self._held: dict[str, list[int]] = {}
        self.n_granted = self.n_reclaimed = 0

    @property
    def n_pages(self) -> int:
        return self._n_pages

    @property
    def n_free(self) -> int:
        return self._n_pages - sum(map(sum, self._held.values()))

    @property
    def held(self) -> dict[str, int]:
        """Pages by cache."""
        return {cache: sum(tiers) for cache, tiers in self._held.items()}

    def resize(self, n_pages: int) -> None:
        """Another size; where it is too small now, the pages of lowest priority go."""
        self._n_pages = n_pages
        lacking = -self.n_free
        for claim in self._by_rank()[::-1]:
            lacking -= self._take(claim, lacking)

    def want(self, wants: Mapping[str, Sequence[Tier]]) -> None:
        """What caches want from now on; the pages of others, and those that are no longer wanted,
        are free. Tiers of a cache come in the order it fills them; equal priorities: by id."""
        ranked = sorted(
            (-tier.priority, cache, place)
            for cache, tiers in wants.items()
            for place, tier in enumerate(tiers)
        )
        rank = {(cache, place): at for at, (_, cache, place) in enumerate(ranked)}
        self._claims = {
            cache: [_Claim(rank[cache, p], cache, tier.n_pages) for p, tier in enumerate(tiers)]
            for cache, tiers in wants.items()
        }
        held, self._held = self.held, {}
        for cache, claims in self._claims.items():
            left = held.get(cache, 0)
            self._held[cache] = []
            for claim in claims:
                self._held[cache].append(min(left, claim.n_pages))
                left -= self._held[cache][-1]

    def keep(self, caches: Container[str]) -> None:
        """The pages of other caches are free."""
        self._claims = {one: claims for one, claims in self._claims.items() if one in caches}
        self._held = {one: tiers for one, tiers in self._held.items() if one in caches}

    def ask(self, cache: str) -> int:
        """Fill a cache as far as it may; its pages then."""
        for place, claim in enumerate(self._claims[cache]):
            needed = claim.n_pages - self._held[cache][place]
            granted = min(needed, self.n_free)
            self._held[cache][place] += granted
            for lower in self._by_rank()[: claim.rank : -1]:
                if granted == needed:
                    break
                taken = self._take(lower, needed - granted)
                self._held[cache][place] += taken
                granted += taken
            self.n_granted += granted
            if granted < needed:
                break
        return sum(self._held[cache])

    def settle(self) -> dict[str, int]:
        """Have all caches ask until none gets more; pages by cache."""
        before: dict[str, int] = {}
        while self.held != before:
            before = self.held
            for cache in sorted(self._claims):
                self.ask(cache)
        return self.held

    def _by_rank(self) -> list[_Claim]:
        return sorted(claim for claims in self._claims.values() for claim in claims)

    def _take(self, claim: _Claim, n_pages: int) -> int:
        place = self._claims[claim.cache].index(claim)
        taken = max(0, min(n_pages, self._held[claim.cache][place]))
        self._held[claim.cache][place] -= taken
        self.n_reclaimed += taken
        return taken


def pages(n_bytes: float, page_bytes: int) -> int:
    """Whole pages for so many bytes, at least one."""
    return max(1, -(-int(np.ceil(n_bytes)) // page_bytes))


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
