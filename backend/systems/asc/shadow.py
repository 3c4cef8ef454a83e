"""After a switch: what the new plan really cost, and what the old one would have cost.

Both are followed for λ tuples: the new plan by the executor's exact counts, both plans on the
sampled tuples (so that they can be compared tuple by tuple).
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.adaptive.switches import Followed
from backend.model.events import BatchExecuted
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape, route, tuple_costs
from backend.systems.asc.matching import Regions


class Shadow(Followed):
    """The demoted plan, kept beside the new one. Costs in early-drop visits per tuple."""

    def __init__(self, decision: int, old: PlanShape, new: PlanShape, model: CostModel) -> None:
        super().__init__(decision)
        self._old_shape, self._new_shape, self._model = old, new, model

    def follow(self, constructs: ConstructSet, event: BatchExecuted, regions: Regions) -> None:
        """Account for one batch run under the new plan; regions: its sample, intp[T, n]."""
        self.n_tuples += event.n_tuples
        self.spent += self._executed(event.visits, event.reached)
        self.n_sample += len(regions)
        self.new += self._cost(constructs, self._new_shape, regions)
        self.old += self._cost(constructs, self._old_shape, regions)

    def _executed(self, visits: int, reached: Mapping[str, int]) -> float:
        """What the executor's exact counts cost; weighted when visits per construct are known."""
        weights, order = self._model.weights, self._new_shape.order
        if weights and all(a in reached for a in order):
            spent = sum(weights[a] * reached[a] for a in order)
        else:
            spent = float(visits)
        is_branch_free = self._new_shape.kind == "no early drop"
        return spent * (self._model.no_drop_visit_cost if is_branch_free else 1.0)

    def _cost(self, constructs: ConstructSet, shape: PlanShape, regions: Regions) -> float:
        """The plan's cost summed over a sample."""
        found = route(constructs, regions, shape, self._model.stop_rule)
        return float(tuple_costs(found, shape, self._model).sum())
