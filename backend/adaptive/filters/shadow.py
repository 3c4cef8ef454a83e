"""After a switch: what the new order really cost, and what the old one would have cost.

The new order's cost is counted over all tuples, by evaluations at the estimated costs; both orders
are also costed on the profile tuples that came in since, if all filters were asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.filters.costing import tuple_costs
from backend.adaptive.filters.exact import PS_PER_US, Picoseconds
from backend.model.events import RecordOutcome


class Shadow:
    """The order that was left, followed beside the new one. order: filter indices."""

    def __init__(self, decision: int, old: Sequence[int], new: Sequence[int]) -> None:
        self._decision, self._old, self._new = decision, list(old), list(new)
        self._actual_us = self._new_us = self._old_us = 0.0
        self._n_tuples = self._n_sample = 0
        #: Profile tuples since the switch, complete or not.
        self.n_profiled = 0

    def follow(
        self,
        n_tuples: int,
        evaluated: Sequence[int],
        drops: NDArray[np.bool_],
        n_passed: int,
        costs: Sequence[Picoseconds],
    ) -> None:
        """Account for a batch run under the new order.

        evaluated: tuples asked about, by filter. drops: bool[k, n], complete profile tuples.
        """
        self._n_tuples += n_tuples
        prices = zip(evaluated, costs, strict=True)
        self._actual_us += sum(n * cost for n, cost in prices) / PS_PER_US
        self._n_sample += len(drops) + n_passed
        self._new_us += float(tuple_costs(drops, n_passed, self._new, costs).us.sum())
        self._old_us += float(tuple_costs(drops, n_passed, self._old, costs).us.sum())

    def outcome(self, batch_id: int) -> list[RecordOutcome]:
        """The measurement so far; nothing when no tuple has passed."""
        if not self._n_tuples:
            return []
        n = self._n_sample
        return [
            RecordOutcome(
                decision=self._decision,
                batch_id=batch_id,
                actual_new=self._actual_us / self._n_tuples,
                n=self._n_tuples,
                sample_new=self._new_us / n if n else None,
                counterfactual_old=self._old_us / n if n else None,
                n_sample=n,
            )
        ]
