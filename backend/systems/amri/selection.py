"""Which index configuration a state should have: the cheapest by Eq. 1. [WRA13] §6, card A5, A6"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np

from backend.systems.amri.entries import AssessmentReport
from storage.vocabulary.amri_configurations import EQUAL, cheapest, configurations, n_configurations
from storage.vocabulary.amri_costs import Bits, Candidates, CostParts, IndexCosts, SearchLoad

#: Cost terms (candidates times patterns) that the exhaustive search looks at, at most.
MOST_TERMS: Final = 250_000
#: Attributes up to which the uniform prior is spread over all patterns, else the reported ones.
MOST_SPREAD: Final = 12


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """bits: B. at_most: configurations of fewer bits are candidates, too. caps: bits by attribute,
    at most; (): B each. prunes: EPrune goes first. most_terms: see ``MOST_TERMS``."""

    bits: int
    at_most: bool = True
    caps: tuple[int, ...] = ()
    prunes: bool = True
    most_terms: int = MOST_TERMS

    def caps_of(self, n: int) -> Bits:
        """By attribute."""
        return tuple(min(cap, self.bits) for cap in self.caps or (self.bits,) * n)


class BitSelection(NamedTuple):
    """The outcome. bits: the IC chosen; cost: its C_D; parts: of it, by name. margins: MB by
    attribute; kept: attributes that EPrune left. n_candidates, n_terms: configurations compared,
    and cost terms summed for them (Lemma 1). is_greedy: there were too many to compare all.
    search_bound, cost_bound: by how much C_search, and C_D, of the IC chosen may exceed the best
    one's, for what assessment removed (Lemma 2, W9)."""

    bits: Bits
    cost: float
    parts: Mapping[str, float]
    margins: tuple[float, ...]
    kept: tuple[int, ...]
    n_candidates: int
    n_terms: int
    is_greedy: bool
    search_bound: float
    cost_bound: float


def with_prior(load: SearchLoad, share: float) -> SearchLoad:
    """F' = (1 - l)F + l·uniform over all patterns (card A14.1), but for those by order that nothing
    asks for: the prior splits bits evenly between what is asked for by values (ours)."""
    if not share:
        return load
    asked = [p for p in load.patterns if p]
    every = range(1, 1 << load.n) if load.n <= MOST_SPREAD else asked
    patterns = [p for p in every if not p & load.ordered or p in load.frequencies]
    if not patterns:
        return load
    mixed = {pattern: (1 - share) * f for pattern, f in load.frequencies.items()}
    for pattern in patterns:
        mixed[pattern] = mixed.get(pattern, 0.0) + share / len(patterns)
    return replace(load, frequencies=mixed)


def margins(load: SearchLoad, model: IndexCosts, bits: int) -> tuple[float, ...]:
    """MB(A): what indexing each attribute can save at most, less what it costs. Eq. 2, with both
    sums over the patterns that have A, and λ_d counted once (W8)."""
    asked = load.requests * load.shares[:, None] * load.specified
    extra = np.array([model.corrections.get(p, 1.0) for p in load.patterns], dtype=np.float64)
    saved = (1 - model.reach_of(load.n, bits)[:, bits]) * (asked.T @ (load.stored * extra))
    spent = (asked.sum(axis=0) + load.arrivals) * model.costs.hash
    return tuple((saved * model.costs.compare - spent).tolist())


def select(
    load: SearchLoad,
    model: IndexCosts,
    settings: SelectionSettings,
    report: AssessmentReport | None = None,
) -> BitSelection:
    """The cheapest configuration: of all of them, or, where these are too many, bit by bit.

    EPrune loses no optimum where configurations may have fewer bits and hashing is weighted.
    report: what the load was assessed by; bounds are 0 without one.
    """
    benefits = margins(load, model, settings.bits)
    kept = tuple(a for a in range(load.n) if not settings.prunes or benefits[a] >= 0)
    caps = tuple(cap if a in kept else 0 for a, cap in enumerate(settings.caps_of(load.n)))
    tried, is_greedy = tried_of(load, model, caps, settings)
    best, parts = _cheapest_of(load, model, tried)
    return BitSelection(
        best,
        float(parts.total[0]),
        {name: float(of[0]) for name, of in parts._asdict().items()},
        benefits,
        kept,
        len(tried),
        len(tried) * len(load.patterns),
        is_greedy,
        *bounds(load, model, settings.bits, report),
    )


def tried_of(
    load: SearchLoad, model: IndexCosts, caps: Bits, settings: SelectionSettings
) -> tuple[Candidates, bool]:
    """Every configuration within the caps, or those of ``greedy`` where these are too many."""
    n_tried = n_configurations(caps, settings.bits, settings.at_most)
    if n_tried * len(load.patterns) > settings.most_terms:
        return greedy(load, model, caps, settings), True
    return configurations(caps, settings.bits, settings.at_most), False


def greedy(
    load: SearchLoad, model: IndexCosts, caps: Bits, settings: SelectionSettings
) -> Candidates:
    """The configurations on the way from no bits to all, each next bit where it makes the cheapest
    one, and from the best of them to ever cheaper ones next to it. Where exactly so many bits are
    asked for, only those that have them."""
    exactly = min(settings.bits, sum(caps))

    def best_of(some: Iterable[Bits]) -> tuple[Bits, float]:
        fitting = [of for of in some if all(0 <= b <= cap for b, cap in zip(of, caps, strict=True))]
        bits, parts = _cheapest_of(load, model, np.array(fitting))
        return bits, float(parts.total[0])

    way = [(0,) * len(caps)]
    for _ in range(exactly):
        way.append(best_of(_moved(way[-1], a, 1) for a in range(len(caps)))[0])
    way = way if settings.at_most else way[-1:]
    here, cost = best_of(way)
    while True:
        near = [bits for bits in _next_to(here, caps) if settings.at_most or sum(bits) == exactly]
        better, less = best_of([here, *(bits for bits in near if sum(bits) <= exactly)])
        if less >= cost - EQUAL * abs(cost):
            return np.array(way, dtype=np.int64)
        here, cost = better, less
        way.append(here)


def _moved(bits: Bits, a: int, n: int) -> Bits:
    return (*bits[:a], bits[a] + n, *bits[a + 1 :])


def _next_to(bits: Bits, caps: Bits) -> Iterator[Bits]:
    """Any number of bits for one attribute, and any moved from one to another."""
    for a, b in permutations(range(len(bits)), 2):
        for n in range(1, bits[a] + 1):
            yield _moved(_moved(bits, a, -n), b, n)
    for a, cap in enumerate(caps):
        yield from (_moved(bits, a, n - bits[a]) for n in range(cap + 1))


def bounds(
    load: SearchLoad, model: IndexCosts, bits: int, report: AssessmentReport | None
) -> tuple[float, float]:
    """Δ of card A6, and of C_D. Dropping a pattern lowers estimates by at most a scan, folding
    raises them by at most a scan less a bucket; either may misjudge the hashing, and the buckets
    visited, of a request."""
    if report is None:
        return 0.0, 0.0
    stored = float(load.stored.max(initial=load.arrivals * load.window))
    compared = stored * max(1.0, *model.corrections.values(), 1.0) * model.costs.compare
    visited = model.segments * min(2.0**bits, stored / model.segments) * model.bucket
    removed = report.dropped + report.moved
    search = (report.dropped + report.moved * (1 - 2.0**-bits)) * compared
    more = removed * (load.n * model.costs.hash + visited)
    return load.requests * search, load.requests * (search + more)


def _cheapest_of(
    load: SearchLoad, model: IndexCosts, candidates: Candidates
) -> tuple[Bits, CostParts]:
    """The chosen one with its parts."""
    priced = model.priced(load, candidates)
    place = cheapest(priced.total, candidates)
    return tuple(candidates[place].tolist()), priced.at(place).parts()
