"""The best mix of bits and hash modules of a state within its bytes (card A2b, A14.16).

Bits serve the many rare patterns: a request that specifies s of N attributes scans W^(1 - s/N)
tuples. A hash module serves those that specify all of its attributes alone, for a link and a key
an arrival. The portfolio contains both sides of the paper's comparison.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final, NamedTuple

import numpy as np

from backend.systems.amri.selection import SelectionSettings, tried_of
from backend.systems.amri.sides import difference
from backend.systems.amri.switching import PairDifference
from storage.vocabulary.amri_costs import EQUAL, Bits, Floats, IndexCosts, SearchLoad, cheapest
from storage.vocabulary.amri_patterns import Pattern
from storage.vocabulary.memory import PAGE_BYTES, Tier

#: Modules of which all sets are tried; of more they are added one by one.
MOST_MODULES: Final = 8
#: So many times the bytes of what it has a state bids for.
ROOM: Final = 1.25


@dataclass(frozen=True, slots=True)
class IndexBytes:
    """What access methods of a state take as large as it is, in the shard where they take most: an
    index by bits, whatever their number (its directories are as large as its partitions, ADR 32),
    and a hash module."""

    by_bits: float = 0.0
    module: float = 0.0

    def of(self, bits: Sequence[int], n_modules: int) -> float:
        """No bits, no bytes."""
        return self.by_bits * any(bits) + self.module * n_modules


class Mix(NamedTuple):
    """Bits with hash modules beside them. cost: C_D, modules and all; n_bytes: of both."""

    bits: Bits
    modules: tuple[Pattern, ...]
    cost: float
    n_bytes: float


def most_frequent(
    frequencies: Mapping[Pattern, float], k: int, ordered: Pattern = 0
) -> tuple[Pattern, ...]:
    """The modules of the peer: the k most frequent patterns, of equal ones the larger mask.
    ordered: attributes that are asked for by order alone, which no module has."""
    shares: dict[Pattern, float] = {}
    for pattern, share in frequencies.items():
        shares[pattern & ~ordered] = shares.get(pattern & ~ordered, 0.0) + share
    ranked = sorted((p for p in shares if p), key=lambda p: (-shares[p], -p))
    return tuple(ranked[:k])


class PortfolioProblem:
    """Costs of all candidates, and of all modules that a pattern may deserve.

    chains: by module, how many tuples agree with a request in all of its attributes; a module
    without one is not tried. in_force: bits and modules that are tried whatever is asked for.
    n_tuples: of the state in all shards; None: it is in one. pinned: bits beside which modules
    are chosen alone, where these fit.
    """

    def __init__(
        self,
        load: SearchLoad,
        model: IndexCosts,
        settings: SelectionSettings,
        chains: Mapping[Pattern, float],
        sizes: IndexBytes,
        in_force: tuple[Bits, Collection[Pattern]] | None = None,
        n_tuples: float | None = None,
        pinned: Bits | None = None,
    ) -> None:
        self.load, self.model, self.sizes = load, model, sizes
        none = (0,) * load.n
        bits, held = in_force or (none, ())
        tried, self._is_greedy = tried_of(load, model, settings.caps_of(load.n), settings)
        tried = tried if pinned is None else np.array([pinned], np.int64)
        bits = bits if pinned is None else pinned
        self.pinned = pinned
        self.candidates = np.unique(np.vstack([none, bits, tried]), axis=0)
        searched = float(load.stored.max(initial=load.arrivals * load.window))
        self.n_tuples = searched if n_tuples is None else n_tuples
        self.requests = model.request_costs(load, self.candidates)
        self.upkeep = model.upkeep(load, self.candidates)
        asked = {p & ~load.ordered for p in load.patterns}
        deserved = {p for p in asked if p and p in chains} | {m for m in held if m}
        self.modules = tuple(sorted(deserved, reverse=True))
        self._chains = {m: model.chained(load, m, chains.get(m, searched)) for m in self.modules}

    def module_upkeep(self, module: Pattern) -> float:
        """A key and a link for each arrival (card A2b)."""
        return self.model.linked(self.load, module)

    def served(self, modules: Sequence[Pattern]) -> Floats:
        """float64[candidates, patterns]: of one request beside a set of modules; it goes to what
        serves it for less."""
        costs = self.requests
        for module in modules:
            costs = np.minimum(costs, self._chains[module][None, :])
        return costs

    def costs(self, modules: Sequence[Pattern]) -> Floats:
        """float64[candidates]: C_D of each beside a set of modules."""
        costs: Floats = self._costs_of([tuple(modules)])[0]
        return costs

    def _costs_of(self, sets: Sequence[tuple[Pattern, ...]]) -> Floats:
        """float64[sets, candidates]: C_D of each beside each set of modules."""
        own, n_patterns = self.modules, len(self.load.patterns)
        members = np.array([[m in modules for m in own] for modules in sets], dtype=np.bool_)
        chains = np.array([self._chains[m] for m in own]).reshape(len(own), n_patterns)
        by_modules = np.where(members[:, :, None], chains, np.inf).min(axis=1, initial=np.inf)
        spent = members @ np.array([self.module_upkeep(m) for m in own])
        costs: Floats = spent[:, None] + self.upkeep
        by_bits, asked = self.requests.T.copy(), self.load.requests * self.load.shares
        for place, n_requests in enumerate(asked.tolist()):
            costs += n_requests * np.minimum(by_bits[place], by_modules[:, place, None])
        return costs

    @property
    def is_greedy(self) -> bool:
        """Not all mixes are tried."""
        return self._is_greedy or len(self.modules) > MOST_MODULES

    @cached_property
    def mixes(self) -> tuple[Mix, ...]:
        """Of each number of modules that is tried the cheapest mix without bits, and with: all that
        have as many take as many bytes."""
        many = len(self.modules) > MOST_MODULES
        sets = list(self._one_by_one() if many else _all_sets(self.modules))
        costs, sizes = self._costs_of(sets), [len(modules) for modules in sets]
        groups = [slice(sizes.index(n), sizes.index(n) + sizes.count(n)) for n in sorted({*sizes})]
        return tuple(mix for of in groups for mix in self._mixes_with(sets[of], costs[of]))

    def _mixes_with(self, sets: Sequence[tuple[Pattern, ...]], costs: Floats) -> Iterator[Mix]:
        """The cheapest without bits, which is the first candidate, and with; of equally cheap sets
        the first one."""
        for some in (slice(0, 1), slice(1, len(self.candidates))):
            if some.start < some.stop:
                of_each = costs[:, some].min(axis=1)
                least = float(of_each.min())
                row = int(np.flatnonzero(of_each <= least + EQUAL * abs(least))[0])
                place = some.start + cheapest(costs[row, some], self.candidates[some])
                bits, modules = tuple(self.candidates[place].tolist()), sets[row]
                n_bytes = self.sizes.of(bits, len(modules))
                yield Mix(bits, modules, float(costs[row, place]), n_bytes)

    def growing(self, modules: Sequence[Pattern]) -> list[Mix]:
        """No bits, and the first 0, 1 … of these modules."""
        sets = [tuple(modules[:n]) for n in range(len(modules) + 1)]
        return [next(self._mixes_with([of], self._costs_of([of]))) for of in sets]

    def _one_by_one(self) -> Iterator[tuple[Pattern, ...]]:
        """No module, then each time the one more that makes it cheapest, as long as that helps."""
        chosen: tuple[Pattern, ...] = ()
        cost = math.inf
        while True:
            yield chosen
            longer = [(*chosen, m) for m in self.modules if m not in chosen]
            costs = self._costs_of(longer).min(axis=1).tolist() if longer else []
            least = min(costs, default=math.inf)
            if least >= cost:
                return
            near = least + EQUAL * abs(least)
            cost = least
            chosen = next(of for of, own in zip(longer, costs, strict=True) if own <= near)

    def place_of(self, bits: Bits) -> int:
        """The place of a candidate. Raises ValueError: it is none."""
        places: list[list[int]] = self.candidates.tolist()
        return places.index(list(bits))

    def serves(self, mix: Mix) -> dict[Pattern, Pattern | None]:
        """By pattern the module that serves it for less than the bits do; None: the bits."""
        place = self.place_of(mix.bits)
        serves: dict[Pattern, Pattern | None] = {}
        for k, pattern in enumerate(self.load.patterns):
            module = min(mix.modules, key=lambda m: (self._chains[m][k], -m), default=None)
            by_bits = module is None or self._chains[module][k] >= self.requests[place, k]
            serves[pattern] = None if by_bits else module
        return serves

    def request_cost(self, bits: Bits, modules: Sequence[Pattern]) -> float:
        """Of one request, over all patterns."""
        return float(self.served(modules)[self.place_of(bits)] @ self.load.shares)

    def difference(
        self, bits: Bits, modules: Sequence[Pattern], new: Mix, n_requests: int, slack: float = 0.0
    ) -> PairDifference:
        """What one request costs more beside the mix in force. n_requests: that the load was
        estimated from; slack: of card A6 for each request."""
        places = self.place_of(bits), self.place_of(new.bits)
        of_each = self.served(modules)[places[0]] - self.served(new.modules)[places[1]]
        upkeep = float(self.upkeep[places[0]] - self.upkeep[places[1]])
        upkeep += sum(map(self.module_upkeep, modules)) - sum(map(self.module_upkeep, new.modules))
        mean = difference(self.load.shares, of_each, n_requests, slack)
        return PairDifference(of_each, mean).plus(upkeep / max(self.load.requests, 1e-300))


def best_portfolio(problem: PortfolioProblem, n_bytes: float = math.inf) -> Mix:
    """The cheapest mix within so many bytes: of all sets of modules, or, where these are too many,
    of those that save most one by one. Of equally cheap ones that with fewest modules, then of the
    largest masks. No access method at all, a scan, takes no bytes and always fits. Raises
    ValueError: the bytes are less than none."""
    best: Mix | None = None
    pinned = [m for m in problem.mixes if m.bits == problem.pinned and m.n_bytes <= n_bytes]
    for mix in pinned or problem.mixes:
        if mix.n_bytes <= n_bytes and (best is None or _is_cheaper(mix, best)):
            best = mix
    if best is None:
        raise ValueError(f"{n_bytes} bytes are less than none; allowed 0 and more")
    return best


def _is_cheaper(mix: Mix, best: Mix) -> bool:
    return mix.cost < best.cost - EQUAL * abs(best.cost)


def portfolio_tiers(mixes: Sequence[Mix], arrivals: float) -> list[Tier]:
    """What a state bids for memory: pages at what a page saves for each arrival, priorities
    falling, along the lower hull of the mixes' costs, with room for a window that grows. mixes: one
    that takes no bytes among them."""
    points: dict[int, float] = {}
    for mix in sorted(mixes, key=lambda mix: (mix.n_bytes, mix.cost)):
        points.setdefault(math.ceil(mix.n_bytes * ROOM / PAGE_BYTES), mix.cost)
    hull: list[tuple[int, float]] = []
    for point in points.items():
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    each = max(arrivals, 1e-300)
    steps = [(b[0] - a[0], -_slope(a, b) / each) for a, b in pairwise(hull)]
    return [Tier(n_pages, saved) for n_pages, saved in steps if saved > 0]


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])


def _all_sets(modules: Sequence[Pattern]) -> Iterator[tuple[Pattern, ...]]:
    for size in range(len(modules) + 1):
        yield from combinations(modules, size)
