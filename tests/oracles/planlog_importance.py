"""Importance of statistics, counted out. Slow twin of `dashboard/views/planlog_importance.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence


def information(bins: Sequence[int], plans: Sequence[str]) -> float:
    """H(plan) + H(bin) - H(both), in bits, as counted."""
    pairs = list(zip(bins, plans, strict=True))
    return _entropy(list(bins)) + _entropy(list(plans)) - _entropy(pairs)


def _entropy(values: Sequence[object]) -> float:
    shares = [values.count(each) / len(values) for each in set(values)]
    return -sum(share * math.log2(share) for share in shares)
