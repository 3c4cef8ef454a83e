"""What was asked of a state, by access pattern, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, TypeAlias, cast

from storage.vocabulary.amri_costs import WorkCosts
from storage.vocabulary.amri_patterns import Pattern

#: Of a pattern: requests, tuples matched, tuples compared, buckets visited, of the tuples compared
#: those of which no more than the code was read.
PatternCounts: TypeAlias = tuple[int, int, int, int, int]
NO_COUNTS: Final[PatternCounts] = (0, 0, 0, 0, 0)


class StateCounts(NamedTuple):
    """Since the last selection: elements of the state with sign +; counts by pattern."""

    arrivals: int = 0
    by_pattern: Mapping[Pattern, PatternCounts] = MappingProxyType({})

    def plus(self, arrivals: int, counts: Mapping[Pattern, PatternCounts]) -> StateCounts:
        """With those of a batch."""
        added = dict(self.by_pattern)
        for pattern, row in counts.items():
            a, b, c, d, e = added.get(pattern, NO_COUNTS)
            added[pattern] = a + row[0], b + row[1], c + row[2], d + row[3], e + row[4]
        return StateCounts(self.arrivals + arrivals, added)

    def since(self, before: StateCounts) -> StateCounts:
        """Without what was counted before, where counting went on from there."""
        left = {
            pattern: (row[0] - a, row[1] - b, row[2] - c, row[3] - d, row[4] - e)
            for pattern, row in self.by_pattern.items()
            for a, b, c, d, e in [before.by_pattern.get(pattern, NO_COUNTS)]
            if row[0] > a
        }
        return StateCounts(self.arrivals - before.arrivals, left)

    @property
    def requests(self) -> int:
        return sum(requests for requests, *_ in self.by_pattern.values())

    @property
    def compared(self) -> int:
        return sum(compared for _, _, compared, *_ in self.by_pattern.values())

    def cost(self, costs: WorkCosts) -> float:
        """Of all searches, hashing left out."""
        return sum(searched(row, costs) for row in self.by_pattern.values())

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        return [self.arrivals, [[p, *row] for p, row in self.by_pattern.items()]]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Self:
        """As ``state`` has it; what older records did not count is 0."""
        arrivals, rows = state
        counts = {p: cast(PatternCounts, (*row, *NO_COUNTS[len(row) :])) for p, *row in rows}
        return cls(arrivals, counts)


def searched(row: PatternCounts, costs: WorkCosts) -> float:
    """What the requests of a pattern took: comparisons, buckets visited, codes read in vain."""
    _, _, compared, buckets, codes = row
    return (compared - codes) * costs.compare + buckets * costs.bucket + codes * costs.code
