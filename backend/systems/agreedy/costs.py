"""What a filter costs per tuple, robustly: the weighted median of recent timings. [B05] §4.3.1

The paper takes the mean over the profile tuples' times. Here every evaluation is timed, a chunk of
tuples at a time, and the median weighted by tuples is used: one chunk that waited for the
processor moves a mean, not a median, and large chunks outweigh the overhead of small ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from backend.adaptive.ordering.ranks import Picoseconds, picoseconds
from backend.model.filters import CostSample

#: Timings remembered per filter.
KEEP: Final = 64
#: Assumed until a filter was timed, in microseconds.
UNKNOWN_US: Final = 1.0


class CostWindow:
    """The last timings of each filter, by name."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[CostSample]] = {}
        self._estimates: dict[str, float] = {}

    def add(self, costs: Mapping[str, Iterable[CostSample]]) -> None:
        """Remember timings; those of no tuples are left out."""
        for name, samples in costs.items():
            kept = self._samples.setdefault(name, deque(maxlen=KEEP))
            kept.extend(sample for sample in samples if sample.n_tuples > 0)
            self._estimates.pop(name, None)

    def samples(self, name: str) -> tuple[CostSample, ...]:
        """The timings remembered of a filter."""
        return tuple(self._samples.get(name, ()))

    def us(self, name: str) -> float:
        """The estimate, microseconds per tuple."""
        samples = self._samples.get(name)
        if samples and name not in self._estimates:
            self._estimates[name] = weighted_median(samples)
        return self._estimates.get(name, UNKNOWN_US)

    def picoseconds(self, names: Sequence[str]) -> tuple[Picoseconds, ...]:
        """The estimates as whole picoseconds."""
        return tuple(picoseconds(self.us(name)) for name in names)


def weighted_median(samples: Iterable[CostSample]) -> float:
    """The per-tuple cost below which at least half of the tuples lie; samples not empty."""
    ordered = sorted((sample.us / sample.n_tuples, sample.n_tuples) for sample in samples)
    half = sum(n for _, n in ordered) / 2
    passed = 0
    for value, n in ordered:
        passed += n
        if passed >= half:
            return value
    return ordered[-1][0]
