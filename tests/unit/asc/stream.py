"""A small executor without Spark: runs batches under the core's plan, counts, samples (seeded)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from backend.model.conditions import ContinuousQuery
from backend.model.events import (
    AdoptPlan,
    BatchExecuted,
    Instruction,
    KnobsChanged,
    QueriesChanged,
)
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.systems.asc.cost import PlanShape, route
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.matching import sample_regions
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from storage.vocabulary.records import Decision, DecisionOutcome, Event
from tests.unit.asc.papers import C, query

SCHEMA = Schema.parse("a int, b int, c int, d int")
#: Every query needs a and b, so each of the two is a cover and either may lead.
QUERIES = (
    query("q1", C("a", "<", 20), C("b", "<", 20)),
    query("q2", C("a", "<", 18), C("b", "<", 15), C("c", "<", 50)),
    query("q3", C("a", "<", 12), C("b", "<", 20), C("d", ">=", 50)),
    query("q4", C("a", "=", 7), C("b", "<", 19), C("c", ">=", 30), C("d", "<", 70)),
)
Columns = dict[str, list[Any]]


def tuples(n: int, seed: int, a: int = 100, b: int = 100) -> Columns:
    """n seeded tuples: c and d uniform on 0..99, a and b uniform below the given bounds."""
    rng = random.Random(seed)
    bounds = {"a": a, "b": b, "c": 100, "d": 100}
    return {name: [rng.randrange(bound) for _ in range(n)] for name, bound in bounds.items()}


def a_filters(n: int, seed: int = 1) -> Columns:
    """Tuples of which a < 20 drops four fifths and b < 20 none."""
    return tuples(n, seed, b=20)


def b_filters(n: int, seed: int = 2) -> Columns:
    """Tuples of which b < 20 drops four fifths and a < 20 none."""
    return tuples(n, seed, a=20)


def settings(**overrides: object) -> KnobSettings:
    """Knobs for small streams: thresholds, λ = 1000, samples from 100 on, no cool-down, dear
    no-drop."""
    small: dict[str, object] = {
        "policy": "thresholds",
        "lambda_tuples": 1000,
        "min_samples": 100,
        "cooldown_tuples": 0,
        "no_drop_visit_cost": 1.0,
    }
    return KnobSettings.defaults(AscKnobs.specs(), {**small, **overrides})


class Stream:
    """The loop around the core: one call a batch, instructions collected."""

    def __init__(
        self,
        knobs: KnobSettings,
        queries: Sequence[ContinuousQuery] = QUERIES,
        profile_prob: float = 0.3,
    ) -> None:
        self.core = SelectionReOptimizer(queries, SCHEMA, knobs)
        self.knobs = knobs
        self.events: list[BatchExecuted | KnobsChanged | QueriesChanged] = []
        self.instructions: list[Instruction] = self.core.start()
        self._profile_prob = profile_prob
        self._rng = random.Random(20130101)
        self.visit_costs: dict[str, float] = {}
        self.batch = 0

    def run(self, columns: Columns, batch_tuples: int = 250) -> list[Instruction]:
        """Run the tuples in batches; returns the new instructions."""
        before = len(self.instructions)
        n = len(columns["a"])
        for start in range(0, n, batch_tuples):
            part = {a: v[start : start + batch_tuples] for a, v in columns.items()}
            self._handle(self.executed(part))
            self.batch += 1
        return self.instructions[before:]

    def executed(self, part: Columns) -> BatchExecuted:
        """What an executor reports of one batch under the plan in force."""
        core, plan = self.core, self.core.plan
        rule = AscKnobs.of(self.knobs).stop_rule
        regions = sample_regions(core.constructs, part)
        found = route(core.constructs, regions, PlanShape.of(plan), rule)
        n = len(part["a"])
        early = plan.kind != "no early drop"
        visits = int(found.visits.sum()) if early else n * len(plan.order)
        reached = found.reached.tolist() if early else [n] * len(plan.order)
        chosen = [t for t in range(n) if self._rng.random() < self._profile_prob]
        return BatchExecuted(
            batch_id=self.batch,
            n_tuples=n,
            n_matched=n - found.n_unmatched,
            visits=visits,
            plan_version=plan.version,
            reached=dict(zip(plan.order, reached, strict=True)),
            sample={a: [v[t] for t in chosen] for a, v in part.items()},
            visit_costs=self.visit_costs,
        )

    def turn(self, knob: str, value: object) -> list[Instruction]:
        """Turn a knob before the next batch."""
        self.knobs = self.knobs.changed(knob, value)
        return self._handle(KnobsChanged(self.knobs, self.batch))

    def register(self, queries: Sequence[ContinuousQuery], reason: str) -> list[Instruction]:
        """Go over to other queries before the next batch."""
        return self._handle(QueriesChanged(tuple(queries), self.batch, reason))

    def decisions(self) -> Iterator[Decision]:
        """All recorded evaluations so far."""
        return (i for i in self.instructions if isinstance(i, Decision))

    def verdicts(self) -> list[str]:
        """Their verdicts."""
        return [d.verdict for d in self.decisions()]

    def _handle(self, event: BatchExecuted | KnobsChanged | QueriesChanged) -> list[Instruction]:
        self.events.append(event)
        found = self.core.handle(event)
        self.instructions += found
        return found


def line(instruction: Instruction) -> str:
    """One line of a decision trace."""
    if isinstance(instruction, AdoptPlan):
        plan = instruction.plan
        what = f"PLAN v{plan.version} {plan.kind}: {' '.join(plan.order)}"
        if plan.arrows:
            what += " | " + " ".join(f"{a.attribute}[{a.region}]→{a.target}" for a in plan.arrows)
        return f"batch {instruction.batch_id:>3}  {what} | {instruction.reason}"
    if isinstance(instruction, DecisionOutcome):
        o = instruction
        return (
            f"batch {o.batch:>3}  OUTCOME of #{o.decision}: {_n(o.actual_new)} on {o.n}; "
            f"sampled {_n(o.sample_new)}, the old plan {_n(o.counterfactual_old)} on {o.n_sample}"
        )
    if isinstance(instruction, Event):
        return f"{instruction.kind}: {instruction.title}; {instruction.detail}"
    d = instruction
    inequality = f"{d.metric} {_n(d.lhs)} {d.relation} {_n(d.rhs)}"
    return (
        f"batch {d.batch:>3}  #{d.seq} {d.kind} {d.verdict}: {inequality} (n {d.n}, sampled "
        f"{d.n_sample}) | {d.explanation}"
    )


def _n(value: float | None) -> str:
    return "?" if value is None else f"{value:.4f}"
