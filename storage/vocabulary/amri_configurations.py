"""Index configurations: how bits can go to the attributes of a state. [WRA13] §6.1, card A5"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from storage.vocabulary.amri_costs import Bits, Candidates, Floats
from storage.vocabulary.amri_patterns import Pattern

#: Configurations that are compared with each other one by one, at most.
MOST_CANDIDATES: Final = 5000
#: Costs that differ by so small a share are equal: what sums of floats differ by.
EQUAL: Final = 1e-12


def even_split(n_attributes: int, n_bits: int, without: Pattern = 0) -> tuple[int, ...]:
    """As many bits for each attribute, one more for the first ones where some are left over; none
    for those of a pattern, if there are others."""
    own = [a for a in range(n_attributes) if not without >> (n_attributes - 1 - a) & 1]
    n = len(own or range(n_attributes))
    shares = iter([(n_bits + n - 1 - k) // n for k in range(n)])
    return tuple(next(shares) if a in own or not own else 0 for a in range(n_attributes))


@lru_cache(maxsize=64)
def n_configurations(caps: Bits, bits: int, at_most: bool = False) -> int:
    """How many ``configurations`` there are; C(B + N - 1, N - 1) of exactly B bits without caps
    ([WRA13] §6.1)."""
    ways = [1] + [0] * bits
    for cap in caps:
        ways = [sum(ways[b - min(cap, b) : b + 1]) for b in range(bits + 1)]
    return sum(ways) if at_most else ways[min(bits, sum(caps))]


@lru_cache(maxsize=32)
def configurations(caps: Bits, bits: int, at_most: bool = False) -> Candidates:
    """All vectors of exactly (or at most) so many bits, none above its cap, ascending. Exactly as
    many as the caps allow, where these allow fewer. Not to be written to."""
    room = sum(caps)
    bits = min(bits, room)
    rows: list[Bits] = [()]
    for place, cap in enumerate(caps):
        room -= caps[place]
        rows = [
            (*row, own)
            for row in rows
            for left in [bits - sum(row)]
            for own in range(0 if at_most else max(0, left - room), min(cap, left) + 1)
        ]
    vectors = np.array(rows, dtype=np.int64).reshape(len(rows), len(caps))
    vectors.flags.writeable = False
    return vectors


def cheapest(costs: Floats, candidates: Candidates) -> int:
    """The place of the one chosen: lower cost, then fewer indexed attributes, then the
    lexicographically larger vector (tie rule of card A5)."""
    least = float(costs.min())
    ties = np.flatnonzero(costs <= least + EQUAL * abs(least))
    if len(ties) > 1:
        some = candidates[ties]
        ties = ties[np.lexsort((*(-some[:, ::-1].T), np.count_nonzero(some, axis=1)))]
    return int(ties[0])
