"""LocalSwaps: neighbours only. [B05] §4.6, card §4"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.systems.agreedy.findings import Finding, Situation, look
from backend.systems.agreedy.orders import cost_after_move, cost_of_view
from backend.systems.agreedy.policy import Probe, Proposal
from backend.systems.agreedy.view import MatrixView


class LocalSwaps:
    """Keeps two diagonals of V. After a swap the window is emptied: bits of the pairs that are
    neighbours now were never asked for."""

    name = "local swaps"
    invariant = "local swaps invariant"

    def probe(self, view: MatrixView) -> Probe:
        return Probe("next")

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        found = np.eye(view.n, dtype=np.bool_) | np.eye(view.n, k=1, dtype=np.bool_)
        return found & (view.comparable() | np.eye(view.n, dtype=np.bool_))

    def find(self, s: Situation) -> Finding | None:
        return look(s, self.kept(s.view))

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        source, target = finding.pair.challenger, finding.pair.position
        order = list(s.view.order)
        order[source], order[target] = order[target], order[source]
        old = cost_of_view(s.view, s.costs, s.n_tuples)
        return Proposal(order, old, cost_after_move(s.view, s.costs, s.n_tuples, source, target))

    def settle(self, view: MatrixView, n_profiled: int, switched: bool) -> str | None:
        return "the new neighbours were not compared" if switched else None
