"""What was asked of a state, by access pattern, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

from backend.operators.network.eddy.words import BUCKETS
from backend.operators.network.joins.join_kernel import MATCHES, PROBES, SCANNED
from backend.systems.amri.patterns import Pattern

#: Of a pattern: requests, tuples matched, tuples compared, buckets visited.
PatternCounts: TypeAlias = tuple[int, int, int, int]


class StateCounts(NamedTuple):
    """Since the last selection: elements of the state with sign +; requests, tuples matched and
    compared, buckets visited, by pattern."""

    arrivals: int = 0
    by_pattern: Mapping[Pattern, PatternCounts] = MappingProxyType({})

    def plus(self, arrivals: int, counts: Mapping[Pattern, PatternCounts]) -> StateCounts:
        """With those of a batch."""
        added = dict(self.by_pattern)
        for pattern, (requests, matched, compared, buckets) in counts.items():
            before = added.get(pattern, (0, 0, 0, 0))
            added[pattern] = (
                before[PROBES] + requests,
                before[MATCHES] + matched,
                before[SCANNED] + compared,
                before[BUCKETS] + buckets,
            )
        return StateCounts(self.arrivals + arrivals, added)

    @property
    def requests(self) -> int:
        return sum(row[PROBES] for row in self.by_pattern.values())

    @property
    def compared(self) -> int:
        return sum(row[SCANNED] for row in self.by_pattern.values())

    @property
    def cost(self) -> float:
        """Counted work of the searches: comparisons and bucket visits."""
        return float(sum(row[SCANNED] + row[BUCKETS] for row in self.by_pattern.values()))

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        return [self.arrivals, [[p, *row] for p, row in self.by_pattern.items()]]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Self:
        """As ``state`` has it."""
        arrivals, rows = state
        return cls(arrivals, {p: (r, m, c, b) for p, r, m, c, b in rows})
