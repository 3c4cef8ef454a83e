"""What the configurations of a state came to, against the best in hindsight (card A2b, A14.11).

Sums go on window by window, so that no history is kept: the best sequence is a dynamic program
over the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from storage.vocabulary.amri_configurations import cheapest
from storage.vocabulary.amri_costs import (
    MOST_BITS,
    REFINED,
    Bits,
    Candidates,
    Floats,
    IndexCosts,
    SearchLoad,
    WorkCosts,
    capped_reach,
)
from storage.vocabulary.amri_counts import NO_COUNTS, StateCounts
from storage.vocabulary.amri_patterns import Pattern, attributes_of, pattern_of
from storage.vocabulary.amri_ranges import LEAST_MEASURED, chain_lengths, range_shares


def window_load(
    n: int,
    frequencies: Mapping[Pattern, float],
    counts: StateCounts,
    n_stored: float,
    ordered: Pattern = 0,
) -> SearchLoad:
    """What was asked of a state of n attributes in a window; a time unit is the window. n_stored:
    tuples that a request finds there; ordered: see ``SearchLoad``."""
    arrivals = max(1, counts.arrivals)
    window = n_stored / arrivals
    return SearchLoad(n, frequencies, arrivals, counts.requests, window, ordered=ordered)


def window_model(
    load: SearchLoad,
    is_refined: bool,
    bits: Bits,
    n_segments: float,
    counts: StateCounts,
    by_modules: Collection[Pattern] = (),
    least: int = LEAST_MEASURED,
) -> IndexCosts:
    """Eq. 1, or refined by distinct values, bucket visits and what requests were measured to
    compare. bits: that they were measured with; by_modules: patterns that hash modules served;
    least: requests of a pattern from which they say something."""
    if not is_refined:
        return IndexCosts()
    distinct = distinct_values(load, counts, bits, by_modules)
    reach = capped_reach(distinct, MOST_BITS, load.ordered)
    model = IndexCosts(REFINED, reach=reach, segments=max(1, n_segments), visits=True)
    measured = {
        pattern: (requests, compared - codes)
        for pattern, (requests, _, compared, _, codes, *_) in counts.by_pattern.items()
        if pattern not in by_modules
    }
    factors = corrections(load, model, bits, measured, least)
    return replace(model, corrections=factors)


def distinct_values(
    load: SearchLoad, counts: StateCounts, bits: Bits, by_modules: Collection[Pattern] = ()
) -> list[float]:
    """By attribute how many values requests told apart, as those that asked for it alone saw:
    stored tuples for each one that matched (card A14.2), or, beside ranges, agreed. By order one of
    the share in range, see ``range_shares``. Infinite where that is not known."""
    values, in_range = [], range_shares(load, counts, bits, by_modules)
    stored = load.arrivals * load.window
    for attribute in range(load.n):
        own = pattern_of([attribute], load.n)
        if load.ordered & own:
            values.append(1 / in_range[attribute] if attribute in in_range else math.inf)
            continue
        requests, matched = counts.by_pattern.get(own, NO_COUNTS)[:2]
        alike: float = matched
        if requests < LEAST_MEASURED or not matched:
            requests, alike = _beside_ranges(load, counts, own, in_range)
        values.append(stored * requests / alike if alike else math.inf)
    return values


def _beside_ranges(
    load: SearchLoad, counts: StateCounts, own: Pattern, in_range: Mapping[int, float]
) -> tuple[int, float]:
    """Requests for an attribute by its value and for others by order alone, and tuples that agreed:
    those that matched, by the shares that were in range."""
    n_requests, agreed = 0, 0.0
    for pattern, (requests, matched, *_) in counts.by_pattern.items() if load.ordered else ():
        ranges = attributes_of(pattern & load.ordered, load.n)
        is_own = pattern & ~load.ordered == own and pattern != own
        if is_own and requests >= LEAST_MEASURED and in_range.keys() >= {*ranges}:
            n_requests += requests
            agreed += matched / math.prod(in_range[a] for a in ranges)
    return n_requests, agreed


def corrections(
    load: SearchLoad,
    model: IndexCosts,
    bits: Bits,
    measured: Mapping[Pattern, tuple[int, int]],
    least: int = 1,
) -> dict[Pattern, float]:
    """Measured against expected tuples compared, under one configuration (card A14.13). measured:
    by pattern requests, and tuples compared; of fewer requests than ``least`` nothing is said."""
    reach = model.reach_of(load.n, max(bits, default=0)).tolist()
    left = [of[b] for of, b in zip(reach, bits, strict=True)]
    factors = {}
    for pattern, stored in zip(load.patterns, load.stored.tolist(), strict=True):
        n_requests, n_compared = measured.get(pattern, (0, 0))
        if n_requests >= max(1, least) and stored > 0:
            share = math.prod(left[a] for a in attributes_of(pattern, load.n))
            factors[pattern] = n_compared / (n_requests * stored * share)
    return factors


class PassedWindow(NamedTuple):
    """A stretch in which a state was searched by the same access methods. counts: of all its
    requests; n_moved: tuples bucketed anew in it; n_searched: that a request finds, n_tuples: of
    the state, n_segments: indexes that a request searches, at its end. modules: hash modules beside
    the bits; served: patterns that go to these. ordered: attributes that are asked for by order
    alone. sizes: bytes of an index by bits and of a hash module; 0: not known."""

    bits: Bits
    counts: StateCounts
    n_moved: int
    n_searched: float
    n_tuples: int
    n_segments: float
    modules: tuple[Pattern, ...] = ()
    served: tuple[Pattern, ...] = ()
    ordered: Pattern = 0
    sizes: tuple[int, int] = (0, 0)

    @property
    def priced(self) -> tuple[SearchLoad, IndexCosts]:
        """What was asked, and the model corrected by what it was measured to compare."""
        counts, n = self.counts, len(self.bits)
        shares = {p: row[0] / counts.requests for p, row in counts.by_pattern.items()}
        load = window_load(n, shares, counts, self.n_searched, self.ordered)
        segments, served = self.n_segments, self.served
        return load, window_model(load, True, self.bits, segments, counts, served, least=1)

    def costs(self, candidates: Candidates) -> tuple[Floats, float]:
        """float64[candidates], what the requests would have cost under each, and what they cost,
        migrations among it. Of the bits in force both are what was measured: of the others the
        model says how many tuples more or less each pattern compares, and how much more or less
        getting at these takes."""
        counts, (load, model) = self.counts, self.priced
        parts, own = model.priced(load, candidates).parts(), model.one(load, self.bits).parts()
        load.forget()
        buckets = parts.buckets
        if not self.modules:
            got_at = counts.cost(replace(model.costs, compare=0.0))
            buckets = buckets * (got_at / own.buckets[0] if own.buckets[0] else 0.0)
        of_each = parts.hash_insert + parts.hash_request + parts.search + buckets
        moved = self.n_moved * (2 * np.count_nonzero(self.bits) + 2)
        hashed = float(own.hash_insert[0] + own.hash_request[0])
        hashed += sum(model.linked(load, module) for module in self.modules)
        hashed += sum(counts.by_pattern.get(p, (0,))[0] * p.bit_count() for p in self.served)
        return of_each, hashed + counts.cost(model.costs) + moved

    def mix_costs(self, candidates: Candidates, sets: Sequence[tuple[Pattern, ...]]) -> Floats:
        """float64[sets, candidates]: what the requests would have cost by bits beside each set of
        hash modules, each by what serves it for least."""
        load, model = self.priced
        priced, asked = model.priced(load, candidates), load.requests * load.shares
        lengths = chain_lengths(load, self.counts, self.bits, self.served)
        costs = np.zeros((len(sets), len(candidates)))
        for row, modules in enumerate(sets):
            requests = priced.requests
            for module in modules:
                chain = model.chained(load, module, lengths.get(module, self.n_searched))
                requests = np.minimum(requests, chain)
            linked = sum(model.linked(load, module) for module in modules)
            costs[row] = priced.upkeep + requests @ asked + linked
        load.forget()
        return costs

    def module_cost(self, modules: tuple[Pattern, ...]) -> float:
        """What the requests would have cost by hash modules alone; of those that none serves a
        scan."""
        none = np.zeros((1, len(self.bits)), dtype=np.int64)
        return float(self.mix_costs(none, [modules])[0, 0])


class StateSeen(NamedTuple):
    """A state at the end of a batch, as a record has it: its access methods as in PassedWindow, and
    all that it was asked, and moved, since its run began. Older records have no sizes."""

    counts: StateCounts
    n_moved: int
    n_searched: float
    n_tuples: int
    n_segments: float
    bits: Bits
    modules: tuple[Pattern, ...] = ()
    served: tuple[Pattern, ...] = ()
    ordered: Pattern = 0
    sizes: tuple[int, int] = (0, 0)

    def json(self) -> list[Any]:
        """As JSON-typed data."""
        return [self.counts.state(), *(list(f) if isinstance(f, tuple) else f for f in self[1:])]

    @classmethod
    def read(cls, known: list[Any]) -> Self:
        """As ``json`` has it."""
        counts, n_moved, n_searched, n_tuples, n_segments, *methods = known
        bits, modules, served, ordered, sizes = [*methods, (0, 0)][:5]
        numbers = (n_moved, n_searched, n_tuples, n_segments)
        access = tuple(bits), tuple(modules), tuple(served)
        return cls(StateCounts.restored(counts), *numbers, *access, ordered, (sizes[0], sizes[1]))

    def until(self, end: StateSeen) -> PassedWindow:
        """What passed from then on."""
        counts, n_moved = end.counts.since(self.counts), end.n_moved - self.n_moved
        return PassedWindow(
            self.bits, counts, n_moved, *end[2:5], self.modules, self.served, self.ordered,
            end.sizes,
        )  # fmt: skip


class RegretTotals(NamedTuple):
    """Since the beginning, in the unit of costs. spent: with the configurations in force, their
    changes among it; fixed: with the best single one, ``fixed_bits``; sequence: with the best
    sequence of them, its changes among it. n_windows: accounted for."""

    spent: float
    fixed: float
    fixed_bits: Bits
    sequence: float
    n_windows: int


class IndexRegret:
    """Of one state. candidates: int64[candidates, attributes]."""

    def __init__(self, candidates: Candidates, costs: WorkCosts) -> None:
        self.candidates, self.costs = candidates, costs
        self._spent, self._n_windows = 0.0, 0
        self._fixed = np.zeros(len(candidates))
        self._ending = np.zeros(len(candidates))

    def account(self, costs: Floats, spent: float, n_stored: int) -> None:
        """A window has passed. costs: float64[candidates], what it costs under each; spent: what
        it cost, changes since the last one among it; n_stored: tuples that a change before it would
        have moved. The first configuration is free."""
        if self._n_windows:
            self._ending = np.minimum(self._ending, self._changed(n_stored))
        self._ending = self._ending + costs
        self._fixed += costs
        self._spent += spent
        self._n_windows += 1

    @property
    def totals(self) -> RegretTotals:
        """Until now."""
        best = cheapest(self._fixed, self.candidates)
        bits = tuple(self.candidates[best].tolist())
        least = float(self._ending.min())
        return RegretTotals(self._spent, float(self._fixed[best]), bits, least, self._n_windows)

    def _changed(self, n_stored: int) -> Floats:
        """The least cost of ending in each candidate after a change from any: what moving n tuples
        costs is a sum of what the old one and the new one have."""
        if self.costs.move is not None:
            return np.full(len(self._ending), self._ending.min() + n_stored * self.costs.move)
        hashing = np.count_nonzero(self.candidates, axis=1) * self.costs.hash
        leaving = float((self._ending + n_stored * hashing).min())
        each = hashing + self.costs.insert + self.costs.delete
        least: Floats = leaving + n_stored * each
        return least

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "spent": self._spent,
            "n_windows": self._n_windows,
            "fixed": self._fixed.tolist(),
            "ending": self._ending.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken, of as many candidates; else begin anew."""
        if len(state["fixed"]) != len(self.candidates):
            return
        self._spent, self._n_windows = float(state["spent"]), int(state["n_windows"])
        self._fixed, self._ending = np.array(state["fixed"]), np.array(state["ending"])
