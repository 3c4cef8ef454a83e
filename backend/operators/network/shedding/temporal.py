"""Temporal tuples and coalescing: equal values in touching intervals become one. [AL11], card B1

Times are whole numbers in one unit; intervals are half-open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

#: The attributes a query coalesces on; None is NULL, equal to NULL only.
Values: TypeAlias = tuple[Hashable, ...]


class TemporalTuple(NamedTuple):
    """number: of its arrival, unique; valid in [start, end)."""

    number: int
    values: Values
    start: int
    end: int


class RunSpan(NamedTuple):
    """A coalesced tuple: values, and the interval [start, end) they hold in without a gap."""

    values: Values
    start: int
    end: int

    @property
    def length(self) -> int:
        """In the unit of times."""
        return self.end - self.start


class ValidCondition(NamedTuple):
    """A condition on the length of a coalesced tuple: least <= length, <= most unless None, and in
    none of the gaps, whose first and last length are given."""

    least: int = 0
    most: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()

    def holds(self, length: int) -> bool:
        """Whether a coalesced tuple of this length is in the answer."""
        if length < self.least or (self.most is not None and length > self.most):
            return False
        return not any(first <= length <= last for first, last in self.gaps)


#: Every coalesced tuple is in the answer.
EVERY_LENGTH: Final = ValidCondition()


class AnswerShape(NamedTuple):
    """Which coalesced tuples are in the answer of a temporal selection: a condition on values
    (None: there is none), then one on lengths."""

    wanted: Callable[[Values], bool] | None = None
    lengths: ValidCondition = EVERY_LENGTH

    def wants(self, values: Values) -> bool:
        """Whether the condition on values holds."""
        return self.wanted is None or self.wanted(values)

    def takes(self, run: RunSpan) -> bool:
        """Whether both conditions hold."""
        return self.lengths.holds(run.length) and self.wants(run.values)


#: No condition at all.
WHOLE_ANSWER: Final = AnswerShape()


def coalesced(tuples: Iterable[TemporalTuple]) -> list[RunSpan]:
    """Maximal runs of value-equivalent tuples whose intervals are adjacent or overlap; those of
    equal values one behind the other, by start.

    >>> readings = [(80, 0, 2), (80, 2, 5), (80, 5, 6), (90, 6, 10), (85, 10, 12)]
    >>> window = [TemporalTuple(n, (v,), start, end) for n, (v, start, end) in enumerate(readings)]
    >>> [(*run.values, run.start, run.end) for run in coalesced(window)]
    [(80, 0, 6), (90, 6, 10), (85, 10, 12)]
    """
    groups = defaultdict(list)
    for each in tuples:
        groups[each.values].append((each.start, each.end))
    return [run for values, spans in groups.items() for run in _merged(values, sorted(spans))]


def _merged(values: Values, spans: Sequence[tuple[int, int]]) -> list[RunSpan]:
    runs: list[RunSpan] = []
    for start, end in spans:
        if runs and start <= runs[-1].end:
            runs[-1] = runs[-1]._replace(end=max(end, runs[-1].end))
        else:
            runs.append(RunSpan(values, start, end))
    return runs
