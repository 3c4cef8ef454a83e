"""What the adaptive orders are compared with: the best order on the window, and a fixed one."""

from __future__ import annotations

from backend.systems.agreedy.agreedy import AGreedy
from backend.systems.agreedy.exact import ranks_below
from backend.systems.agreedy.findings import Finding, Situation, look
from backend.systems.agreedy.orders import greedy_order, optimal_order, order_cost
from backend.systems.agreedy.policy import Proposal, triangle


class Optimal(AGreedy):
    """The cheapest order on the window, found by looking at all subsets of up to 14 filters.

    Beyond 14 native or 14 other filters it is the greedy order. It acts when the cheapest order
    costs less than α of the present one (by evidence: less at all).
    """

    name = "optimal"
    invariant = "cheapest order"

    def find(self, s: Situation) -> Finding | None:
        nearest = look(s, triangle(s.view.n))
        if nearest is None or not s.n_tuples:
            return nearest
        best = order_cost(self._best(s), s.columns, s.costs, s.n_tuples)
        now = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
        cheaper = ranks_below(best, 1, now, 1, s.rule.threshold) if now else False
        return nearest._replace(is_violated=cheaper, violated=())

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        order = self._best(s)
        old = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
        return Proposal(order, old, order_cost(order, s.columns, s.costs, s.n_tuples))

    def _best(self, s: Situation) -> list[int]:
        view = s.view
        found = optimal_order(s.columns, s.costs, view.order, s.n_tuples, view.n_native)
        return found or greedy_order(s.columns, s.costs, view.order, view.n_native)


class Static(AGreedy):
    """Keeps the order; A-Greedy's checks go on, so that one sees what it costs."""

    name = "static"
    invariant = "fixed order"

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        cost = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
        return Proposal(list(s.view.order), cost, cost)
