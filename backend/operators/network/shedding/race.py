"""Other algorithms in the shadow: what each would have left of the window, and how accurate it is.

Each sheds the same sample of runs down to what is in memory. Accuracy is a ratio of sums over runs,
its interval by linearization; what one gains over another is of the same runs. Card B3, issue §3
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

import numpy as np

from backend.adaptive.stats import Z95
from backend.operators.network.shedding.curve import RunSample, shed
from backend.operators.network.shedding.curve_kernel import REDUCTION, SPREAD, STRAY, Floats
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.temporal import ValidCondition


class Raced(NamedTuple):
    """An algorithm. accuracy: R1 of what it would have left; gain: over the one in force, of the
    same runs; half, gain_half: of their 95 % intervals; n: runs."""

    algorithm: ShedAlgorithm
    accuracy: float
    half: float
    gain: float
    gain_half: float
    n: int


class _Standing(NamedTuple):
    accuracy: float
    residuals: Floats


def race(sample: RunSample, options: ShedOptions, lengths: ValidCondition) -> tuple[Raced, ...]:
    """The most accurate first; none where nothing is lacking."""
    if sample.in_memory.all():
        return ()
    n_left = int(sample.in_memory.sum())
    standings = {
        algorithm: _standing(sample, options._replace(shed_algorithm=algorithm), lengths, n_left)
        for algorithm in get_args(ShedAlgorithm)
    }
    share = sample.share
    raced = _raced(standings, options.shed_algorithm, share)
    return tuple(sorted(raced, key=lambda each: (-each.accuracy, each.algorithm)))


def _standing(
    sample: RunSample, options: ShedOptions, lengths: ValidCondition, n_left: int
) -> _Standing:
    everything = np.ones(len(sample.values), np.bool_)
    shadow = shed(sample, options, lengths, everything, n_left)
    above, below = shadow.runs[:, REDUCTION], shadow.runs[:, SPREAD] + shadow.runs[:, STRAY]
    accuracy, whole = float(shadow.accuracy[shadow.kept.sum()]), float(below.sum())
    return _Standing(accuracy, (above - accuracy * below) / whole if whole else 0 * above)


def _raced(
    standings: Mapping[ShedAlgorithm, _Standing], in_force: ShedAlgorithm, share: float
) -> Sequence[Raced]:
    now = standings[in_force]
    return [
        Raced(
            algorithm,
            own.accuracy,
            _spread(own.residuals, share),
            own.accuracy - now.accuracy,
            _spread(own.residuals - now.residuals, share),
            len(own.residuals),
        )
        for algorithm, own in standings.items()
    ]


def _spread(residuals: Floats, share: float) -> float:
    """Half of a 95 % interval; share: of the runs that were looked at."""
    n = len(residuals)
    if share >= 1 or n < 2:
        return 0.0 if share >= 1 else 1.0
    return Z95 * math.sqrt((1 - share) * n / (n - 1) * float((residuals**2).sum()))


def merged(races: Sequence[tuple[Sequence[Raced], float]]) -> tuple[Raced, ...]:
    """Of shards that are independent, by what their accuracies are shares of; those without a race
    lack nothing, whatever the algorithm."""
    known, total = [lines for lines, _ in races if lines], sum(n for _, n in races) or 1.0
    raced = []
    for algorithm in [each.algorithm for each in known[0]] if known else ():
        own = [
            (each, n / total) for lines, n in races for each in lines if each.algorithm == algorithm
        ]
        lacking = sum((1.0 - each.accuracy) * weight for each, weight in own)
        half, gain_half = (
            math.sqrt(sum((weight * width) ** 2 for width, weight in halves))
            for halves in (
                [(each.half, weight) for each, weight in own],
                [(each.gain_half, weight) for each, weight in own],
            )
        )
        gain = sum(each.gain * weight for each, weight in own)
        n = sum(each.n for each, _ in own)
        raced.append(Raced(algorithm, 1.0 - lacking, half, gain, gain_half, n))
    return tuple(sorted(raced, key=lambda each: (-each.accuracy, each.algorithm)))
