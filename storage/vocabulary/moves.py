"""How far apart statistics of a plan log are: in moves usual for each, for cores and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: The least scale of a statistic, as a share of its largest value; of what is timed, by its unit.
LEAST_SHARE: Final = 0.01
LEAST_SHARES: Final[Mapping[str, float]] = {"us/tuple": 0.1}
_TINY: Final = 1e-12

Floats = NDArray[np.float64]


def scale_of(moves: Floats, largest: Floats, units: Sequence[str]) -> Floats:
    """float64[n], above 0: the usual move of each statistic, or a share of its largest value where
    it moves less."""
    shares = np.array([LEAST_SHARES.get(unit, LEAST_SHARE) for unit in units])
    scale: Floats = np.maximum(moves, np.maximum(shares * largest, _TINY))
    return scale


def distances(asked: Floats, statistics: Floats, scale: Floats) -> Floats:
    """float64[A, T]: the largest difference of a statistic, in units of its scale.

    asked: float64[A, n]; statistics: float64[T, n]; scale: float64[n], above 0.
    """
    apart = np.zeros((len(asked), len(statistics)))
    for column, usual in enumerate(scale.tolist()):
        moves = np.abs(asked[:, column, None] - statistics[None, :, column]) / usual
        np.maximum(apart, moves, out=apart)
    return apart
