"""What is known of profile tuples where filters are spared, and what an order costs: slow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from backend.model.filters import WHOLE_EVERY

#: (filter, the one that dropped): by place.
Pairs = frozenset[tuple[int, int]]


def price(
    row: Sequence[bool],
    ran: Sequence[int],
    order: Sequence[int],
    costs: Sequence[int],
    spared: Pairs,
    is_whole: bool,
) -> Fraction:
    """A tuple that ran in one order, priced in another by what it was asked."""
    by = next(x for x in ran if row[x])
    spared_here = {x for x in ran[ran.index(by) + 1 :] if (x, by) in spared}
    total, weight = Fraction(0), 1
    for x in order:
        total += costs[x] * weight
        if x in spared_here:
            if not is_whole:
                return total
            weight = WHOLE_EVERY
        if row[x]:
            return total
    raise AssertionError("some filter drops it")


def true_price(row: Sequence[bool], order: Sequence[int], costs: Sequence[int]) -> Fraction:
    """By the definition."""
    total = Fraction(0)
    for x in order:
        total += costs[x]
        if row[x]:
            break
    return total
