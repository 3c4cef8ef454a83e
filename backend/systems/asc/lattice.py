"""The exact best and worst fixed order on a sample, by dynamic programming over subsets. (F4)

The visits of an order are the sum over its places of w(P, a): tuples that would visit construct a
after the set P of the constructs before it. w depends on the set, not on its order, so the least
(greatest) sum over all n! orders takes 2^n steps (erratum 22). Under the 'drop' rule w(P, a) =
U(P), the tuples with GRB != 0; under 'resolved' those with a live slot that uses a.
Above EXACT_ORDER_UP_TO constructs a local search over the same w takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.stats import thinned
from backend.systems.asc.construct import slots_in
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.matching import Regions, StopRule

#: Up to this many constructs the order is the exact best.
EXACT_ORDER_UP_TO: Final = 14
#: Work allowed for one order: words of the subset lattice, and (tuple, slot, construct) triples.
_LATTICE_WORDS: Final = 1 << 21
_TRIPLES: Final = 1 << 26
#: The same for the local search: words of all tuples' GRB (but _FEW tuples at least), and the
#: subsets looked at.
_SEARCH_WORDS: Final = 1 << 10
_FEW: Final = 32
_SUBSETS: Final = 4000
#: What a call on an array takes at least, in the steps of ``work``.
_CALL_STEPS: Final = 8000
_WORD: Final = 64
#: Sums this close (relative) are equal: rounding of weights must not change an order.
_TIE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class OrderFound:
    """A fixed order and its cost on the sample. cost: (weighted) visits per tuple.

    exact: no order is better (worse) on these n tuples.
    """

    order: tuple[str, ...]
    cost: float
    n: int
    exact: bool


def extreme_order(
    constructs: ConstructSet,
    regions: Regions,
    stop_rule: StopRule,
    weights: Mapping[str, float] | None = None,
    *,
    worst: bool = False,
    starts: Sequence[Sequence[str]] = (),
    effort: float = 1.0,
    exact_up_to: int = EXACT_ORDER_UP_TO,
) -> OrderFound:
    """The cheapest (worst: the dearest) fixed order on a sample, regions intp[T, n].

    weights: attribute -> cost of a visit, 1 each when None. Ties: the first in schema order, place
    by place. starts: orders the local search begins with, when it is needed. effort: share of the
    usual work; a sample too large for it is thinned evenly to the ``n`` of the answer.
    exact_up_to: constructs up to which the subsets are gone through, however many they are.
    """
    price = np.array([weights[a] if weights else 1.0 for a in constructs.attributes])
    sign = -1.0 if worst else 1.0
    exact = len(constructs.attributes) <= exact_up_to
    used = thinned(regions, affordable(constructs, stop_rule, effort, exact_up_to))
    if exact:
        columns, total = _least_path(survivors(constructs, used, stop_rule) * price * sign)
    else:
        search = _Search(constructs, used, stop_rule, price * sign, int(effort * _SUBSETS))
        columns, total = search.run(starts or [constructs.attributes])
    order = tuple(constructs.attributes[column] for column in columns)
    return OrderFound(order, sign * total / len(used) if len(used) else 0.0, len(used), exact)


def affordable(
    constructs: ConstructSet,
    stop_rule: StopRule,
    effort: float = 1.0,
    exact_up_to: int = EXACT_ORDER_UP_TO,
) -> int:
    """Sampled tuples the search for an order can take, at least 1."""
    n = len(constructs.attributes)
    if n > exact_up_to:
        return max(_FEW, int(_SEARCH_WORDS / constructs.n_words))
    triples = max(1, _pairs(constructs, stop_rule)[0].size)
    n_words = _LATTICE_WORDS / ((1 if stop_rule == "drop" else max(1, n)) << n)
    return max(1, int(effort * min(_WORD * n_words, _TRIPLES / triples)))


def work(constructs: ConstructSet, stop_rule: StopRule, n_tuples: int, effort: float = 1.0) -> int:
    """What extreme_order does on so many tuples, in steps of roughly 3 ns each."""
    n = len(constructs.attributes)
    if n > EXACT_ORDER_UP_TO:
        return int(effort * _SUBSETS) * n * (n_tuples * constructs.n_words + _CALL_STEPS)
    slots, _ = _pairs(constructs, stop_rule)
    n_users = n if stop_rule == "resolved" else 1
    return n_tuples * ((n_users << n) + (n + 1) * len(slots))


def survivors(constructs: ConstructSet, regions: Regions, stop_rule: StopRule) -> NDArray[np.int64]:
    """w, int64[2^n, n]: tuples that would visit construct a after the set P of bits a' of the row
    (both in schema order); nothing is said for a in P.

    A slot outlives P when none of P clears it. Per tuple it is marked at the set of all constructs
    that leave it alone, and the marks, 64 tuples a word, are handed down to all subsets.
    """
    n = len(constructs.attributes)
    slots, users = _pairs(constructs, stop_rule)
    n_users = n if stop_rule == "resolved" else 1
    alive = np.zeros((1 << n, n_users), dtype=np.int64)
    for start in range(0, len(regions), _WORD):
        spared = _spared(constructs, regions[start : start + _WORD], slots)
        marks = np.zeros((n_users << n, _WORD), dtype=np.bool_)
        marks[spared * n_users + users, np.arange(len(spared))[:, None]] = True
        words = np.packbits(marks, axis=1).view(np.uint64)
        for bit in range(n):
            halves = words.reshape(-1, 2, n_users << bit)
            halves[:, 0] |= halves[:, 1]
        alive += np.bitwise_count(words).reshape(1 << n, n_users)
    return np.broadcast_to(alive, (1 << n, n))


def _spared(
    constructs: ConstructSet, regions: Regions, slots: NDArray[np.intp]
) -> NDArray[np.int64]:
    """int64[T, len(slots)]: the constructs (bits, schema order) that do not clear the slot."""
    used, back = np.unique(slots, return_inverse=True)
    spared = np.zeros((len(regions), len(used)), dtype=np.int64)
    places = used // _WORD, (used % _WORD).astype(np.uint64)
    for column, construct in enumerate(constructs.constructs.values()):
        words = construct.qrb[regions[:, column]][:, places[0]]
        spared |= ((words >> places[1]) & np.uint64(1)).astype(np.int64) << column
    return spared[:, back]


def _pairs(
    constructs: ConstructSet, stop_rule: StopRule
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(slot, construct using it) for live slots; under 'drop' each live slot once, with 0."""
    if stop_rule == "drop":
        slots = np.array(slots_in(constructs.initial), dtype=np.intp)
        return slots, np.zeros_like(slots)
    return constructs.live_uses


def _least_path(steps: NDArray[np.float64]) -> tuple[list[int], float]:
    """The cheapest way from the empty to the full set, steps float[2^n, n]; first among equals."""
    n = steps.shape[1]
    rest = np.zeros(1 << n)
    for at, following in _layers(n):
        options = steps[at] + rest[following]
        rest[at] = options.min(axis=1, where=following != at[:, None], initial=np.inf)
    order: list[int] = []
    done = 0
    while len(order) < n:
        left = [a for a in range(n) if not done >> a & 1]
        costs = {a: float(steps[done, a] + rest[done | 1 << a]) for a in left}
        slack = _TIE * abs(min(costs.values()))
        order.append(next(a for a in left if costs[a] <= min(costs.values()) + slack))
        done |= 1 << order[-1]
    return order, float(rest[0])


@cache
def _layers(n: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The proper subsets by falling size, and intp[sets, n], each with one more construct (itself
    where it has it already)."""
    sets = np.arange(1 << n)
    size = np.bitwise_count(sets)
    layers = [sets[size == length] for length in range(n - 1, -1, -1)]
    return [(at, at[:, None] | (1 << np.arange(n))) for at in layers]


class _Search:
    """Local search: from each start, move one construct or swap two while that pays, until the
    work allowed is done."""

    def __init__(
        self,
        constructs: ConstructSet,
        regions: Regions,
        stop_rule: StopRule,
        price: NDArray[np.float64],
        n_subsets: int,
    ) -> None:
        self._constructs, self._regions, self._price = constructs, regions, price
        self._n_subsets = n_subsets
        self._found = list(constructs.constructs.values())
        self._stop_rule = stop_rule
        self._steps: dict[int, NDArray[np.float64]] = {}

    def run(self, starts: Sequence[Sequence[str]]) -> tuple[list[int], float]:
        """The best order reached from any of the starts (attribute names), and its total."""
        position = {a: i for i, a in enumerate(self._constructs.attributes)}
        reached = [self._descend([position[a] for a in start]) for start in starts]
        best = min(reached, key=lambda order_and_total: order_and_total[1])
        return best

    def _descend(self, order: list[int]) -> tuple[list[int], float]:
        total = self._total(order)
        improved = True
        while improved:
            improved = False
            for candidate in self._neighbours(order):
                cost = self._total(candidate)
                if len(self._steps) > self._n_subsets:
                    return order, total
                if cost < total - _TIE * abs(total):
                    order, total, improved = candidate, cost, True
                    break
        return order, total

    def _neighbours(self, order: list[int]) -> list[list[int]]:
        places = range(len(order))
        moved = []
        for source in places:
            rest = order[:source] + order[source + 1 :]
            moved += [[*rest[:to], order[source], *rest[to:]] for to in places if to != source]
        for first in places:
            for second in range(first + 2, len(order)):
                swapped = list(order)
                swapped[first], swapped[second] = order[second], order[first]
                moved.append(swapped)
        return moved

    def _total(self, order: Sequence[int]) -> float:
        done, total = 0, 0.0
        for a in order:
            total += self._step(done)[a]
            done |= 1 << a
        return total

    def _step(self, done: int) -> NDArray[np.float64]:
        """float[n]: priced w(done, a), remembered."""
        if done not in self._steps:
            grb = np.repeat(self._constructs.initial[None, :], len(self._regions), axis=0)
            for a, construct in enumerate(self._found):
                if done >> a & 1:
                    grb &= construct.qrb[self._regions[:, a]]
            if self._stop_rule == "drop":
                counts = np.full(len(self._found), np.count_nonzero(grb.any(axis=1)))
            else:
                useful = [(grb & construct.qub).any(axis=1) for construct in self._found]
                counts = np.count_nonzero(useful, axis=1)
            self._steps[done] = counts * self._price
        return self._steps[done]
