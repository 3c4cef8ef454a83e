"""Cost of a filter per tuple, and per call, fitted robustly to recent timings. [B05] §4.3.1

The paper takes the mean over the profile tuples' times. Here every evaluation is timed, some tuples
at a time, and a call takes ``fixed + per_tuple · n``: what it takes for no tuple it takes in any
order of the filters, so orders are compared by what each tuple adds. The line is the lower quartile
of the timings: a call that waits for the processor only takes longer. It is kept until timings
refute it, and filters whose timings do not tell their costs apart have the same: orders change with
costs, not with their noise.
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

#: Timings remembered per filter, and how many of them are new when its cost is looked at again.
KEEP: Final = 512
_NEW_SHARE: Final = 1 / 8
#: Timings that a cost is tested with, at least; with fewer it is fitted anew.
FEWEST: Final = 64
#: Share of the timings that are below the line.
QUARTILE: Final = 0.25
#: Evidence against a line (chi-squared, two degrees of freedom) that refutes it, and against each
#: line with the filter's cost per tuple so far: calls of a batch share their noise, and a line
#: that is not straight has another slope at each size.
REFUTED: Final = 16.0
_CHANGED: Final = 4 * REFUTED
#: Costs per tuple of which one is so many times the other are never one.
_APART: Final = 2.0
#: Share of a typical timing by which a call takes more or less in the newest timings of another
#: filter, as it were: less may be all of what is left to a filter that is asked few tuples.
_MOVED: Final = 0.5
#: Assumed until a filter was timed, in microseconds.
UNKNOWN_US: Final = 1.0
#: Of a typical timing no less than this share is its tuples': a filter is never free.
LEAST_SHARE: Final = 0.01
#: Weight of what is thought of the fixed cost so far, a timing above the line having a quarter.
PRIOR: Final = 4.0
#: Fixed costs tried at once, and how often between the neighbours of the best.
_TRIES, _ROUNDS = 9, 4

Times = NDArray[np.float64]


class CallCost(NamedTuple):
    """Cost of asking a filter, microseconds: of a call, whatever it is asked, and of each tuple."""

    fixed: float
    per_tuple: float


UNKNOWN: Final = CallCost(0.0, UNKNOWN_US)


@dataclass
class _Timings:
    """The last timings of a filter. n_new: since its cost was looked at."""

    samples: deque[CostSample] = field(default_factory=lambda: deque(maxlen=KEEP))
    cost: CallCost = UNKNOWN
    n_new: int = 0

    @property
    def is_due(self) -> bool:
        """Its cost is to be looked at again."""
        return self.n_new > 0 and self.n_new >= _NEW_SHARE * len(self.samples)

    def forget(self) -> None:
        """Only the newest timings are left where they are of another filter, as it were."""
        newest = list(self.samples)[-FEWEST:]
        if len(newest) < len(self.samples) and is_other(newest, self.cost):
            self.samples = deque(newest, maxlen=KEEP)


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
        """The estimate; it is looked at again when an eighth of the timings is new."""
        kept = self._timings.get(name)
        if kept is None:
            return UNKNOWN
        if kept.is_due:
            kept.forget()
            before = kept.cost if len(kept.samples) - kept.n_new >= FEWEST else None
            kept.cost = next_cost(kept.samples, before, kept.cost.fixed, self._others(name))
            kept.n_new = 0
        return kept.cost

    def _others(self, name: str) -> list[float]:
        """Costs per tuple of the other filters that are known well."""
        known = (kept for other, kept in self._timings.items() if other != name)
        return [kept.cost.per_tuple for kept in known if len(kept.samples) >= FEWEST]

    def us(self, name: str) -> float:
        """Microseconds that each tuple adds."""
        return self.cost(name).per_tuple

    def picoseconds(self, names: Sequence[str]) -> tuple[Picoseconds, ...]:
        """The same as whole picoseconds."""
        return tuple(picoseconds(self.us(name)) for name in names)


def next_cost(
    samples: Sequence[CostSample], known: CallCost | None, fixed: float, others: Iterable[float]
) -> CallCost:
    """The cost so far unless timings refute it: then with another fixed part, then with the cost
    per tuple of another filter that they do not refute, then a line of its own.

    known: None where it was fitted to few timings. fixed: thought of the fixed part so far.
    """
    n, us = _columns(samples)
    if len(us) < FEWEST:
        return _fitted(n, us, fixed)
    if known is not None and evidence(n, us, known) < REFUTED:
        return known
    fitted = _fitted(n, us, fixed)
    near = [slope for slope in others if 1 / _APART < slope / fitted.per_tuple < _APART]
    own = [] if known is None else [known.per_tuple]
    for slopes, most in ((own, _CHANGED), (near, REFUTED)):
        lines = [CallCost(_fixed(slope, n, us), slope) for slope in slopes]
        against = [evidence(n, us, line) for line in lines]
        if against and min(against) < most:
            return lines[against.index(min(against))]
    return fitted


def is_other(samples: Sequence[CostSample], cost: CallCost) -> bool:
    """Whether timings refute a cost, and by their own a call of as many tuples takes another time.
    Where tuples are but a small share of it their cost cannot be told from few timings."""
    n, us = _columns(samples)
    moved = abs(_fitted(n, us, cost.fixed).per_tuple - cost.per_tuple) * float(n.mean())
    return moved >= _MOVED * float(np.median(us)) and evidence(n, us, cost) >= REFUTED


def call_cost(samples: Iterable[CostSample], fixed: float = 0.0) -> CallCost:
    """The lower quartile of timings as a line with neither part below 0, by the least sum of
    deviations over us, of which those above the line count a quarter, those below three.

    samples: not empty, each of some tuples. fixed: what is thought of it so far counts as a
    timing of a call without tuples: it decides where all calls are of about as many, or are few.
    """
    return _fitted(*_columns(samples), fixed)


def _fitted(n: Times, us: Times, fixed: float) -> CallCost:
    typical = float(np.median(us))
    low, high = 0.0, max(typical, fixed)
    best = CallCost(0.0, 0.0)
    for _ in range(_ROUNDS):
        tries = np.linspace(low, high, _TRIES)
        slopes = _slopes(tries, n, us)
        off = (us - tries[:, None] - slopes[:, None] * n) / us
        missed = np.maximum(QUARTILE * off, (QUARTILE - 1) * off).sum(axis=1)
        place = int(np.argmin(missed + PRIOR * np.abs(tries - fixed) / typical))
        best = CallCost(float(tries[place]), float(slopes[place]))
        low, high = tries[max(place - 1, 0)], tries[min(place + 1, _TRIES - 1)]
    least = LEAST_SHARE * float(np.median(us / n))
    return best._replace(per_tuple=max(best.per_tuple, least))


def evidence(n: Times, us: Times, line: CallCost) -> float:
    """Score statistic of a line as the lower quartile of timings: chi-squared with two degrees of
    freedom when it is. n, us: float64[timings], tuples and microseconds of each.

    Score tests of regression quantiles: Koenker, Quantile Regression (2005) §3.5.3.
    """
    is_below = us < line.fixed + line.per_tuple * n
    rows = np.stack([1 / us, n / us])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    score = rows @ np.where(is_below, QUARTILE - 1, QUARTILE)
    spread = QUARTILE * (1 - QUARTILE) * (rows @ rows.T)
    return float(score @ np.linalg.pinv(spread, hermitian=True) @ score)


def _columns(samples: Iterable[CostSample]) -> tuple[Times, Times]:
    """Tuples and microseconds of timings."""
    n, us = np.array([(sample.n_tuples, max(sample.us, 1e-6)) for sample in samples]).T
    return n, us


def _slopes(fixed: Times, n: Times, us: Times) -> Times:
    """For each fixed cost the cost of a tuple that fits best: a weighted quartile."""
    return _quartiles(np.maximum(us - fixed[:, None], 0.0) / n, n / us)


def _fixed(per_tuple: float, n: Times, us: Times) -> float:
    """The fixed cost that fits best beside a cost of a tuple."""
    return float(_quartiles(np.maximum(us - per_tuple * n, 0.0)[None], 1 / us)[0])


def _quartiles(values: Times, weights: Times) -> Times:
    """Of each row, columns weighted: the lower one."""
    by_value = np.argsort(values, axis=1)
    passed = np.cumsum(weights[by_value], axis=1)
    place = np.argmax(passed >= QUARTILE * passed[:, -1:], axis=1)[:, None]
    quartiles: Times = np.take_along_axis(values, np.take_along_axis(by_value, place, 1), 1)[:, 0]
    return quartiles
