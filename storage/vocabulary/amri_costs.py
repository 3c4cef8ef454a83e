"""What an index configuration costs: Eq. 1 and its refinement. [WRA13] §5.1, card A5

A configuration (IC) gives each join attribute of a state bits of the bucket id, so that an index of
B bits has 2^B buckets. Costs are per time unit, in the unit of ``WorkCosts``. Pure: the decision
core selects by them, and the dashboard prices by them what other bits would have cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
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
#: Looking a bucket of an index up takes about as long as reading so many codes.
CODES_A_BUCKET: Final = 4
#: Of an attribute that is compared by order: more of them tell nothing apart.
ORDERED_BITS: Final = 8


@dataclass(frozen=True, slots=True)
class WorkCosts:
    """C_h of hashing an attribute, C_c of comparing a tuple, C_i and C_d of inserting and deleting,
    C_b of visiting a bucket, of a link of a hash module, of reading the code of a tuple that is
    not compared; counted (1), or measured. move: of moving a tuple to another configuration where
    that was measured, else None."""

    hash: float = 1.0
    compare: float = 1.0
    insert: float = 1.0
    delete: float = 1.0
    bucket: float = 0.0
    link: float = 1.0
    code: float = 0.0
    move: float | None = None


COUNTED = WorkCosts()
#: Of reading a code, as a share of comparing a tuple: both as ``bench amri`` measures them.
CODE_READ: Final = 0.12
#: An index by bits goes to its buckets where that is less than reading all codes of a partition, a
#: bucket for four of them (ADR 32): what is counted beside Eq. 1.
REFINED = WorkCosts(bucket=CODES_A_BUCKET * CODE_READ, code=CODE_READ)


@dataclass(frozen=True)
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
    _priced: dict[tuple[int, int], PricedCandidates] = field(
        init=False, compare=False, repr=False, default_factory=dict
    )

    def forget(self) -> None:
        """What candidates cost under it."""
        self._priced.clear()

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """In the order of the arrays below."""
        return tuple(self.frequencies)

    @cached_property
    def shares(self) -> Floats:
        """float64[patterns]: F."""
        return np.array([*self.frequencies.values()], dtype=np.float64)

    @cached_property
    def stored(self) -> Floats:
        """float64[patterns]: λ_d·W_ap, the tuples in the window of a pattern."""
        windows = [self.windows.get(pattern, self.window) for pattern in self.frequencies]
        return self.arrivals * np.array(windows, dtype=np.float64)

    @cached_property
    def specified(self) -> NDArray[np.bool_]:
        """bool[patterns, attributes]; not to be written to."""
        return _specified(self.patterns, self.n)


class CostParts(NamedTuple):
    """float64[candidates] each: C_hash,I + C_hash,SR + C_search (Eq. 1); buckets visited and codes
    read in vain."""

    hash_insert: Floats
    hash_request: Floats
    search: Floats
    buckets: Floats

    @property
    def total(self) -> Floats:
        """C_D."""
        return self.hash_insert + self.hash_request + self.search + self.buckets


_specified = lru_cache(maxsize=64)(specified)


@lru_cache(maxsize=64)
def uniform_reach(n: int, bits: int) -> Floats:
    """float64[attributes, bits + 1]: the share 2^-b of the tuples that one code of b bits leaves,
    if values are spread evenly. Not to be written to."""
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
        n_known = self.reach.shape[1]
        if bits < n_known:
            return self.reach[:, : bits + 1]
        return self.reach[:, np.minimum(np.arange(bits + 1), n_known - 1)]

    def compared(
        self, load: SearchLoad, candidates: Candidates, stored: Floats | None = None
    ) -> Floats:
        """float64[candidates, patterns]: tuples that a request compares, n/2^B_ap by Eq. 1.
        stored: float64[candidates, 1], of each where it is not that of the load."""
        left = np.exp2(self._log_left(load.n, candidates) @ load.specified.T)
        corrections = [self.corrections.get(pattern, 1.0) for pattern in load.patterns]
        of_all = load.stored if stored is None else stored
        n_compared: Floats = left * (of_all * np.array(corrections, dtype=np.float64))
        return n_compared

    def visited(
        self, load: SearchLoad, candidates: Candidates, stored: Floats | None = None
    ) -> Floats:
        """float64[candidates, patterns]: occupied buckets that a request visits, of an attribute
        that it compares by order those in its range."""
        log_left, in_range = self._log_left(load.n, candidates), self._in_range(load, candidates)
        wild = np.exp2(candidates @ ~load.specified.T + in_range @ load.specified.T)
        filled = np.exp2((in_range - log_left).sum(axis=1))[:, None]
        of_all = load.stored if stored is None else stored
        occupied = np.minimum(filled, of_all / self.segments)
        n_visited: Floats = self.segments * np.minimum(wild, occupied)
        return n_visited

    def priced(self, load: SearchLoad, candidates: Candidates) -> PricedCandidates:
        """What each candidate costs; of candidates that are not written to worked out once."""
        if candidates.flags.writeable:
            return self._price(load, candidates)
        known, key = load._priced, (id(self), id(candidates))
        if key not in known:
            known[key] = self._price(load, candidates)
        return known[key]

    def one(self, load: SearchLoad, bits: Bits) -> PricedCandidates:
        """What one configuration costs: as it was worked out among others, if it was."""
        for priced in load._priced.values():
            if priced.model is self and (place := priced.places.get(bits)) is not None:
                return priced.at(place)
        return self.priced(load, np.array([bits], dtype=np.int64))

    def of_slices(
        self, load: SearchLoad, n_tuples: Sequence[int], candidates: Candidates
    ) -> PricedCandidates:
        """What requests to slices of so many tuples cost, each with its bits."""
        stored = np.array(n_tuples, dtype=np.float64)[:, None]
        return replace(self, segments=1.0)._price(load, candidates, stored)

    def _price(
        self, load: SearchLoad, candidates: Candidates, stored: Floats | None = None
    ) -> PricedCandidates:
        compared = self.compared(load, candidates, stored)
        hashed, buckets = self._ways(load, candidates)
        if self.costs.code and self.visits:
            in_vain = np.maximum(0.0, (load.stored if stored is None else stored) - compared)
            codes = self.segments * self.bucket + in_vain * self.costs.code
            got_at = np.minimum(buckets * (self.segments * self.bucket), codes)
        else:
            got_at = self.visited(load, candidates, stored) * self.bucket
        return PricedCandidates(load, self, candidates, hashed, compared, got_at)

    def _ways(self, load: SearchLoad, candidates: Candidates) -> tuple[Floats, Floats]:
        if load.ordered:
            return _ways(candidates, load.patterns, load.n, self._in_range(load, candidates))
        if candidates.flags.writeable:
            return _ways(candidates, load.patterns, load.n)
        return _held_ways(_HeldCandidates(candidates), load.patterns, load.n)

    def request_costs(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates, patterns]: of one request, hashing weighted."""
        return self.priced(load, candidates).requests

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
        return self.priced(load, candidates).parts()

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

    def _in_range(self, load: SearchLoad, candidates: Candidates) -> Floats:
        """float64[candidates, attributes]: log2 of the codes in the range of a request, of
        attributes that it compares by order."""
        log_codes = np.minimum(candidates, ORDERED_BITS) + self._log_left(load.n, candidates)
        return np.where(specified([load.ordered], load.n), log_codes, 0.0)


class _HeldCandidates:
    """An array that is not written to, for tables that are kept with it."""

    def __init__(self, array: Candidates) -> None:
        self.array = array

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HeldCandidates) and self.array is other.array


def _ways(
    candidates: Candidates, patterns: tuple[Pattern, ...], n: int, in_range: Floats | None = None
) -> tuple[Floats, Floats]:
    """float64[candidates, patterns] each, of a request: the attributes it has hashed, and the
    buckets of a segment that its wild cards and ranges stand for: those below all that is known are
    a stretch of one, with a range that ends it; infinite where nothing is known (ADR 32). in_range:
    see ``IndexCosts``; None: nothing is asked for by order."""
    asked = specified(patterns, n)
    hashed = (candidates > 0).astype(np.float64) @ asked.T
    is_known = np.zeros(hashed.shape, dtype=np.bool_)
    wild = np.zeros(hashed.shape)
    ranges = np.zeros(candidates.shape) if in_range is None else in_range
    for a in reversed(range(n)):
        bits, known = candidates[:, a, None], asked[:, a]
        wild += is_known * np.where(known, ranges[:, a, None], bits)
        is_known |= (bits > 0) & known
    return hashed, np.where(is_known, np.exp2(wild), np.inf)


@lru_cache(maxsize=16)
def _held_ways(
    held: _HeldCandidates, patterns: tuple[Pattern, ...], n: int
) -> tuple[Floats, Floats]:
    return _ways(held.array, patterns, n)


@lru_cache(maxsize=16)
def _held_places(held: _HeldCandidates) -> Mapping[Bits, int]:
    return {tuple(bits): place for place, bits in enumerate(held.array.tolist())}


def places_of(candidates: Candidates) -> Mapping[Bits, int]:
    """By configuration; of candidates that are not written to."""
    return _held_places(_HeldCandidates(candidates))


@dataclass(frozen=True)
class PricedCandidates:
    """A load under candidates. hashed, compared, got_at: float64[candidates, patterns], of one
    request the attributes hashed, the tuples compared, and what getting at these costs: buckets
    visited or, where codes are priced, whatever is less of these and of all codes of a segment."""

    load: SearchLoad
    model: IndexCosts
    candidates: Candidates
    hashed: Floats
    compared: Floats
    got_at: Floats

    @cached_property
    def searching(self) -> Floats:
        """float64[candidates, patterns]: of one request, comparing tuples and getting at them."""
        return self.compared * self.model.costs.compare + self.got_at

    @cached_property
    def requests(self) -> Floats:
        """float64[candidates, patterns]: of one request, hashing weighted."""
        return self.hashed * self.model.costs.hash + self.searching

    @cached_property
    def upkeep(self) -> Floats:
        """float64[candidates]: C_hash,I."""
        return self.model.upkeep(self.load, self.candidates)

    @cached_property
    def total(self) -> Floats:
        """float64[candidates]: C_D."""
        if self.model.literal:
            return self.parts().total
        return self.upkeep + self.load.requests * (self.requests @ self.load.shares)

    def parts(self) -> CostParts:
        """C_D, part by part."""
        load, costs = self.load, self.model.costs
        weights = np.ones(len(load.patterns)) if self.model.literal else load.shares
        asked = load.requests * load.shares
        return CostParts(
            self.upkeep,
            load.requests * (self.hashed @ weights) * costs.hash,
            self.compared @ asked * costs.compare,
            self.got_at @ asked,
        )

    @property
    def places(self) -> Mapping[Bits, int]:
        """Of the candidates, which are not written to."""
        return places_of(self.candidates)

    def at(self, place: int) -> PricedCandidates:
        """One of them."""
        row = slice(place, place + 1)
        return PricedCandidates(
            self.load, self.model, self.candidates[row],
            self.hashed[row], self.compared[row], self.got_at[row],
        )  # fmt: skip
