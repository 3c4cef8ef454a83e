"""What every decision core does beside deciding: number its evaluations, wait after a switch, and
follow what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.begins import LogBegins
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import DecisionOutcome

PlanT = TypeVar("PlanT")
SampleT = TypeVar("SampleT")


class Evaluations:
    """Numbers evaluations from 1. seq: the number of the last one; n_rejected: those without
    consequence; begins: of the plan logs that they go into."""

    def __init__(self) -> None:
        self.seq = self.n_rejected = 0
        self.begins = LogBegins()

    def count(self) -> int:
        """One more evaluation; its number."""
        self.seq += 1
        return self.seq

    def is_stored(self, verdict: Verdict, every: int) -> bool:
        """Whether to store an evaluation without consequence: each n-th, and all in a cool-down.
        Ask once for each."""
        if verdict == "cooldown":
            return True
        self.n_rejected += 1
        return (self.n_rejected - 1) % every == 0


class Cooldown:
    """Counts the tuples since the last switch. waited: None before the first switch."""

    def __init__(self, waited: int | None = None) -> None:
        self.waited = waited

    def switched(self) -> None:
        """Another plan is in force."""
        self.waited = 0

    def passed(self, n_tuples: int) -> None:
        """So many tuples ran under the plan in force."""
        if self.waited is not None:
            self.waited += n_tuples

    def holds(self, cooldown_tuples: int) -> bool:
        """Whether too few tuples have passed for another switch."""
        return self.waited is not None and self.waited < cooldown_tuples


class FollowUp(Generic[PlanT, SampleT]):
    """After a switch: what the new plan really costs, and what the old one would have cost.

    The new plan's cost is counted over all n_tuples; both are also priced on the sampled tuples of
    these, so that they can be compared tuple by tuple. price: float64[T], the cost of each sampled
    tuple under a plan, in the unit of the algorithm.
    """

    def __init__(self) -> None:
        self._of: tuple[int, PlanT, PlanT, Callable[[PlanT, SampleT], NDArray[np.float64]]] | None
        self._of = None

    def begin(
        self,
        decision: int,
        old: PlanT,
        new: PlanT,
        price: Callable[[PlanT, SampleT], NDArray[np.float64]],
    ) -> None:
        """Follow the switch of a decision."""
        self._of = decision, old, new, price
        self._spent = self._new = self._old = 0.0
        self.n_tuples = self._n_sample = 0

    @property
    def is_on(self) -> bool:
        """Whether a switch is being followed."""
        return self._of is not None

    def follow(self, n_tuples: int, spent: float, sample: SampleT) -> None:
        """Account for a batch under the new plan, which cost ``spent``."""
        assert self._of is not None
        _, old, new, price = self._of
        costs = price(new, sample)
        self.n_tuples += n_tuples
        self._spent += spent
        self._n_sample += len(costs)
        self._new += float(costs.sum())
        self._old += float(price(old, sample).sum())

    def end(self, batch_id: int) -> list[DecisionOutcome]:
        """The measurement; nothing when no switch is followed, or no tuple has passed."""
        of, self._of = self._of, None
        if of is None or not self.n_tuples:
            return []
        n = self._n_sample
        return [
            DecisionOutcome(
                decision=of[0],
                batch=batch_id,
                actual_new=self._spent / self.n_tuples,
                n=self.n_tuples,
                sample_new=self._new / n if n else None,
                counterfactual_old=self._old / n if n else None,
                n_sample=n,
            )
        ]
