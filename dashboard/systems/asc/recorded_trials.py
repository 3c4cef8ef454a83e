"""What every evaluation left in the record, read back: plans, costs on its sample, the contest.

A trial stands in the detail of a decision (docs/introspection.md); the ghost run
(dashboard/systems/asc/whatif_view.py) goes from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np

from storage.tables.rows import DecisionEntry
from storage.vocabulary.asc_rule import EARLY, NO_DROP
from storage.vocabulary.records import Json


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

    def has(self, knobs: Mapping[str, Any]) -> bool:
        """Whether it was evaluated with these very values of REPLAYED knobs."""
        return bool(knobs) and all(self._has(name, value) for name, value in knobs.items())

    def _has(self, name: str, value: Any) -> bool:
        if name == "no_drop_visit_cost":
            return self.prices is not None and self.prices[0] == float(value)
        own: bool = getattr(self, name) == getattr(self.under({name: value}), name)
        return own

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
