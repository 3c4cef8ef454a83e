"""Where the time goes: the five shares of Table 4.2, and the break-even p. [B05] §4.3.4"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from backend.model.filters import Shares

#: Batches the shares are taken over.
BATCHES: Final = 50


class Overhead(NamedTuple):
    """Shares of the time, together 1, over the last batches; total_us: what they are shares of."""

    tuples: float
    profile: float
    window: float
    view: float
    violations: float
    total_us: float

    @property
    def adapting(self) -> float:
        """Everything but processing tuples."""
        return 1.0 - self.tuples


class _Batch(NamedTuple):
    spent: Shares
    n_tuples: int
    profile_prob: float


class OverheadMeter:
    """Adds up what batches report; the times are measured elsewhere and come in as data."""

    def __init__(self) -> None:
        self._batches: deque[_Batch] = deque(maxlen=BATCHES)

    def add(self, spent: Shares, n_tuples: int, profile_prob: float) -> None:
        self._batches.append(_Batch(spent, n_tuples, profile_prob))

    @property
    def overhead(self) -> Overhead | None:
        """None while nothing was measured."""
        total = Shares(*map(sum, zip(*(batch.spent for batch in self._batches), strict=True)))
        whole = sum(total)
        if whole <= 0:
            return None
        tuples, profile, window, view, violations = (part / whole for part in total)
        return Overhead(tuples, profile, window, view, violations, whole)

    def break_even(self, saved_us: float) -> float | None:
        """The p at which adapting costs what it saves, at most 1.

        saved_us: what the adapted order saves per tuple against the first one. Adapting is taken
        to cost in proportion to p. None while nothing was profiled.
        """
        at_all = [b for b in self._batches if b.profile_prob > 0 and b.n_tuples]
        weight = sum(b.profile_prob * b.n_tuples for b in at_all)
        spent = sum(b.spent.adapting_us for b in at_all)
        if not weight or not spent:
            return None
        return min(1.0, max(0.0, saved_us / (spent / weight)))
