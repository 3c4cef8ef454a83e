"""What is counted of all elements of a join, watched or not: what says that something changed."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from backend.operators.network.join_tuning import JoinProfile

#: Changes are shares of no less than these: a tenth of all elements, a quarter of all operations.
_FEW_ELEMENTS, _FEW_OPERATIONS = 0.1, 0.25
#: Standard deviations of a mean, as a share of it, that are chance where elements are no more
#: alike than those of an exponential distribution.
_CHANCE: Final = 4.0
#: Fewer elements say nothing.
_LEAST: Final = 50


class InputActivity(NamedTuple):
    """Of one input: elements, and index probes and built tuples of those."""

    came: int
    n_probes: int
    n_built: int


class Activity(NamedTuple):
    """By input."""

    inputs: tuple[InputActivity, ...]

    @classmethod
    def of(cls, profile: JoinProfile) -> Activity:
        """A batch."""
        told = profile.pipelines
        return cls(
            tuple(
                InputActivity(one.n_plus + one.n_minus, one.n_probes, one.n_built) for one in told
            )
        )

    @property
    def n_elements(self) -> int:
        """Of the join, at least one."""
        return max(1, sum(one.came for one in self.inputs))

    def has_moved(self, usual: Activity, change_share: float) -> bool:
        """Whether the share of an input, or what is done for its elements per element of the join,
        is another by more than that share of what is usual, and by more than chance has it among
        so few."""
        n, n_usual = self.n_elements, usual.n_elements
        few = _FEW_OPERATIONS * sum(one.n_probes + one.n_built for one in usual.inputs) / n_usual

        def moved(now: int, before: int, least: float, n_behind: int) -> bool:
            by = max(change_share, _CHANCE / math.sqrt(max(1, n_behind)))
            gap = abs(now / n - before / n_usual)
            return n_behind >= _LEAST and gap > by * max(before / n_usual, least)

        return any(
            moved(own.came, other.came, _FEW_ELEMENTS, max(own.came, other.came))
            or moved(own.n_probes, other.n_probes, few, min(own.came, other.came))
            or moved(own.n_built, other.n_built, few, min(own.came, other.came))
            for own, other in zip(self.inputs, usual.inputs, strict=True)
        )
