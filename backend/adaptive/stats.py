"""Means with their 95 % confidence intervals, by normal theory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

RowT = TypeVar("RowT", bound=np.generic)


def quantile(confidence: float) -> float:
    """z of a two-sided normal interval: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


Z95: Final = quantile(0.95)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over n values with its 95 % confidence interval; low = high = value for n = 1."""

    value: float
    low: float
    high: float
    n: int

    def detail(self) -> dict[str, Any]:
        """As decision records hold it."""
        return {"mean": self.value, "low": self.low, "high": self.high, "n": self.n}


def thinned(sample: NDArray[RowT], n: int) -> NDArray[RowT]:
    """At most n >= 1 rows of the sample, evenly spread over it."""
    if len(sample) <= n:
        return sample
    return sample[np.linspace(0, len(sample) - 1, n).astype(np.intp)]


def mean_of(values: NDArray[np.float64] | NDArray[np.intp]) -> Mean:
    """Mean and interval; zeros without values."""
    n = len(values)
    if not n:
        return Mean(0.0, 0.0, 0.0, 0)
    mean = float(values.mean())
    half = Z95 * float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return Mean(mean, mean - half, mean + half, n)
