"""Which caches to use: nonoverlapping readers of greatest benefit less upkeep. [B05] §5.5.3-4

A cache that several pipelines read is kept up to date once. ``exact`` looks at all sets of caches
that are paid for; in each of these pipelines are independent, and the best readers of one are found
by a pass over its steps (card 10.3, [ours]). ``greedy`` covers operators at the least cost;
``by_trees`` is the recursion of the text for candidates nobody shares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.join_tuning import Segment
from backend.systems.joins.candidates import CacheCandidate, conflicts

#: More candidates than this are chosen among greedily.
EXACT_UP_TO_CACHES: Final = 12

#: Cache -> the segments it is used for.
Choice: TypeAlias = Mapping[str, tuple[Segment, ...]]


class PricedCache(NamedTuple):
    """A candidate with what it costs to keep, and by reader what the segment costs with it."""

    candidate: CacheCandidate
    cost: float
    procs: tuple[float, ...]


@dataclass(frozen=True)
class CacheSelection:
    """A problem. bare: by pipeline and step, costs without caches. pinned: caches that are to be
    used whatever they cost; the first of those that exclude each other."""

    bare: tuple[tuple[float, ...], ...]
    caches: tuple[PricedCache, ...]
    pinned: frozenset[str] = field(default_factory=frozenset)

    def benefit(self, cache: PricedCache, place: int) -> float:
        """benefit(C) of the reader at a place."""
        reader = cache.candidate.readers[place]
        segment = self.bare[reader.pipeline][reader.first : reader.last + 1]
        return sum(segment) - cache.procs[place]

    def value(self, choice: Choice) -> float:
        """Σ benefit - Σ cost of the caches that are read at all."""
        total = 0.0
        for cache in self.caches:
            readers = choice.get(cache.candidate.id, ())
            if readers:
                places = map(cache.candidate.readers.index, readers)
                total += sum(self.benefit(cache, place) for place in places) - cache.cost
        return total

    def cost(self, choice: Choice) -> float:
        """What the join costs with these caches."""
        return sum(map(sum, self.bare)) - self.value(choice)


#: An algorithm: the problem -> what to use.
Selector: TypeAlias = Callable[[CacheSelection], Choice]


class _Option(NamedTuple):
    """A reader as the pass over a pipeline sees it."""

    reader: Segment
    id: str
    benefit: float
    is_pinned: bool


def exact(problem: CacheSelection) -> Choice:
    """The best choice; of equally good ones the one with fewest caches, first ones first. More than
    ``EXACT_UP_TO_CACHES`` worthwhile candidates are chosen among greedily."""
    worthwhile = [one for one in problem.caches if _is_worthwhile(problem, one)]
    if len(worthwhile) > EXACT_UP_TO_CACHES:
        return greedy(problem)
    free = [one for one in worthwhile if one.candidate.id not in problem.pinned]
    pinned = _compatible_pins(problem)
    best, found = (0, float("-inf")), dict[str, tuple[Segment, ...]]()
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            choice = _readers_of(problem, [*pinned, *chosen])
            n_pinned = sum(len(readers) for id, readers in choice.items() if id in problem.pinned)
            rank = n_pinned, problem.value(choice)
            if rank > best:
                best, found = rank, choice
    return found


def greedy(problem: CacheSelection) -> Choice:
    """Repeatedly the cheapest way to cover operators not covered yet: a cache with its first k
    readers, or an operator by itself; then inner caches go, and those that do not pay. Card 10.3"""
    pinned = _compatible_pins(problem)
    covered: set[tuple[int, int]] = set()
    chosen: list[tuple[PricedCache, int]] = []
    for cache in pinned:
        for place, reader in enumerate(cache.candidate.readers):
            if _fits(cache, place, chosen):
                chosen.append((cache, place))
                covered |= _operators(reader)
    operators = {(i, step) for i, steps in enumerate(problem.bare) for step in range(len(steps))}
    while covered != operators:
        best = min(_coverings(problem, covered, chosen), key=lambda one: one[0])
        chosen += best[1]
        covered |= best[2]
    return _pruned(problem, _maximal(chosen))


def by_trees(problem: CacheSelection) -> Choice:
    """Each pipeline by itself, each reader paying for its cache alone: value(T) = the greater of
    the root's net value and the sum over its children, at least 0 (erratum 6). Candidates with
    witnesses are left out, as they need not nest; pinned ones come first."""
    chosen = _all_of(_compatible_pins(problem))
    for pipeline in range(len(problem.bare)):
        nested = [
            (cache, place)
            for cache in problem.caches
            for place, reader in enumerate(cache.candidate.readers)
            if reader.pipeline == pipeline and not cache.candidate.witnesses
        ]
        nested.sort(key=lambda one: -len(one[0].candidate.windows))
        while nested:
            _, best = _tree(problem, nested)
            chosen += [one for one in best if _fits(*one, chosen)]
    return _choice(chosen)


SELECTORS: Final[Mapping[str, Selector]] = {"exact": exact, "greedy": greedy, "trees": by_trees}


# ---------------------------------------------------------------------- exact


def _is_worthwhile(problem: CacheSelection, cache: PricedCache) -> bool:
    """Whether it can pay at all, or is pinned."""
    if cache.candidate.id in problem.pinned:
        return True
    places = range(len(cache.procs))
    return sum(max(0.0, problem.benefit(cache, place)) for place in places) > cache.cost


def _readers_of(
    problem: CacheSelection, paid: Sequence[PricedCache]
) -> dict[str, tuple[Segment, ...]]:
    """The best readers if exactly these caches are kept up to date."""
    found: dict[str, list[Segment]] = {}
    for pipeline in range(len(problem.bare)):
        options = [
            _Option(reader, one.candidate.id, benefit, one.candidate.id in problem.pinned)
            for one in paid
            for place, reader in enumerate(one.candidate.readers)
            if reader.pipeline == pipeline
            and not any(one.candidate.hides(reader, other.candidate) for other in paid)
            and ((benefit := problem.benefit(one, place)) > 0 or one.candidate.id in problem.pinned)
        ]
        for option in _best_of_pipeline(options, len(problem.bare[pipeline])):
            found.setdefault(option.id, []).append(option.reader)
    return {id: tuple(readers) for id, readers in found.items()}


def _best_of_pipeline(options: Sequence[_Option], n_steps: int) -> tuple[_Option, ...]:
    """Readers without a step in common: first as many pinned ones as possible, then benefit."""
    best: list[tuple[int, float, tuple[_Option, ...]]] = [(0, 0.0, ())]
    for step in range(n_steps):
        found = best[step]
        for option in options:
            if option.reader.last == step:
                n_pinned, value, before = best[option.reader.first]
                new = (n_pinned + option.is_pinned, value + option.benefit, (*before, option))
                if new[:2] > found[:2]:
                    found = new
        best.append(found)
    return best[-1][2]


def _compatible_pins(problem: CacheSelection) -> list[PricedCache]:
    """Pinned caches of which none hides what another is told."""
    found: list[PricedCache] = []
    for cache in problem.caches:
        if cache.candidate.id in problem.pinned and any(
            _fits(cache, place, _all_of(found)) for place in range(len(cache.procs))
        ):
            found.append(cache)
    return found


# ---------------------------------------------------------------------- greedy


_Covering: TypeAlias = tuple[float, list[tuple[PricedCache, int]], set[tuple[int, int]]]


def _coverings(
    problem: CacheSelection,
    covered: Collection[tuple[int, int]],
    chosen: Sequence[tuple[PricedCache, int]],
) -> Iterator[_Covering]:
    """Cost per operator newly covered, the readers, the operators: bare operators, then caches with
    the first k of the readers that fit, cheapest per new operator first."""
    for pipeline, steps in enumerate(problem.bare):
        for step, cost in enumerate(steps):
            if (pipeline, step) not in covered:
                yield cost, [], {(pipeline, step)}
    for cache in problem.caches:
        due = 0.0 if any(one is cache for one, _ in chosen) else cache.cost
        fitting = []
        for place, reader in enumerate(cache.candidate.readers):
            new = _operators(reader) - set(covered)
            if new and _fits(cache, place, chosen, nested=True):
                fitting.append((cache.procs[place] / len(new), place, new))
        readers: list[tuple[PricedCache, int]] = []
        operators: set[tuple[int, int]] = set()
        for _, place, new in sorted(fitting, key=lambda one: one[:2]):
            readers.append((cache, place))
            operators |= new
            due += cache.procs[place]
            yield due / len(operators), list(readers), set(operators)


def _fits(
    cache: PricedCache,
    place: int,
    chosen: Sequence[tuple[PricedCache, int]],
    nested: bool = False,
) -> bool:
    """Whether a reader can be used beside others. nested: it may hold others' steps, or lie in
    theirs; then the outer one is kept in the end."""
    reader = cache.candidate.readers[place]
    pairs = [(one.candidate, one.candidate.readers[at]) for one, at in chosen]
    for a, b in conflicts([*pairs, (cache.candidate, reader)]):
        other, theirs = pairs[a]
        if b != len(pairs):
            continue
        hidden = cache.candidate.hides(reader, other) or other.hides(theirs, cache.candidate)
        if hidden or not (nested and (_lies_in(reader, theirs) or _lies_in(theirs, reader))):
            return False
    return True


def _maximal(chosen: Sequence[tuple[PricedCache, int]]) -> list[tuple[PricedCache, int]]:
    """Readers that lie in no other chosen one."""
    readers = [cache.candidate.readers[place] for cache, place in chosen]
    return [
        one
        for one, reader in zip(chosen, readers, strict=True)
        if not any(_lies_in(reader, other) for other in readers if other != reader)
    ]


def _pruned(problem: CacheSelection, chosen: list[tuple[PricedCache, int]]) -> Choice:
    """Without the caches or readers whose absence costs nothing, one by one, worst first."""
    while True:
        value = problem.value(_choice(chosen))
        removals = [
            [one for one in chosen if one[0] is not cache]
            for cache in {id(one): one for one, _ in chosen}.values()
        ] + [[one for one in chosen if one is not gone] for gone in chosen]
        removals = [
            rest for rest in removals if _pins_in(problem, rest) >= _pins_in(problem, chosen)
        ]
        best = max(removals, key=lambda rest: problem.value(_choice(rest)), default=None)
        if best is None or problem.value(_choice(best)) < value:
            return _choice(chosen)
        chosen = best


def _pins_in(problem: CacheSelection, chosen: Sequence[tuple[PricedCache, int]]) -> set[str]:
    return {one.candidate.id for one, _ in chosen} & problem.pinned


# ---------------------------------------------------------------------- trees


def _tree(
    problem: CacheSelection, nested: list[tuple[PricedCache, int]]
) -> tuple[float, list[tuple[PricedCache, int]]]:
    """Value and caches of the tree whose root stands first; its members are taken out."""
    root, place = nested.pop(0)
    reader = root.candidate.readers[place]
    inside = [one for one in nested if _lies_in(one[0].candidate.readers[one[1]], reader)]
    nested[:] = [one for one in nested if one not in inside]
    value, chosen = 0.0, list[tuple[PricedCache, int]]()
    while inside:
        below = _tree(problem, inside)
        value, chosen = value + below[0], chosen + below[1]
    own = problem.benefit(root, place) - root.cost
    return (own, [(root, place)]) if own > value else (value, chosen)


# ---------------------------------------------------------------------- shared


def _choice(chosen: Sequence[tuple[PricedCache, int]]) -> dict[str, tuple[Segment, ...]]:
    found: dict[str, list[Segment]] = {}
    for cache, place in chosen:
        found.setdefault(cache.candidate.id, []).append(cache.candidate.readers[place])
    return {id: tuple(sorted(readers)) for id, readers in found.items()}


def _all_of(caches: Sequence[PricedCache]) -> list[tuple[PricedCache, int]]:
    """All their readers that fit beside each other."""
    chosen: list[tuple[PricedCache, int]] = []
    for cache in caches:
        for place in range(len(cache.procs)):
            if _fits(cache, place, chosen):
                chosen.append((cache, place))
    return chosen


def _operators(reader: Segment) -> set[tuple[int, int]]:
    return {(reader.pipeline, step) for step in range(reader.first, reader.last + 1)}


def _lies_in(inner: Segment, outer: Segment) -> bool:
    same = inner.pipeline == outer.pipeline
    return same and outer.first <= inner.first and inner.last <= outer.last
