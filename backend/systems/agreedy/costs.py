"""Cost of a filter per tuple, and per call, fitted robustly to recent timings. [B05] §4.3.1

The paper takes the mean over the profile tuples' times. Here every evaluation is timed, some tuples
at a time, and a call takes ``fixed + per_tuple · n``: what it takes for no tuple it takes in any
order of the filters, so orders are compared by what each tuple adds. The line has the least sum of
relative deviations, so that a call that waited for the processor does not move it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import Picoseconds, picoseconds
from backend.model.filters import CostSample

#: Timings remembered per filter.
KEEP: Final = 64
#: Assumed until a filter was timed, in microseconds.
UNKNOWN_US: Final = 1.0
#: Of a typical timing no less than this share is its tuples': a filter is never free.
LEAST_SHARE: Final = 0.01
#: Fixed costs tried at once, and how often between the neighbours of the best.
_TRIES, _ROUNDS = 17, 2

Times = NDArray[np.float64]


class CallCost(NamedTuple):
    """Cost of asking a filter, microseconds: of a call, whatever it is asked, and of each tuple."""

    fixed: float
    per_tuple: float


UNKNOWN: Final = CallCost(0.0, UNKNOWN_US)


@dataclass
class _Timings:
    """The last timings of a filter. n_new: since its cost was fitted."""

    samples: deque[CostSample] = field(default_factory=lambda: deque(maxlen=KEEP))
    cost: CallCost = UNKNOWN
    n_new: int = 0


class CostWindow:
    """The last timings of each filter, by name."""

    def __init__(self) -> None:
        self._timings: dict[str, _Timings] = {}

    def add(self, costs: Mapping[str, Iterable[CostSample]]) -> None:
        """Remember timings; those of no tuples are left out."""
        for name, samples in costs.items():
            kept = self._timings.setdefault(name, _Timings())
            new = [sample for sample in samples if sample.n_tuples > 0]
            kept.samples.extend(new)
            kept.n_new += len(new)

    def carry(self, name: str, other: CostWindow, called: str) -> None:
        """Have what another window knows of a filter that is called otherwise there."""
        if called in other._timings:
            known = other._timings[called]
            samples = deque(known.samples, maxlen=KEEP)
            self._timings[name] = _Timings(samples, known.cost, known.n_new)

    def cost(self, name: str) -> CallCost:
        """The estimate; it is fitted anew when a quarter of the timings is new."""
        kept = self._timings.get(name)
        if kept is None:
            return UNKNOWN
        if kept.n_new and 4 * kept.n_new >= len(kept.samples):
            kept.cost, kept.n_new = call_cost(kept.samples, kept.cost.fixed), 0
        return kept.cost

    def us(self, name: str) -> float:
        """Microseconds that each tuple adds."""
        return self.cost(name).per_tuple

    def picoseconds(self, names: Sequence[str]) -> tuple[Picoseconds, ...]:
        """The same as whole picoseconds."""
        return tuple(picoseconds(self.us(name)) for name in names)


def call_cost(samples: Iterable[CostSample], fixed: float = 0.0) -> CallCost:
    """The line, neither part below 0, with the least sum of |us - fixed - per_tuple · n| / us.

    samples: not empty, each of some tuples. fixed: what is thought of it so far counts as one more
    timing, of a call without tuples: it decides where all calls are of about as many.
    """
    n, us = np.array([(sample.n_tuples, max(sample.us, 1e-6)) for sample in samples]).T
    typical = float(np.median(us))
    low, high = 0.0, max(typical, fixed)
    best = CallCost(0.0, 0.0)
    for _ in range(_ROUNDS):
        tries = np.linspace(low, high, _TRIES)
        slopes = _slopes(tries, n, us)
        off = np.abs(us - tries[:, None] - slopes[:, None] * n) / us
        place = int(np.argmin(off.sum(axis=1) + np.abs(tries - fixed) / typical))
        best = CallCost(float(tries[place]), float(slopes[place]))
        low, high = tries[max(place - 1, 0)], tries[min(place + 1, _TRIES - 1)]
    least = LEAST_SHARE * float(np.median(us / n))
    return best._replace(per_tuple=max(best.per_tuple, least))


def _slopes(fixed: Times, n: Times, us: Times) -> Times:
    """For each fixed cost the cost of a tuple that fits best: a weighted median."""
    each = np.maximum(us - fixed[:, None], 0.0) / n
    by_slope = np.argsort(each, axis=1)
    passed = np.cumsum((n / us)[by_slope], axis=1)
    middle = np.argmax(2 * passed >= passed[:, -1:], axis=1)[:, None]
    slopes: Times = np.take_along_axis(each, np.take_along_axis(by_slope, middle, 1), 1)[:, 0]
    return slopes
