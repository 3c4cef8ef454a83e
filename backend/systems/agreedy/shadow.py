"""After a switch: what the new order really cost, and what the old one would have cost.

The new order's cost is counted over all tuples, by evaluations at the estimated costs; both orders
are also costed on the profile tuples that came in since, if all filters were asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.switches import Followed
from backend.systems.agreedy.costing import tuple_costs
from backend.systems.agreedy.exact import PS_PER_US, Picoseconds


class Shadow(Followed):
    """The order that was left, followed beside the new one. order: filter indices. Costs in µs."""

    def __init__(self, decision: int, old: Sequence[int], new: Sequence[int]) -> None:
        super().__init__(decision)
        self._old_order, self._new_order = list(old), list(new)
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
        self.n_tuples += n_tuples
        prices = zip(evaluated, costs, strict=True)
        self.spent += sum(n * cost for n, cost in prices) / PS_PER_US
        self.n_sample += len(drops) + n_passed
        self.new += float(tuple_costs(drops, n_passed, self._new_order, costs).us.sum())
        self.old += float(tuple_costs(drops, n_passed, self._old_order, costs).us.sum())
