"""Orders and their costs on a profile window: greedy, by rank alone, optimal. [B05] §4.2, §4.3

Costs are exact: picoseconds summed over the window's tuples, passes included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import Counts, Picoseconds
from backend.adaptive.ordering.view import Columns, MatrixView, alive_after
from backend.model.bits import popcount

#: Up to so many filters in a segment the best order is found by looking at all subsets.
EXACT_UP_TO: Final = 14


def order_cost(
    order: Sequence[int], columns: Columns, costs: Sequence[Picoseconds], n_tuples: int
) -> Picoseconds:
    """Eq. 4.1 summed over the window: each filter is paid for the tuples that reach it.

    n_tuples: tuples of the window, dropped and passed; complete profile tuples only.

    Example 4.2.1 of [B05]: hash probes for eight tuples, two of which no filter drops.

    >>> from backend.model.bits import pack
    >>> tuples = ["0010", "0111", "1000", "0010", "1101", "0111"]
    >>> columns = pack(np.array([[bit == "1" for bit in row] for row in tuples]).T)
    >>> orders = ([0, 1, 2, 3], [2, 1, 3, 0], [2, 0, 1, 3])
    >>> [order_cost(order, columns, [1, 1, 1, 1], 8) for order in orders]
    [20, 18, 16]
    """
    total, dropped = 0, np.zeros(columns.shape[1], dtype=np.uint64)
    for filter_index in order:
        total += costs[filter_index] * (n_tuples - int(popcount(dropped)))
        dropped |= columns[filter_index]
    return total


def cost_of_view(view: MatrixView, costs: Sequence[Picoseconds], n_tuples: int) -> Picoseconds:
    """The same for the view's own order, from its diagonal alone."""
    reached = view.alive(n_tuples)
    return sum(costs[x] * n for x, n in zip(view.order, reached, strict=False))


def cost_after_move(
    view: MatrixView, costs: Sequence[Picoseconds], n_tuples: int, source: int, target: int
) -> Picoseconds:
    """The cost once the filter at ``source`` stands before ``target``: column ``source`` is enough.

    Each filter it overtakes then sees the tuples of its row that the mover lets pass.
    """
    reached, order = view.alive(n_tuples), view.order
    mover = order[source]
    change = costs[mover] * (reached[target] - reached[source])
    for row in range(target, source):
        change -= costs[order[row]] * int(view.counts[row, source])
    return cost_of_view(view, costs, n_tuples) + change


def greedy_order(
    columns: Columns, costs: Sequence[Picoseconds], incumbent: Sequence[int], n_native: int = 0
) -> list[int]:
    """Static Greedy: the best drops per cost first, given those before; ties keep the incumbent.

    On the tuples of Example 4.2.1 of [B05] F3 drops most, then F1 what is left:

    >>> from backend.model.bits import pack
    >>> tuples = ["0010", "0111", "1000", "0010", "1101", "0111"]
    >>> columns = pack(np.array([[bit == "1" for bit in row] for row in tuples]).T)
    >>> greedy_order(columns, [1, 1, 1, 1], [0, 1, 2, 3])
    [2, 0, 1, 3]
    """
    view = MatrixView(incumbent, n_native)
    view.rebuild(columns)
    view.correct_all(columns, costs)
    return view.order


def optimal_order(
    columns: Columns,
    costs: Sequence[Picoseconds],
    incumbent: Sequence[int],
    n_tuples: int,
    n_native: int = 0,
) -> list[int] | None:
    """The cheapest order on the window, by dynamic programming over subsets (card §15.2).

    None when a segment has more than EXACT_UP_TO filters. The incumbent keeps ties.
    """
    segments = (list(incumbent[:n_native]), list(incumbent[n_native:]))
    if any(len(segment) > EXACT_UP_TO for segment in segments):
        return None
    order: list[int] = []
    for segment in segments:
        order += _best_of_segment(columns, costs, segment, order, n_tuples)
    cheaper = order_cost(order, columns, costs, n_tuples) < order_cost(
        incumbent, columns, costs, n_tuples
    )
    return order if cheaper else list(incumbent)


def _best_of_segment(
    columns: Columns,
    costs: Sequence[Picoseconds],
    segment: list[int],
    before: Sequence[int],
    n_tuples: int,
) -> list[int]:
    """best[S] = min over the last filter x of S of best[S - x] + a_x · alive(S - x).

    Sums are floats (exact below 2^53 picoseconds); subsets are taken by size, all of one at once.
    """
    n = len(segment)
    reached = _reached_by_subset(columns, segment, before, n_tuples)
    least = np.full(1 << n, np.inf)
    least[0] = 0.0
    last = np.zeros(1 << n, dtype=np.int64)
    for place, ending in _by_size(n):
        rest = ending ^ (1 << place)
        price = least[rest] + float(costs[segment[place]]) * reached[rest]
        is_better = price < least[ending]
        better = ending[is_better]
        least[better] = price[is_better]
        last[better] = place
    order: list[int] = []
    subset = (1 << n) - 1
    while subset:
        order.append(segment[int(last[subset])])
        subset ^= 1 << int(last[subset])
    return order[::-1]


@lru_cache(maxsize=EXACT_UP_TO + 1)
def _by_size(n: int) -> tuple[tuple[int, NDArray[np.int64]], ...]:
    """Subsets of n filters, small ones first: a place, and all of one size that hold it."""
    subsets = np.arange(1 << n)
    sizes = np.bitwise_count(subsets)
    return tuple(
        (place, subsets[(sizes == size) & (subsets >> place & 1 == 1)])
        for size in range(1, n + 1)
        for place in range(n)
    )


def _reached_by_subset(
    columns: Columns, segment: Sequence[int], before: Sequence[int], n_tuples: int
) -> Counts:
    """int64[2^n]: tuples alive after the filters ``before`` and those of each subset."""
    size = 1 << len(segment)
    alive = np.unpackbits(alive_after(columns, before).view(np.uint8)).astype(np.bool_)
    patterns = np.zeros(len(alive), dtype=np.int64)
    for place, filter_index in enumerate(segment):
        patterns |= np.unpackbits(columns[filter_index].view(np.uint8)).astype(np.int64) << place
    counts = np.bincount(patterns[alive & (patterns > 0)], minlength=size)
    contained = counts.copy()
    for place in range(len(segment)):
        table = contained.reshape(-1, 2, 1 << place)
        table[:, 1] += table[:, 0]
    dropped_before = int(popcount(~alive_after(columns, before)))
    n_alive = n_tuples - dropped_before
    # what subset S drops = all patterns but those inside the complement of S
    alive_after_subset: Counts = n_alive - int(counts.sum()) + contained[::-1]
    return alive_after_subset
