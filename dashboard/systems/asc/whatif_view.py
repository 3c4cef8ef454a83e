"""What if a knob had been another? The recorded run decided again, from what is in the store alone.

Every evaluation left a trial in the detail of a decision (docs/introspection.md): what was read,
what the last orders cost on its sampled tuples and the plan a rebuild would have given. A ghost run
starts where the record does and goes from trial to trial by the engine's own rule
(storage/vocabulary/asc_rule.py): eq. 5 on what the ghost's plan would have shown, cool-down, sample
size, then the contest of plans. Under the recorded
knobs it repeats the record, and where the record has the very values that are tried, it is the
record. It ends where the record does not tell what it would have decided: what it would have run
from there on is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.systems.asc.recorded_trials import Plan, SampledCost, Trial
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

#: Kind of an evaluation that the trigger called for; others happen whatever μ is.
TRIGGERED: Final = "rearrangement"
#: Kind of an evaluation that a turn of what visits cost called for.
PRICED: Final = "visit cost changed"
#: Verdict of a ghost that has no reason to evaluate where the record does.
IDLE: Final = "not evaluated"
#: Verdict of a ghost from where the record does not tell enough to decide.
UNKNOWN: Final = "unknown"


class GhostState(NamedTuple):
    """The state of the ghost run. switched_at: tuples seen at its last switch, None = never.
    is_asked: a plan is to be built as soon as there are enough sampled tuples."""

    plan: Plan
    built_by: str
    init: tuple[float, float] | None
    switched_at: int | None
    is_asked: bool = False


class GhostStep(NamedTuple):
    """One evaluation of both runs.

    real, ghost: verdicts (of the ghost also IDLE, and UNKNOWN from where it ends); real_plan,
    ghost_plan: in force when it was evaluated. n_tuples: since the evaluation before. real_cost,
    ghost_cost: visits per tuple of these plans on the sample, None = unknown. after: the ghost's
    plan from here on.
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


def redecide(trials: Sequence[Trial], knobs: Mapping[str, Any]) -> list[GhostStep]:
    """The ghost run with these values of REPLAYED knobs throughout, the others as recorded.

    It is the record where that has these values, and ends at the first that cannot be decided.
    Under another price of branch-free visits both runs are costed at the measured one.
    """
    steps: list[GhostStep] = []
    ghost: GhostState | None = None
    is_over = False
    before, price = 0, None
    for recorded in trials:
        trial = recorded.under(knobs)
        is_own = not is_over and recorded.has(knobs)
        if ghost is None or is_own or (trial.fresh and not is_over):
            ghost = _recorded(trial)
        turns = "no_drop_visit_cost" in knobs and trial.prices != price
        if is_over:
            verdict, after = UNKNOWN, ghost
        elif is_own:
            verdict, after = trial.verdict, ghost._replace(plan=_followed(trial))
        elif turns and trial.kind == PRICED:
            verdict, after = IDLE, ghost
        else:
            verdict, after = _decide(ghost, trial)
        is_over = verdict == UNKNOWN
        steps.append(_step(recorded, trial, knobs, verdict, ghost.plan, before, after.plan))
        ghost, before, price = None if is_own else after, trial.at, trial.prices
    return steps


def _followed(trial: Trial) -> Plan:
    """The plan that was run after an evaluation."""
    contest = trial.contest
    return trial.running if contest is None or trial.verdict != "switched" else contest.best


def _step(
    recorded: Trial,
    trial: Trial,
    knobs: Mapping[str, Any],
    verdict: str,
    plan: Plan,
    before: int,
    after: Plan,
) -> GhostStep:
    """trial: as recorded, with the values tried. before: tuples seen by the one before."""
    valued = recorded.under({name: 0.0 for name in knobs if name == "no_drop_visit_cost"})
    return GhostStep(
        trial,
        trial.verdict,
        verdict,
        trial.running,
        plan,
        max(0, trial.at - before),
        _cost_of(valued, trial.running),
        None if verdict == UNKNOWN else _cost_of(valued, plan),
        after,
    )


def _recorded(trial: Trial) -> GhostState:
    since = trial.since_switch
    return GhostState(
        trial.running,
        trial.built_by,
        trial.init,
        None if since is None else trial.at - since,
        is_asked=trial.init is None,
    )


def _decide(ghost: GhostState, trial: Trial) -> tuple[str, GhostState]:
    """The verdict on the ghost's plan, and the ghost after it."""
    is_asked = ghost.is_asked
    if trial.kind != TRIGGERED:
        if trial.init is None and not is_asked:
            return IDLE, ghost
        is_asked = True
    if is_asked and not trial.is_thin:
        return _rebuild(ghost, trial)
    if trial.kind != TRIGGERED:
        return "thin", ghost._replace(is_asked=True)
    is_thin = ghost.plan.kind == NO_DROP and trial.is_thin
    visits = None if is_thin else _visits_now(ghost.plan, trial)
    if visits is None and ghost.init is not None and not is_thin:
        return UNKNOWN, ghost
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
        return UNKNOWN, ghost
    contending = contenders(ghost.plan, candidate, Plan)
    priced = {plan: trial.cost(plan) for plan in [ghost.plan, *rivals(ghost.plan, contending)]}
    costs = {plan: cost.cost for plan, cost in priced.items() if cost is not None}
    if len(costs) < len(priced):
        return UNKNOWN, ghost
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
    cost = trial.cost(order)
    return None if cost is None or d_init is None else (d_init, cost.visits)


def _cost_of(trial: Trial, plan: Plan) -> float | None:
    cost = trial.cost(plan)
    return None if cost is None else cost.cost
