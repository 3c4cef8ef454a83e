"""The anytime-valid t-test by integrating likelihoods on a grid, and stretches by adding them up.

Slow twin of `backend/adaptive/planlog/confidence.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def mixed_odds(values: Sequence[float], mean: float, rho: float) -> float:
    """∫∫ Π N(x; mean + δσ, σ) N(δ; 0, ρ) dδ dσ/σ over the same at δ = 0."""
    x = np.array(values) - mean
    spread = math.sqrt(float((x**2).mean()))
    sigmas = spread * np.exp(np.linspace(-6, 8, 1401))
    deltas = rho * np.linspace(-9, 9, 1201)
    prior = np.exp(-0.5 * (deltas / rho) ** 2)
    prior /= prior.sum()
    n, total, squares = len(x), float(x.sum()), float((x**2).sum())

    def likelihood(delta: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        standard = (squares - 2 * total * np.outer(sigmas, delta)) / sigmas[:, None] ** 2
        logs = -n * np.log(sigmas[:, None] / spread) - 0.5 * (standard + n * delta**2)
        weights = prior if len(delta) > 1 else np.ones(1)
        return float((np.exp(logs) * weights).sum())

    return likelihood(deltas) / likelihood(np.zeros(1))


def sizes_of_stretches(n_looks: int) -> list[int]:
    """Looks in each stretch, newest first: two of each power of two at most."""
    sizes: list[int] = []
    for _ in range(n_looks):
        sizes.insert(0, 1)
        for size in sorted(set(sizes)):
            if sizes.count(size) == 3:
                last = len(sizes) - 1 - sizes[::-1].index(size)
                sizes[last - 1 : last + 1] = [2 * size]
    return sizes


def suffixes(looks: Sequence[Sequence[float]]) -> list[list[float]]:
    """The values of each stretch up to now, the shortest first."""
    ends, so_far = [], 0
    for size in sizes_of_stretches(len(looks)):
        so_far += size
        ends.append([x for look in looks[len(looks) - so_far :] for x in look])
    return ends
