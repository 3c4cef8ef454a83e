"""What a join under k-constraints has counted since the run began."""

from __future__ import annotations

from dataclasses import dataclass

from backend.operators.network.kmon.tuning import KMonProfile


@dataclass(slots=True)
class JoinTotals:
    """n_results: that came; n_lost: that a k too small lost, at most (``losing``);
    n_repeated: tuples kept aside because another one had their key."""

    n_results: float = 0
    n_lost: float = 0
    n_repeated: float = 0

    def take(self, profile: KMonProfile) -> None:
        """A batch ran."""
        self.n_results += profile.n_results
        self.n_lost += sum(constraint.n_lost for constraint in profile.constraints.values())
        self.n_repeated += profile.n_repeated
