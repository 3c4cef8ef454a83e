"""Independent: filters by unconditional rank, as if they were independent. [B05] §4.5"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.systems.agreedy.agreedy import priced
from backend.systems.agreedy.findings import Finding, Situation, look
from backend.systems.agreedy.orders import ranked_order
from backend.systems.agreedy.policy import Probe, Proposal, triangle
from backend.systems.agreedy.view import MatrixView


class Independent:
    """Keeps the first row of V only."""

    name = "independent"
    invariant = "independent invariant"

    def probe(self, view: MatrixView) -> Probe:
        return Probe("all")

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        found = np.zeros((view.n, view.n), dtype=np.bool_)
        found[:1] = True
        return found

    def find(self, s: Situation) -> Finding | None:
        return look(s, triangle(s.view.n), flat=True)

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        """Sort by count per cost, stable."""
        by_filter = [0] * s.view.n
        for place, one in enumerate(s.view.order):
            by_filter[one] = int(s.view.counts[0, place])
        return priced(s, ranked_order(by_filter, s.costs, s.view.order, s.view.n_native))

    def settle(self, view: MatrixView, n_profiled: int, switched: bool) -> str | None:
        return None
