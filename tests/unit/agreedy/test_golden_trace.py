"""The decision trace of a seeded stream: every decision, in words, reviewed as a diff."""

from __future__ import annotations

import numpy as np

from backend.model.filters import AdoptFilters, FilterInstruction
from storage.vocabulary.records import Decision, DecisionOutcome
from tests.golden_files import check_golden
from tests.unit.agreedy.stream import Stream, independent_drops, query_of, settings


def line(instruction: FilterInstruction) -> str:
    """One instruction on one line."""
    if isinstance(instruction, Decision):
        d = instruction
        numbers = f"{_number(d.lhs)} {d.relation} {_number(d.rhs)}"
        return f"#{d.seq} batch {d.batch} {d.algorithm} {d.verdict} [{numbers}]: {d.explanation}"
    if isinstance(instruction, AdoptFilters):
        order = " ".join(instruction.plan.order)
        return f"plan {instruction.plan.version} from batch {instruction.batch_id}: {order}"
    if isinstance(instruction, DecisionOutcome):
        o = instruction
        costs = (o.actual_new, o.sample_new, o.counterfactual_old)
        said = ", ".join(map(_number, costs))
        return f"outcome of #{o.decision} at batch {o.batch}: {said} on {o.n} / {o.n_sample}"
    return f"{instruction.kind}: {instruction.title}; {instruction.detail}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def drifting_stream() -> Stream:
    """The selective filter moves, costs differ, algorithms and filters change."""
    rng = np.random.default_rng(42)
    knobs = settings(profile_prob=0.2, min_samples=60, alpha=0.9, window_tuples=300)
    knobs = knobs.changed("reject_sample_every", 4)
    stream = Stream(knobs, query_of(4, n_native=1), {"F2": 1.0, "F3": 2.0, "F4": 8.0})
    stream.run(independent_drops(rng, 3000, (0.1, 0.2, 0.6, 0.9)), 300)
    stream.run(independent_drops(rng, 3000, (0.1, 0.7, 0.2, 0.9)), 300)
    stream.turn("filter_algorithm", "local swaps")
    stream.run(independent_drops(rng, 3000, (0.1, 0.2, 0.3, 0.9)), 300)
    stream.turn("filter_algorithm", "sweep")
    stream.run(independent_drops(rng, 3000, (0.1, 0.2, 0.7, 0.3)), 300)
    stream.turn("violation_rule", "evidence")
    stream.turn("filter_algorithm", "independent")
    stream.run(independent_drops(rng, 1500, (0.1, 0.7, 0.2, 0.3)), 300)
    stream.register(query_of(3, n_native=1), "query q replaced")
    stream.run(independent_drops(rng, 900, (0.1, 0.2, 0.9)), 300)
    return stream


def test_the_trace() -> None:
    lines = [line(instruction) for instruction in drifting_stream().instructions]
    check_golden("filters_drift_trace.txt", "\n".join(lines) + "\n")
