"""Which caches to use. [B05] §5.5.3-4

``exact`` looks at all sets of caches that are paid for; in each of these pipelines are independent,
and the best readers of one are found by a pass over its steps (card 10.3). ``greedy`` covers
operators at the least cost; ``by_trees`` is the recursion of the text for candidates nobody shares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.covering import greedy
from backend.systems.joins.decide.selection import (
    CacheSelection,
    Choice,
    PricedCache,
    PricedReader,
    all_readers,
    choice_of,
    compatible_pins,
    fits,
    lies_in,
    worthwhile,
)

#: More candidates than this are chosen among greedily.
EXACT_UP_TO_CACHES: Final = 12
#: An algorithm: the problem -> what to use.
Selector: TypeAlias = Callable[[CacheSelection], Choice]


class _Option(NamedTuple):
    """A reader as the pass over a pipeline sees it. own: the bit of its cache; hidden: those of
    caches whose upkeep it would hide."""

    reader: Segment
    id: str
    benefit: float
    is_pinned: bool
    own: int
    hidden: int


def exact(problem: CacheSelection) -> Choice:
    """The best choice; of equally good ones the one with fewest caches, first ones first. More than
    ``EXACT_UP_TO_CACHES`` worthwhile candidates are chosen among greedily."""
    paying = [cache for cache in problem.caches if _is_worthwhile(problem, cache)]
    if len(paying) > EXACT_UP_TO_CACHES:
        return greedy(problem)
    free = [cache for cache in paying if cache.candidate.id not in problem.pinned]
    pinned = compatible_pins(problem)
    pipelines = _pipelines(problem, [*pinned, *free])
    best, best_choice = (0, float("-inf")), dict[str, tuple[Segment, ...]]()
    for size in range(len(free) + 1):
        for chosen in combinations(range(len(pinned), len(pinned) + len(free)), size):
            paid = sum(1 << place for place in (*range(len(pinned)), *chosen))
            parts = [pipeline.best(paid) for pipeline in pipelines]
            n_pinned, bound = sum(part.n_pinned for part in parts), sum(p.benefit for p in parts)
            if (n_pinned, bound) < best:
                continue  # even if nothing had to be kept up to date
            choice = _readers_of(parts)
            rank = n_pinned, problem.value(choice)
            if rank > best:
                best, best_choice = rank, choice
    return best_choice


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
        nested.sort(key=lambda priced: -len(priced[0].candidate.windows))
        while nested:
            _, best = _tree(problem, nested)
            chosen += [priced for priced in best if fits(*priced, chosen)]
    return choice_of(chosen)


SELECTORS: Final[Mapping[str, Selector]] = {"exact": exact, "greedy": greedy, "trees": by_trees}


def chosen(
    problem: CacheSelection, select: Selector, least_gain: float, tried: Collection[str]
) -> dict[str, tuple[Segment, ...]]:
    """What is worth its memory of what ``select`` finds. Where that saves less than ``least_gain``
    beside what there is of caches that were ``tried``, being in use until now, or are pinned,
    these alone."""
    choice = worthwhile(problem, select(problem))
    if not least_gain:
        return choice
    known = [cache for cache in problem.caches if cache.candidate.id in problem.pinned.union(tried)]
    kept = replace(problem, caches=tuple(known))
    best = worthwhile(kept, select(kept))
    return choice if problem.value(choice) - problem.value(best) >= least_gain else best


def better_of(
    problem: CacheSelection, selected: Choice, before: Choice
) -> dict[str, tuple[Segment, ...]]:
    """What is to be used: what was found, or else what there was before without what is not worth
    its memory, where that has as many pinned caches and costs no more."""
    ids = {cache.candidate.id for cache in problem.caches}
    kept = worthwhile(problem, {id: readers for id, readers in before.items() if id in ids})

    def rank(choice: Choice) -> tuple[int, float]:
        return len(problem.pinned & choice.keys()), problem.value(choice)

    return kept if rank(kept) >= rank(selected) else dict(selected)


def _is_worthwhile(problem: CacheSelection, cache: PricedCache) -> bool:
    """Whether it can pay at all, or is pinned."""
    if cache.candidate.id in problem.pinned:
        return True
    places = range(len(cache.procs))
    return sum(max(0.0, problem.benefit(cache, place)) for place in places) > cache.cost


class _Part(NamedTuple):
    """The best readers of a pipeline. benefit: theirs, without upkeep."""

    n_pinned: int
    benefit: float
    options: tuple[_Option, ...]


class _OnePipeline:
    """A pipeline whose best readers are asked for under many sets of caches that are paid for, of
    which few are to do with it."""

    def __init__(self, options: Sequence[_Option], n_steps: int) -> None:
        self._options, self._n_steps = options, n_steps
        self._concerns = 0
        for option in options:
            self._concerns |= option.own | option.hidden
        self._known: dict[int, _Part] = {}

    def best(self, paid: int) -> _Part:
        """Without a step in common: first as many pinned ones as possible, then benefit. paid: the
        caches that are kept up to date, a bit for each."""
        asked = paid & self._concerns
        if asked not in self._known:
            usable = [
                option
                for option in self._options
                if option.own & asked and not option.hidden & asked
            ]
            self._known[asked] = self._pass(usable)
        return self._known[asked]

    def _pass(self, options: Sequence[_Option]) -> _Part:
        best = [_Part(0, 0.0, ())]
        for step in range(self._n_steps):
            part = best[step]
            for option in options:
                if option.reader.last == step:
                    before = best[option.reader.first]
                    new = _Part(
                        before.n_pinned + option.is_pinned,
                        before.benefit + option.benefit,
                        (*before.options, option),
                    )
                    if new[:2] > part[:2]:
                        part = new
            best.append(part)
        return best[-1]


def _pipelines(problem: CacheSelection, caches: Sequence[PricedCache]) -> list[_OnePipeline]:
    """All pipelines with the readers that may pay. caches: bit 0 first."""
    pipelines = []
    for pipeline, steps in enumerate(problem.bare):
        options = []
        for bit, priced in enumerate(caches):
            is_pinned = priced.candidate.id in problem.pinned
            for place, reader in enumerate(priced.candidate.readers):
                benefit = problem.benefit(priced, place)
                if reader.pipeline == pipeline and (benefit > 0 or is_pinned):
                    hidden = sum(
                        1 << other
                        for other, cache in enumerate(caches)
                        if priced.candidate.hides(reader, cache.candidate)
                    )
                    id = priced.candidate.id
                    options.append(_Option(reader, id, benefit, is_pinned, 1 << bit, hidden))
        pipelines.append(_OnePipeline(options, len(steps)))
    return pipelines


def _readers_of(parts: Sequence[_Part]) -> dict[str, tuple[Segment, ...]]:
    readers_by_cache: dict[str, list[Segment]] = {}
    for option in (option for part in parts for option in part.options):
        readers_by_cache.setdefault(option.id, []).append(option.reader)
    return {id: tuple(readers) for id, readers in readers_by_cache.items()}


def _tree(problem: CacheSelection, nested: list[PricedReader]) -> tuple[float, list[PricedReader]]:
    """Value and caches of the tree whose root stands first; its members are taken out."""
    root, place = nested.pop(0)
    reader = root.candidate.readers[place]
    inside = [
        priced for priced in nested if lies_in(priced[0].candidate.readers[priced[1]], reader)
    ]
    nested[:] = [priced for priced in nested if priced not in inside]
    value, chosen = 0.0, list[PricedReader]()
    while inside:
        below = _tree(problem, inside)
        value, chosen = value + below[0], chosen + below[1]
    own = problem.benefit(root, place) - root.cost
    return (own, [(root, place)]) if own > value else (value, chosen)
