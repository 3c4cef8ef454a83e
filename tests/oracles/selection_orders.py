"""Covers and orders by the text of the papers, slowly: sets, loops, exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, permutations
from typing import Any

from tests.oracles.selection import NaiveConstructs, Tuple


def minimum_covers(naive: NaiveConstructs) -> list[tuple[str, ...]]:
    """Every cover of the smallest size: all subsets tried, smallest first."""
    sizes = range(len(naive.attributes) + 1)
    subsets = chain.from_iterable(combinations(naive.attributes, size) for size in sizes)
    covers = [s for s in subsets if covered(naive, s) == naive.covered]
    return [s for s in covers if len(s) == len(covers[0])]


def covered(naive: NaiveConstructs, attributes: Sequence[str]) -> set[int]:
    """Slots used by at least one of the attributes."""
    return {slot for a in attributes for slot in naive.users[a]}


def selectivity(
    naive: NaiveConstructs, prefix: list[str], attribute: str, rows: Sequence[Tuple]
) -> Fraction:
    """Eq. 1 and 2 literally: GRB after ρ→A, restricted to the queries ρ does not cover."""
    if not rows:
        return Fraction(1)
    uncovered = naive.covered - covered(naive, prefix)
    passed = sum(len(naive.live([*prefix, attribute], row) & uncovered) for row in rows)
    return Fraction(passed, len(uncovered) * len(rows))


def dropping_ratio(
    naive: NaiveConstructs, prefix: Sequence[str], rows: Sequence[Tuple]
) -> Fraction:
    """Eq. 3: share of the tuples whose GRB, on the queries with predicates, is 0 after ρ."""
    if not rows:
        return Fraction(0)
    return Fraction(sum(not naive.live(prefix, row) & naive.covered for row in rows), len(rows))


def macro_sequence(
    naive: NaiveConstructs, periods: Sequence[Sequence[Tuple]]
) -> tuple[list[str], int]:
    """The order and the number of candidate comparisons; step i is measured on periods[i]."""
    order: list[str] = []
    left = list(naive.attributes)
    individual: dict[str, Fraction] = {}
    comparisons = 0
    while left:
        comparisons += len(left)
        if len(left) == 1:
            order += left
            break
        rows = periods[len(order)]
        ranked: list[tuple[Any, ...]] = []
        in_first_phase = covered(naive, order) != naive.covered
        for place, a in enumerate(left):
            if in_first_phase:
                s = selectivity(naive, order, a, rows)
                individual.setdefault(a, s)
                gain = len(covered(naive, [*order, a])) - len(covered(naive, order))
                ranked.append((s, -gain, individual[a], place, a))
            else:
                d = dropping_ratio(naive, [*order, a], rows)
                ranked.append((-d, individual[a], place, a))
        best = min(ranked)[-1]
        order.append(best)
        left.remove(best)
    return order, comparisons


def unmatched_after(
    naive: NaiveConstructs, attributes: Sequence[str], rows: Sequence[Tuple]
) -> int:
    """U(P) of F4: tuples with GRB != 0 after the set P."""
    return sum(bool(naive.live(attributes, row)) for row in rows)


def extreme_orders(naive: NaiveConstructs, rows: Sequence[Tuple]) -> tuple[int, int]:
    """Visits of the best and worst fixed order under the drop rule, all orders tried."""
    totals = [
        sum(len(naive.visits(order, row, "drop")) for row in rows)
        for order in permutations(naive.attributes)
    ]
    return min(totals), max(totals)
