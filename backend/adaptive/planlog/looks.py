"""When to evaluate again: once what was missed since the last look exceeds what a look costs."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

#: A look that is further off is as good as none.
MOST_TUPLES: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LookOutlook:
    """What is expected after a look. dwell: tuples until another plan is the best, on average;
    gain: what it then saves, a tuple; residual: what the best other plan saves already, a tuple, as
    far as the last look knows."""

    dwell: float
    gain: float
    residual: float

    def expected_regret(self, n_tuples: int) -> float:
        """What ``n_tuples`` since the look have missed, in the unit of cost.

        The time of the change is exponential: after u tuples g (u - (1 - e^-λu) / λ) was missed,
        about g λ u² / 2. Looking when that is the cost of a look makes what is missed and what is
        looked cost the same, the least of their sum (the square root rule of F. W. Harris, 1913).
        """
        ratio = n_tuples / self.dwell
        missed = self.dwell * (ratio + math.expm1(-ratio))
        return self.residual * n_tuples + self.gain * missed

    def is_due(self, n_tuples: int, cost: float) -> bool:
        """Whether a look, which costs so much, is worth it after so many tuples."""
        return self.expected_regret(n_tuples) > cost

    def due(self, cost: float) -> int | None:
        """Tuples after which it is; None: not within MOST_TUPLES."""
        if not self.is_due(MOST_TUPLES, cost):
            return None
        return bisect_left(range(MOST_TUPLES), True, key=lambda n: self.is_due(n, cost))
