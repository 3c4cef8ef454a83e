"""Caches of joins by their definitions: all choices, priority serving. Slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

from backend.operators.network.join_tuning import Segment
from backend.systems.joins.candidates import CacheCandidate
from backend.systems.joins.selection import CacheSelection

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


def served(n_pages: int, wants: Mapping[str, Sequence[tuple[int, float]]]) -> dict[str, int]:
    """Pages by cache when (pages, priority) are served from the highest priority down."""
    found, left = dict.fromkeys(wants, 0), n_pages
    tiers = [
        (-priority, cache, place, n)
        for cache, wanted in wants.items()
        for place, (n, priority) in enumerate(wanted)
    ]
    for _, cache, _, n in sorted(tiers):
        found[cache] += min(n, left)
        left -= min(n, left)
    return found
