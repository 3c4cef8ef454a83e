"""The greedy selection of caches: operators are covered at the least cost. Card 10.3

The problem is that of covering a set: a cache with some of its readers covers the operators of
their segments, an operator by itself covers itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from backend.systems.joins.decide.selection import (
    CacheSelection,
    Choice,
    PricedReader,
    choice_of,
    compatible_pins,
    fits,
    lies_in,
    operators_of,
)


def greedy(problem: CacheSelection) -> Choice:
    """Repeatedly the cheapest way to cover operators not covered yet: a cache with its first k
    readers, or an operator by itself; then inner caches go, and those that do not pay. Card 10.3"""
    pinned = compatible_pins(problem)
    covered: set[tuple[int, int]] = set()
    chosen: list[PricedReader] = []
    for cache in pinned:
        for place, reader in enumerate(cache.candidate.readers):
            if fits(cache, place, chosen):
                chosen.append((cache, place))
                covered |= operators_of(reader)
    operators = {(i, step) for i, steps in enumerate(problem.bare) for step in range(len(steps))}
    while covered != operators:
        best = min(_coverings(problem, covered, chosen), key=lambda covering: covering[0])
        chosen += best[1]
        covered |= best[2]
    return _pruned(problem, _maximal(chosen))


_Covering: TypeAlias = tuple[float, list[PricedReader], set[tuple[int, int]]]


def _coverings(
    problem: CacheSelection,
    covered: Collection[tuple[int, int]],
    chosen: Sequence[PricedReader],
) -> Iterator[_Covering]:
    """Cost per operator newly covered, the readers, the operators: bare operators, then caches with
    the first k of the readers that fit, cheapest per new operator first."""
    for pipeline, steps in enumerate(problem.bare):
        for step, cost in enumerate(steps):
            if (pipeline, step) not in covered:
                yield cost, [], {(pipeline, step)}
    for cache in problem.caches:
        due = 0.0 if any(other is cache for other, _ in chosen) else cache.cost
        fitting = []
        for place, reader in enumerate(cache.candidate.readers):
            new = operators_of(reader) - set(covered)
            if new and fits(cache, place, chosen, nested=True):
                fitting.append((cache.procs[place] / len(new), place, new))
        readers: list[PricedReader] = []
        operators: set[tuple[int, int]] = set()
        for _, place, new in sorted(fitting, key=lambda fit: fit[:2]):
            readers.append((cache, place))
            operators |= new
            due += cache.procs[place]
            yield due / len(operators), list(readers), set(operators)


def _maximal(chosen: Sequence[PricedReader]) -> list[PricedReader]:
    """Readers that lie in no other chosen one."""
    readers = [cache.candidate.readers[place] for cache, place in chosen]
    return [
        priced
        for priced, reader in zip(chosen, readers, strict=True)
        if not any(lies_in(reader, other) for other in readers if other != reader)
    ]


def _pruned(problem: CacheSelection, chosen: list[PricedReader]) -> Choice:
    """Without the caches or readers whose absence costs nothing, one by one, worst first."""
    while True:
        value = problem.value(choice_of(chosen))
        removals = [
            [priced for priced in chosen if priced[0] is not cache]
            for cache in {id(other): other for other, _ in chosen}.values()
        ] + [[priced for priced in chosen if priced is not gone] for gone in chosen]
        removals = [
            rest for rest in removals if _pins_in(problem, rest) >= _pins_in(problem, chosen)
        ]
        best = max(removals, key=lambda rest: problem.value(choice_of(rest)), default=None)
        if best is None or problem.value(choice_of(best)) < value:
            return choice_of(chosen)
        chosen = best


def _pins_in(problem: CacheSelection, chosen: Sequence[PricedReader]) -> set[str]:
    return {cache.candidate.id for cache, _ in chosen} & problem.pinned
