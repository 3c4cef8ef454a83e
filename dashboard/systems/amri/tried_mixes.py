"""Mixes and schedules on the requests on record: the best bits with hash indexes within some bytes,
and bits that are chosen anew every so many requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from dashboard.systems.amri.recorded import RecordedWindow
from storage.vocabulary.amri_configurations import cheapest
from storage.vocabulary.amri_costs import Bits, Candidates, Floats
from storage.vocabulary.amri_patterns import Pattern

#: Hash indexes that a mix may have: all sets of so many patterns, the most frequent ones.
MOST_MIXED: Final = 4


class TriedMix(NamedTuple):
    """The cheapest bits and hash indexes for all of some windows. costs: of each window."""

    bits: Bits
    modules: tuple[Pattern, ...]
    costs: list[float]


def best_mix(
    windows: Sequence[RecordedWindow],
    candidates: Candidates,
    asked: Sequence[Pattern],
    most_bytes: float,
) -> TriedMix:
    """Of all candidates beside all sets of hash indexes on the first of the patterns asked for; the
    one with fewest of these, where several are as cheap. A scan takes no bytes."""
    some = asked[:MOST_MIXED]
    sets = [of for n in range(len(some) + 1) for of in combinations(some, n)]
    of_all = np.zeros((len(sets), len(candidates)))
    for recorded in windows:
        of_all += recorded.window.mix_costs(candidates, sets)
    by_bits, by_module = windows[-1].window.sizes
    has_bits, n_modules = np.count_nonzero(candidates, axis=1) > 0, np.array([*map(len, sets)])
    n_bytes = by_bits * has_bits[None, :] + by_module * n_modules[:, None]
    costs = np.where(n_bytes <= most_bytes, of_all, np.inf)
    row = int(costs.min(axis=1).argmin())
    place = cheapest(costs[row], candidates)
    bits = tuple(candidates[place].tolist())
    own, modules = candidates[[place]], sets[row]
    of_each = [recorded.window.mix_costs(own, [modules]) for recorded in windows]
    return TriedMix(bits, modules, [float(cost[0, 0]) for cost in of_each])


class Retuned(NamedTuple):
    """Bits that were chosen anew. bits: of each window; costs: of each, migrations among it."""

    bits: list[Bits]
    costs: list[float]
    n_changes: int


def retuned(
    windows: Sequence[RecordedWindow],
    candidates: Candidates,
    costs: Sequence[Floats],
    every: int,
    min_gain: float,
) -> Retuned:
    """Whenever so many requests have passed, the bits that would have cost least for them, if these
    save that share of what the bits in force cost; all tuples move. Begins with the bits that were
    in force, or the first candidate if they are none. costs: by window, of the candidates."""
    first = (candidates == windows[0].window.bits).all(axis=1).argmax()
    at, since, n_requests = int(first), np.zeros(len(candidates)), 0
    tuned = Retuned([], [], 0)
    for recorded, own in zip(windows, costs, strict=True):
        window = recorded.window
        tuned.bits.append(tuple(candidates[at].tolist()))
        tuned.costs.append(float(own[at]))
        since, n_requests = since + own, n_requests + window.counts.requests
        if n_requests < every:
            continue
        best = cheapest(since, candidates)
        if best != at and since[best] < (1 - min_gain) * since[at]:
            hashed = int(np.count_nonzero(candidates[[at, best]]))
            tuned.costs[-1] += window.n_tuples * (hashed + 2)
            at, tuned = best, tuned._replace(n_changes=tuned.n_changes + 1)
        since, n_requests = np.zeros(len(candidates)), 0
    return tuned
