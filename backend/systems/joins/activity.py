"""What is counted of all elements of a join, watched or not: what says that something changed."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from backend.operators.network.join_tuning import JoinProfile

#: Changes are shares of no less than this: an operation of an element in ten.
_FEW: Final = 0.1
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

    def has_moved(self, usual: InputActivity, n: int, n_usual: int, change_share: float) -> bool:
        """See ``Activity``. n, n_usual: elements of the join."""
        own, before = max(self.came, 1), max(usual.came, 1)
        fewer, more = min(own, before), max(own, before)
        return (
            _has_moved(self.came / n, usual.came / n_usual, more, change_share)
            or _has_moved(self.n_probes / own, usual.n_probes / before, fewer, change_share)
            or _has_moved(self.n_built / own, usual.n_built / before, fewer, change_share)
        )


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

    def has_moved(self, usual: Activity, change_share: float) -> bool:
        """Whether the share of an input, or what is done for each of its elements, is another by
        more than that share of what is usual, and by more than chance has it among so few."""
        n, n_usual = (max(1, sum(one.came for one in found.inputs)) for found in (self, usual))
        return any(
            own.has_moved(before, n, n_usual, change_share)
            for own, before in zip(self.inputs, usual.inputs, strict=True)
        )


def _has_moved(now: float, before: float, n: int, change_share: float) -> bool:
    """n: elements behind them."""
    least = max(change_share, _CHANCE / math.sqrt(n))
    return n >= _LEAST and abs(now - before) > least * max(before, _FEW)
