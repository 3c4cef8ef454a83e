"""When a violation of the Greedy Invariant is enough to act on. [BMM+04]"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Rule(NamedTuple):
    """When one filter outranks another enough to act: by α, or by evidence."""

    by_evidence: bool
    alpha: Fraction
    confidence: float

    @property
    def threshold(self) -> Fraction:
        """The α of the first look; evidence looks at every difference."""
        return Fraction(1) if self.by_evidence else self.alpha
