"""Student's quantile for 95 % intervals of means of few values."""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.adaptive.stats import Z95
from backend.operators.network.core.blocks import Values

#: Of 1 to 5 degrees of freedom.
_FEW: Final = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582)
_MOST: Final = 1000


def quantiles() -> Values:
    """float64: by degrees of freedom, 0 without a meaning; the last one is that of the normal law.

    From 6 on by the expansion of Cornish and Fisher, right to .0001.
    """
    degrees = np.arange(6, _MOST)
    z, odd = Z95, [Z95**power for power in (3, 5, 7, 9)]
    terms: tuple[float, ...] = (
        (odd[0] + z) / 4,
        (5 * odd[1] + 16 * odd[0] + 3 * z) / 96,
        (3 * odd[2] + 19 * odd[1] + 17 * odd[0] - 15 * z) / 384,
        (79 * odd[3] + 776 * odd[2] + 1482 * odd[1] - 1920 * odd[0] - 945 * z) / 92_160,
    )
    powers = degrees[:, None] ** -np.arange(1.0, 1 + len(terms))
    many: Values = z + powers @ np.array(terms)
    return np.concatenate([[np.inf], _FEW, many, [z]])


T95: Final = quantiles()
