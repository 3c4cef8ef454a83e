"""Fig. 5.22 and 5.23: a burst, and less memory. [B05] §5.8.2"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.systems.joins.decide.settings import JoinSettings
from bench.experiments.join_caching import SMALL, WITH, JoinSizes, adaptive
from bench.experiments.join_data import THREE_WAY, R, S, T, burst
from bench.experiments.join_points import FOUR_WAY, point_arrivals, setup_of_points, tree_runs
from bench.experiments.join_running import forced, stretches
from bench.experiments.join_trees import TreeRun
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

#: The best fixed plan before the burst, and after it began.
BEFORE: Final = WITH
AFTER: Final = JoinTuning(
    orders=BEFORE.orders,
    caches=(CacheSpec("1,2|0~0@0", (S, T), (0,), (Segment(R, 0, 1),), 1 << 20, (R,), True),),
)
_FIXED: Final = {
    "MJoin": JoinTuning(orders=BEFORE.orders),
    "T ⋈ (R ⋈ S)": BEFORE,
    "(T ⋈ S) ⋉ R": AFTER,
}
#: R comes so many times as often in the burst.
_TIMES: Final = 20
#: Tuples for each probe, stretch by stretch, by plan.
_Rates: TypeAlias = Mapping[str, NDArray[np.float64]]


def figure_22(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.22: R comes 20 times as often from some tuple on."""
    n = sizes.tuples(120_000)
    at, stretch = n // 2, max(1000, n // 60)
    arrivals = burst(n, at, _TIMES, sizes.rng)
    settings = adaptive(
        SMALL,
        BEFORE.orders,
        interval_tuples=max(4000, n // 12),
        join_profile_prob=0.005,
        change_share=0.2,
    )
    tuned = TunedBench(THREE_WAY, arrivals, settings, "RST").stretches(stretch)
    by_plan = {"adaptive": [part.operations for part in tuned]}
    for name, tuning in _FIXED.items():
        by_plan[name] = stretches(THREE_WAY, arrivals, tuning, stretch)
    rates = {name: np.array([1 / part.cost(SMALL) for part in of]) for name, of in by_plan.items()}
    starts = tuple(float(part.begin) for part in tuned)
    lines = tuple(Series(name, starts, tuple(rate.tolist())) for name, rate in rates.items())
    title = f"Tuples for each probe, w = {SMALL:g}"
    plot = Plot(title, "tuples", "tuples / cost", "lines", lines, (float(at),))
    setup = (
        ("join", f"R(A) ⋈ S(A, B) ⋈ T(B), rates 1, 1, 5, then {_TIMES}, 1, 5; windows of 100"),
        ("I", f"{settings.interval_tuples} tuples; a decision each {stretch}"),
        ("seed", str(sizes.seed)),
    )
    notes = ("Profiling is counted with the adaptive plan; profiled elements pass caches by.",)
    claims = _burst_claims(rates, tuned, at, settings)
    return FigureResult("5.22", "5.22: a burst", setup, (plot,), claims, notes)


def _burst_claims(
    rates: _Rates, tuned: list[TunedStretch], at: int, settings: JoinSettings
) -> tuple[PaperClaim, ...]:
    half = len(tuned) // 2
    before = {name: float(rate[half // 2 : half].mean()) for name, rate in rates.items()}
    after = {name: float(rate[half + half // 2 :].mean()) for name, rate in rates.items()}
    caught = _caught_up(tuned, at)
    return (
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


def _caught_up(tuned: list[TunedStretch], at: int) -> int | None:
    """Tuples from the burst to the first stretch with the better cache."""
    good = [
        part.begin
        for part in tuned
        if part.begin >= at and any(cache.id == AFTER.caches[0].id for cache in part.tuning.caches)
    ]
    return good[0] - at if good else None


def _told(rates: Mapping[str, float]) -> str:
    return "tuples for each probe: " + ", ".join(f"{n} {rate:.3f}" for n, rate in rates.items())


def figure_23(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.23: memory at D8."""
    point, kilobytes = point_arrivals("D8", sizes), (0, 4, 8, 16, 32, 64, 128, 256)
    orders = settled(FOUR_WAY, point.arrivals, adaptive(SMALL, caching="off")).orders
    base = forced(FOUR_WAY, point.arrivals, JoinTuning(orders=orders)).cost(SMALL)
    gains = []
    for size in kilobytes:
        settings = adaptive(SMALL, orders, pool_bytes=size * 1024)
        tuning = settled(FOUR_WAY, point.arrivals, settings)
        gains.append(base / forced(FOUR_WAY, point.arrivals, tuning).cost(SMALL))
    runs, xs = tree_runs(point), tuple(float(size) for size in kilobytes)
    lines = (
        Series("caches", xs, tuple(gains)),
        Series("MJoin", xs, (1.0,) * len(xs)),
        Series(
            "best XJoin (0: none fits)",
            xs,
            tuple(_best_within(runs, base, size * 1024) for size in kilobytes),
        ),
    )
    title = f"Speed-up over the MJoin at D8, w = {SMALL:g}"
    plot = Plot(title, "memory, KB", "cost of M / cost of the plan", "lines", lines)
    least, fastest = min(run.n_bytes for run in runs), min(runs, key=_tree_cost)
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
            f"{base / _tree_cost(fastest):.2f} times as fast as the MJoin",
        ),
    )
    notes = ("Memory of an XJoin: 8 bytes for each reference to a tuple that it keeps.",)
    return FigureResult(
        "5.23", "5.23: memory at D8", setup_of_points(sizes), (plot,), claims, notes
    )


def _tree_cost(run: TreeRun) -> float:
    return run.operations.cost(SMALL)


def _best_within(runs: tuple[TreeRun, ...], base: float, n_bytes: int) -> float:
    """Speed-up of the fastest tree that fits; 0: none does."""
    return max((base / _tree_cost(run) for run in runs if run.n_bytes <= n_bytes), default=0.0)
