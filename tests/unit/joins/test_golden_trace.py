"""The decision trace of a seeded join: every decision, in words, reviewed as a diff."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from backend.operators.network.joins.join_tuning import JoinTuning
from storage.vocabulary.records import Decision, DecisionOutcome
from tests.golden_files import check_golden
from tests.unit.joins.running import TunedJoin
from tests.unit.joins.test_controller import SETTINGS, arrivals


def told_lines(join: TunedJoin) -> list[str]:
    """A line for each decision, outcome and tuning."""
    found = []
    for batch_id, told in enumerate(join.told):
        found += [_decision(one) for one in told.decisions]
        found += [_outcome(one) for one in told.outcomes]
        if told.tuning is not None:
            found.append(f"from batch {batch_id + 1}: {_tuning(told.tuning)}")
    return found


def _decision(one: Decision) -> str:
    test = f"{_number(one.lhs)} {one.relation} {_number(one.rhs)}"
    return f"#{one.seq} batch {one.batch} {one.kind} {one.verdict} [{test}]: {one.explanation}"


def _outcome(one: DecisionOutcome) -> str:
    costs = (one.actual_new, one.sample_new, one.counterfactual_old)
    return f"outcome of #{one.decision} at batch {one.batch}: {', '.join(map(_number, costs))}"


def _tuning(tuning: JoinTuning) -> str:
    orders = " ".join("".join(map(str, order)) for order in tuning.orders)
    caches = ", ".join(f"{one.id} {one.n_bytes} B" for one in tuning.caches) or "none"
    shadows = ", ".join(one.id for one in tuning.shadows) or "none"
    return f"orders {orders}; caches {caches}; shadows {shadows}; profiled {tuning.profile_prob}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def test_the_trace() -> None:
    """Rates change twice; orders adapt; the greedy selection takes over; pins and a small pool."""
    rng = np.random.default_rng(11)
    knobs = replace(
        SETTINGS, join_order="a-greedy", orders=(), order_samples=20, join_profile_prob=0.1, w=0.25
    )
    join = TunedJoin(knobs, (16, 16, 16))
    phases: tuple[tuple[int, tuple[int, int, int], dict[str, Any]], ...] = (
        (14, (1, 1, 12), {}),
        (14, (30, 1, 1), {"caching": "greedy"}),
        (6, (1, 1, 12), {"pinned": frozenset({"0,1|1"})}),
        (6, (1, 1, 12), {"pool_bytes": 0, "pinned": frozenset()}),
    )
    for n_batches, rates, changes in phases:
        knobs = replace(knobs, **changes)
        join.turn(knobs)
        for _ in range(n_batches):
            join.batch(arrivals(rng, 100, rates))
    check_golden("joins_burst_trace.txt", "\n".join(told_lines(join)) + "\n")
