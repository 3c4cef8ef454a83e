"""What the bench of adaptive joins prints of its lanes: ratios of sums over the same stretches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from bench.joins_data import JoinCase
from bench.joins_lanes import JoinStretch

#: A stretch that is this near the best fixed plan's is at its level.
NEAR = 0.95


def ns_per_tuple(of: Sequence[JoinStretch]) -> float:
    """Processor time."""
    return 1e9 * sum(stretch.cpu_s for stretch in of) / _n_tuples(of)


def counted_cost(of: Sequence[JoinStretch], w: float) -> float:
    """Per tuple, in index probes. w: of a cache operation."""
    total = sum(stretch.operations.cost(w) * stretch.operations.n_arrivals for stretch in of)
    return total / _n_tuples(of)


def _n_tuples(of: Sequence[JoinStretch]) -> int:
    return sum(stretch.operations.n_arrivals for stretch in of)


def tell_lanes(
    title: str, took: Mapping[str, Sequence[JoinStretch]], fixed: Sequence[str], w: float
) -> None:
    """All lanes, each beside the best of the fixed ones (1: as good)."""
    best_ns = min(ns_per_tuple(took[name]) for name in fixed)
    best_cost = min(counted_cost(took[name], w) for name in fixed)
    print(f"\n{title}: {_n_tuples(next(iter(took.values()))):,} tuples, {_load()}")
    print(f"  {'':42}{'ns/tuple':>10}{'best / it':>10}{'cost':>10}{'best / it':>10}")
    for name, of in took.items():
        ns, cost = ns_per_tuple(of), counted_cost(of, w)
        print(f"  {name:42}{ns:10.0f}{best_ns / ns:10.2f}{cost:10.2f}{best_cost / cost:10.2f}")


def caught_up(
    of: Sequence[JoinStretch],
    fixed: Sequence[Sequence[JoinStretch]],
    cost: Callable[[Sequence[JoinStretch]], float],
) -> int:
    """Stretches until one is at the level of the best fixed plan, in the measure the lane prices
    by; all, if none is."""
    best = min(fixed, key=cost)
    for k, (own, other) in enumerate(zip(of, best, strict=True)):
        if cost([other]) / cost([own]) >= NEAR:
            return k
    return len(of)


def settled(
    of: Sequence[JoinStretch],
    fixed: Sequence[Sequence[JoinStretch]],
    cost: Callable[[Sequence[JoinStretch]], float],
) -> float:
    """What the best fixed plan of these stretches costs over what one does: the median of them,
    which a stretch that was disturbed does not move."""
    best = min(fixed, key=cost)
    return median(cost([other]) / cost([own]) for own, other in zip(of, best, strict=True))


def tell_case(case: JoinCase, took: Mapping[str, Sequence[JoinStretch]], w: float) -> None:
    """A single workload: each lane beside the first."""
    base = next(iter(took.values()))
    print(f"\n{case.name}: {_n_tuples(base):,} tuples, {_load()}")
    print(f"  {'':30}{'ns/tuple':>10}{'MJoin / it':>12}{'cost':>10}{'MJoin / it':>12}  caches")
    for name, of in took.items():
        ns, cost = ns_per_tuple(of), counted_cost(of, w)
        by_ns, by_cost = ns_per_tuple(base) / ns, counted_cost(base, w) / cost
        tuning = of[-1].tuning
        caches = ", ".join(cache.id for cache in tuning.caches) if tuning else ""
        print(f"  {name:30}{ns:10.0f}{by_ns:12.2f}{cost:10.2f}{by_cost:12.2f}  {caches}")


def tell_overhead(base: Sequence[JoinStretch], watched: Sequence[JoinStretch]) -> None:
    """What a join takes more that is watched in vain: of all, and the median of the stretches."""
    more = ns_per_tuple(watched) / ns_per_tuple(base) - 1
    usual = median(own.cpu_s / other.cpu_s for own, other in zip(watched, base, strict=True)) - 1
    decided = sum(part.decide_s for part in watched) / sum(part.cpu_s for part in watched)
    print(
        f"\nwatched in vain: {100 * more:.1f} % more time (median {100 * usual:.1f} %), of all "
        f"{100 * decided:.1f} % decisions"
    )


def tell_two_phases(base: Sequence[JoinStretch], apart: Sequence[JoinStretch]) -> None:
    """Drop probing first, beside output generation alone."""
    looked = sum(stretch.dropping for stretch in apart)
    probes = sum(stretch.operations.probes for stretch in apart) - looked
    alone = sum(stretch.operations.probes for stretch in base)
    n = _n_tuples(base)
    print("\ndrop probing, then output generation, per tuple")
    print(
        f"  probes: {looked / n:.2f} that look for partners, {probes / n:.2f} behind them;", end=""
    )
    print(f" {alone / n:.2f} without drop probing")
    print(f"  time: {ns_per_tuple(apart):.0f} ns, {ns_per_tuple(base):.0f} without drop probing")


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
