"""What if a knob had been another? The recorded run decided again, from what is in the store alone.

Every evaluation left a trial in the detail of a decision (docs/introspection.md): what was read,
what the last orders cost on its sampled tuples and the plan a rebuild would have given. A ghost run
starts where the record does and goes from trial to trial by the engine's own rule
(storage/vocabulary/asc_rule.py): eq. 5 on what the ghost's plan would have shown, cool-down, sample
size, then the contest of plans. Under the recorded
knobs it repeats the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from storage.rows import DecisionEntry
from storage.vocabulary.asc_rule import (
    EARLY,
    NO_DROP,
    best_plan,
    contenders,
    decisive,
    must_leave,
    rejection,
    relative_change,
    rivals,
)
from storage.vocabulary.records import Json

#: Kind of an evaluation that the trigger called for; others happen whatever μ is.
TRIGGERED: Final = "rearrangement"


class Plan(NamedTuple):
    """A plan as trials name it. digest: tells micro-arrows apart, '' without."""

    kind: str
    order: tuple[str, ...]
    digest: str = ""

    @classmethod
    def of(cls, name: Json) -> Plan:
        """The plan of [kind, order, digest]."""
        return cls(str(name[0]), tuple(name[1]), str(name[2]))


class SampledCost(NamedTuple):
    """Of a plan on the sample: constructs visited under early drop, and what they cost."""

    visits: float
    cost: float


class RecordedContest(NamedTuple):
    """The plans that met in the engine, the one it chose, and the baselines it took from it."""

    plans: dict[Plan, SampledCost]
    best: Plan
    visits_init: float
    d_init: float


class Trial(NamedTuple):
    """One evaluation as recorded. fresh: the ghost begins anew at what is recorded here.

    at: tuples seen by then. since_switch: of them since the last switch, None before the first.
    running, built_by: the plan in force and its ordering. init: its (d, visits) baselines, None
    without. visits, d: read over the window, None = unknown. n_sample: sampled tuples there were,
    n: those the plans are costed on. candidate: what a rebuild gives, None = not known.
    """

    seq: int
    batch: int
    time: float
    kind: str
    verdict: str
    fresh: bool
    at: int
    since_switch: int | None
    running: Plan
    built_by: str
    init: tuple[float, float] | None
    visits: float | None
    d: float | None
    n_sample: int
    n: int
    mu: float
    trigger: str
    min_samples: int
    cooldown_tuples: int
    min_gain: float
    ordering: str
    candidate: Plan | None
    plans: dict[Plan, SampledCost]
    d_init: float | None
    no_drop_cost: float | None
    contest: RecordedContest | None

    def cost(self, plan: Plan) -> SampledCost | None:
        """Of a plan on the sample: as it was compared, else by how much it differs from the plan
        in force; None when it was not costed."""
        if self.contest is not None and plan in self.contest.plans:
            return self.contest.plans[plan]
        order = self.plans.get(Plan(EARLY, plan.order) if plan.kind == NO_DROP else plan)
        if order is None:
            return None
        if plan.kind == NO_DROP:
            return (
                None if self.no_drop_cost is None else SampledCost(order.visits, self.no_drop_cost)
            )
        anchor = self.contest.plans.get(self.running) if self.contest else None
        here = self.plans.get(self.running)
        if anchor is None or here is None or self.running.kind == NO_DROP:
            return order
        return SampledCost(
            order.visits + anchor.visits - here.visits, order.cost + anchor.cost - here.cost
        )


class GhostState(NamedTuple):
    """The state of the ghost run. switched_at: tuples seen at its last switch, None = never."""

    plan: Plan
    built_by: str
    init: tuple[float, float] | None
    switched_at: int | None


class GhostStep(NamedTuple):
    """One evaluation of both runs.

    real, ghost: verdicts ('unknown': the record does not tell); real_plan, ghost_plan: in force
    when it was evaluated. n_tuples: since the evaluation before. real_cost, ghost_cost: visits per
    tuple of these plans on the sample, None = unknown. after: the ghost's plan from here on.
    """

    trial: Trial
    real: str
    ghost: str
    real_plan: Plan
    ghost_plan: Plan
    n_tuples: int
    real_cost: float | None
    ghost_cost: float | None
    after: Plan


def read_trials(entries: Iterable[DecisionEntry]) -> list[Trial]:
    """The trials of stored decisions, oldest first; times of those in between are estimated."""
    ordered = sorted(entries, key=lambda entry: entry.decision.seq)
    batches = [entry.decision.batch for entry in ordered]
    times = [entry.time for entry in ordered]
    found = []
    for entry in ordered:
        detail = entry.decision.detail or {}
        rows = detail.get("trials", ()) if isinstance(detail, Mapping) else ()
        found += [_trial(row, float(np.interp(row["batch"], batches, times))) for row in rows]
    return found


#: The knobs of that rule: what it would do with others can be told from the record. ``min_samples``
#: is none of them: it also says how long a window fills, so that other tuples would be read.
REPLAYED: Final = ("mu", "trigger", "cooldown_tuples", "min_gain")


def redecide(trials: Sequence[Trial], knobs: Mapping[str, Any]) -> list[GhostStep]:
    """The ghost run with these values of REPLAYED knobs throughout, the others as recorded."""
    steps: list[GhostStep] = []
    ghost: GhostState | None = None
    before = 0
    for recorded in trials:
        trial = recorded._replace(**knobs)
        if ghost is None or trial.fresh:
            ghost = _recorded(trial)
        verdict, after = _decide(ghost, trial)
        real, mine = _cost_of(trial, trial.running), _cost_of(trial, ghost.plan)
        steps.append(
            GhostStep(
                trial,
                trial.verdict,
                verdict,
                trial.running,
                ghost.plan,
                max(0, trial.at - before),
                real,
                mine,
                after.plan,
            )
        )
        ghost, before = after, trial.at
    return steps


def _recorded(trial: Trial) -> GhostState:
    since = trial.since_switch
    return GhostState(
        trial.running, trial.built_by, trial.init, None if since is None else trial.at - since
    )


def _decide(ghost: GhostState, trial: Trial) -> tuple[str, GhostState]:
    """The verdict on the ghost's plan, and the ghost after it."""
    if trial.kind != TRIGGERED:
        return _rebuild(ghost, trial)
    visits = _visits_now(ghost.plan, trial)
    if visits is None and trial.visits is not None:
        return "unknown", ghost
    change = _change(ghost.init, visits, trial)
    at = ghost.switched_at
    cools_down = at is not None and trial.at - at < trial.cooldown_tuples
    rejected = rejection(change, trial.mu, cools_down, trial.n_sample, trial.min_samples)
    return (rejected, ghost) if rejected else _rebuild(ghost, trial)


def _visits_now(plan: Plan, trial: Trial) -> float | None:
    """Visits per tuple the window would have shown under the plan: those read, and by how much
    the two plans differ on the sample."""
    if plan == trial.running or trial.visits is None:
        return trial.visits
    mine, running = _row(plan, trial), _row(trial.running, trial)
    if mine is None or running is None:
        return None
    return trial.visits + mine.visits - running.visits


def _row(plan: Plan, trial: Trial) -> SampledCost | None:
    return trial.plans.get(Plan(EARLY, plan.order) if plan.kind == NO_DROP else plan)


def _change(init: tuple[float, float] | None, visits: float | None, trial: Trial) -> float | None:
    """The left side of eq. 5 as the trigger knob has it; None when it is unknown."""
    if init is None:
        return None
    return decisive(
        trial.trigger,
        None if visits is None else relative_change(visits, init[1]),
        None if trial.d is None else relative_change(trial.d, init[0]),
        float,
    )


def _rebuild(ghost: GhostState, trial: Trial) -> tuple[str, GhostState]:
    """The candidate and 'no early drop' meet the ghost's plan on the sample."""
    candidate = trial.candidate
    if candidate is None:
        return "unknown", ghost
    contending = contenders(ghost.plan, candidate, Plan)
    found = {plan: trial.cost(plan) for plan in [ghost.plan, *rivals(ghost.plan, contending)]}
    costs = {plan: cost.cost for plan, cost in found.items() if cost is not None}
    if len(costs) < len(found):
        return "unknown", ghost
    leaves = must_leave(ghost.plan, ghost.built_by, trial.ordering)
    best, _ = best_plan(ghost.plan, contending, costs, leaves, trial.min_gain)
    switched = best != ghost.plan
    at = trial.at if switched else ghost.switched_at
    after = GhostState(best, trial.ordering, _baselines(best, trial), at)
    return ("switched" if switched else "kept"), after


def _baselines(plan: Plan, trial: Trial) -> tuple[float, float] | None:
    """(d, visits) of a plan on the sample it was chosen on."""
    contest = trial.contest
    if contest is not None and plan == contest.best:
        return contest.d_init, contest.visits_init
    d_init = contest.d_init if contest else trial.d_init
    order = Plan(EARLY, plan.order) if plan.kind == NO_DROP else plan
    found = trial.cost(order)
    return None if found is None or d_init is None else (d_init, found.visits)


def _cost_of(trial: Trial, plan: Plan) -> float | None:
    found = trial.cost(plan)
    return None if found is None else found.cost


def _trial(row: Mapping[str, Any], time: float) -> Trial:
    plans = {Plan.of(one): SampledCost(one[3], one[4]) for one in row.get("plans", ())}
    met = row.get("contest")
    contest = None
    if met is not None:
        costs = {Plan.of(one): SampledCost(one[3], one[4]) for one in met["plans"]}
        contest = RecordedContest(costs, Plan.of(met["best"]), met["visits_init"], met["d_init"])
    given = {name: row[name] for name in _PLAIN}
    candidate, init = row["candidate"], row["init"]
    return Trial(
        **given,
        time=time,
        running=Plan.of(row["running"]),
        init=(float(init[0]), float(init[1])) if init else None,
        n=int(row.get("n", 0)),
        candidate=Plan.of(candidate) if candidate else None,
        plans=plans,
        d_init=row.get("d_init"),
        no_drop_cost=row.get("no_drop_cost"),
        contest=contest,
    )


_PLAIN: Final = (
    "seq",
    "batch",
    "kind",
    "verdict",
    "fresh",
    "at",
    "since_switch",
    "built_by",
    "visits",
    "d",
    "n_sample",
    "mu",
    "trigger",
    "min_samples",
    "cooldown_tuples",
    "min_gain",
    "ordering",
)
