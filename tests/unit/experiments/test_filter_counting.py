"""Compiled algorithms of the filter experiments against the decision core that defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.model.conditions import TRUE, ContinuousQuery, FunctionPredicate, Reference
from backend.model.filters import BatchFiltered, CostSample
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from bench.counted import run_counted
from bench.experiments import filter_counting as kernels
from bench.experiments.filter_counting import CountingRules, begin, run_filters
from tests.unit.agreedy.stream import settings

N, T, CHANGE = 5, 500, 250
COSTS = (1, 3, 1, 10, 2)
FIRST = (3, 0, 4, 2, 1)
KNOBS: dict[int, dict[str, Any]] = {
    kernels.A_GREEDY: {"filter_algorithm": "a-greedy"},
    kernels.INDEPENDENT: {"filter_algorithm": "independent"},
    kernels.LOCAL_SWAPS: {"filter_algorithm": "local swaps"},
    kernels.SWEEP: {"filter_algorithm": "sweep", "stage_tuples": 30},
    kernels.STATIC: {"filter_algorithm": "static"},
}


def drops_of(seed: int) -> NDArray[np.bool_]:
    """Correlated drops whose probabilities change at CHANGE."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.1, 0.3, 0.5, 0.7, 0.4])
    draws = np.where(rng.random((T, N)) < 0.5, rng.random((T, 1)), rng.random((T, N)))
    now = np.where(np.arange(T)[:, None] < CHANGE, shares, shares[::-1])
    found: NDArray[np.bool_] = draws < now
    return found


def by_the_core(algorithm: int, drops: NDArray[np.bool_], profiled: NDArray[np.bool_]) -> list[int]:
    """(evaluated, cost, probed, probe cost, profiled, emitted, switched), and the last order; each
    batch is one tuple."""
    names = [f"F{x}" for x in range(N)]
    calls = tuple(FunctionPredicate(names[x], (Reference("s"),)) for x in FIRST)
    knobs = settings(window_tuples=60, min_samples=20, alpha=0.9, **KNOBS[algorithm])
    core = FiltersReOptimizer(ContinuousQuery("q", "S", "", TRUE, calls), knobs)
    prices = {name: [CostSample(1, COSTS[x])] for x, name in enumerate(names)}
    price = dict(zip(names, COSTS, strict=True))
    counts = [0] * kernels.N_COUNTS
    for t in range(T):
        order = core.plan.order
        done = run_counted(drops[t : t + 1], names, order, core.probing, profiled[t : t + 1])
        counts[0] += sum(done.evaluated.values())
        counts[1] += sum(price[name] * n for name, n in done.evaluated.items())
        counts[5] += done.n_matched
        if algorithm != kernels.STATIC:
            counts[2] += sum(done.probed.values())
            counts[3] += sum(price[name] * n for name, n in done.probed.items())
            counts[4] += len(done.outcomes)
        event = BatchFiltered(
            batch_id=t,
            plan_version=core.plan.version,
            n_tuples=1,
            n_matched=done.n_matched,
            evaluated=done.evaluated,
            dropped=done.dropped,
            filters=order,
            outcomes=done.outcomes,
            n_passed=done.n_passed,
            profile_prob=core.profile_prob,
            probing=core.probing,
            costs=prices if t == 0 else {},
            time_s=float(t),
        )
        core.handle(event)
        counts[6] += core.plan.order != order
    return [*counts, *(names.index(name) for name in core.plan.order)]


@pytest.mark.parametrize("algorithm", KNOBS)
def test_the_compiled_algorithms_decide_as_the_core(algorithm: int) -> None:
    drops = drops_of(algorithm)
    profiled = np.random.default_rng(7).random(T) < 0.4
    rules = CountingRules(algorithm, 9, 10, 60, 20, 30, 100)
    state = begin(rules, np.array(FIRST), np.array(COSTS))
    counts = np.zeros((T // 100, kernels.N_COUNTS), dtype=np.int64)
    masks = (drops * (1 << np.arange(N))).sum(axis=1).astype(np.uint64)
    run_filters(masks[:170], profiled[:170], rules, state, counts)
    run_filters(masks[170:], profiled[170:], rules, state, counts)
    expected = by_the_core(algorithm, drops, profiled)
    assert [*counts.sum(axis=0).tolist(), *state.order.tolist()] == expected
    assert (expected[6] > 0) == (algorithm != kernels.STATIC)
