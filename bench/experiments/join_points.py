"""Fig. 5.21: four plans at the points of Table 5.2. [B05] §5.8.2"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from backend.operators.network.joins.join_tuning import JoinTuning
from bench.experiments.join_caching import SMALL, JoinSizes, adaptive, measured_weight
from bench.experiments.join_data import POINTS, four_way, on_one_attribute
from bench.experiments.join_running import Arrivals, forced
from bench.experiments.join_trees import TreeRun, run_tree, trees
from bench.experiments.join_tuning import settled
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, verdict

#: Tuples of each window.
WINDOW: Final = 250
FOUR_WAY: Final = on_one_attribute(4)
#: m, the quota of candidates of G.
QUOTA: Final = 6
#: How much faster is far faster.
_FAR: Final = 1.1
_POINTS: Final = tuple(POINTS)
_FIRST: Final = ("D1", "D2", "D3")


class PlansAt(NamedTuple):
    """The plans of Fig. 5.21 at a point and a w. Costs per tuple: M of the MJoin, X of the best
    XJoin, P of prefix caches, G of globally-consistent ones too; used: caches of P and G."""

    costs: dict[str, float]
    used: dict[str, tuple[str, ...]]

    def ratio(self, slower: str, faster: str) -> float:
        """How much faster one plan is than another."""
        return self.costs[slower] / self.costs[faster]


class _Weight(NamedTuple):
    """All points at one w."""

    label: str
    points: Mapping[str, PlansAt]

    def far(self, faster: str, slower: str, by: float = _FAR) -> str:
        """The points where a plan is faster by so much, in words."""
        held = [name for name, point in self.points.items() if point.ratio(slower, faster) > by]
        return f"w = {self.label}: {', '.join(held) or 'none'}"


class PointArrivals:
    """The tuples of a point; what was run on them is found again."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.arrivals = arrivals


@lru_cache(maxsize=16)
def point_arrivals(name: str, sizes: JoinSizes) -> PointArrivals:
    """Of a row of Table 5.2."""
    return PointArrivals(four_way(POINTS[name], sizes.tuples(16_000), WINDOW, sizes.rng))


@lru_cache(maxsize=16)
def tree_runs(point: PointArrivals) -> tuple[TreeRun, ...]:
    """All 15 XJoins."""
    return tuple(run_tree(tree, FOUR_WAY, point.arrivals) for tree in trees((0, 1, 2, 3)))


def plans_at(name: str, sizes: JoinSizes, w: float) -> PlansAt:
    """All four plans; caches and trees are chosen on the tuples they run on."""
    point = point_arrivals(name, sizes)
    orders = settled(FOUR_WAY, point.arrivals, adaptive(w, caching="off")).orders
    costs = {
        "M": forced(FOUR_WAY, point.arrivals, JoinTuning(orders=orders)).cost(w),
        "X": min(run.operations.cost(w) for run in tree_runs(point)),
    }
    used = {}
    for plan, quota in (("P", 0), ("G", QUOTA)):
        tuning = settled(FOUR_WAY, point.arrivals, adaptive(w, orders, candidates=quota))
        costs[plan] = forced(FOUR_WAY, point.arrivals, tuning).cost(w)
        used[plan] = tuple(cache.id for cache in tuning.caches)
    return PlansAt(costs, used)


def setup_of_points(sizes: JoinSizes) -> tuple[tuple[str, str], ...]:
    """Conditions."""
    return (
        ("join", "R ⋈ S ⋈ T ⋈ U on one attribute"),
        ("windows", f"{WINDOW} tuples each"),
        ("M", "orders of A-Greedy; P, G: the best caches for these orders, m = 6; X: best of 15"),
        ("seed", str(sizes.seed)),
        ("w, measured", f"{measured_weight():.2f}"),
    )


def figure_21(sizes: JoinSizes) -> FigureResult:
    """Fig. 5.21 over the points of Table 5.2, at the measured w and at the card's."""
    weights = [
        _Weight(label, {name: plans_at(name, sizes, w) for name in _POINTS})
        for label, w in ((f"{measured_weight():.2f}", measured_weight()), (f"{SMALL:g}", SMALL))
    ]
    caches = (
        (n, {plan: ", ".join(ids) or "none" for plan, ids in point.used.items()})
        for n, point in weights[-1].points.items()
    )
    return FigureResult(
        "5.21",
        "5.21: plans at the points of Table 5.2",
        setup_of_points(sizes),
        tuple(_plot(weight) for weight in weights),
        (*_against_mjoin(weights), *_among_others(weights)),
        tuple(f"{n}: P uses {used['P']}; G {used['G']} (w = {SMALL:g})" for n, used in caches),
    )


def _plot(of: _Weight) -> Plot:
    bars = tuple(
        Series(plan, _POINTS, tuple(point.ratio("M", plan) for point in of.points.values()))
        for plan in "XPG"
    )
    title = f"Speed-up over the MJoin, w = {of.label}"
    return Plot(title, "point of Table 5.2", "cost of M / cost of the plan", "bars", bars)


def _against_mjoin(weights: Sequence[_Weight]) -> tuple[PaperClaim, ...]:
    plans = [point for of in weights for point in of.points.values()]
    faster = (f"{p} at {'; '.join(of.far(p, 'M', 1.02) for of in weights)}" for p in "XPG")
    return (
        PaperClaim(
            "X, P and G are not slower than M",
            verdict([point.ratio("M", plan) > 0.98 for point in plans for plan in "XPG"]),
            f"faster than M by more than 2 %: {'; '.join(faster)}",
        ),
        PaperClaim(
            "P is far faster than M at most points",
            verdict([point.ratio("M", "P") > _FAR for point in plans]),
            _far("P", "M", weights),
        ),
    )


def _among_others(weights: Sequence[_Weight]) -> tuple[PaperClaim, ...]:
    first = [of.points[name] for of in weights for name in _FIRST]
    others = [of.points[name] for of in weights for name in ("D2", "D3", "D4", "D7")]
    ups = (
        f"w = {of.label}: "
        + ", ".join(
            f"{n} {of.points[n].ratio('M', 'X'):.2f} and {of.points[n].ratio('M', 'G'):.2f}"
            for n in _FIRST
        )
        for of in weights
    )
    return (
        PaperClaim(
            "X is far faster than P at D1, D2, D3",
            verdict([point.ratio("P", "X") > _FAR for point in first]),
            _far("X", "P", weights),
        ),
        PaperClaim(
            "G is as fast as X at D1, D2, D3",
            verdict([point.ratio("G", "X") < _FAR for point in first]),
            f"speed-ups of X and G over M: {'; '.join(ups)}",
        ),
        PaperClaim(
            "G is far faster than X at D2, D3, D4, D7",
            verdict([point.ratio("X", "G") > _FAR for point in others]),
            _far("G", "X", weights),
        ),
    )


def _far(faster: str, slower: str, weights: Sequence[_Weight]) -> str:
    return f"by more than 10 %: {'; '.join(of.far(faster, slower) for of in weights)}"
