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
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.selection.constructs import ConstructSet, Words
from backend.adaptive.selection.matching import Regions, StopRule

#: Up to this many constructs the order is the exact best.
EXACT_ORDER_UP_TO: Final = 14
#: Work allowed for one order: words of the subset lattice, and (tuple, slot, construct) triples.
_LATTICE_WORDS: Final = 1 << 22
_TRIPLES: Final = 1 << 25
#: The same for the local search: words of all tuples' GRB (but _FEW tuples at least), and the
#: subsets looked at.
_SEARCH_WORDS: Final = 1 << 10
_FEW: Final = 32
_SUBSETS: Final = 4000
_BLOCK: Final = 64
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
    return max(1, int(effort * min(_BLOCK * n_words, _TRIPLES / triples)))


def thinned(regions: Regions, n: int) -> Regions:
    """At most n >= 1 tuples of the sample, evenly spread over it."""
    if len(regions) <= n:
        return regions
    return regions[np.linspace(0, len(regions) - 1, n).astype(np.intp)]


def survivors(
    constructs: ConstructSet, regions: Regions, stop_rule: StopRule
) -> NDArray[np.float64]:
    """w, float64[2^n, n]: tuples that would visit construct a after the set P of bits a' of the
    row (both in schema order); nothing is said for a in P.

    A slot keeps a tuple alive after P when none of P clears it, so w counts, per row, the tuples
    with such a slot: marked at the full set of constructs that leave the slot alone, and handed
    down to all subsets, 64 tuples a word.
    """
    n = len(constructs.attributes)
    slots, users = _pairs(constructs, stop_rule)
    n_users = 1 if stop_rule == "drop" else max(1, n)
    found = np.zeros((1 << n, n_users))
    for start in range(0, len(regions), _BLOCK):
        block = regions[start : start + _BLOCK]
        spared = _spared(constructs, block)[:, slots]
        marks = np.zeros((1 << n, n_users, _BLOCK), dtype=np.bool_)
        marks[spared, users[None, :], np.arange(len(block))[:, None]] = True
        words = np.packbits(marks, axis=2).view(np.uint64)[:, :, 0]
        for bit in range(n):
            halves = words.reshape(-1, 2, n_users << bit)
            halves[:, 0] |= halves[:, 1]
        found += np.bitwise_count(words)
    return np.broadcast_to(found, (1 << n, n)) if n_users != n else found


def _pairs(
    constructs: ConstructSet, stop_rule: StopRule
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(slot, construct using it) for live slots; under 'drop' each live slot once, with 0."""
    if stop_rule == "drop":
        slots = _bits(constructs.initial[None, :])[0].nonzero()[0]
        return slots, np.zeros_like(slots)
    usage = [c.qub & constructs.initial for c in constructs.constructs.values()]
    if not usage:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    users, slots = _bits(np.array(usage)).nonzero()
    return slots, users


def _bits(words: Words) -> NDArray[np.bool_]:
    """bool[rows, 64 W] from uint64[rows, W], slot by slot."""
    raw = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    found: NDArray[np.bool_] = np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)
    return found


def _spared(constructs: ConstructSet, regions: Regions) -> NDArray[np.intp]:
    """intp[T, slots]: the constructs (bits, schema order) that do not clear the slot."""
    found = np.zeros((len(regions), 64 * constructs.n_words), dtype=np.intp)
    for column, construct in enumerate(constructs.constructs.values()):
        rows, inverse = np.unique(regions[:, column], return_inverse=True)
        found |= _bits(construct.qrb[rows])[inverse].astype(np.intp) << column
    return found


def _least_path(steps: NDArray[np.float64]) -> tuple[list[int], float]:
    """The cheapest way from the empty to the full set, steps float[2^n, n]; first among equals."""
    n = steps.shape[1]
    sets = np.arange(1 << n)
    size = np.bitwise_count(sets)
    rest = np.zeros(1 << n)
    for length in range(n - 1, -1, -1):
        at = sets[size == length]
        options = np.full((len(at), n), np.inf)
        for a in range(n):
            free = (at >> a) & 1 == 0
            options[free, a] = steps[at[free], a] + rest[at[free] | 1 << a]
        rest[at] = options.min(axis=1)
    order: list[int] = []
    done = 0
    while len(order) < n:
        left = [a for a in range(n) if not done >> a & 1]
        costs = {a: float(steps[done, a] + rest[done | 1 << a]) for a in left}
        slack = _TIE * abs(min(costs.values()))
        order.append(next(a for a in left if costs[a] <= min(costs.values()) + slack))
        done |= 1 << order[-1]
    return order, float(rest[0])


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
        best = min(reached, key=lambda found: found[1])
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
