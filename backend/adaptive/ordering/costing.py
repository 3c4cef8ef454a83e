"""Costs of orders tuple by tuple: for decisions and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds


class TupleCosts(NamedTuple):
    """What an order costs on profile tuples: microseconds by tuple, and filters asked by tuple.

    The last of n_tuples tuples are passes, which every order asks everything about.
    """

    us: NDArray[np.float64]
    asked: NDArray[np.int64]

    @property
    def evaluations(self) -> float:
        """Filters asked per tuple."""
        return float(self.asked.mean()) if len(self.asked) else 0.0


def tuple_costs(
    drops: NDArray[np.bool_], n_passed: int, order: Sequence[int], costs: Sequence[Picoseconds]
) -> TupleCosts:
    """drops: bool[k, n], complete profile tuples; n_passed tuples more are dropped by no filter."""
    n = len(order)
    ordered = drops[:, list(order)]
    asked = np.full(len(drops) + n_passed, n, dtype=np.int64)
    if n and len(drops):
        first = np.argmax(ordered, axis=1)
        asked[: len(drops)] = np.where(ordered.any(axis=1), first + 1, n)
    paid = np.concatenate(([0.0], np.cumsum([costs[x] / PS_PER_US for x in order])))
    return TupleCosts(paid[asked], asked)
