"""The least memory that holds a target of accuracy, by the curve A(M) of a window. Card B8

More is kept as soon as the curve says so, or what is measured is below the target; less only while
the whole interval of what is measured lies above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from backend.adaptive.stats import Mean
from backend.operators.network.shedding.curve import AccuracyCurve

#: A smaller limit is taken if it saves this share, and a larger one is larger by it at least.
_STEP: Final = 0.05


@dataclass(slots=True)
class AccuracyFloor:
    """target: accuracy (R1) that answers are to have, 0 = none; tuples: that the window is to keep
    for it, in all shards, 0 = all."""

    target: float = 0.0
    tuples: int = 0

    def turn(self, target: float) -> None:
        """Another target; what it takes is looked for anew."""
        if target != self.target:
            self.target, self.tuples = target, 0

    def observe(self, curve: AccuracyCurve | None, accuracy: Mean) -> bool:
        """A batch is over; whether another number of tuples is kept from here on. accuracy: of the
        answers now, measured where it is."""
        if not self.target or curve is None or not (curve.is_new or not self.tuples):
            return False
        needed, before = self._needed(curve), self.tuples
        if not before or needed > before:
            self.tuples = needed
        elif accuracy.low < self.target:
            self.tuples = min(math.ceil((1 + _STEP) * before), math.ceil(curve.n_window))
        elif needed < (1 - _STEP) * before:
            self.tuples = needed
        return self.tuples != before

    def _needed(self, curve: AccuracyCurve) -> int:
        """The fewest tuples from which on no point of the curve is below the target; between two
        points, the upper one."""
        needed = curve.n_window
        for point in reversed(curve.points):
            if point.accuracy < self.target:
                break
            needed = point.tuples
        return max(1, math.ceil(needed))
