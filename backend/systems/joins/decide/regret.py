"""What caching came to: against no caches, and against the best caches in hindsight (card 15.12).

Costs are additive over time, so the best fixed set of caches in hindsight is the best choice for
the sums of what everything cost, batch by batch, at the statistics of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.selecting import exact
from backend.systems.joins.decide.selection import CacheSelection, Choice, PricedCache


class CachingTotals(NamedTuple):
    """Since the beginning, in the unit of costs. n_elements: of the join. spent: with the caches in
    force; bare: without any; hindsight: with the best ones for each stretch of time between changes
    of the candidates, or from where a killed run went on."""

    n_elements: int = 0
    spent: float = 0.0
    bare: float = 0.0
    hindsight: float = 0.0


class CachingRegret:
    """Adds up. Candidates may change; what was then the best is settled first.

    The best choice in hindsight is looked for by ``look_back`` and when the candidates change; in
    between the one that was found is priced, so that a batch costs one sum.
    """

    def __init__(self, settled: CachingTotals | None = None) -> None:
        self._settled = settled or CachingTotals()
        self._begin(())

    def _begin(self, candidates: tuple[CacheCandidate, ...]) -> None:
        self._candidates = candidates
        self._bare: NDArray[np.float64] | None = None
        self._costs = np.zeros(len(candidates))
        self._procs = [np.zeros(len(candidate.readers)) for candidate in candidates]
        self._best: Choice = {}

    def account(self, problem: CacheSelection, choice: Choice, n_elements: int) -> None:
        """So many elements came while ``choice`` was in force. problem: all candidates at the
        statistics of the time."""
        candidates = tuple(cache.candidate for cache in problem.caches)
        bare = np.array(problem.bare)
        if candidates != self._candidates:
            self.look_back()
            self._settled = self.totals
            self._begin(candidates)
        spent, none = n_elements * problem.cost(choice), n_elements * float(bare.sum())
        self._settled = self._settled._replace(
            n_elements=self._settled.n_elements + n_elements,
            spent=self._settled.spent + spent,
            bare=self._settled.bare + none,
        )
        total = n_elements * bare
        self._bare = total if self._bare is None else self._bare + total
        for place, cache in enumerate(problem.caches):
            self._costs[place] += n_elements * cache.cost
            self._procs[place] += n_elements * np.array(cache.procs)

    def look_back(self) -> None:
        """Find the best choice for what everything cost until now."""
        if self._bare is not None:
            self._best = exact(self._summed(self._bare))

    @property
    def totals(self) -> CachingTotals:
        """Until now."""
        if self._bare is None:
            return self._settled
        summed = self._summed(self._bare)
        best = min(summed.cost(self._best), summed.cost({}))
        return self._settled._replace(hindsight=self._settled.hindsight + best)

    def _summed(self, bare: NDArray[np.float64]) -> CacheSelection:
        caches = tuple(
            PricedCache(candidate, float(cost), tuple(procs.tolist()))
            for candidate, cost, procs in zip(
                self._candidates, self._costs, self._procs, strict=True
            )
        )
        return CacheSelection(tuple(map(tuple, bare.tolist())), caches)
