"""Which statistics drive changes of plan. [B05] §7"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dashboard.views.planlog import PlanLogEntry
from storage.vocabulary.moves import distances, scale_of

#: Newest evaluations that importance is of: what it takes grows with their square.
MOST: Final = 192
#: Shuffles of each statistic: three say as much as more of them, to a few per cent.
_REPEATS: Final = 3
#: float64[T, n] statistics of evaluations -> the plan of each.
PlanPredictor: TypeAlias = Callable[[NDArray[np.float64]], Sequence[str]]


class StatisticWeight(NamedTuple):
    """A statistic. fall: share of the evaluations whose plan is predicted no longer once it is
    shuffled, [0, 1]; bits: what it says of the plan alone; share: of the sampled tuples that it is
    taken of, None where nobody said."""

    name: str
    unit: str
    fall: float
    bits: float
    share: float | None = None


class PlanDrivers(NamedTuple):
    """Statistics, what drives changes of plan most first. n, n_plans: evaluations, and plans that
    they chose."""

    n: int
    n_plans: int
    statistics: tuple[StatisticWeight, ...]


def plan_drivers(
    entries: Sequence[PlanLogEntry], shares: Mapping[str, float] | None = None
) -> PlanDrivers:
    """Of the newest MOST entries of one log, at least one; where none drives a change, in the order
    of the log. shares: by statistic, of the sampled tuples."""
    newest, last = entries[-MOST:], entries[-1]
    plans = tuple(entry.plan for entry in newest)
    rows = tuple(tuple(entry.statistics.values()) for entry in newest)
    weights = _weights(rows, plans, tuple(last.units.values()))
    drivers = [
        StatisticWeight(name, unit, fall, bits, (shares or {}).get(name))
        for (name, unit), (fall, bits) in zip(last.units.items(), weights, strict=True)
    ]
    drivers.sort(key=lambda row: (-row.fall, -row.bits))
    return PlanDrivers(len(newest), len(set(plans)), tuple(drivers))


@lru_cache(maxsize=16)
def _weights(
    rows: tuple[tuple[float, ...], ...], plans: tuple[str, ...], units: tuple[str, ...]
) -> tuple[tuple[float, float], ...]:
    """Fall and bits of each statistic."""
    statistics = np.array(rows, dtype=np.float64)
    predict = nearest_plan(statistics, plans, usual_moves(statistics, units))
    falls = permutation_importance(statistics, plans, predict, _REPEATS).tolist()
    bits = [mutual_information(column, plans) for column in statistics.T]
    return tuple(zip(falls, bits, strict=True))


def usual_moves(
    statistics: NDArray[np.float64], units: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """float64[n], above 0: the median move of each statistic from one evaluation to the next, and
    at least a share of its largest value. statistics: float64[T, n], T ≥ 1; units: None where what
    is timed has the share of all else."""
    moves = np.zeros(statistics.shape[1])
    if len(statistics) > 1:
        moves = np.median(np.abs(np.diff(statistics, axis=0)), axis=0)
    return scale_of(moves, np.abs(statistics).max(axis=0), units or [""] * len(moves))


def nearest_plan(
    statistics: NDArray[np.float64], plans: Sequence[str], scale: NDArray[np.float64]
) -> PlanPredictor:
    """The plan of the nearest evaluation of a log, itself left out when it is asked for in place.

    statistics: float64[T, n]; plans: T digests; scale: float64[n], above 0: the largest difference
    in these counts. Row i asked is taken for row i of the log.
    """

    def predict(asked: NDArray[np.float64]) -> list[str]:
        apart = distances(asked, statistics, scale)
        np.fill_diagonal(apart, np.inf)
        return [plans[place] for place in apart.argmin(axis=1).tolist()]

    return predict


def permutation_importance(
    statistics: NDArray[np.float64],
    plans: Sequence[str],
    predict: PlanPredictor,
    n_repeats: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """float64[n]: how much less often the plan is predicted once a statistic is shuffled, [0, 1].

    statistics: float64[T, n]; plans: those chosen. 0: it drives no change. L. Breiman, 2001.
    """
    rng = np.random.default_rng(seed)
    n = statistics.shape[1]
    hits = _hits(predict(statistics), plans)
    fall = np.zeros(n)
    for column in np.flatnonzero(np.ptp(statistics, axis=0)).tolist():
        for _ in range(n_repeats):
            shuffled = statistics.copy()
            shuffled[:, column] = rng.permutation(shuffled[:, column])
            fall[column] += (hits - _hits(predict(shuffled), plans)) / n_repeats
    return np.maximum(np.round(fall, 9), 0.0)  # shuffles that cancel leave 1e-17


def mutual_information(values: NDArray[np.float64], plans: Sequence[str], n_bins: int = 8) -> float:
    """Bits that a statistic says of the plan, in [0, log2 of the number of plans].

    values: float64[T], cut into ``n_bins`` with about as many evaluations each. Corrected for the
    number of cells (G. A. Miller, 1955), and never below 0.
    """
    if not len(values):
        return 0.0
    cuts = np.quantile(values, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(cuts, values, side="right").tolist()
    pairs = Counter(zip(bins, plans, strict=True))
    of_bin, of_plan = Counter(bins), Counter(plans)
    n = len(plans)
    bits = sum(
        count / n * np.log2(count * n / (of_bin[cell] * of_plan[plan]))
        for (cell, plan), count in pairs.items()
    )
    excess = len(pairs) - len(of_bin) - len(of_plan) + 1
    return max(0.0, float(bits - excess / (2 * n * np.log(2))))


def _hits(predicted: Sequence[str], plans: Sequence[str]) -> float:
    """Share of the plans that were predicted."""
    right = sum(guess == plan for guess, plan in zip(predicted, plans, strict=True))
    return right / len(plans) if plans else 0.0
