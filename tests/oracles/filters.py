"""Pipelined filters by the definitions: slow, obvious, exact. [B05] chapter 4"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

#: One row a tuple, one entry a filter: whether the filter drops it.
Drops = Sequence[Sequence[bool]]


def view(drops: Drops, order: Sequence[int]) -> list[list[int]]:
    """V[i][j]: tuples passed by the first i filters and dropped by the j-th."""
    n = len(order)
    return [
        [
            sum(row[order[j]] and not any(row[order[k]] for k in range(i)) for row in drops)
            if i <= j
            else 0
            for j in range(n)
        ]
        for i in range(n)
    ]


def rank(count: int, cost: int) -> Fraction | float:
    """Drops per cost: 0/x = 0, x/0 = infinity."""
    if count == 0:
        return Fraction(0)
    return Fraction(count, cost) if cost else float("inf")


def violations(
    drops: Drops, order: Sequence[int], costs: Sequence[int], alpha: Fraction = Fraction(1)
) -> list[tuple[int, int]]:
    """All i < j with V[i,i]/a_i < α · V[i,j]/a_j."""
    v, n = view(drops, order), len(order)
    return [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if rank(v[i][i], costs[order[i]]) < alpha * rank(v[i][j], costs[order[j]])
    ]


def satisfies_invariant(drops: Drops, order: Sequence[int], costs: Sequence[int]) -> bool:
    """The Greedy Invariant (Definition 4.3.1) on these tuples."""
    return not violations(drops, order, costs)


def evaluations(drops: Drops, order: Sequence[int]) -> list[int]:
    """By filter: tuples it is asked about when tuples stop at the first that drops them."""
    asked = [0] * len(order)
    for row in drops:
        for one in order:
            asked[one] += 1
            if row[one]:
                break
    return asked


def cost(drops: Drops, order: Sequence[int], costs: Sequence[int]) -> int:
    """What processing the tuples in this order costs."""
    return sum(costs[x] * n for x, n in enumerate(evaluations(drops, order)))


def optimum(drops: Drops, n: int, costs: Sequence[int], n_native: int = 0) -> int:
    """The least cost over all orders that have the first n_native filters first."""
    heads, tails = permutations(range(n_native)), list(permutations(range(n_native, n)))
    return min(cost(drops, [*head, *tail], costs) for head in heads for tail in tails)


def greedy(drops: Drops, n: int, costs: Sequence[int]) -> list[int]:
    """Static Greedy; ties go to the filter with the smaller number."""
    order: list[int] = []
    left = [list(row) for row in drops]
    while len(order) < n:
        rest = [x for x in range(n) if x not in order]
        chosen = max(rest, key=lambda x: (rank(sum(row[x] for row in left), costs[x]), -x))
        order.append(chosen)
        left = [row for row in left if not row[chosen]]
    return order


def correct(
    drops: Drops, order: Sequence[int], costs: Sequence[int], position: int, mode: str = "swap"
) -> list[int]:
    """Fig. 4.7 line by line; mode 'shift' moves the winner instead of exchanging it."""
    f = list(order)
    maxr = r = position
    while r <= maxr:
        row = view(drops, f)[r]
        maxc = r
        for c in range(r + 1, len(f)):
            if rank(row[c], costs[f[c]]) > rank(row[maxc], costs[f[maxc]]):
                maxc = c
                maxr = max(maxr, maxc)
        if maxc != r and mode == "swap":
            f[r], f[maxc] = f[maxc], f[r]
        elif maxc != r:
            f.insert(r, f.pop(maxc))
        r += 1
    return f
