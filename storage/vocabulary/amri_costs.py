"""What an index configuration costs: Eq. 1 and its refinement. [WRA13] §5.1, card A5

A configuration (IC) gives each join attribute of a state bits of the bucket id, so that an index of
B bits has 2^B buckets. Costs are per time unit, in the unit of ``WorkCosts``. Pure: the decision
core selects by them, and the dashboard prices by them what other bits would have cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storage.vocabulary.amri_patterns import Pattern, attributes_of, specified

#: Bits by attribute.
Bits: TypeAlias = tuple[int, ...]
#: Several of them: int64[candidates, attributes].
Candidates: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
#: Bits of an index, at most.
MOST_BITS: Final = 64
#: Of an attribute that is compared by order: more of them tell nothing apart.
ORDERED_BITS: Final = 8
#: Configurations that are compared with each other one by one, at most.
MOST_CANDIDATES: Final = 5000
#: Costs that differ by so small a share are equal: what sums of floats differ by.
EQUAL: Final = 1e-12


@dataclass(frozen=True, slots=True)
class WorkCosts:
    """C_h of hashing an attribute, C_c of comparing a tuple, C_i and C_d of inserting and deleting,
    C_b of visiting a bucket, of a link of a hash module; counted (1), or measured in ns. move: of
    moving a tuple to another configuration where that was measured, else None."""

    hash: float = 1.0
    compare: float = 1.0
    insert: float = 1.0
    delete: float = 1.0
    bucket: float = 0.0
    link: float = 1.0
    move: float | None = None


COUNTED = WorkCosts()


@dataclass(frozen=True, slots=True)
class SearchLoad:
    """What is asked of a state. n: its attributes; ordered: those asked for by order alone, as a
    pattern. frequencies: F by pattern, shares of the requests (they need not sum to 1). arrivals,
    requests: λ_d, λ_r, per time unit. window: W in time units; windows: W_ap of patterns of which
    it is another one (of several queries the mean, weighted by their requests; card A1)."""

    n: int
    frequencies: Mapping[Pattern, float]
    arrivals: float = 1.0
    requests: float = 1.0
    window: float = 1.0
    windows: Mapping[Pattern, float] = field(default_factory=dict)
    ordered: Pattern = 0

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """In the order of the arrays below."""
        return tuple(self.frequencies)

    @property
    def shares(self) -> Floats:
        """float64[patterns]: F."""
        return np.array([*self.frequencies.values()], dtype=np.float64)

    @property
    def stored(self) -> Floats:
        """float64[patterns]: λ_d·W_ap, the tuples in the window of a pattern."""
        windows = [self.windows.get(pattern, self.window) for pattern in self.frequencies]
        return self.arrivals * np.array(windows, dtype=np.float64)

    @property
    def specified(self) -> NDArray[np.bool_]:
        """bool[patterns, attributes]."""
        return specified(self.patterns, self.n)


def even_split(n_attributes: int, n_bits: int, without: Pattern = 0) -> tuple[int, ...]:
    """As many bits for each attribute, one more for the first ones where some are left over; none
    for those of a pattern, if there are others."""
    own = [a for a in range(n_attributes) if not without >> (n_attributes - 1 - a) & 1]
    n = len(own or range(n_attributes))
    shares = iter([(n_bits + n - 1 - k) // n for k in range(n)])
    return tuple(next(shares) if a in own or not own else 0 for a in range(n_attributes))


class CostParts(NamedTuple):
    """float64[candidates] each: C_hash,I + C_hash,SR + C_search (Eq. 1), and bucket visits."""

    hash_insert: Floats
    hash_request: Floats
    search: Floats
    buckets: Floats

    @property
    def total(self) -> Floats:
        """C_D."""
        return self.hash_insert + self.hash_request + self.search + self.buckets


def uniform_reach(n: int, bits: int) -> Floats:
    """float64[attributes, bits + 1]: the share 2^-b of the tuples that one code of b bits leaves,
    if values are spread evenly."""
    return np.tile(np.exp2(-np.arange(bits + 1.0)), (n, 1))


def capped_reach(distinct: Sequence[float], bits: int, ordered: Pattern = 0) -> Floats:
    """As ``uniform_reach``, but no less than one of its distinct values (card A14.2).

    ordered: attributes that are asked for by order alone. Of these a request leaves the tuples in
    its range, one of ``distinct``, a half where that is not known, and as many of the others as
    there are in the code that the range ends in (ours)."""
    least = 1 / np.maximum(1.0, np.array(distinct, dtype=np.float64))
    reach: Floats = np.maximum(uniform_reach(len(distinct), bits), least[:, None])
    for a in attributes_of(ordered, len(distinct)):
        in_range = 0.5 if math.isinf(distinct[a]) else least[a]
        ends = np.exp2(-np.minimum(np.arange(bits + 1.0), ORDERED_BITS))
        reach[a] = in_range + (1 - in_range) * ends
    return reach


@dataclass(frozen=True, slots=True)
class IndexCosts:
    """How a load is priced.

    literal: the printed middle sum of Eq. 1, without F (W7). reach: see ``uniform_reach``;
    None: that. corrections: by pattern, tuples compared for each one that was expected (card
    A14.13). segments: indexes that a request searches. visits: bucket visits are counted, of 2^wild
    addressed buckets at most those that are occupied (card A14.2).
    """

    costs: WorkCosts = COUNTED
    literal: bool = False
    reach: Floats | None = None
    corrections: Mapping[Pattern, float] = field(default_factory=dict)
    segments: float = 1.0
    visits: bool = False

    def reach_of(self, n: int, bits: int) -> Floats:
        """float64[n, bits + 1]; the last column known stands for more bits."""
        if self.reach is None:
            return uniform_reach(n, bits)
        columns = np.minimum(np.arange(bits + 1), self.reach.shape[1] - 1)
        return self.reach[:, columns]

    def compared(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates, patterns]: tuples that a request compares, n/2^B_ap by Eq. 1."""
        left = np.exp2(self._log_left(load.n, candidates) @ load.specified.T)
        corrections = [self.corrections.get(pattern, 1.0) for pattern in load.patterns]
        n_compared: Floats = left * (load.stored * np.array(corrections, dtype=np.float64))[None, :]
        return n_compared

    def visited(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates, patterns]: occupied buckets that a request visits, of an attribute
        that it compares by order those in its range."""
        log_left, ordered = self._log_left(load.n, candidates), specified([load.ordered], load.n)
        log_codes = np.where(ordered, np.minimum(candidates, ORDERED_BITS), -log_left)
        in_range = np.where(ordered, log_codes + log_left, 0.0)
        wild = np.exp2(candidates @ ~load.specified.T + in_range @ load.specified.T)
        filled = np.exp2(log_codes.sum(axis=1))[:, None]
        occupied = np.minimum(filled, load.stored[None, :] / self.segments)
        n_visited: Floats = self.segments * np.minimum(wild, occupied)
        return n_visited

    def request_costs(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates, patterns]: of one request, hashing weighted."""
        costs: Floats = (candidates > 0).astype(np.float64) @ load.specified.T * self.costs.hash
        costs += self.compared(load, candidates) * self.costs.compare
        costs += self.visited(load, candidates) * self.bucket
        return costs

    def parts(self, load: SearchLoad, candidates: Candidates) -> CostParts:
        """Eq. 1 for each candidate.

        Table 2 of [AMRI] with λ_d = 100, λ_r = 50, W = 10: of the bits (1, 1, 2), (0, 2, 2) and
        (0, 1, 3) of A1, A2, A3 the first ones search least.

        >>> asked = {0b100: 0.04, 0b010: 0.10, 0b001: 0.10, 0b110: 0.04, 0b101: 0.16}
        >>> asked |= {0b011: 0.10, 0b111: 0.46}
        >>> load = SearchLoad(3, asked, arrivals=100, requests=50, window=10)
        >>> parts = IndexCosts().parts(load, np.array([[1, 1, 2], [0, 2, 2], [0, 1, 3]]))
        >>> parts.hash_insert.tolist(), parts.search.round(1).tolist()
        ([300.0, 200.0, 200.0], [8312.5, 8750.0, 8875.0])
        """
        hashed = (candidates > 0).astype(np.float64)
        weights = np.ones(len(load.patterns)) if self.literal else load.shares
        asked = load.requests * load.shares
        return CostParts(
            self.upkeep(load, candidates),
            load.requests * (hashed @ load.specified.T) @ weights * self.costs.hash,
            self.compared(load, candidates) @ asked * self.costs.compare,
            self.visited(load, candidates) @ asked * self.bucket,
        )

    def upkeep(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates]: C_hash,I."""
        hashed: Floats = load.arrivals * np.count_nonzero(candidates, axis=1) * self.costs.hash
        return hashed

    def chained(self, load: SearchLoad, module: Pattern, n_tuples: float) -> Floats:
        """float64[patterns]: of one request by a hash module in which n tuples agree with it;
        infinite where it cannot serve it."""
        each = module.bit_count() * self.costs.hash + n_tuples * self.costs.compare
        fits = np.array([module & p == module for p in load.patterns], dtype=np.bool_)
        return np.where(fits, each, np.inf)

    def linked(self, load: SearchLoad, module: Pattern) -> float:
        """A key and a link in a hash module for each arrival (card A2b)."""
        return load.arrivals * (module.bit_count() * self.costs.hash + self.costs.link)

    @property
    def bucket(self) -> float:
        """C_b, where visits are counted."""
        return self.costs.bucket if self.visits else 0.0

    def _log_left(self, n: int, candidates: Candidates) -> Floats:
        """float64[candidates, attributes]: log2 of the share that each attribute's code leaves."""
        reach = np.log2(self.reach_of(n, int(candidates.max(initial=0))))
        return reach[np.arange(n)[None, :], candidates]


def corrections(
    load: SearchLoad,
    model: IndexCosts,
    bits: Bits,
    measured: Mapping[Pattern, tuple[int, int]],
    least: int = 1,
) -> dict[Pattern, float]:
    """Measured against expected tuples compared, under one configuration (card A14.13). measured:
    by pattern requests, and tuples compared; of fewer requests than ``least`` nothing is said."""
    expected = model.compared(load, np.array([bits]))[0]
    factors = {}
    for pattern, expected_of in zip(load.patterns, expected.tolist(), strict=True):
        n_requests, n_compared = measured.get(pattern, (0, 0))
        if n_requests >= max(1, least) and expected_of > 0:
            factors[pattern] = (
                model.corrections.get(pattern, 1.0) * n_compared / (n_requests * expected_of)
            )
    return factors


def n_configurations(caps: Sequence[int], bits: int, at_most: bool = False) -> int:
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
