"""What was asked of a state, by access pattern, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add, sub
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, TypeAlias

from storage.vocabulary.amri_costs import WorkCosts
from storage.vocabulary.amri_patterns import Pattern

#: Of a pattern: requests, tuples matched, tuples compared, buckets visited, of the tuples compared
#: those of which no more than the code was read. Of states that are asked by order, too, tuples
#: that agreed in all that was asked for by a value, and of these by attribute those in its range.
PatternCounts: TypeAlias = tuple[int, ...]
NO_COUNTS: Final[PatternCounts] = (0, 0, 0, 0, 0)
#: Where in these the last two are.
AGREED: Final = 5
IN_RANGE: Final = 6


class StateCounts(NamedTuple):
    """Since the last selection: elements of the state with sign +; counts by pattern."""

    arrivals: int = 0
    by_pattern: Mapping[Pattern, PatternCounts] = MappingProxyType({})

    def plus(self, arrivals: int, counts: Mapping[Pattern, PatternCounts]) -> StateCounts:
        """With those of a batch."""
        added = dict(self.by_pattern)
        for pattern, row in counts.items():
            before = added.get(pattern)
            added[pattern] = row if before is None else tuple(map(add, before, row))
        return StateCounts(self.arrivals + arrivals, added)

    def since(self, before: StateCounts) -> StateCounts:
        """Without what was counted before, where counting went on from there."""
        left = {
            pattern: row if known is None else tuple(map(sub, row, known))
            for pattern, row in self.by_pattern.items()
            for known in [before.by_pattern.get(pattern)]
            if known is None or row[0] > known[0]
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
        counts = {p: (*row, *NO_COUNTS[len(row) :]) for p, *row in rows}
        return cls(arrivals, counts)


def searched(row: PatternCounts, costs: WorkCosts) -> float:
    """What the requests of a pattern took: comparisons, buckets visited, codes read in vain."""
    _, _, compared, buckets, codes = row[:5]
    return (compared - codes) * costs.compare + buckets * costs.bucket + codes * costs.code
