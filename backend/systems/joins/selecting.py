"""Which caches to use. [B05] §5.5.3-4

``exact`` looks at all sets of caches that are paid for; in each of these pipelines are independent,
and the best readers of one are found by a pass over its steps (card 10.3). ``greedy`` covers
operators at the least cost; ``by_trees`` is the recursion of the text for candidates nobody shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.join_tuning import Segment
from backend.systems.joins.covering import greedy
from backend.systems.joins.selection import (
    CacheSelection,
    Choice,
    PricedCache,
    PricedReader,
    all_readers,
    choice_of,
    compatible_pins,
    fits,
    lies_in,
)

#: More candidates than this are chosen among greedily.
EXACT_UP_TO_CACHES: Final = 12
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
    pinned = compatible_pins(problem)
    best, found = (0, float("-inf")), dict[str, tuple[Segment, ...]]()
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            choice = _readers_of(problem, [*pinned, *chosen])
            n_pinned = sum(len(readers) for id, readers in choice.items() if id in problem.pinned)
            rank = n_pinned, problem.value(choice)
            if rank > best:
                best, found = rank, choice
    return found


def by_trees(problem: CacheSelection) -> Choice:
    """Each pipeline by itself, each reader paying for its cache alone: value(T) = the greater of
    the root's net value and the sum over its children, at least 0 (erratum 6). Candidates with
    witnesses are left out, as they need not nest; pinned ones come first."""
    chosen = all_readers(compatible_pins(problem))
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
            chosen += [one for one in best if fits(*one, chosen)]
    return choice_of(chosen)


SELECTORS: Final[Mapping[str, Selector]] = {"exact": exact, "greedy": greedy, "trees": by_trees}


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


def _tree(problem: CacheSelection, nested: list[PricedReader]) -> tuple[float, list[PricedReader]]:
    """Value and caches of the tree whose root stands first; its members are taken out."""
    root, place = nested.pop(0)
    reader = root.candidate.readers[place]
    inside = [one for one in nested if lies_in(one[0].candidate.readers[one[1]], reader)]
    nested[:] = [one for one in nested if one not in inside]
    value, chosen = 0.0, list[PricedReader]()
    while inside:
        below = _tree(problem, inside)
        value, chosen = value + below[0], chosen + below[1]
    own = problem.benefit(root, place) - root.cost
    return (own, [(root, place)]) if own > value else (value, chosen)
