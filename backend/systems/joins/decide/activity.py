"""What is counted of all elements of a join, watched or not: what says that something changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from backend.operators.network.joins.join_tuning import JoinProfile

#: Changes are shares of no less than these: a tenth of all elements, a quarter of all operations.
_FEW_ELEMENTS, _FEW_OPERATIONS = 0.1, 0.25
#: Standard deviations of the difference of two means, as a share of them, that are chance where
#: elements differ as those of an exponential distribution do, and come in pairs, + and -.
_CHANCE: Final = 4 * math.sqrt(2)
#: Fewer elements of an input say nothing.
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
        pipelines = profile.pipelines
        return cls(
            tuple(
                InputActivity(
                    pipeline.n_plus + pipeline.n_minus, pipeline.n_probes, pipeline.n_built
                )
                for pipeline in pipelines
            )
        )

    def then(self, later: Activity) -> Activity:
        """Both."""
        pairs = zip(self.inputs, later.inputs, strict=True)
        return Activity(tuple(InputActivity(*map(sum, zip(*two, strict=True))) for two in pairs))

    @property
    def n_elements(self) -> int:
        """Of the join, at least one."""
        return max(1, sum(input.came for input in self.inputs))

    def others_came(self, usual: Activity, change_share: float) -> bool:
        """Whether the share of an input is another by more than that share of what is usual, and by
        more than chance has it among so few. However the join is executed, it does not touch
        this."""
        n, n_usual = self.n_elements, usual.n_elements

        def moved(now: int, before: int) -> bool:
            n_behind = max(now, before)
            by = max(change_share, _chance(n_behind, n_behind))
            gap = abs(now / n - before / n_usual)
            return n_behind >= _LEAST and gap > by * max(before / n_usual, _FEW_ELEMENTS)

        pairs = zip(self.inputs, usual.inputs, strict=True)
        return any(moved(own.came, other.came) for own, other in pairs)

    def more_is_done(self, usual: Activity, change_share: float) -> bool:
        """Whether what is done for the elements of an input, for each element of the join, is more
        or less by that share of what is usual, and by more than chance has it. The join has to be
        executed in the same way."""
        n, n_usual = self.n_elements, usual.n_elements
        few = (
            _FEW_OPERATIONS
            * sum(input.n_probes + input.n_built for input in usual.inputs)
            / n_usual
        )

        def moved(now: int, before: int, by: float) -> bool:
            return abs(now / n - before / n_usual) > by * max(before / n_usual, few)

        for own, other in zip(self.inputs, usual.inputs, strict=True):
            if min(own.came, other.came) >= _LEAST:
                by = max(change_share, _chance(own.came, other.came))
                if moved(own.n_probes, other.n_probes, by):
                    return True
                if moved(own.n_built, other.n_built, by):
                    return True
        return False


def enough_elements(n_inputs: int, change_share: float) -> float:
    """So many of a join that chance is less than such a change, if all inputs are as frequent;
    never enough for any change at all."""
    return n_inputs * 2 * (_CHANCE / change_share) ** 2 if change_share else math.inf


def _chance(n: int, other: int) -> float:
    """Of the means over so many elements."""
    return _CHANCE * math.sqrt(1 / n + 1 / other) if n and other else math.inf


class UsualActivity:
    """What is usual: batches are gathered until their elements say something, the first ones as
    what later ones are compared with. moved: (now, usual, change_share) -> whether that changed."""

    def __init__(self, moved: Callable[[Activity, Activity, float], bool]) -> None:
        self._moved = moved
        self._usual: Activity | None = None
        self._now: Activity | None = None

    def begin(self) -> None:
        """Nothing is usual any more."""
        self._usual = self._now = None

    def pause(self) -> None:
        """What was gathered last is not to be compared."""
        self._now = None

    def look(self, batch: Activity, least: float, share: float, may_begin: bool = True) -> bool:
        """A batch ran; whether something moved. least: elements that are compared; may_begin:
        whether it may become what is usual."""
        if self._usual is None and not may_begin:
            return False
        now = batch if self._now is None else self._now.then(batch)
        self._now = now if now.n_elements < least else None
        if self._now is not None:
            return False
        if self._usual is None:
            self._usual = now
            return False
        return self._moved(now, self._usual, share)
