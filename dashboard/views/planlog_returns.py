"""What adapting returned over an interval, against plans known in hindsight. [B05] §7; sums ours"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HindsightPlans:
    """Plans that would have been cheapest. plans: columns of the cost matrix; cost: of the whole
    interval with the price of switching, in the unit of cost; sequence: the plan of each
    stretch."""

    plans: tuple[int, ...]
    cost: float
    sequence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SwitchReturn:
    """What a switch brought until the next one. place: the stretch it began with; saved: over the
    best single plan, in the unit of cost, its own price not taken off."""

    place: int
    old: int
    new: int
    saved: float


@dataclass(frozen=True, slots=True)
class ReturnSentence:
    """'Adapting returned 14 × what it cost; 71 % of it came from three switches.' ratio: None where
    it cost nothing; share: of what was saved, in [0, 1]; n_switches: the fewest that brought at
    least half of it, 0 where nothing was saved by switches."""

    ratio: float | None
    share: float
    n_switches: int


@dataclass(frozen=True, slots=True)
class AdaptivityReturn:
    """An interval looked back on, in the unit of cost.

    running: what the plans that ran cost; switching: the price of its switches; deciding: what
    evaluations took. single, pair, sequence: the best plan alone, the best two, the best of all.
    opening: what the plan that was in force at first saved, until the first switch.
    """

    running: float
    switching: float
    deciding: float
    single: HindsightPlans
    pair: HindsightPlans
    sequence: HindsightPlans
    opening: float
    switches: tuple[SwitchReturn, ...]

    @property
    def saved(self) -> float:
        """Over the best single plan, before what adapting cost; what the opening and the switches
        saved adds up to it."""
        return self.single.cost - self.running

    @property
    def regret(self) -> float:
        """What was spent above the best sequence."""
        return self.running + self.switching + self.deciding - self.sequence.cost

    def sentence(self) -> ReturnSentence:
        """The return in one sentence."""
        price = self.switching + self.deciding
        gains = sorted((each.saved for each in self.switches if each.saved > 0), reverse=True)
        total = sum(gains) + max(0.0, self.opening)
        so_far = np.cumsum(gains)
        enough = int(np.searchsorted(so_far, total / 2)) + 1 if gains else 0
        n = min(enough, len(gains))
        share = float(so_far[n - 1] / total) if n else 0.0
        return ReturnSentence(self.saved / price if price else None, share, n)


def best_sequence(
    costs: NDArray[np.float64], price: float, plans: Sequence[int] | None = None
) -> HindsightPlans:
    """The cheapest sequence of plans, by a dynamic programme over stretches, O(T P).

    costs: float64[T, P], of the whole stretch, T ≥ 1; price: of a switch; plans: only these
    columns. It may begin with any plan for nothing. Ties stay, then go to the first plan.
    """
    columns = list(range(costs.shape[1])) if plans is None else list(plans)
    own = costs[:, columns]
    least = own[0].copy()
    came_from = np.zeros(own.shape, dtype=np.int64)
    for t in range(1, len(own)):
        cheapest = int(least.argmin())
        switches = least[cheapest] + price < least
        came_from[t] = np.where(switches, cheapest, np.arange(len(columns)))
        least = np.where(switches, least[cheapest] + price, least) + own[t]
    place = int(least.argmin())
    total, sequence = float(least[place]), [place]
    for t in range(len(own) - 1, 0, -1):
        sequence.append(int(came_from[t, sequence[-1]]))
    ran = tuple(columns[place] for place in reversed(sequence))
    return HindsightPlans(tuple(sorted(set(ran))), total, ran)


def best_pair(costs: NDArray[np.float64], price: float) -> HindsightPlans:
    """The cheapest sequence of two plans, all pairs at once, O(T P²); of one where there is one."""
    first, other = np.triu_indices(costs.shape[1])
    least = np.zeros((2, len(first)))
    for stretch in costs:
        now = stretch[[first, other]]
        least = np.minimum(least, least[::-1] + price) + now
    place = int(least.min(axis=0).argmin())
    return best_sequence(costs, price, sorted({int(first[place]), int(other[place])}))


def look_back(
    costs: NDArray[np.float64], chosen: Sequence[int], price: float, deciding: float
) -> AdaptivityReturn:
    """What adapting returned.

    costs: float64[T, P] of every plan over every stretch, a tuple's cost times tuples, T, P ≥ 1;
    chosen: the plan that ran in each; price: of a switch; deciding: of all evaluations together.
    """
    ran = costs[np.arange(len(chosen)), list(chosen)]
    totals = costs.sum(axis=0)
    best = int(totals.argmin())
    single = HindsightPlans((best,), float(totals[best]), (best,) * len(chosen))
    starts = [t for t in range(1, len(chosen)) if chosen[t] != chosen[t - 1]]
    ends = [*starts[1:], len(chosen)]
    saved = costs[:, best] - ran
    return AdaptivityReturn(
        float(ran.sum()),
        price * len(starts),
        deciding,
        single,
        best_pair(costs, price),
        best_sequence(costs, price),
        float(saved[: starts[0] if starts else len(chosen)].sum()),
        tuple(
            SwitchReturn(start, chosen[start - 1], chosen[start], float(saved[start:end].sum()))
            for start, end in zip(starts, ends, strict=False)
        ),
    )
