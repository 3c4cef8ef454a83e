"""Fig. 5.21 to 5.23: plans of four streams, a burst, memory. [B05] §5.8.2"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.join_tuning import CacheSpec, JoinTuning, Segment
from bench.experiments.join_caching import SMALL, JoinSizes, adaptive, measured_weight
from bench.experiments.join_data import (
    POINTS,
    THREE_WAY,
    R,
    S,
    T,
    burst,
    four_way,
    on_one_attribute,
)
from bench.experiments.join_running import Arrivals, forced, stretches
from bench.experiments.join_trees import TreeRun, run_tree, trees
from bench.experiments.join_tuning import TunedBench, TunedStretch, settled
from bench.experiments.results import (
    FigureResult,
    PaperClaim,
    Plot,
    Series,
    listed,
    rising,
    verdict,
)

#: Tuples of each window in Fig. 5.21 and 5.23.
WINDOW: Final = 250
_FOUR: Final = on_one_attribute(4)
#: m, the quota of candidates of G.
QUOTA: Final = 6


class PlansAt(NamedTuple):
    """The plans of Fig. 5.21 at a point and a w. Costs per tuple: M of the MJoin, X of the best
    XJoin, P of prefix caches, G of globally-consistent ones too."""

    costs: dict[str, float]
    used: dict[str, tuple[str, ...]]

    def speed_up(self, plan: str) -> float:
        """Over the MJoin."""
        return self.costs["M"] / self.costs[plan]


class _Named:
    """Arrivals by what they are of, so that what was run on them is found again."""

    def __init__(self, name: str, arrivals: Arrivals) -> None:
        self.name, self.arrivals = name, arrivals


@lru_cache(maxsize=16)
def _tree_runs(arrivals: _Named) -> tuple[TreeRun, ...]:
    return tuple(run_tree(tree, arrivals.arrivals) for tree in trees((0, 1, 2, 3)))


@lru_cache(maxsize=16)
def _point(name: str, sizes: JoinSizes) -> _Named:
    return _Named(name, four_way(POINTS[name], sizes.tuples(16_000), WINDOW, sizes.rng))


def plans_at(name: str, sizes: JoinSizes, w: float) -> PlansAt:
    """All four plans; caches and trees are chosen on the tuples they run on."""
    point = _point(name, sizes)
    orders = settled(_FOUR, point.arrivals, adaptive(w, caching="off")).orders
    costs = {
        "M": forced(_FOUR, point.arrivals, JoinTuning(orders=orders)).cost(w),
        "X": min(one.operations.cost(w) for one in _tree_runs(point)),
    }
    used = {}
    for plan, quota in (("P", 0), ("G", QUOTA)):
        tuning = settled(_FOUR, point.arrivals, adaptive(w, orders, candidates=quota))
        costs[plan] = forced(_FOUR, point.arrivals, tuning).cost(w)
        used[plan] = tuple(one.id for one in tuning.caches)
    return PlansAt(costs, used)


def figure_21(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.21 over the points of Table 5.2."""
    w = measured_weight()
    found = {name: plans_at(name, sizes, w) for name in POINTS}
    at_small = {name: plans_at(name, sizes, SMALL) for name in POINTS}
    both = (found, at_small)

    def compared(better: str, worse: str, by: float = 1.0) -> str:
        parts = []
        for label, all_of in ((f"{w:.2f}", found), (f"{SMALL:g}", at_small)):
            held = [
                name for name, one in all_of.items() if one.costs[worse] / one.costs[better] > by
            ]
            parts.append(f"w = {label}: {', '.join(held) or 'none'}")
        return "; ".join(parts)

    points = list(POINTS)
    claims = (
        PaperClaim(
            "X, P and G are not slower than M",
            verdict([one.speed_up(p) > 0.98 for of in both for one in of.values() for p in "XPG"]),
            "faster than M by more than 2 %: "
            + "; ".join(f"{plan} at {compared(plan, 'M', 1.02)}" for plan in "XPG"),
        ),
        PaperClaim(
            "P is far faster than M at most points",
            verdict([of[name].speed_up("P") > 1.1 for of in both for name in points]),
            f"by more than 10 %: {compared('P', 'M', 1.1)}",
        ),
        PaperClaim(
            "X is far faster than P at D1, D2, D3",
            verdict([of[n].costs["P"] > 1.1 * of[n].costs["X"] for of in both for n in points[:3]]),
            f"by more than 10 %: {compared('X', 'P', 1.1)}",
        ),
        PaperClaim(
            "G is as fast as X at D1, D2, D3",
            verdict([of[n].costs["G"] < 1.1 * of[n].costs["X"] for of in both for n in points[:3]]),
            "speed-ups of X and G over M: "
            + "; ".join(
                f"w = {label}: "
                + ", ".join(
                    f"{n} {of[n].speed_up('X'):.2f} and {of[n].speed_up('G'):.2f}"
                    for n in points[:3]
                )
                for label, of in ((f"{w:.2f}", found), (f"{SMALL:g}", at_small))
            ),
        ),
        PaperClaim(
            "G is far faster than X at D2, D3, D4, D7",
            verdict(
                [
                    of[n].costs["X"] > 1.1 * of[n].costs["G"]
                    for of in both
                    for n in ("D2", "D3", "D4", "D7")
                ]
            ),
            f"by more than 10 %: {compared('G', 'X', 1.1)}",
        ),
    )
    plots = tuple(
        Plot(
            f"Speed-up over the MJoin, w = {label}",
            "point of Table 5.2",
            "cost of M / cost of the plan",
            "bars",
            tuple(
                Series(plan, tuple(points), tuple(all_of[n].speed_up(plan) for n in points))
                for plan in "XPG"
            ),
        )
        for label, all_of in ((f"{w:.2f}, measured", found), (f"{SMALL:g}", at_small))
    )
    said = (
        {plan: ", ".join(ids) or "none" for plan, ids in at_small[n].used.items()} for n in points
    )
    notes = tuple(f"{n}: P uses {s['P']}; G {s['G']}" for n, s in zip(points, said, strict=True))
    return FigureResult(
        "5.21", "5.21: plans at the points of Table 5.2", _setup(sizes, w), plots, claims, notes
    )


def _setup(sizes: JoinSizes, w: float) -> tuple[tuple[str, str], ...]:
    return (
        ("join", "R ⋈ S ⋈ T ⋈ U on one attribute"),
        ("windows", f"{WINDOW} tuples each"),
        ("M", "orders of A-Greedy; P, G: the best caches for these orders, m = 6; X: best of 15"),
        ("seed", str(sizes.seed)),
        ("w, measured", f"{w:.2f}"),
    )


# ---------------------------------------------------------------------- Fig. 5.22


BEFORE: Final = JoinTuning(
    orders=((S, T), (R, T), (S, R)),
    caches=(CacheSpec("0,1|1", (R, S), (1,), (Segment(T, 0, 1),), 1 << 20),),
)
AFTER: Final = JoinTuning(
    orders=BEFORE.orders,
    caches=(CacheSpec("1,2|0~0@0", (S, T), (0,), (Segment(R, 0, 1),), 1 << 20, (R,), True),),
)


def figure_22(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.22: R comes 20 times as often from some tuple on."""
    w, n = SMALL, sizes.tuples(120_000)
    at, stretch = n // 2, max(1000, n // 60)
    arrivals = burst(n, at, 20, sizes.rng)
    settings = adaptive(
        w,
        BEFORE.orders,
        interval_tuples=max(4000, n // 12),
        profile_prob=0.005,
        change_share=0.2,
    )
    tuned = TunedBench(THREE_WAY, arrivals, settings, "RST").stretches(stretch)
    found = {"adaptive": [one.operations for one in tuned]}
    for name, tuning in (
        ("MJoin", JoinTuning(orders=BEFORE.orders)),
        ("T ⋈ (R ⋈ S)", BEFORE),
        ("(T ⋈ S) ⋉ R", AFTER),
    ):
        found[name] = stretches(THREE_WAY, arrivals, tuning, stretch)
    rates = {name: np.array([1 / one.cost(w) for one in some]) for name, some in found.items()}
    starts = np.array([one.begin for one in tuned])
    early = (starts >= at // 2) & (starts < at)
    late = starts >= at + (n - at) // 2
    before, after = (
        {name: float(rate[part].mean()) for name, rate in rates.items()} for part in (early, late)
    )
    caught = _caught_up(tuned, at)
    claims = (
        PaperClaim(
            "Before the burst it runs as T ⋈ (R ⋈ S), with a tiny overhead",
            verdict([before["adaptive"] > 0.9 * before["T ⋈ (R ⋈ S)"]]),
            _told(before),
        ),
        PaperClaim(
            "After the burst it uses (T ⋈ S) ⋉ R and is as fast as that",
            verdict([after["adaptive"] > 0.9 * after["(T ⋈ S) ⋉ R"]]),
            _told(after),
        ),
        PaperClaim(
            "It switches quickly",
            verdict([caught is not None and caught <= settings.interval_tuples * 2]),
            "it does not" if caught is None else f"{caught} tuples after the burst began",
        ),
    )
    lines = tuple(
        Series(name, tuple(starts.astype(float).tolist()), tuple(rate.tolist()))
        for name, rate in rates.items()
    )
    plot = Plot(
        f"Tuples for each probe, w = {w:g}", "tuples", "tuples / cost", "lines", lines, (float(at),)
    )
    setup = (
        ("join", "R(A) ⋈ S(A, B) ⋈ T(B), rates 1, 1, 5, then 20, 1, 5; windows of 100"),
        ("I", f"{settings.interval_tuples} tuples; a decision each {stretch}"),
        ("seed", str(sizes.seed)),
    )
    notes = ("Profiling is counted with the adaptive plan: 2 % of the elements, without caches.",)
    return FigureResult("5.22", "5.22: a burst", setup, (plot,), claims, notes)


def _caught_up(found: list[TunedStretch], at: int) -> int | None:
    """Tuples from the burst to the first stretch with the better cache."""
    good = [
        one.begin
        for one in found
        if one.begin >= at and any(cache.id == AFTER.caches[0].id for cache in one.tuning.caches)
    ]
    return good[0] - at if good else None


def _told(rates: dict[str, float]) -> str:
    return "tuples for each probe: " + ", ".join(f"{n} {rate:.3f}" for n, rate in rates.items())


# ---------------------------------------------------------------------- Fig. 5.23


def figure_23(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.23: memory at D8."""
    w, point = SMALL, _point("D8", sizes)
    kilobytes = (0, 4, 8, 16, 32, 64, 128, 256)
    orders = settled(_FOUR, point.arrivals, adaptive(w, caching="off")).orders
    base = forced(_FOUR, point.arrivals, JoinTuning(orders=orders)).cost(w)
    gains = []
    for size in kilobytes:
        tuning = settled(_FOUR, point.arrivals, adaptive(w, orders, pool_bytes=size * 1024))
        gains.append(base / forced(_FOUR, point.arrivals, tuning).cost(w))
    all_trees = _tree_runs(point)
    least = min(one.n_bytes for one in all_trees)
    fastest = min(all_trees, key=lambda one: one.operations.cost(w))
    claims = (
        PaperClaim(
            "The cache plan gains smoothly with memory",
            rising(gains),
            f"{listed(gains, 2)} times the MJoin at {', '.join(map(str, kilobytes))} KB",
        ),
        PaperClaim(
            "An XJoin needs a least memory to run at all",
            verdict([least > 0]),
            f"{least / 1024:.1f} KB; the fastest takes {fastest.n_bytes / 1024:.1f} KB and is "
            f"{base / fastest.operations.cost(w):.2f} times as fast as the MJoin",
        ),
    )
    xs = tuple(float(size) for size in kilobytes)
    trees_at = [
        max(
            [base / one.operations.cost(w) for one in all_trees if one.n_bytes <= 1024 * size],
            default=0.0,
        )
        for size in kilobytes
    ]
    plot = Plot(
        f"Speed-up over the MJoin at D8, w = {w:g}",
        "memory, KB",
        "cost of M / cost of the plan",
        "lines",
        (
            Series("caches", xs, tuple(gains)),
            Series("MJoin", xs, (1.0,) * len(xs)),
            Series("best XJoin (0: none fits)", xs, tuple(trees_at)),
        ),
    )
    notes = ("Memory of an XJoin: 8 bytes for each reference to a tuple that it keeps.",)
    return FigureResult(
        "5.23", "5.23: memory at D8", _setup(sizes, measured_weight()), (plot,), claims, notes
    )
