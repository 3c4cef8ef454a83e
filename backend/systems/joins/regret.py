"""What caching came to: against no caches, and against the best caches in hindsight (card 15.12).

Costs are additive over time, so the best fixed set of caches in hindsight is the best choice for
the sums of what everything cost, batch by batch, at the statistics of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.systems.joins.candidates import CacheCandidate
from backend.systems.joins.selecting import exact
from backend.systems.joins.selection import CacheSelection, Choice, PricedCache


class CachingTotals(NamedTuple):
    """Since the beginning, in the unit of costs. n_elements: of the join. spent: with the caches in
    force; bare: without any; hindsight: with the best ones for each stretch of time between changes
    of the candidates."""

    n_elements: int
    spent: float
    bare: float
    hindsight: float

    @property
    def saved(self) -> float:
        """Against no caches."""
        return self.bare - self.spent

    @property
    def regret(self) -> float:
        """Against the best caches in hindsight."""
        return self.spent - self.hindsight


class CachingRegret:
    """Adds up. Candidates may change; what was then the best is settled first."""

    def __init__(self, settled: CachingTotals | None = None) -> None:
        self._settled = settled or CachingTotals(0, 0.0, 0.0, 0.0)
        self._begin(())

    def _begin(self, candidates: tuple[CacheCandidate, ...]) -> None:
        self._candidates = candidates
        self._bare: NDArray[np.float64] | None = None
        self._costs = np.zeros(len(candidates))
        self._procs = [np.zeros(len(one.readers)) for one in candidates]

    def account(self, problem: CacheSelection, choice: Choice, n_elements: int) -> None:
        """So many elements came while ``choice`` was in force. problem: all candidates at the
        statistics of the time."""
        candidates = tuple(one.candidate for one in problem.caches)
        bare = np.array(problem.bare)
        if candidates != self._candidates:
            self._settled = self._settled._replace(hindsight=self.totals.hindsight)
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

    @property
    def totals(self) -> CachingTotals:
        """Until now."""
        if self._bare is None:
            return self._settled
        caches = tuple(
            PricedCache(one, float(cost), tuple(procs.tolist()))
            for one, cost, procs in zip(self._candidates, self._costs, self._procs, strict=True)
        )
        summed = CacheSelection(tuple(map(tuple, self._bare.tolist())), caches)
        best = summed.cost(exact(summed))
        return self._settled._replace(hindsight=self._settled.hindsight + best)
