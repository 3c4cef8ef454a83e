"""A-Greedy: the Greedy Invariant over all pairs. [B05] §4.3"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.systems.agreedy.findings import Finding, Situation, look
from backend.systems.agreedy.orders import order_cost
from backend.systems.agreedy.policy import Probe, Proposal, triangle
from backend.systems.agreedy.view import MatrixView


class AGreedy:
    """Keeps all of V; a violation is corrected at once, because the window holds all bits."""

    name = "a-greedy"
    invariant = "greedy invariant"

    def probe(self, view: MatrixView) -> Probe:
        return Probe("all")

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        return triangle(view.n)

    def find(self, s: Situation) -> Finding | None:
        return look(s, self.kept(s.view))

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        """Correct at the smallest violated position until none is left (Fig. 4.7, looped)."""
        view = s.view.copy()
        trial = s._replace(view=view)
        found: Finding | None = finding
        for _ in range(view.n):
            if found is None or not found.is_violated:
                break
            view.correct(found.pair.position, s.columns, s.costs)
            found = self.find(trial)
        return priced(s, view.order)

    def settle(self, view: MatrixView, n_profiled: int, switched: bool) -> str | None:
        return None


def priced(s: Situation, order: list[int]) -> Proposal:
    """The order with both costs, from complete bits."""
    old = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
    return Proposal(order, old, order_cost(order, s.columns, s.costs, s.n_tuples))
