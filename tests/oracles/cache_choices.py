"""Caches of joins by their definitions: all choices, priority serving. Slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Protocol

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.selection import CacheSelection

Chosen = tuple[tuple[CacheCandidate, Segment], ...]


def is_allowed(chosen: Chosen) -> bool:
    """No operator is in two segments. No segment lies between another cache and its deltas: one
    that holds the last operator of another's prefix ends with it, and one in front of it lets by
    all tuples, or all with witnesses that the other has too."""
    for a, (one, reader) in enumerate(chosen):
        for b, (other, theirs) in enumerate(chosen):
            steps = set(range(reader.first, reader.last + 1))
            theirs_too = steps & set(range(theirs.first, theirs.last + 1))
            if a != b and reader.pipeline == theirs.pipeline and theirs_too:
                return False
            inputs = {*other.windows, *other.witnesses}
            last = len(inputs) - 2
            if reader.pipeline in (other.windows if other.keyed else inputs):
                if last in steps and last != reader.last:
                    return False
                lets_all_by = one.keyed or set(one.witnesses) <= inputs
                if last >= reader.last and not lets_all_by:
                    return False
    return True


def all_choices(problem: CacheSelection) -> Iterator[tuple[Chosen, float]]:
    """Every set of readers that may be used, and Σ benefit - Σ cost."""
    readers = [
        (cache, place) for cache in problem.caches for place in range(len(cache.candidate.readers))
    ]
    for some in chain.from_iterable(combinations(readers, k) for k in range(len(readers) + 1)):
        chosen = tuple((cache.candidate, cache.candidate.readers[place]) for cache, place in some)
        if is_allowed(chosen):
            value = 0.0
            for cache, place in some:
                at = cache.candidate.readers[place]
                value += sum(problem.bare[at.pipeline][at.first : at.last + 1])
                value -= cache.procs[place]
            used = {cache.candidate.id: cache.cost for cache, _ in some}
            yield chosen, value - sum(used.values())


def best_value(problem: CacheSelection) -> float:
    """Of all choices."""
    return max(value for _, value in all_choices(problem))


class Wanting(Protocol):
    """A join. wants: (pages, priority) of each cache in pages of each shard; n_pages: own pool;
    weight: its share."""

    @property
    def wants(self) -> Mapping[str, Sequence[tuple[int, float]]]: ...
    @property
    def n_pages(self) -> int: ...
    @property
    def n_shards(self) -> int: ...
    @property
    def weight(self) -> float: ...


def served(n_pages: int, wants: Mapping[str, Sequence[tuple[int, float]]]) -> dict[str, int]:
    """Pages by cache when one after the other goes to who makes most of it. wants: (pages,
    priority) by cache, priorities falling."""
    found = dict.fromkeys(wants, 0)
    for _ in range(n_pages):
        asking = [(-p, c) for c in wants if (p := _next(wants[c], found[c])) is not None]
        if asking:
            found[min(asking)[1]] += 1
    return found


def divided(n_pages: int, demands: Mapping[str, Wanting]) -> dict[str, dict[str, int]]:
    """Pages by join and cache, when one page (of all shards) after the other goes to who makes most
    of it; who has no room for another one is asked no more."""
    found = {join: dict.fromkeys(one.wants, 0) for join, one in demands.items()}
    left = n_pages
    while True:
        asking = []
        for join, one in demands.items():
            is_open = sum(found[join].values()) < one.n_pages and one.n_shards <= left
            for cache in one.wants if is_open else ():
                priority = _next(one.wants[cache], found[join][cache])
                if priority is not None:
                    asking.append((-priority * one.weight / one.n_shards, join, cache))
        if not asking:
            return found
        _, join, cache = min(asking)
        found[join][cache] += 1
        left -= demands[join].n_shards


def _next(wanted: Sequence[tuple[int, float]], held: int) -> float | None:
    """What the next page is worth to a cache; None: it wants no more."""
    for n, priority in wanted:
        if held < n:
            return priority
        held -= n
    return None
