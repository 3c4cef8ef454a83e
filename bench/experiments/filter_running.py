"""Runs of pipelined filters: the thesis's synthetic set-up under several algorithms. [B05] §4.7"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.workloads.correlated import BLOCK_TUPLES, CorrelatedSource
from bench.experiments import filter_counting as kernels
from bench.experiments.filter_counting import CountingRules, Masks, Whole, begin, run_filters

#: Table 4.1, and the least sample, which the thesis does not state.
ALPHA: Final = (9, 10)
PROFILE_PROB: Final = 0.01
WINDOW: Final = 1000
STAGE: Final = 500
LEAST: Final = 100
GAMMA: Final = 2
SELECTIVITY: Final = 0.5
#: Tuples a point of a timeline.
INTERVAL: Final = 2000
_PORTION: Final = 16 * BLOCK_TUPLES


class Scheme(NamedTuple):
    """An algorithm and its p."""

    name: str
    algorithm: int
    profile_prob: float
    window: int = WINDOW


def schemes(profile_prob: float = PROFILE_PROB) -> dict[str, Scheme]:
    """The four algorithms as in Table 4.1: Independent with half the p of the others."""
    p = profile_prob
    every = (
        Scheme("A-Greedy", kernels.A_GREEDY, p),
        Scheme("Sweep", kernels.SWEEP, p, STAGE),
        Scheme("Independent", kernels.INDEPENDENT, p / 2),
        Scheme("LocalSwaps", kernels.LOCAL_SWAPS, p),
    )
    return {scheme.name: scheme for scheme in every}


class Setup(NamedTuple):
    """A pipeline and its stream. costs: of the filters, in index probes. period: of the
    permutations, in tuples; 0 = none."""

    selectivities: tuple[float, ...]
    costs: tuple[int, ...]
    gamma: int = GAMMA
    period: int = 0

    @classmethod
    def alike(cls, n: int, selectivity: float = SELECTIVITY, gamma: int = GAMMA) -> Setup:
        """n filters of one selectivity, a probe each."""
        return cls((selectivity,) * n, (1,) * n, gamma)

    @property
    def n(self) -> int:
        return len(self.costs)


class Ran(NamedTuple):
    """One scheme over all tuples. counts: a row an interval; since: tuples left out at first."""

    counts: Whole
    since: int
    n_tuples: int
    order: tuple[int, ...]

    @property
    def processing(self) -> float:
        """Cost per tuple of regular execution, in probes."""
        return self._per_tuple(kernels.COST)

    @property
    def profiling(self) -> float:
        """Cost per tuple of what only the profile asked."""
        return self._per_tuple(kernels.PROBE_COST)

    @property
    def total(self) -> float:
        """Both."""
        return self.processing + self.profiling

    @property
    def overhead(self) -> float:
        """Share of the profile in the total."""
        return self.profiling / self.total

    @property
    def n_switches(self) -> int:
        """Orders adopted after the warm-up."""
        return int(self.counts[self.since // INTERVAL :, kernels.SWITCHED].sum())

    @property
    def evaluations(self) -> NDArray[np.float64]:
        """Filters asked per 2000 tuples, whole intervals only; the profile's are left out."""
        whole = self.n_tuples // INTERVAL
        return self.counts[:whole, kernels.EVALUATED].astype(np.float64)

    def _per_tuple(self, column: int) -> float:
        counted = self.counts[self.since // INTERVAL :, column].sum()
        return float(counted) / (self.n_tuples - self.since)


class ComparedFilters(NamedTuple):
    """Schemes over the same tuples. optimal: cost per tuple of the best order on the counted
    tuples, by search of all orders; of a stream that changes, of the best order of each period."""

    runs: dict[str, Ran]
    optimal: float

    def total(self, name: str) -> float:
        """Cost per tuple, profile included; 'Optimal' has none."""
        return self.optimal if name == "Optimal" else self.runs[name].total

    def rate(self, name: str) -> float:
        """Tuples per thousand probes."""
        return 1000 / self.total(name)


@lru_cache(maxsize=1)
def masks_of(
    selectivities: tuple[float, ...], gamma: int, period: int, seed: int, n_tuples: int
) -> Masks:
    """uint64[n_tuples]: bit x = filter x drops the tuple."""
    source = CorrelatedSource(seed, selectivities, gamma, period, n_tuples)
    weights = np.uint64(1) << np.arange(len(selectivities), dtype=np.uint64)
    masks = np.empty(n_tuples, dtype=np.uint64)
    for start in range(0, n_tuples, _PORTION):
        part = masks[start : start + _PORTION]
        drops = ~source.passes(start, len(part))
        part[:] = (drops * weights).sum(axis=1, dtype=np.uint64)
    return masks


def run_scheme(
    scheme: Scheme, setup: Setup, masks: Masks, seed: int, since: int = 0, least: int = LEAST
) -> Ran:
    """One scheme over the tuples; the order it begins with and its draws come from the seed."""
    rng = np.random.default_rng([seed, 4])
    first = rng.permutation(setup.n).astype(np.int64)
    profiled = rng.random(len(masks)) < scheme.profile_prob
    above, below = ALPHA
    rules = CountingRules(scheme.algorithm, above, below, scheme.window, least, STAGE, INTERVAL)
    state = begin(rules, first, np.array(setup.costs, dtype=np.int64))
    n_intervals = -(-len(masks) // INTERVAL)
    counts = np.zeros((n_intervals, kernels.N_COUNTS), dtype=np.int64)
    run_filters(masks, profiled, rules, state, counts)
    return Ran(counts, since // INTERVAL * INTERVAL, len(masks), tuple(state.order.tolist()))


def best_cost(setup: Setup, masks: Masks, worst: bool = False) -> float:
    """Cost per tuple of the best (or worst) fixed order on the tuples: subset by subset."""
    n, pick = setup.n, max if worst else min
    contained = np.bincount(masks.astype(np.int64), minlength=1 << n)
    for place in range(n):
        table = contained.reshape(-1, 2, 1 << place)
        table[:, 1] += table[:, 0]
    alive = contained[::-1].tolist()  # after a set: tuples only filters outside of it drop, or none
    total = [0] * (1 << n)
    for subset in range(1, 1 << n):
        before = ((subset ^ (1 << x), x) for x in range(n) if subset >> x & 1)
        total[subset] = pick(total[rest] + setup.costs[x] * alive[rest] for rest, x in before)
    return float(total[-1]) / len(masks)


def least_cost(costs: Sequence[int], drops: NDArray[np.bool_]) -> float:
    """Of all tuples under the best fixed order. drops: bool[T, n], by filter."""
    weights = np.uint64(1) << np.arange(len(costs), dtype=np.uint64)
    masks = (drops * weights).sum(axis=1, dtype=np.uint64)
    return best_cost(Setup((), tuple(costs)), masks) * len(masks)


def optimal_cost(setup: Setup, masks: Masks, since: int = 0) -> float:
    """The same for each period by itself, over the tuples from ``since`` on."""
    if not setup.period:
        return best_cost(setup, masks[since:])
    cuts = [since, *range(setup.period, len(masks), setup.period), len(masks)]
    cuts = sorted({cut for cut in cuts if cut >= since})
    parts = [masks[a:b] for a, b in pairwise(cuts)]
    return sum(best_cost(setup, part) * len(part) for part in parts) / (len(masks) - since)


def compare(
    setup: Setup,
    chosen: Sequence[Scheme],
    seed: int,
    n_tuples: int,
    since: int = 0,
) -> ComparedFilters:
    """All schemes over the same tuples; those before ``since`` are run, but not counted."""
    masks = masks_of(setup.selectivities, setup.gamma, setup.period, seed, n_tuples)
    runs = {s.name: run_scheme(s, setup, masks, seed, since) for s in chosen}
    start = since // INTERVAL * INTERVAL
    return ComparedFilters(runs, optimal_cost(setup, masks, start))
