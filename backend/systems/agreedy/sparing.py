"""Filters that are spared: asked about whole profile tuples only, where no plan of late asks them.

A profile tuple prices another order by what the filters before its first drop say. Those that no
order of late has before the filter that dropped the tuple are asked about one in WHOLE_EVERY, which
then stands for all of these. Ours; the weights are those of D. G. Horvitz, D. J. Thompson, 1952.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.model.filters import DROPPED, PASSED, UNKNOWN, WHOLE_EVERY, Outcomes, Probing

#: int8[T, n]: profile tuples, passes too, columns by filter: DROPPED, PASSED, UNKNOWN, or one of
#: the first two and _SPARED, where the filter was asked only because the tuple is whole.
KnownSample: TypeAlias = NDArray[np.int8]
_SPARED: Final = 2


def marked(outcomes: Outcomes, order: Sequence[str], probing: Probing) -> KnownSample:
    """Outcomes of tuples that were dropped, in the order they were run in."""
    if not probing.spared or not len(outcomes):
        return outcomes
    first = np.argmax(outcomes == DROPPED, axis=1)
    is_spared = probing.spared_places(order)[first] & (np.arange(len(order)) > first[:, None])
    known: KnownSample = np.where(is_spared & (outcomes != UNKNOWN), outcomes + _SPARED, outcomes)
    return known.astype(np.int8)


def unmarked(sample: KnownSample) -> Outcomes:
    """Whole tuples as they were."""
    outcomes: Outcomes = sample % _SPARED
    return outcomes


def with_passes(dropped: KnownSample, n_passed: int) -> KnownSample:
    """The tuples that no filter dropped are behind those that were."""
    passes = np.full((n_passed, dropped.shape[1]), PASSED, dtype=np.int8)
    return np.concatenate([dropped, passes])


def drops_of(sample: KnownSample) -> NDArray[np.bool_]:
    """bool[T, n]: known to have been dropped."""
    drops: NDArray[np.bool_] = (sample == DROPPED) | (sample == DROPPED + _SPARED)
    return drops


def drop_shares(sample: KnownSample) -> list[float]:
    """The drop probability of each filter alone; 0 where it was never asked."""
    weights = np.where(sample >= _SPARED, WHOLE_EVERY, sample != UNKNOWN)
    dropped = (weights * drops_of(sample)).sum(axis=0)
    shares: list[float] = (dropped / np.maximum(1, weights.sum(axis=0))).tolist()
    return shares


def searched(sample: KnownSample) -> list[NDArray[np.bool_]]:
    """Drops to search the best order on: what is known, exact for orders of late; and, where
    filters were spared, whole tuples as many times as they stand for, fair to every order."""
    drops = drops_of(sample)
    is_whole, is_cut = (sample >= _SPARED).any(axis=1), (sample == UNKNOWN).any(axis=1)
    if not is_cut.any():
        return [drops]
    return [drops, np.repeat(drops, np.where(is_whole, WHOLE_EVERY, ~is_cut), axis=0)]


def sample_prices(
    sample: KnownSample, order: Sequence[int], costs: Sequence[Picoseconds]
) -> NDArray[np.float64]:
    """float64[T], microseconds: what tuples cost in an order, on average over which are whole.

    Up to the first filter that was spared, that one included, the cost is known of every tuple;
    what comes on top is known of whole ones, and counts for those that are not.
    """
    ordered, n = sample[:, list(order)], len(order)
    paid = np.concatenate(([0.0], np.cumsum([costs[place] / PS_PER_US for place in order])))
    asked, sure = _until(drops_of(ordered), n), _until(ordered >= _SPARED, n)
    cut = _until(ordered == UNKNOWN, n)
    sure = np.minimum(np.minimum(sure, cut), asked)
    more = np.where(cut < asked, 0.0, paid[asked] - paid[sure])
    prices: NDArray[np.float64] = paid[sure] + more * WHOLE_EVERY
    return prices


def _until(marks: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    """Filters asked until the first mark of each row, all n where there is none."""
    if not n:
        return np.zeros(len(marks), dtype=np.intp)
    return np.where(marks.any(axis=1), np.argmax(marks, axis=1) + 1, n)


def spared_of(names: Sequence[str], orders: Iterable[Sequence[str]]) -> frozenset[tuple[str, str]]:
    """(filter, the one that dropped): pairs that no order has in this order."""
    places = [[order.index(name) for name in names] for order in orders]
    asked = np.array(places, dtype=np.intp).reshape(len(places), len(names))
    is_used: NDArray[np.bool_] = np.any(asked[:, :, None] < asked[:, None, :], axis=0)
    return frozenset(
        (name, by)
        for i, name in enumerate(names)
        for j, by in enumerate(names)
        if i != j and not is_used[i, j]
    )
