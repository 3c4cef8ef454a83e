"""Fig. 5.11 to 5.20: one cache, what its gain depends on; more streams; no index. [B05] §5.8.1"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from backend.operators.network.joins.join_tuning import (
    CacheSpec,
    JoinTuning,
    PipelineProfile,
    Segment,
)
from backend.systems.joins.decide.settings import JoinSettings
from bench.experiments.join_data import (
    THREE_WAY,
    THREE_WAY_ORDERS,
    R,
    S,
    T,
    on_one_attribute,
    rounds,
)
from bench.experiments.join_running import (
    WEIGHTS,
    Arrivals,
    BenchJoin,
    Operations,
    between,
    elements,
    forced,
)
from bench.experiments.join_tuning import settled
from bench.experiments.results import (
    FigureResult,
    PaperClaim,
    Plot,
    Series,
    listed,
    rising,
    verdict,
)

#: The forced cache: R ⋈ S in T's pipeline, with its key S.B.
CACHE: Final = CacheSpec("0,1|1", (R, S), (1,), (Segment(T, 0, 1),), 1 << 20)
WITHOUT: Final = JoinTuning(orders=THREE_WAY_ORDERS)
WITH: Final = JoinTuning(orders=THREE_WAY_ORDERS, caches=(CACHE,))
#: Rounds that windows hold.
WINDOW: Final = 200


class JoinSizes(NamedTuple):
    """How much is run. scale: share of the tuples; seed: of the streams."""

    scale: float = 1.0
    seed: int = 1

    def tuples(self, full: int) -> int:
        """At this scale, enough for windows to fill."""
        return max(4000, round(self.scale * full))

    @property
    def rng(self) -> np.random.Generator:
        """Anew for each figure."""
        return np.random.default_rng(self.seed)


class ComparedCache(NamedTuple):
    """The same tuples without and with a cache."""

    without: Operations
    cached: Operations

    def gain(self, w: float) -> float:
        """Cost without the cache over cost with it."""
        return self.without.cost(w) / self.cached.cost(w)


@lru_cache(maxsize=1)
def measured_weight() -> float:
    """w as measured: the time of an update of a cache, over that of an index probe or of building a
    tuple; median of the stretches of a run of the default data, the first ones left out."""
    arrivals = rounds(8000, WINDOW, (1, 1, 5), np.random.default_rng(1))
    join, inputs = BenchJoin(THREE_WAY, arrivals.widths), elements(arrivals)
    tuning, measured = replace(WITH, profile_prob=(0.05,) * 3), []
    for begin in range(0, len(arrivals.streams), 4000):
        join.tune(tuning)
        join.run(between(inputs, begin, begin + 4000))
        profile = join.profile()
        counts = profile.caches[CACHE.id]
        spent, n_operations = np.sum([_timed(pipe) for pipe in profile.pipelines], axis=0).tolist()
        measured.append(counts.update_ns / counts.n_updates_timed / (spent / n_operations))
    return float(np.median(measured[3:]))


def _timed(profile: PipelineProfile) -> tuple[float, float]:
    """Nanoseconds of the profiled elements, and the probes and built tuples behind them."""
    return float(profile.busy_ns.sum()), float(
        profile.entering.sum() + profile.entering[:, 1:-1].sum()
    )


def weights() -> tuple[float, ...]:
    """The measured w first, then those of comparison."""
    return (measured_weight(), *WEIGHTS)


#: w of the card; with the measured one verdicts rest on both.
SMALL: Final = 0.25


def judged() -> tuple[float, float]:
    """The w that verdicts rest on."""
    return measured_weight(), SMALL


def compare(arrivals: Arrivals) -> ComparedCache:
    """The forced cache."""
    return ComparedCache(forced(THREE_WAY, arrivals, WITHOUT), forced(THREE_WAY, arrivals, WITH))


def _arrivals(sizes: JoinSizes, repeats: Sequence[float], apart: bool = False) -> Arrivals:
    n_rounds = round(sizes.tuples(40_000) / sum(repeats))
    return rounds(max(n_rounds, 3 * WINDOW), WINDOW, repeats, sizes.rng, apart)


def _gains(title: str, x_title: str, xs: Sequence[float], runs: Sequence[ComparedCache]) -> Plot:
    lines = [Series(_named(w), tuple(xs), tuple(run.gain(w) for run in runs)) for w in weights()]
    return Plot(title, x_title, "cost without / with the cache", "lines", tuple(lines))


def _named(w: float) -> str:
    return f"w = {w:.2f}, measured" if w == measured_weight() else f"w = {w:g}"


def _by_weight(runs: Sequence[ComparedCache]) -> str:
    """Gains of the first, a middle and the last case, by w."""
    chosen = [runs[0], runs[len(runs) // 2], runs[-1]]
    return "; ".join(
        f"{_named(w)}: {listed([run.gain(w) for run in chosen], 2)}" for w in weights()
    )


def _setup(sizes: JoinSizes, what: str) -> tuple[tuple[str, str], ...]:
    return (
        ("join", what),
        ("windows", f"{WINDOW} rounds"),
        ("seed", str(sizes.seed)),
        ("w, measured", f"{measured_weight():.2f} index probes for an operation of a cache"),
    )


def figure_11(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.11, 5.12: the multiplicity of T.B."""
    xs = (1, 2, 3, 5, 7, 10)
    runs = [compare(_arrivals(sizes, (1, 1, many))) for many in xs]
    w = measured_weight()
    gains = [run.gain(w) for run in runs]
    hits = [run.cached.hit_prob for run in runs]
    claims = (
        PaperClaim(
            "The cache wins at every multiplicity, even at 1",
            verdict([run.gain(v) > 1 for run in runs for v in judged()]),
            f"cost without / with at multiplicity {xs[0]}, {xs[3]}, {xs[-1]}: {_by_weight(runs)}",
        ),
        PaperClaim("The hit probability rises with the multiplicity", rising(hits), listed(hits)),
        PaperClaim("The gain rises with the hit probability", rising(gains), listed(gains, 2)),
    )
    plot = _gains("Gain by multiplicity of T.B", "multiplicity of T.B", xs, runs)
    hit = Plot(
        "Hit probability", "multiplicity of T.B", "hit probability", "lines",
        (Series("look-ups that hit", tuple(map(float, xs)), tuple(hits)),),
    )  # fmt: skip
    what = "R(A) ⋈ S(A, B) ⋈ T(B), cache of R ⋈ S in T's pipeline"
    return FigureResult(
        "5.11", "5.11, 5.12: multiplicity of T.B", _setup(sizes, what), (plot, hit), claims,
        ("At multiplicity 1 half of the look-ups hit: the expiry of a tuple repeats its key.",),
    )  # fmt: skip


def figure_13(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.13, 5.14: matches of T tuples in R ⋈ S."""
    xs = (0, 1, 2, 4, 8)
    by_s = [compare(_arrivals(sizes, (1, max(1, many), 5), apart=not many)) for many in xs]
    by_r = [compare(_arrivals(sizes, (max(1, many), 1, 5), apart=not many)) for many in xs]
    w = measured_weight()
    gains = [run.gain(w) for run in by_s]
    claims = (
        PaperClaim(
            "The cache wins whatever the number of matches",
            verdict([run.gain(v) > 1 for run in (*by_s, *by_r) for v in judged()]),
            f"matches 0, 2, 8, multiplicity in S: {_by_weight(by_s)}; in R: {_by_weight(by_r)}",
        ),
        PaperClaim(
            "The gain is smallest near one match",
            verdict([min(gains) == gains[1], min(run.gain(w) for run in by_r) == by_r[1].gain(w)]),
            f"multiplicity in S: {listed(gains, 2)}; in R: "
            f"{listed([run.gain(w) for run in by_r], 2)} for 0, 1, 2, 4, 8 matches",
        ),
    )
    plots = (
        _gains("Gain by matches, multiplicity in S", "R ⋈ S tuples for a T tuple", xs, by_s),
        _gains("Gain by matches, multiplicity in R", "R ⋈ S tuples for a T tuple", xs, by_r),
    )
    what = "R(A) ⋈ S(A, B) ⋈ T(B), T.B with multiplicity 5; 0 matches: R has other values"
    return FigureResult(
        "5.13", "5.13, 5.14: matches of T tuples", _setup(sizes, what), plots, claims
    )


def figure_15(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.15, 5.16: updates of the cache for each look-up."""
    many = (20, 10, 5, 2.5, 1.25, 0.625, 0.3125)
    runs = [compare(_arrivals(sizes, (1, 1, n))) for n in many]
    xs = [run.cached.kept / run.cached.lookups for run in runs]
    w = measured_weight()
    gains = [run.gain(w) for run in runs]
    often = [run for x, run in zip(xs, runs, strict=True) if x > 1]
    claims = (
        PaperClaim(
            "The gain shrinks as updates become more frequent",
            rising([-gain for gain in gains]),
            f"{listed(gains, 2)} at {listed(xs, 2)} updates a look-up",
        ),
        PaperClaim(
            "The cache is still better where updates exceed look-ups",
            verdict([run.gain(v) > 1 for run in often for v in judged()]),
            f"first, middle, last: {_by_weight(runs)}",
        ),
    )
    plot = _gains("Gain by updates for each look-up", "updates / look-ups", xs, runs)
    what = "R(A) ⋈ S(A, B) ⋈ T(B), T slower and slower"
    return FigureResult(
        "5.15", "5.15, 5.16: updates and look-ups", _setup(sizes, what), (plot,), claims
    )


def adaptive(w: float, orders: tuple[tuple[int, ...], ...] = (), **more: Any) -> JoinSettings:
    """Settings of a controller that counts as the text does; many observations, all in sample."""
    settings = JoinSettings(
        join_order="fixed" if orders else "a-greedy",
        orders=orders,
        join_costs="counted",
        w=w,
        join_profile_prob=0.5,
        interval_tuples=3000,
        pool_bytes=1 << 24,
        change_share=0.0,
    )
    return replace(settings, **more)


def figure_17(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.17, 5.18: more streams."""
    xs = (3, 4, 5, 6, 7)
    runs, used = [], []
    for n in xs:
        work, repeats = on_one_attribute(n), [1] * (n // 2) + [5] * (n - n // 2)
        n_rounds = max(3 * WINDOW, round(sizes.tuples(30_000) / sum(repeats)))
        arrivals = rounds(n_rounds // 2, WINDOW // 10, repeats, sizes.rng)
        orders = nested_orders(n)
        tuning = settled(work, arrivals, adaptive(SMALL, orders, candidates=0))
        used.append(sum(len(cache.readers) for cache in tuning.caches))
        runs.append(
            ComparedCache(
                forced(work, arrivals, JoinTuning(orders=orders)), forced(work, arrivals, tuning)
            )
        )
    claims = (
        PaperClaim(
            "The gain is maintained for all numbers of streams",
            verdict([run.gain(v) > 1 for run in runs for v in judged()]),
            f"n = {xs[0]}, {xs[2]}, {xs[-1]}: {_by_weight(runs)}",
        ),
        PaperClaim(
            "At 7 streams 6 of 15 candidates are used",
            verdict([used[-1] == 6]),
            f"{used[-1]} of 15; nested pipelines have 15 candidates, of which at most 5 go "
            "together",
        ),
    )
    plot = _gains("Gain by number of streams", "streams", xs, runs)
    what = "R1 ⋈ ... ⋈ Rn on one attribute, multiplicity 1 for half of the streams, else 5"
    notes = (f"Caches are chosen at w = {SMALL:g}; readers used: {', '.join(map(str, used))}.",)
    return FigureResult(
        "5.17", "5.17, 5.18: number of streams", _setup(sizes, what), (plot,), claims, notes
    )


def nested_orders(n: int) -> tuple[tuple[int, ...], ...]:
    """Pipelines in which {R1, R2}, {R1, R2, R3}... are prefix sets."""
    return tuple(tuple(j for j in range(n) if j != i) for i in range(n))


def figure_19(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.19, 5.20: no index on S.B, so that T's first join compares all of S."""
    xs, w, runs = (20, 40, 80, 160, 320), measured_weight(), []
    for window in xs:
        n_rounds = max(3 * window, round(sizes.tuples(40_000) / 7))
        arrivals = rounds(n_rounds, window, (1, 1, 5), sizes.rng)
        both = compare(arrivals)
        runs.append(ComparedCache(*(cost.without_index(T, 0) for cost in both)))
    cheaper = [1 - 1 / run.gain(w) for run in runs]
    claims = (
        PaperClaim("The gain grows with S", rising(cheaper), listed(cheaper)),
        PaperClaim(
            "By up to 90 %", verdict([max(cheaper) > 0.8]), f"{100 * max(cheaper):.0f} % cheaper"
        ),
    )
    plot = _gains("Gain without an index on S.B", "tuples in S", xs, runs)
    what = "R(A) ⋈ S(A, B) ⋈ T(B); a step of T into S looks at all of S"
    notes = ("Nested loops are priced by the pairs the step compares, at 0.2 each.",)
    return FigureResult("5.19", "5.19, 5.20: no index", _setup(sizes, what), (plot,), claims, notes)
