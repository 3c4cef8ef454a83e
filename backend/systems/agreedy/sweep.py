"""Sweep: the Greedy Invariant for one profiled filter at a time. [B05] §4.4, card §4"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.systems.agreedy.findings import Finding, Situation, look
from backend.systems.agreedy.orders import cost_after_move, cost_of_view
from backend.systems.agreedy.policy import Probe, Proposal
from backend.systems.agreedy.view import MatrixView


class Sweep:
    """Stages: the filter at one position is compared with all before it, then the next one's turn.

    A stage ends with a violation or after ``stage_tuples`` profile tuples; the next one starts with
    an empty window, because it needs other bits. A violation moves the profiled filter to the
    smallest violated position, the others slide right.
    """

    name = "sweep"
    invariant = "sweep invariant"

    def __init__(self, stage_tuples: int) -> None:
        self.stage_tuples = stage_tuples
        self._turn = 0
        self._n_stage = 0

    def position(self, view: MatrixView) -> int | None:
        """The profiled position (from 0); None when no position has one before it to overtake."""
        turns = [p for p in range(view.n) if view.segment(p).start < p]
        return turns[self._turn % len(turns)] if turns else None

    def probe(self, view: MatrixView) -> Probe:
        position = self.position(view)
        return Probe("none") if position is None else Probe("one", view.order[position])

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        found = np.zeros((view.n, view.n), dtype=np.bool_)
        position = self.position(view)
        if position is not None:
            places = np.arange(position + 1)
            found[places, places] = True
            found[: position + 1, position] = True
        return found

    def find(self, s: Situation) -> Finding | None:
        return look(s, self.kept(s.view))

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        source, target = finding.pair.challenger, finding.pair.position
        order = list(s.view.order)
        order.insert(target, order.pop(source))
        old = cost_of_view(s.view, s.costs, s.n_tuples)
        return Proposal(order, old, cost_after_move(s.view, s.costs, s.n_tuples, source, target))

    def settle(self, view: MatrixView, n_profiled: int, switched: bool) -> str | None:
        self._n_stage += n_profiled
        if not switched and self._n_stage < self.stage_tuples:
            return None
        self._turn, self._n_stage = self._turn + 1, 0
        return "the next stage needs other bits"
