"""What operations of a join take when they are not watched: measured against estimated time.

Watched elements go a slower way and pay for the clock; elements without caches go the fastest one
there is. So the sum of estimates is set against the processor time of whole batches: first of those
without caches, which says what index probes really take, then of those with caches, which says what
is left for theirs. Only so a cache is seen not to pay where a probe of a hot index costs no more.
What an element takes whatever its pipeline does (its values are read, it is counted, and entered
into its synopsis) saves no cache: it is left out.
"""

from __future__ import annotations

import statistics
from collections import deque
from typing import Final

from backend.operators.network.join_tuning import JoinProfile

#: Whole batches without caches that are to be seen before any is priced.
_AT_LEAST: Final = 2
#: What an element takes beside its index probes and built tuples, in these: of joins of three
#: streams that differ in nothing but their values the processor time per element is a line over
#: the operations, from four to thirty of them (``bench joins``).
FIXED: Final = 6.0
#: Factors are kept within these bounds: one batch may be anything. Operations of caches are not
#: taken to be further below their estimate than probes are below theirs, but for this.
_LEAST, _MOST, _CHEAPER = 0.1, 10.0, 0.5


class Calibration:
    """Factors from estimates to time, medians of the last ``keep`` batches."""

    def __init__(self, keep: int) -> None:
        self._bare: deque[float] = deque(maxlen=keep)
        self._cached: deque[float] = deque(maxlen=keep)
        self._fixed: deque[float] = deque(maxlen=keep)

    def add_bare(self, taken_ns: float, estimated_ns: float, n_operations: float) -> None:
        """A batch without caches and shadow look-ups; all per element. estimated_ns: of its index
        probes; n_operations: index probes and built tuples."""
        if taken_ns > 0 and estimated_ns > 0:
            fixed_ns = taken_ns * FIXED / (FIXED + n_operations)
            self._fixed.append(fixed_ns)
            self._bare.append(_bounded((taken_ns - fixed_ns) / estimated_ns))

    def add_cached(self, taken_ns: float, probes_ns: float, operations_ns: float) -> None:
        """A batch with caches; all per element. probes_ns, operations_ns: estimates of its index
        probes, and of the operations of caches."""
        if self.knows_bare and taken_ns > 0 and operations_ns > 0:
            left = taken_ns - self.fixed_ns - self.of_probes * probes_ns
            self._cached.append(_bounded(left / operations_ns))

    @property
    def knows_bare(self) -> bool:
        """Whether enough batches without caches were seen."""
        return len(self._bare) >= _AT_LEAST

    @property
    def knows_cached(self) -> bool:
        """Whether a batch with caches was seen."""
        return bool(self._cached)

    @property
    def fixed_ns(self) -> float:
        """Of an element, whatever its pipeline does; 0: not known."""
        return statistics.median_low(self._fixed) if self._fixed else 0.0

    @property
    def of_probes(self) -> float:
        """Of index probes and what is built by them; 1: not known."""
        return statistics.median_low(self._bare) if self._bare else 1.0

    @property
    def of_operations(self) -> float:
        """Of operations of caches; as of index probes, while that is not known."""
        if not self._cached:
            return self.of_probes
        return max(statistics.median(self._cached), _CHEAPER * self.of_probes)


def n_operations(profile: JoinProfile) -> float:
    """Index probes and built tuples per element of a join, of all elements of a batch."""
    n_elements = sum(one.n_plus + one.n_minus for one in profile.pipelines)
    return sum(one.n_probes + one.n_built for one in profile.pipelines) / n_elements


def _bounded(factor: float) -> float:
    return min(_MOST, max(_LEAST, factor))
