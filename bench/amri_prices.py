"""What indexes of eddies take by the clock: a tuple compared, a bucket, a code; inserts and moves.

One state of tuples with two attributes, which another input asks for the second one; nothing
matches. How many tuples are compared, buckets visited and codes read follows from the bits alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.eddy.tuning import EddyProfile, EddyTuning, StateTuning
from backend.operators.network.eddy.words import BUCKETS, CODES_READ
from backend.operators.network.joins.join_kernel import SCANNED
from backend.operators.network.kinds.eddy import EddyOp
from bench.experiments.amri_running import joined
from bench.experiments.join_running import SignedElements, windowed

#: Input 0 asks input 1, the state, for its second attribute.
_WORK: Final = EddyOp((((0, 0), (1, 1)), ((1, 0), (2, 0))))
_WIDTHS: Final = (1, 2, 1)
#: All tuples compared, all codes of a partition read, some buckets of each visited.
COMPARES, READS, VISITS = (11, 0), (11, 4), (8, 4)


class IndexTimes(NamedTuple):
    """ns: of a tuple compared, a code read, a bucket visited; of a tuple inserted, and bucketed
    anew."""

    compare: float
    code: float
    bucket: float
    insert: float
    move: float


class _Asked:
    """A state with so many tuples in partitions of a size."""

    def __init__(self, n_tuples: int, partition: int, rng: np.random.Generator) -> None:
        self._plan, self._regions = windowed(_WORK, _WIDTHS), MemoryRegions()
        self._partition, self._rng, self._n = partition, rng, 0
        self._numbers = range(n_tuples // partition + 1)
        self._run((0, 0), 1, n_tuples + 1)  # one more: the last partition is complete

    def _run(self, bits: Sequence[int], n_asked: int, n_stored: int = 0) -> EddyProfile:
        """Under bits, which all partitions take on; elements that ask, one at least, without which
        nothing is done, and that are stored."""
        values = self._rng.integers(0, 1 << 62, (n_asked + n_stored, 2))
        each = values[:n_asked, :1], values[n_asked:], values[:0, :1]
        part = [_elements(self._n, of) for of in each]
        self._n += len(values)
        state = StateTuning(tuple(bits), (), self._partition, tuple(self._numbers))
        states = (StateTuning(), state, StateTuning())
        tuning = EddyTuning(states=states, migration_us=10_000_000)
        return joined(self._plan, self._regions, tuning, part)[1]

    def searched(self, bits: Sequence[int], n_asked: int) -> tuple[float, np.ndarray]:
        """ns of the requests, and int64[N_REQUEST] of them."""
        self._run(bits, 1)
        profile = self._run(bits, n_asked)
        return profile.processor_ns, profile.requests[1].sum(axis=0)

    def filled(self, bits: Sequence[int]) -> float:
        """ns of a tuple taken in, all anew."""
        size = self._partition
        self._partition = size + 1
        self._run(bits, 1)
        self._partition = size
        profile = self._run(bits, 1)
        return profile.processor_ns / profile.states[1].n_tuples

    def moved(self, old: Sequence[int], new: Sequence[int]) -> float:
        """ns of a tuple that takes on other bits."""
        self._run(old, 1)
        report = self._run(new, 1).states[1]
        return report.migration_ns / report.migrated


def _elements(first: int, values: np.ndarray) -> SignedElements:
    n = len(values)
    return SignedElements(first + np.arange(n), np.ones(n, np.int8), values)


def index_times(n_tuples: int, n_asked: int, turns: int, seed: int) -> IndexTimes:
    """Medians over so many turns."""
    state = _Asked(n_tuples, n_tuples // 4, np.random.default_rng(seed))
    times = []
    for _ in range(turns):
        ns, counts = state.searched(COMPARES, n_asked)
        compare = ns / counts[SCANNED]
        each = []
        for bits, what in ((READS, CODES_READ), (VISITS, BUCKETS)):
            ns, counts = state.searched(bits, n_asked)
            compared = counts[SCANNED] - counts[CODES_READ]
            each.append((ns - compared * compare) / max(1, counts[what]))
        times.append((compare, *each, state.filled(VISITS), state.moved(READS, VISITS)))
    return IndexTimes(*np.median(times, axis=0).tolist())
