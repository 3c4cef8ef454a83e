"""Covers and orders by the text of the papers, slowly: sets, loops, exact fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def extreme_order(
    naive: NaiveConstructs,
    rows: Sequence[Tuple],
    stop_rule: str,
    weights: Mapping[str, float] | None = None,
    worst: bool = False,
) -> tuple[tuple[str, ...], float]:
    """The best (worst) fixed order and its cost per tuple, the first of all permutations."""
    costs = {
        order: sum(
            weights[a] if weights else 1.0
            for row in rows
            for a in naive.visits(order, row, stop_rule)
        )
        for order in permutations(naive.attributes)
    }
    best = (max if worst else min)(costs, key=lambda order: costs[order])
    return best, costs[best] / len(rows)


def joint_selectivity(
    naive: NaiveConstructs, prefix: Sequence[str], rows: Sequence[Tuple]
) -> Fraction:
    """[L07]: passed (query, tuple) pairs after the prefix, among all pairs."""
    pairs = len(naive.tests) * len(rows)
    passed = sum(len(naive.live(prefix, row)) for row in rows)
    return Fraction(passed, pairs) if pairs else Fraction(1)


def sas(
    naive: NaiveConstructs, parts: Sequence[Sequence[str]], periods: Sequence[Sequence[Tuple]]
) -> list[str]:
    """Each part ordered by least joint selectivity behind the parts before; one period a choice."""
    order: list[str] = []
    waiting = list(periods)
    for part in parts:
        left = list(part)
        while len(left) > 1:
            rows = waiting.pop(0)
            scores = [joint_selectivity(naive, [*order, a], rows) for a in left]
            order.append(left.pop(scores.index(min(scores))))
        order += left
    return order


def cover_and_rest(
    naive: NaiveConstructs, rows: Sequence[Tuple]
) -> tuple[Sequence[str], Sequence[str]]:
    """The minimum cover of least joint selectivity, the first of those, and what it leaves."""
    cover = min(minimum_covers(naive), key=lambda c: joint_selectivity(naive, c, rows))
    return cover, [a for a in naive.attributes if a not in cover]
