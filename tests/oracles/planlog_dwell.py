"""Survival by handing the weight of what is censored to what lasts longer (B. Efron, 1967).

Slow twin of `backend/adaptive/planlog/dwell.py` and `backend/adaptive/planlog/looks.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def survival_at(dwells: Sequence[tuple[int, bool]], length: int) -> float:
    """Share of (length, ended) dwells that are longer than ``length``."""
    ordered = sorted(dwells, key=lambda dwell: (dwell[0], not dwell[1]))
    weights = [1.0 / len(ordered)] * len(ordered)
    beyond = 0.0
    for place, (_, ended) in enumerate(ordered):
        if ended:
            continue
        later = len(ordered) - place - 1
        if not later:
            beyond = weights[place]
        for other in range(place + 1, len(ordered)):
            weights[other] += weights[place] / later
        weights[place] = 0.0
    longer = sum(w for (n, _), w in zip(ordered, weights, strict=True) if n > length)
    return longer + beyond


def missed(n_tuples: int, dwell: float, gain: float, residual: float, steps: int = 20_000) -> float:
    """Expected regret: over all moments of the change, what is missed after it."""
    width = n_tuples / steps
    moments = ((step + 0.5) * width for step in range(steps))
    after = sum(math.exp(-m / dwell) / dwell * (n_tuples - m) * width for m in moments)
    return gain * after + residual * n_tuples
