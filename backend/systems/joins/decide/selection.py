"""The selection of caches as a problem: nonoverlapping readers of greatest benefit less upkeep.

[B05] §5.5.3-4. A cache that several pipelines read is kept up to date once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate, conflicts

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


#: A cache that saves less than this share of the join's cost is not worth its memory, and comes and
#: goes with chance.
LEAST_SHARE: Final = 0.01


def worthwhile(problem: CacheSelection, choice: Choice) -> dict[str, tuple[Segment, ...]]:
    """A choice without the caches that save next to nothing beside the others."""
    left = dict(choice)
    least = LEAST_SHARE * problem.cost({})
    for id in [id for id in choice if id not in problem.pinned]:
        without = {other: readers for other, readers in left.items() if other != id}
        if problem.value(left) - problem.value(without) < least:
            left = without
    return left


def outlasting(choice: Choice, offered: Iterable[CacheCandidate]) -> dict[str, tuple[Segment, ...]]:
    """The readers of a choice that are there still among other candidates, by cache."""
    kept = {
        cache.id: tuple(reader for reader in choice.get(cache.id, ()) if reader in cache.readers)
        for cache in offered
    }
    return {id: readers for id, readers in kept.items() if readers}


#: A reader: its cache, and its place among all of it.
PricedReader: TypeAlias = tuple[PricedCache, int]


def fits(
    cache: PricedCache,
    place: int,
    chosen: Sequence[PricedReader],
    nested: bool = False,
) -> bool:
    """Whether a reader can be used beside others. nested: it may hold others' steps, or lie in
    theirs; then the outer one is kept in the end."""
    reader = cache.candidate.readers[place]
    pairs = [(priced.candidate, priced.candidate.readers[at]) for priced, at in chosen]
    for a, b in conflicts([*pairs, (cache.candidate, reader)]):
        other, theirs = pairs[a]
        if b != len(pairs):
            continue
        hidden = cache.candidate.hides(reader, other) or other.hides(theirs, cache.candidate)
        if hidden or not (nested and (lies_in(reader, theirs) or lies_in(theirs, reader))):
            return False
    return True


def choice_of(chosen: Sequence[PricedReader]) -> dict[str, tuple[Segment, ...]]:
    """Readers by cache, ascending."""
    readers_by_cache: dict[str, list[Segment]] = {}
    for cache, place in chosen:
        readers_by_cache.setdefault(cache.candidate.id, []).append(cache.candidate.readers[place])
    return {id: tuple(sorted(readers)) for id, readers in readers_by_cache.items()}


def all_readers(caches: Sequence[PricedCache]) -> list[PricedReader]:
    """All their readers that fit beside each other."""
    chosen: list[PricedReader] = []
    for cache in caches:
        for place in range(len(cache.procs)):
            if fits(cache, place, chosen):
                chosen.append((cache, place))
    return chosen


def compatible_pins(problem: CacheSelection) -> list[PricedCache]:
    """Pinned caches of which none hides what another is told."""
    pins: list[PricedCache] = []
    for cache in problem.caches:
        if cache.candidate.id in problem.pinned and any(
            fits(cache, place, all_readers(pins)) for place in range(len(cache.procs))
        ):
            pins.append(cache)
    return pins


def operators_of(reader: Segment) -> set[tuple[int, int]]:
    """The (pipeline, step) of a segment."""
    return {(reader.pipeline, step) for step in range(reader.first, reader.last + 1)}


def lies_in(inner: Segment, outer: Segment) -> bool:
    """Whether all operators of a segment are in another."""
    same = inner.pipeline == outer.pipeline
    return same and outer.first <= inner.first and inner.last <= outer.last
