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
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np

from storage.tables.rows import DecisionEntry
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
#: Kind of an evaluation that a turn of what visits cost called for.
PRICED: Final = "visit cost changed"
#: Verdict of a ghost that has no reason to evaluate where the record does.
IDLE: Final = "not evaluated"


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


class Held(NamedTuple):
    """Sampled tuples there were: of the last λ tuples, and in the profile window, which keeps
    ``tau`` at most. The last λ serve where they are enough, else all."""

    n_recent: int
    n_window: int
    tau: int


class Trial(NamedTuple):
    """One evaluation as recorded. fresh: the ghost begins anew at what is recorded here.

    at: tuples seen by then. since_switch: of them since the last switch, None before the first.
    running, built_by: the plan in force and its ordering. init: its (d, visits) baselines, None
    without. visits, d: read over the window, None = unknown. n_sample: sampled tuples that served,
    n: those the plans are costed on. candidate: what a rebuild gives, None = not known. prices: of
    a branch-free visit, as the knob has it and as measured. held, prices: None in old records.
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
    held: Held | None = None
    prices: tuple[float, float] | None = None

    @property
    def is_thin(self) -> bool:
        """Whether a decision takes more sampled tuples than there are."""
        return self.n_sample < self.min_samples

    def under(self, knobs: Mapping[str, Any]) -> Trial:
        """The trial with other values of REPLAYED knobs."""
        trial = self._replace(
            **{name: value for name, value in knobs.items() if name not in _RECOUNTED}
        )
        if "min_samples" in knobs and self.held is not None:
            n_recent, n_window, tau = self.held
            least = min(int(knobs["min_samples"]), tau)
            n_sample = n_recent if n_recent >= least else n_window
            trial = trial._replace(min_samples=least, n_sample=n_sample)
        if "no_drop_visit_cost" in knobs and self.prices is not None:
            trial = trial._priced(float(knobs["no_drop_visit_cost"]) or self.prices[1])
        return trial

    def _priced(self, price: float) -> Trial:
        """With another price of a branch-free visit; what visits weigh has mean 1."""
        dear = price * len(self.running.order)
        contest = self.contest
        if contest is not None:
            plans = {
                plan: sampled._replace(cost=dear) if plan.kind == NO_DROP else sampled
                for plan, sampled in contest.plans.items()
            }
            contest = contest._replace(plans=plans)
        cost = None if self.no_drop_cost is None else dear
        return self._replace(contest=contest, no_drop_cost=cost)

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
    """The state of the ghost run. switched_at: tuples seen at its last switch, None = never.
    is_asked: a plan is to be built as soon as there are enough sampled tuples."""

    plan: Plan
    built_by: str
    init: tuple[float, float] | None
    switched_at: int | None
    is_asked: bool = False


class GhostStep(NamedTuple):
    """One evaluation of both runs.

    real, ghost: verdicts ('unknown': the record does not tell; or IDLE); real_plan, ghost_plan: in
    force when it was evaluated. n_tuples: since the evaluation before. real_cost, ghost_cost:
    visits per tuple of these plans on the sample, None = unknown. after: its plan from here on.
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
    trials = []
    for entry in ordered:
        detail = entry.decision.detail or {}
        rows = detail.get("trials", ()) if isinstance(detail, Mapping) else ()
        trials += [_trial(row, float(np.interp(row["batch"], batches, times))) for row in rows]
    return trials


#: Of the knobs of that rule those whose value changes what stands in a trial.
_RECOUNTED: Final = ("min_samples", "no_drop_visit_cost")
#: The knobs of that rule: what it would do with others can be told from the record.
REPLAYED: Final = ("mu", "trigger", "cooldown_tuples", "min_gain", *_RECOUNTED)


def told(trials: Sequence[Trial], name: str) -> list[Trial]:
    """The newest trials, as far back as all of them tell what the knob decides on."""
    field = {"min_samples": "held", "no_drop_visit_cost": "prices"}.get(name, "at")
    return list(reversed([*takewhile(lambda row: getattr(row, field) is not None, trials[::-1])]))


def redecide(trials: Sequence[Trial], knobs: Mapping[str, Any]) -> list[GhostStep]:
    """The ghost run with these values of REPLAYED knobs throughout, the others as recorded.

    Under another price of branch-free visits both runs are costed at the measured one.
    """
    steps: list[GhostStep] = []
    ghost: GhostState | None = None
    before, price = 0, None
    for recorded in trials:
        trial = recorded.under(knobs)
        if ghost is None or trial.fresh:
            ghost = _recorded(trial)
        is_own = "no_drop_visit_cost" in knobs and trial.prices != price
        if is_own and trial.kind == PRICED:
            verdict, after = IDLE, ghost
        else:
            verdict, after = _decide(ghost, trial)
        valued = recorded.under({name: 0.0 for name in knobs if name == "no_drop_visit_cost"})
        real, mine = _cost_of(valued, trial.running), _cost_of(valued, ghost.plan)
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
        ghost, before, price = after, trial.at, trial.prices
    return steps


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
    priced = {plan: trial.cost(plan) for plan in [ghost.plan, *rivals(ghost.plan, contending)]}
    costs = {plan: cost.cost for plan, cost in priced.items() if cost is not None}
    if len(costs) < len(priced):
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
    cost = trial.cost(order)
    return None if cost is None or d_init is None else (d_init, cost.visits)


def _cost_of(trial: Trial, plan: Plan) -> float | None:
    cost = trial.cost(plan)
    return None if cost is None else cost.cost


def _trial(row: Mapping[str, Any], time: float) -> Trial:
    plans = {Plan.of(plan): SampledCost(plan[3], plan[4]) for plan in row.get("plans", ())}
    met = row.get("contest")
    contest = None
    if met is not None:
        costs = {Plan.of(plan): SampledCost(plan[3], plan[4]) for plan in met["plans"]}
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
        held=Held(*row["held"]) if "held" in row else None,
        prices=(row["prices"][0], row["prices"][1]) if "prices" in row else None,
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
