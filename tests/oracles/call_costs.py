"""The line that is the lower quartile of a filter's timings: all corners tried; and its test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

import numpy as np

from backend.systems.agreedy.costs import PRIOR, QUARTILE

Row = tuple[int, float]
Line = tuple[float, float]


def off(line: Line, rows: Sequence[Row], before: float) -> float:
    """Of (fixed, per tuple): deviations over us, a quarter of those above and three quarters of
    those below, and that of what was thought of the fixed part."""
    fixed, per_tuple = line
    missed = 0.0
    for n, us in rows:
        deviation = (us - fixed - per_tuple * n) / us
        missed += QUARTILE * deviation if deviation > 0 else (QUARTILE - 1) * deviation
    return missed + PRIOR * abs(fixed - before) / median(us for _, us in rows)


def evidence(line: Line, rows: Sequence[Row]) -> float:
    """Sums of (above - expected) times 1 and n over us, squared, over their covariance."""
    fixed, per_tuple = line
    score, spread = np.zeros(2), np.zeros((2, 2))
    for n, us in rows:
        place = np.array([1.0, n]) / us
        score += place * (QUARTILE - (us < fixed + per_tuple * n))
        spread += QUARTILE * (1 - QUARTILE) * np.outer(place, place)
    return float(score @ np.linalg.solve(spread, score))


def lines(rows: Sequence[Row], before: float) -> Iterator[Line]:
    """Through two timings, the one more without tuples among them; or one, where a part is 0."""
    for (n, us), (m, other) in combinations([(0, before), *rows], 2):
        if n != m:
            per_tuple = (other - us) / (m - n)
            fixed = us - per_tuple * n
            if per_tuple >= 0 and fixed >= 0:
                yield fixed, per_tuple
    for n, us in rows:
        yield 0.0, us / n
        yield us, 0.0
    yield before, 0.0
    yield 0.0, 0.0
