"""Has the stream changed? A test on counts that regular execution gives for nothing.

The share each operator drops of what reaches it is known exactly for every batch. The last batches
are compared with those before, operator by operator; profile tuples play no part. Card §15.3-4
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

#: Tuples the recent share of an operator is taken over, at least.
RECENT_TUPLES: Final = 500
#: Batches the reference reaches back.
REFERENCE_BATCHES: Final = 200
#: Standard errors and absolute difference that make a change.
Z: Final = 5.0
LEAST_CHANGE: Final = 0.08


class Count(NamedTuple):
    """Tuples that reached an operator, and those it dropped."""

    evaluated: int
    dropped: int

    @property
    def share(self) -> float:
        return self.dropped / self.evaluated if self.evaluated else 0.0


class DropProbChange(NamedTuple):
    """An operator whose drop probability moved: before, now, and by how many standard errors."""

    operator: str
    before: float
    now: float
    z: float


class ChangeDetector:
    """Watches the drop probabilities of the plan in force; a new plan starts it anew."""

    def __init__(self) -> None:
        self._reference: dict[str, deque[Count]] = {}
        self._recent: dict[str, Count] = {}

    def reset(self) -> None:
        """Forget everything: another plan runs, so the conditional shares are others."""
        self._reference.clear()
        self._recent.clear()

    def add(
        self, evaluated: Mapping[str, int], dropped: Mapping[str, int]
    ) -> DropProbChange | None:
        """Take in a batch; the greatest change found, None when there is none.

        After a change everything is forgotten.
        """
        changes: list[DropProbChange] = []
        for name, n in evaluated.items():
            before = self._recent.get(name, Count(0, 0))
            now = Count(before.evaluated + n, before.dropped + dropped.get(name, 0))
            self._recent[name] = now
            if now.evaluated >= RECENT_TUPLES:
                changes += self._compare(name, now)
        if not changes:
            return None
        self.reset()
        return max(changes, key=lambda change: abs(change.z))

    def _compare(self, name: str, now: Count) -> list[DropProbChange]:
        """Against the reference, which then takes the recent counts in."""
        past = self._reference.setdefault(name, deque(maxlen=REFERENCE_BATCHES))
        reference = Count(sum(c.evaluated for c in past), sum(c.dropped for c in past))
        self._recent[name] = Count(0, 0)
        past.append(now)
        z = two_shares(reference, now)
        if abs(z) < Z or abs(now.share - reference.share) < LEAST_CHANGE:
            return []
        return [DropProbChange(name, reference.share, now.share, z)]


def two_shares(first: Count, second: Count) -> float:
    """The z of the difference of two shares, pooled; 0 without tuples or without spread."""
    n = first.evaluated + second.evaluated
    if not first.evaluated or not second.evaluated:
        return 0.0
    pooled = (first.dropped + second.dropped) / n
    spread = pooled * (1 - pooled) * (1 / first.evaluated + 1 / second.evaluated)
    return (second.share - first.share) / math.sqrt(spread) if spread else 0.0
