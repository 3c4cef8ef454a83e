"""After a switch: what the new plan really cost, and what the old one would have cost.

Both are followed for λ tuples: the new plan by the executor's exact counts, both plans on the
sampled tuples (so that they can be compared tuple by tuple).
"""

from __future__ import annotations

from collections.abc import Mapping

from backend.adaptive.selection.constructs import ConstructSet
from backend.adaptive.selection.cost import CostModel, PlanShape, route, tuple_costs
from backend.adaptive.selection.matching import Regions
from backend.model.events import BatchExecuted, RecordOutcome


class Shadow:
    """The demoted plan, kept beside the new one. Costs in early-drop visits per tuple."""

    def __init__(self, decision: int, old: PlanShape, new: PlanShape, model: CostModel) -> None:
        self._decision, self._old, self._new, self._model = decision, old, new, model
        self._actual = self._sample_new = self._sample_old = 0.0
        self._n_sample = 0
        self.n_tuples = 0

    def follow(self, constructs: ConstructSet, event: BatchExecuted, regions: Regions) -> None:
        """Account for one batch run under the new plan; regions: its sample, intp[T, n]."""
        self.n_tuples += event.n_tuples
        self._actual += self._executed(event.visits, event.reached)
        self._n_sample += len(regions)
        self._sample_new += self._cost(constructs, self._new, regions)
        self._sample_old += self._cost(constructs, self._old, regions)

    def outcome(self, batch_id: int) -> list[RecordOutcome]:
        """The measurement so far; nothing when no tuple has passed."""
        if not self.n_tuples:
            return []
        n = self._n_sample
        return [
            RecordOutcome(
                decision=self._decision,
                batch_id=batch_id,
                actual_new=self._actual / self.n_tuples,
                n=self.n_tuples,
                sample_new=self._sample_new / n if n else None,
                counterfactual_old=self._sample_old / n if n else None,
                n_sample=n,
            )
        ]

    def _executed(self, visits: int, reached: Mapping[str, int]) -> float:
        """What the executor's exact counts cost; weighted when visits per construct are known."""
        weights, order = self._model.weights, self._new.order
        if weights and all(a in reached for a in order):
            spent = sum(weights[a] * reached[a] for a in order)
        else:
            spent = float(visits)
        is_branch_free = self._new.kind == "no early drop"
        return spent * (self._model.no_drop_visit_cost if is_branch_free else 1.0)

    def _cost(self, constructs: ConstructSet, shape: PlanShape, regions: Regions) -> float:
        """The plan's cost summed over a sample."""
        found = route(constructs, regions, shape, self._model.stop_rule)
        return float(tuple_costs(found, shape, self._model).sum())
