"""Pipelined filters by counting, so that a seed gives the same numbers; and what V costs.

Orders against the best and the worst one, adapting to a permutation, what raises p and what makes
a violation. One cost unit is one probe of an index.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from backend.adaptive.ordering.view import MatrixView
from backend.adaptive.ordering.window import ProfileWindow
from backend.model.conditions import TRUE, ContinuousQuery, FunctionPredicate, Reference
from backend.model.filters import BatchFiltered, CostSample
from backend.model.knobs import KnobSettings
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.workloads.correlated import CorrelatedSource
from bench.adapt_run import BY_THRESHOLDS
from bench.counted import Counted, run_counted
from bench.experiments.filter_changing import SELECTIVITIES, level, settling
from bench.experiments.filter_costs import unequal
from bench.experiments.filter_running import (
    INTERVAL,
    PROFILE_PROB,
    WINDOW,
    Setup,
    best_cost,
    compare,
    masks_of,
    schemes,
)

SEEDS: Final = (1, 2, 3)
DEAR: Final = 100
#: What is compared under change: knobs of the decision core.
TRIGGERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "α = 0.9, p = 0.01": {},
    "α = 0.9, p = 0.05": {"profile_prob": 0.05},
    "α = 1 (bare), p = 0.01": {"alpha": 1.0},
    "α = 0.9, p to 0.2 after a change": {"profile_policy": "boost"},
    "the same, window emptied": {"profile_policy": "boost and flush"},
    "evidence of 99 %, p = 0.01": {"violation_rule": "evidence"},
    "evidence, p to 0.2, window emptied": {
        "violation_rule": "evidence",
        "profile_policy": "boost and flush",
    },
}
_CHANGING = Setup(SELECTIVITIES, (1,) * 4 + (10,) * 4, period=100_000)
_TUPLES, _BATCH = 400_000, 2000


def orders() -> None:
    """A-Greedy after convergence beside the extreme orders."""
    n_tuples, since = 400_000, 100_000
    setup = unequal(DEAR)
    print(
        f"\nFour filters of cost 1, four of {DEAR}, Γ = 2, p = {PROFILE_PROB:g}; probes per tuple"
    )
    head = ("best", "A-Greedy", "+ profile", "worst", "/ best", "worst /")
    print(f"{'seed':6}" + "".join(f"{name:>10}" for name in head))
    for seed in SEEDS:
        compared = compare(setup, [schemes()["A-Greedy"]], seed, n_tuples, since)
        masks = masks_of(setup.selectivities, setup.gamma, setup.period, seed, n_tuples)
        worst, ran = best_cost(setup, masks[since:], worst=True), compared.runs["A-Greedy"]
        print(
            f"{seed:<6}{compared.optimal:10.2f}{ran.processing:10.2f}{ran.total:10.2f}{worst:10.2f}"
            f"{ran.processing / compared.optimal:10.3f}{worst / ran.processing:10.2f}"
        )


def adapting() -> None:
    """Tuples until A-Greedy is at its new level after a permutation, beside the window's."""
    change = 300_000
    setup = Setup(SELECTIVITIES, (1,) * 8, period=change)
    print("\nTuples to within 5 % of the new level after a permutation, and the window in tuples")
    for p in (0.01, 0.05):
        for seed in SEEDS:
            ran = compare(setup, [schemes(p)["A-Greedy"]], seed, 2 * change).runs["A-Greedy"]
            took = settling(ran, change // INTERVAL, level(ran, len(ran.evaluations)))
            print(f"p = {p:<5g} seed {seed}: {took:>8,} tuples; window {WINDOW / p:>9,.0f} or more")


class _Totals(NamedTuple):
    """In probes; decisions that switched."""

    processing: int
    profiling: int
    switches: int


def triggers() -> None:
    """Fixed and adaptive p, bare α and evidence, on a stream permuted each 100 000 tuples."""
    print(
        f"\nSelectivities permuted each {_CHANGING.period:,} of {_TUPLES:,} tuples; costs 1 and 10;"
        f" probes per tuple, means of {len(SEEDS)} seeds"
    )
    print(f"{'':38}{'filters':>9}{'profile':>9}{'total':>9}{'switches':>10}")
    for name, knobs in TRIGGERS.items():
        runs = [_followed(knobs, seed) for seed in SEEDS]
        n = len(runs) * _TUPLES
        work, profile = sum(f.processing for f in runs) / n, sum(f.profiling for f in runs) / n
        switches = sum(f.switches for f in runs) / len(runs)
        print(f"{name:38}{work:9.2f}{profile:9.2f}{work + profile:9.2f}{switches:10.1f}")


def _followed(knobs: Mapping[str, Any], seed: int) -> _Totals:
    """The decision core over the counted stream, batch by batch."""
    names = [f"F{x}" for x in range(_CHANGING.n)]
    calls = tuple(FunctionPredicate(name, (Reference("s"),)) for name in names)
    values = {**BY_THRESHOLDS, "profile_prob": PROFILE_PROB, "reject_sample_every": 1000, **knobs}
    settings = KnobSettings.defaults(AgreedyKnobs.specs(), values)
    core = FiltersReOptimizer(ContinuousQuery("q", "S", "", TRUE, calls), settings)
    source = CorrelatedSource(seed, _CHANGING.selectivities, 2, _CHANGING.period, _TUPLES)
    rng, price = np.random.default_rng(seed), dict(zip(names, _CHANGING.costs, strict=True))
    work = profile = 0
    for batch in range(_TUPLES // _BATCH):
        drops = ~source.passes(batch * _BATCH, _BATCH)
        profiled = rng.random(_BATCH) < core.profile_prob
        done = run_counted(drops, names, core.plan.order, core.probing, profiled)
        work += sum(price[name] * n for name, n in done.evaluated.items())
        profile += sum(price[name] * n for name, n in done.probed.items())
        core.handle(counted_event(core, batch, _BATCH, done, price if batch == 0 else {}))
    return _Totals(work, profile, core.plan.version - 1)


def counted_event(
    core: FiltersReOptimizer, batch: int, n_tuples: int, done: Counted, price: Mapping[str, int]
) -> BatchFiltered:
    """What the core is told of a batch of which it is known what it came to."""
    return BatchFiltered(
        batch_id=batch,
        plan_version=core.plan.version,
        n_tuples=n_tuples,
        n_matched=done.n_matched,
        evaluated=done.evaluated,
        dropped=done.dropped,
        filters=core.plan.order,
        outcomes=done.outcomes,
        n_passed=done.n_passed,
        profile_prob=core.profile_prob,
        probing=core.probing,
        costs={name: [CostSample(1, us)] for name, us in price.items()},
        time_s=float(batch),
        whole=done.whole,
    )


def view_upkeep(n: int = 100, window: int = 10_000, step: int = 100) -> tuple[float, float]:
    """Milliseconds of one step of the window with V, and of V from scratch; medians."""
    rng = np.random.default_rng(1)
    kept, view = ProfileWindow(n), MatrixView(range(n))
    kept.add(_outcomes(rng, window, n), 0, 0.0)
    kept.expire(window)
    view.rebuild(kept.columns)
    steps, scratch = [], []
    for _ in range(30):
        arriving = _outcomes(rng, step, n)
        started = time.perf_counter()
        inserted = kept.add(arriving, 0, 0.0)
        view.update(inserted, kept.expire(window))
        steps.append(time.perf_counter() - started)
        updated = view.counts.copy()
        started = time.perf_counter()
        view.rebuild(kept.columns)
        scratch.append(time.perf_counter() - started)
        assert (view.counts == updated).all()
    print(
        f"\nV of {n} filters, window of {window:,}: {1e3 * statistics.median(steps):.2f} ms for"
        f" {step} tuples in and out ({1e3 * min(steps):.2f}..{1e3 * max(steps):.2f}),"
        f" {1e3 * statistics.median(scratch):.2f} ms from scratch"
        f" ({1e3 * min(scratch):.2f}..{1e3 * max(scratch):.2f})"
    )
    return 1e3 * statistics.median(steps), 1e3 * statistics.median(scratch)


def _outcomes(rng: np.random.Generator, k: int, n: int) -> Any:
    """int8[k, n]: profile tuples; each is dropped by at least one filter."""
    outcomes = (rng.random((k, n)) < 0.05).astype(np.int8)
    outcomes[np.arange(k), rng.integers(n, size=k)] = 1
    return outcomes


def main() -> None:
    """All of it."""
    orders()
    adapting()
    triggers()
    view_upkeep()
