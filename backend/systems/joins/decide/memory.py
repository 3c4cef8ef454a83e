"""The tiers in which a cache wants pages. [B05] §5.5.6

Without more knowledge it is one tier: all it expects to need, at the priority (benefit - cost) /
memory of the text. Where reuse distances were seen it is a tier for
each stretch of its miss-ratio curve, at what a page of it saves (card 15.9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storage.vocabulary.memory import Tier

#: Keys that are expected at most, for each look-up.
_MOST_KEYS: Final = 64


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
        tiers: list[Tier] = []
        for (before, low), (after, high) in pairwise(_hull(at)):
            tiers.append(Tier(after - before, gain * (high - low) / (after - before)))
        return tiers


def _hull(points: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """The upper concave hull of points of rising x; points that add nothing are left out."""
    hull: list[tuple[int, float]] = []
    for x, y in points:
        if hull and (x == hull[-1][0] or y <= hull[-1][1]):
            if y > hull[-1][1]:
                hull.pop()
            else:
                continue
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return hull


def _slope(first: tuple[int, float], second: tuple[int, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])
