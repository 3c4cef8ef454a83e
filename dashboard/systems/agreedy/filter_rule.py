"""How each algorithm answers what a profile window of filters shows: plain, from the window alone.

The engine keeps its matrix view up to date step by step (docs/papers.md); here V is counted anew at
each look, and compared by the same rule (storage/vocabulary/rank_rule.py). [B05] §4.3-4.6
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storage.vocabulary.rank_rule import (
    Counts,
    Pair,
    best,
    fraction,
    rank_difference,
    ranked_order,
    ranks_below,
    violated_pairs,
)

Drops = NDArray[np.bool_]
#: 'optimal' is decided again with so many filters of a segment at most.
OPTIMAL_UP_TO: Final = 8


class Tested(NamedTuple):
    """A profile window and what it is tested by. drops: bool[k, n], by filter; n_passed: tuples
    that no filter drops; ps: picoseconds by filter; stage: of 'sweep', whose turn it is."""

    drops: Drops
    n_passed: int
    ps: Sequence[int]
    n_native: int
    algorithm: str
    by_evidence: bool
    alpha: float
    confidence: float
    stage: int = 0

    @property
    def n_tuples(self) -> int:
        return len(self.drops) + self.n_passed


def comparable(order: Sequence[int], n_native: int) -> NDArray[np.bool_]:
    """bool[n, n]: positions i < j of one segment."""
    found = np.triu(np.ones((len(order), len(order)), dtype=np.bool_), 1)
    found[:n_native, n_native:] = False
    return found


def proposed(order: list[int], t: Tested) -> list[int] | None:
    """The order that answers a violation, None when nothing is violated."""
    if t.algorithm == "optimal":
        return _cheapest(order, t)
    pairs = _violated(order, t)
    if not pairs:
        return None
    if t.algorithm == "a-greedy":
        return _corrected(order, t, pairs)
    if t.algorithm == "independent":
        by_filter = t.drops.sum(axis=0).tolist()
        return ranked_order(by_filter, t.ps, order, t.n_native)
    target, source = _strongest(order, t, pairs)
    found = list(order)
    if t.algorithm == "sweep":
        found.insert(target, found.pop(source))
    else:
        found[target], found[source] = found[source], found[target]
    return found


def order_cost(order: Sequence[int], t: Tested) -> int:
    """Picoseconds of all tuples under an order (eq. 4.1)."""
    total, alive = 0, np.ones(len(t.drops), dtype=np.bool_)
    for one in order:
        total += t.ps[one] * (int(alive.sum()) + t.n_passed)
        alive &= ~t.drops[:, one]
    return total


def swept(order: Sequence[int], t: Tested) -> int | None:
    """The position 'sweep' profiles, None when no position has one before it to overtake."""
    turns = [p for p in range(len(order)) if p not in (0, t.n_native)]
    return turns[t.stage % len(turns)] if turns else None


def _looked_at(order: Sequence[int], t: Tested) -> NDArray[np.bool_]:
    """bool[n, n]: the pairs of positions that the algorithm compares."""
    found = comparable(order, t.n_native)
    if t.algorithm == "local swaps":
        return found & np.eye(len(order), k=1, dtype=np.bool_)
    if t.algorithm == "sweep":
        column = np.zeros_like(found)
        position = swept(order, t)
        if position is not None:
            column[:, position] = True
        return found & column
    return found


def _counts(order: Sequence[int], t: Tested) -> Counts:
    """V; for 'independent' its first row throughout."""
    n, alive = len(order), np.ones(len(t.drops), dtype=np.bool_)
    found = np.zeros((n, n), dtype=np.int64)
    for row, one in enumerate(order):
        found[row, row:] = t.drops[alive][:, order[row:]].sum(axis=0)
        alive &= ~t.drops[:, one]
    return np.tile(found[0], (n, 1)) if t.algorithm == "independent" and n else found


def _violated(order: Sequence[int], t: Tested) -> list[Pair]:
    counts, costs = _counts(order, t), np.array([t.ps[x] for x in order], dtype=np.float64)
    threshold = fraction(1.0 if t.by_evidence else t.alpha)
    pairs = violated_pairs(counts, costs, _looked_at(order, t), threshold)
    return [one for one in pairs if _is_evident(order, t, one)] if t.by_evidence else pairs


def _is_evident(order: Sequence[int], t: Tested, pair: Pair) -> bool:
    row = 0 if t.algorithm == "independent" else pair.position
    left = t.drops[~t.drops[:, order[:row]].any(axis=1)]
    own, other = order[pair.position], order[pair.challenger]
    a, b = left[:, own], left[:, other]
    found = rank_difference(
        int(a.sum()),
        int(b.sum()),
        int((a & b).sum()),
        (t.ps[own], t.ps[other]),
        len(left) + t.n_passed,
        t.confidence,
    )
    return found is None or found.low > 0


def _strongest(order: Sequence[int], t: Tested, pairs: Sequence[Pair]) -> Pair:
    """Of the first violated row, the challenger of the highest rank."""
    counts, chosen = _counts(order, t), pairs[0]
    for pair in pairs[1:]:
        row, here, there = chosen.position, chosen.challenger, pair.challenger
        if pair.position != row:
            break
        found = int(counts[row, here]), t.ps[order[here]]
        if ranks_below(*found, int(counts[row, there]), t.ps[order[there]]):
            chosen = pair
    return chosen


def _corrected(order: Sequence[int], t: Tested, pairs: Sequence[Pair]) -> list[int]:
    """Correct at the smallest violated position until nothing is violated (Fig. 4.7, looped)."""
    found = list(order)
    for _ in order:
        if not pairs:
            break
        _correct(found, t, pairs[0].position)
        pairs = _violated(found, t)
    return found


def _correct(order: list[int], t: Tested, position: int) -> None:
    """Exchange the best with the one in place, from a position on as far as that reaches."""
    row = last = position
    while row <= last:
        end = t.n_native if row < t.n_native else len(order)
        left = t.drops[~t.drops[:, order[:row]].any(axis=1)]
        counts = left[:, order[row:end]].sum(axis=0).tolist()
        winner = row + best(counts, [t.ps[x] for x in order[row:end]])
        last = max(last, winner)
        order[row], order[winner] = order[winner], order[row]
        row += 1


def _cheapest(order: list[int], t: Tested) -> list[int] | None:
    """The cheapest order, where it costs less than α of the present one."""
    if not comparable(order, t.n_native).any() or not t.n_tuples:
        return None
    found: list[int] = []
    for segment in (order[: t.n_native], order[t.n_native :]):
        found += _best_of(segment, found, t)
    now, then = order_cost(order, t), order_cost(found, t)
    threshold = fraction(1.0 if t.by_evidence else t.alpha)
    return found if now and ranks_below(then, 1, now, 1, threshold) else None


def _best_of(segment: Sequence[int], before: Sequence[int], t: Tested) -> list[int]:
    """By the best last filter of each subset, small subsets first."""
    n = len(segment)
    left = t.drops[~t.drops[:, list(before)].any(axis=1)][:, list(segment)]
    reached = [
        int((~left[:, [i for i in range(n) if s >> i & 1]].any(axis=1)).sum()) + t.n_passed
        for s in range(1 << n)
    ]
    least: list[float] = [0.0] + [float("inf")] * ((1 << n) - 1)
    last = [0] * (1 << n)
    for s in range(1, 1 << n):
        for i in range(n):
            rest = s ^ (1 << i)
            price = least[rest] + t.ps[segment[i]] * reached[rest] if s >> i & 1 else float("inf")
            if price < least[s]:
                least[s], last[s] = price, i
    found, s = [], (1 << n) - 1
    while s:
        found.append(segment[last[s]])
        s ^= 1 << last[s]
    return found[::-1]
