"""What a switch of plans came to: the costs of the new plan and the old, batch by batch."""

from __future__ import annotations

from storage.vocabulary.records import DecisionOutcome


class Followed:
    """Costs since a switch, in the unit of the algorithm.

    spent: of the new plan, over all n_tuples. new, old: of both, over n_sample sampled tuples.
    """

    def __init__(self, decision: int) -> None:
        self._decision = decision
        self.spent = self.new = self.old = 0.0
        self.n_tuples = self.n_sample = 0

    def outcome(self, batch_id: int) -> list[DecisionOutcome]:
        """The measurement so far; nothing when no tuple has passed."""
        if not self.n_tuples:
            return []
        n = self.n_sample
        return [
            DecisionOutcome(
                decision=self._decision,
                batch=batch_id,
                actual_new=self.spent / self.n_tuples,
                n=self.n_tuples,
                sample_new=self.new / n if n else None,
                counterfactual_old=self.old / n if n else None,
                n_sample=n,
            )
        ]
