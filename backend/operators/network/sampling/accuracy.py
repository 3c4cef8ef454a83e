"""How near estimates from a sample are, and how near they would be with other memory. Card B8"""

from __future__ import annotations

import math

from backend.adaptive.stats import Z95
from backend.operators.network.shedding.curve import N_PARTS, AccuracyCurve, CurvePoint


def sample_accuracy(n_kept: float, n_window: float) -> float:
    """1 less half of the 95 % interval of count(*) of a window, as a share of the count.

    >>> [round(sample_accuracy(kept, 1000), 3) for kept in (0, 10, 200, 1000)]
    [0.0, 0.383, 0.876, 1.0]
    """
    if n_kept >= n_window:
        return 1.0
    share = n_kept / n_window
    return max(0.0, 1 - Z95 * math.sqrt((1 - share) / n_kept)) if n_kept else 0.0


def sample_curve(n_window: float, n_kept: float) -> AccuracyCurve:
    """By tuples kept; what is in memory now could be had of fewer at once."""
    points = []
    for part in range(N_PARTS + 1):
        tuples = n_window * part / N_PARTS
        accuracy = sample_accuracy(tuples, n_window)
        points.append(CurvePoint(tuples, accuracy, accuracy if tuples <= n_kept else None))
    return AccuracyCurve(n_window, round(n_kept), tuple(points))
