"""Slow and obvious twins of Chain: the steepest run by trying all, and blocks moved one by one.

The model is that of the thesis (section 2.3.3): a unit of time is one decision; an operator takes
one block through in it, and turns a block of size s into one of size selectivity * s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

Pick = Callable[[Sequence[tuple[int, int]]], int]


def sizes(selectivities: Sequence[Fraction]) -> list[Fraction]:
    """A block in front of each operator of a path, and behind the last, which keeps nothing."""
    found = [Fraction(1)]
    for selectivity in selectivities:
        found.append(found[-1] * selectivity)
    return [*found[:-1], Fraction(0)]


def chains(
    selectivities: Sequence[Fraction], times: Sequence[Fraction]
) -> list[tuple[range, Fraction]]:
    """The operators of each chain of a path, and its slope; of equal ones the longest."""
    left, at, found = sizes(selectivities), 0, []
    while at < len(times):
        runs = [
            ((left[at] - left[end]) / sum(times[at:end], Fraction(0)), end)
            for end in range(at + 1, len(times) + 1)
        ]
        slope, end = max(runs)
        found.append((range(at, end), slope))
        at = end
    return found


def memory(selectivities: Sequence[Fraction], pick: Pick, until: int) -> list[Fraction]:
    """Total size of all blocks at t = 0 .. until, a block arriving at each. pick: of the blocks
    (age: when it arrived, place of the operator it waits for) which goes on, by its number."""
    left, blocks, found = sizes(selectivities), list[tuple[int, int]](), []
    for t in range(until + 1):
        blocks.append((t, 0))
        found.append(sum((left[place] for _, place in blocks), Fraction(0)))
        age, place = blocks.pop(pick(blocks))
        if place + 1 < len(selectivities):
            blocks.append((age, place + 1))
    return found


def burst(paths: Sequence[Sequence[tuple[float, float]]], n_blocks: int, pick: Pick) -> float:
    """What waits of a burst that is there at once, on average over the time it takes to work off,
    as a share of it: n blocks in front of each path. paths: what is left of an element behind each
    operator, and how long it takes it; pick: as of ``memory``, places counted over all paths."""
    blocks, places = [], list[tuple[float, float, bool]]()
    for path in paths:
        blocks += [(age, len(places), 1.0) for age in range(n_blocks)]
        places += [(left, cost, n + 1 == len(path)) for n, (left, cost) in enumerate(path)]
    begun, area, spent = float(len(blocks)), 0.0, 0.0
    while blocks:
        age, place, size = blocks.pop(pick([(age, place) for age, place, _ in blocks]))
        left, cost, is_last = places[place]
        others = sum(one for _, _, one in blocks)
        area += size * cost * (others + (size + size * left) / 2)
        spent += size * cost
        if not is_last:
            blocks.append((age, place + 1, size * left))
    return area / spent / begun


def least_memory(selectivities: Sequence[Fraction], until: int) -> list[Fraction]:
    """The least total size at each t by itself, whatever was done before: the clairvoyant bound."""
    left, n = sizes(selectivities), len(selectivities)

    @cache
    def reachable(t: int) -> frozenset[tuple[int, ...]]:
        """Blocks in front of each operator, after the arrival of t."""
        if t == 0:
            return frozenset({(1, *[0] * (n - 1))})
        found = set()
        for state in reachable(t - 1):
            for place in range(n):
                if state[place]:
                    after = list(state)
                    after[place] -= 1
                    if place + 1 < n:
                        after[place + 1] += 1
                    after[0] += 1
                    found.add(tuple(after))
        return frozenset(found)

    return [
        min(
            sum((k * s for k, s in zip(state, left, strict=False)), Fraction(0))
            for state in reachable(t)
        )
        for t in range(until + 1)
    ]
