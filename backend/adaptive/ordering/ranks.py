"""The rule by which filters are ordered: drops per cost, compared exactly. [B05] erratum 11

Costs are whole picoseconds, counts whole numbers, α a fraction, so ratios are compared by cross
multiplication. A filter that drops nothing has rank 0 whatever it costs (0/0 = 0); one that
drops something for nothing has rank infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Cost of a filter on one tuple, in whole picoseconds.
Picoseconds: TypeAlias = int
Counts: TypeAlias = NDArray[np.int64]

PS_PER_US: Final = 1_000_000
#: Products closer than this (relative) are compared again as whole numbers.
_CLOSE: Final = 1e-9


def picoseconds(us: float) -> Picoseconds:
    """Microseconds as a whole number of picoseconds, at least 0."""
    return max(0, round(us * PS_PER_US))


def us_per_tuple(total: Picoseconds | None, n_tuples: int) -> float | None:
    """Of a total over some tuples; None: it is not known, or of no tuple."""
    return None if total is None or not n_tuples else total / n_tuples / PS_PER_US


def fraction(alpha: float) -> Fraction:
    """α as it is written: 0.9 is 9/10."""
    return Fraction(repr(float(alpha)))


def ranks_below(
    own: int, own_ps: Picoseconds, other: int, other_ps: Picoseconds, alpha: Fraction = Fraction(1)
) -> bool:
    """Whether own/own_ps < α · other/other_ps (eq. 4.4)."""
    if other == 0 or alpha == 0:
        return False
    if own == 0:
        return True
    return own * other_ps * alpha.denominator < alpha.numerator * other * own_ps


def best(counts: Sequence[int], costs: Sequence[Picoseconds]) -> int:
    """The leftmost place of the greatest count per cost (the incumbent keeps ties)."""
    chosen = 0
    for place in range(1, len(counts)):
        if ranks_below(counts[chosen], costs[chosen], counts[place], costs[place]):
            chosen = place
    return chosen


def ranked_order(
    drops: Sequence[int], costs: Sequence[Picoseconds], incumbent: Sequence[int], n_native: int = 0
) -> list[int]:
    """By unconditional drops per cost, stable (Independent). drops: by filter."""
    order: list[int] = []
    for segment in (incumbent[:n_native], incumbent[n_native:]):
        placed: list[int] = []
        for filter_index in segment:
            place = len(placed)
            while place and ranks_below(
                drops[placed[place - 1]],
                costs[placed[place - 1]],
                drops[filter_index],
                costs[filter_index],
            ):
                place -= 1
            placed.insert(place, filter_index)
        order += placed
    return order


def rank(count: float, cost_ps: Picoseconds) -> float:
    """Drops per microsecond, for people; infinity for a free filter that drops something."""
    if count == 0:
        return 0.0
    return count * PS_PER_US / cost_ps if cost_ps else math.inf


class Pair(NamedTuple):
    """Two positions i < j of an order: does the filter at j outrank the one at i in row i?"""

    position: int
    challenger: int


def violated_pairs(
    view: Counts, costs: NDArray[np.float64], allowed: NDArray[np.bool_], alpha: Fraction
) -> list[Pair]:
    """All (i, j), row by row, with V[i,i]/a_i < α · V[i,j]/a_j (eq. 4.4) where ``allowed``.

    view: int64[n, n] by position; costs: picoseconds by position, whole numbers below 2^53.
    """
    lhs = np.diag(view)[:, None] * costs[None, :]
    rhs = float(alpha) * view * costs[:, None]
    possible = allowed & (view > 0) & (lhs <= rhs * (1 + _CLOSE))
    return [
        Pair(int(i), int(j))
        for i, j in zip(*np.nonzero(possible), strict=True)
        if ranks_below(int(view[i, i]), int(costs[i]), int(view[i, j]), int(costs[j]), alpha)
    ]


class RankInterval(NamedTuple):
    """A two-sided confidence interval of a difference of ranks, in drops per microsecond."""

    difference: float
    low: float
    high: float
    confidence: float
    n: int


def rank_difference(
    own: int,
    other: int,
    both: int,
    costs: tuple[Picoseconds, Picoseconds],
    n: int,
    confidence: float,
) -> RankInterval | None:
    """How much the rank of ``other`` is above that of ``own`` on the same n tuples, normal theory.

    own, other, both: of the n tuples, those the filters drop, and those both drop. Per tuple the
    difference is [other drops]/t_other - [own drops]/t_own, so tuples dropped by both count in
    both. None without tuples or with a free filter.
    """
    if n == 0 or 0 in costs:
        return None
    per_own, per_other = PS_PER_US / costs[0], PS_PER_US / costs[1]
    mean = (other * per_other - own * per_own) / n
    squares = other * per_other**2 + own * per_own**2 - 2 * both * per_own * per_other
    error = math.sqrt(max(0.0, squares / n - mean**2) / n)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return RankInterval(mean, mean - half, mean + half, confidence, n)
