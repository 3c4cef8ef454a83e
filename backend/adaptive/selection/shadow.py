"""After a switch: what the new plan really cost, and what the old one would have cost.

Both are followed for λ tuples: the new plan by the executor's exact counts, both plans on the
sampled tuples (so that they can be compared tuple by tuple).
"""

from __future__ import annotations

from backend.adaptive.selection.constructs import ConstructSet
from backend.adaptive.selection.cost import CostModel
from backend.adaptive.selection.matching import Regions, trace
from backend.model.events import RecordOutcome, SelectionPlan


class Shadow:
    """The demoted plan, kept beside the new one. Costs in early-drop visits per tuple."""

    def __init__(
        self, decision: int, old: SelectionPlan, new: SelectionPlan, model: CostModel
    ) -> None:
        self._decision, self._old, self._new, self._model = decision, old, new, model
        self._actual = self._sample_new = self._sample_old = 0.0
        self._n_sample = 0
        self.n_tuples = 0

    def follow(
        self, constructs: ConstructSet, n_tuples: int, visits: int, regions: Regions
    ) -> None:
        """Account for one batch run under the new plan; regions: its sample, intp[T, n]."""
        self.n_tuples += n_tuples
        self._actual += visits * self._price(self._new)
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

    def _price(self, plan: SelectionPlan) -> float:
        return 1.0 if plan.kind == "early drop" else self._model.no_drop_visit_cost

    def _cost(self, constructs: ConstructSet, plan: SelectionPlan, regions: Regions) -> float:
        """The plan's cost summed over a sample."""
        if plan.kind == "no early drop":
            return len(regions) * len(plan.order) * self._price(plan)
        return float(trace(constructs, regions, plan.order, self._model.stop_rule).visits.sum())
