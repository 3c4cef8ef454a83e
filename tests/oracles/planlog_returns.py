"""Hindsight by trying every sequence. Slow twin of `dashboard/views/planlog_returns.py`"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product

Costs = Sequence[Sequence[float]]


def sequence_cost(costs: Costs, sequence: Sequence[int], price: float) -> float:
    """Of running one plan after the other."""
    switches = sum(a != b for a, b in pairwise(sequence))
    return sum(row[plan] for row, plan in zip(costs, sequence, strict=True)) + price * switches


def least_cost(costs: Costs, price: float, plans: Sequence[int]) -> float:
    """Of the best sequence of these plans."""
    sequences = product(plans, repeat=len(costs))
    return min(sequence_cost(costs, sequence, price) for sequence in sequences)


def least_pair_cost(costs: Costs, price: float) -> float:
    """Of the best sequence of at most two plans."""
    plans = range(len(costs[0]))
    sets = [*combinations(plans, 1), *combinations(plans, 2)]
    return min(least_cost(costs, price, each) for each in sets)
