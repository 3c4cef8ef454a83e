"""What was asked of a state, by access pattern, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, TypeAlias

from storage.vocabulary.amri_patterns import Pattern

#: Of a pattern: requests, tuples matched, tuples compared, buckets visited.
PatternCounts: TypeAlias = tuple[int, int, int, int]
_NONE: Final[PatternCounts] = (0, 0, 0, 0)


class StateCounts(NamedTuple):
    """Since the last selection: elements of the state with sign +; requests, tuples matched and
    compared, buckets visited, by pattern."""

    arrivals: int = 0
    by_pattern: Mapping[Pattern, PatternCounts] = MappingProxyType({})

    def plus(self, arrivals: int, counts: Mapping[Pattern, PatternCounts]) -> StateCounts:
        """With those of a batch."""
        added = dict(self.by_pattern)
        for pattern, (requests, matched, compared, buckets) in counts.items():
            before = added.get(pattern, _NONE)
            added[pattern] = (
                before[0] + requests,
                before[1] + matched,
                before[2] + compared,
                before[3] + buckets,
            )
        return StateCounts(self.arrivals + arrivals, added)

    def since(self, before: StateCounts) -> StateCounts:
        """Without what was counted before, where counting went on from there."""
        left = {
            pattern: (row[0] - old[0], row[1] - old[1], row[2] - old[2], row[3] - old[3])
            for pattern, row in self.by_pattern.items()
            for old in [before.by_pattern.get(pattern, _NONE)]
            if row[0] > old[0]
        }
        return StateCounts(self.arrivals - before.arrivals, left)

    @property
    def requests(self) -> int:
        return sum(requests for requests, _, _, _ in self.by_pattern.values())

    @property
    def compared(self) -> int:
        return sum(compared for _, _, compared, _ in self.by_pattern.values())

    @property
    def cost(self) -> float:
        """Counted work of the searches: comparisons and bucket visits."""
        rows = self.by_pattern.values()
        return float(sum(compared + buckets for _, _, compared, buckets in rows))

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        return [self.arrivals, [[p, *row] for p, row in self.by_pattern.items()]]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Self:
        """As ``state`` has it."""
        arrivals, rows = state
        return cls(arrivals, {p: (r, m, c, b) for p, r, m, c, b in rows})
