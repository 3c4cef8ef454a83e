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
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from backend.operators.network.joins.join_tuning import JoinProfile

#: Whole batches without caches that are to be seen before any is priced, and as many with caches
#: before what is assumed of these gives way.
_AT_LEAST: Final = 2
#: After so many batches without caches it is as if there had never been any: they may be tried
#: again. That one does not pay is seen within a hundredth of so many.
FADED: Final = 200
#: What an element takes beside its index probes and built tuples, in these: of joins of three
#: streams that differ in nothing but their values the processor time per element is a line over
#: the operations, from four to thirty of them (``bench joins``).
FIXED: Final = 6.0
#: Factors are kept within these bounds: one batch may be anything. Operations of caches are not
#: taken to be further below their estimate than probes are below theirs, but for this.
_LEAST, _MOST, _CHEAPER = 0.1, 10.0, 0.5


class _Cached(NamedTuple):
    """A batch with caches, per element: what it took; estimates of its index probes, and of the
    operations of caches."""

    taken_ns: float
    probes_ns: float
    operations_ns: float


class Calibration:
    """Factors from estimates to time, medians of the last ``keep`` batches: a batch that was
    disturbed does not move them. of_probes: of index probes and what is built by them; 1: not
    known. of_operations: of operations of caches; as of index probes, while that is not known.
    fixed_ns: of an element, whatever its pipeline does; 0: not known."""

    def __init__(self, keep: int) -> None:
        keep = max(keep, _AT_LEAST)
        self._bare: deque[float] = deque(maxlen=keep)
        self._fixed: deque[float] = deque(maxlen=keep)
        self._cached: deque[_Cached] = deque(maxlen=keep)
        self._n_without = 0
        self.of_probes = self.of_operations = 1.0
        self.fixed_ns = 0.0

    def add_bare(self, taken_ns: float, estimated_ns: float, n_operations: float) -> None:
        """A batch without caches and shadow look-ups; all per element. estimated_ns: of its index
        probes; n_operations: index probes and built tuples."""
        if taken_ns > 0 and estimated_ns > 0:
            fixed_ns = taken_ns * FIXED / (FIXED + n_operations)
            self._fixed.append(fixed_ns)
            self._bare.append(_bounded((taken_ns - fixed_ns) / estimated_ns))
            self._n_without += 1
            if self._n_without >= FADED:
                self._cached.clear()
            self._weigh()

    def add_cached(self, taken_ns: float, probes_ns: float, operations_ns: float) -> None:
        """A batch with caches, without shadow look-ups; all per element. probes_ns, operations_ns:
        estimates of its index probes, and of the operations of caches."""
        if self.knows_bare and taken_ns > 0 and operations_ns > 0:
            self._cached.append(_Cached(taken_ns, probes_ns, operations_ns))
            self._n_without = 0
            self._weigh()

    @property
    def knows_bare(self) -> bool:
        """Whether enough batches without caches were seen."""
        return len(self._bare) >= _AT_LEAST

    @property
    def knows_cached(self) -> bool:
        """Whether enough batches with caches were seen, not too long ago."""
        return len(self._cached) >= _AT_LEAST

    def _weigh(self) -> None:
        """Batches with caches are set against what probes are known to take by now."""
        if self._bare:
            self.fixed_ns = statistics.median_low(self._fixed)
            self.of_probes = statistics.median_low(self._bare)
        self.of_operations = self.of_probes
        if self.knows_cached:
            median_low = statistics.median_low(map(self._left, self._cached))
            self.of_operations = max(median_low, _CHEAPER * self.of_probes)

    def _left(self, cached: _Cached) -> float:
        """What a batch took beside its index probes, to what was estimated of that."""
        left = cached.taken_ns - self.fixed_ns - self.of_probes * cached.probes_ns
        return _bounded(left / cached.operations_ns)

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "bare": list(self._bare),
            "fixed": list(self._fixed),
            "cached": [list(batch) for batch in self._cached],
            "n_without": self._n_without,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self._bare.extend(state["bare"])
        self._fixed.extend(state["fixed"])
        self._cached.extend(_Cached(*batch) for batch in state["cached"])
        self._n_without = int(state["n_without"])
        self._weigh()


def n_operations(profile: JoinProfile) -> float:
    """Index probes and built tuples per element of a join, of all elements of a batch."""
    n_elements = sum(pipeline.n_plus + pipeline.n_minus for pipeline in profile.pipelines)
    return sum(pipeline.n_probes + pipeline.n_built for pipeline in profile.pipelines) / n_elements


def _bounded(factor: float) -> float:
    return min(_MOST, max(_LEAST, factor))
