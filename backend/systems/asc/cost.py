"""What a plan costs, on a sample, and which plan is cheapest. Unit: early-drop visits per tuple.

[L12] counts visited constructs, each as 1. Beyond the papers a visit may weigh what it was
measured to take (weights of mean 1, so that the unit stays), and 'no early drop' (all constructs,
branch-free) is a plan too: n visits, each at ``no_drop_visit_cost`` of an early-drop visit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.stats import Mean, mean_of
from backend.model.events import MicroArrow, PlanKind, SelectionPlan
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.matching import Regions, StopRule, Trace, trace
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import Routed, walk_plan
from storage.vocabulary.asc_rule import best_plan, rivals

#: Words of a bitmap -> price of a branch-free visit. Where an order with early drop takes as long
#: as no early drop takes, visits per tuple over the number of constructs: measured in the kernels
#: (docs/performance.md, The chosen plan).
_PRICES: Final = {1: 0.12, 2: 0.19, 8: 0.26, 20: 0.32, 40: 0.4, 80: 0.57, 800: 0.75}
#: The lottery a ticket plan is costed with.
_COSTING_SEED: Final = 1


class PlanShape(NamedTuple):
    """A plan without its version: kind, order, micro-arrows."""

    kind: PlanKind
    order: tuple[str, ...]
    arrows: tuple[MicroArrow, ...] = ()

    @classmethod
    def of(cls, plan: SelectionPlan) -> PlanShape:
        """The shape of a plan."""
        return cls(plan.kind, plan.order, plan.arrows)

    def versioned(self, version: int) -> SelectionPlan:
        """The plan of this shape."""
        return SelectionPlan(version, self.kind, self.order, self.arrows)


@dataclass(frozen=True, slots=True)
class CostModel:
    """What turns visits into cost: the stop rule of early drop, the price of a branch-free visit
    relative to an early-drop one (>= 0), and what a visit of each construct weighs (None: 1)."""

    stop_rule: StopRule
    no_drop_visit_cost: float
    weights: Mapping[str, float] | None = None

    def weigh(self, order: Sequence[str]) -> NDArray[np.float64]:
        """float64[n]: weight of a visit of each construct of the order."""
        return np.array([self.weights[a] if self.weights else 1.0 for a in order])


@dataclass(frozen=True, slots=True)
class PlanCost:
    """A plan and what it costs on the sample.

    visits: constructs visited per tuple. cost: early-drop visits per tuple, weighted when the
    model has weights, with its interval.
    """

    shape: PlanShape
    visits: float
    cost: Mean

    @property
    def kind(self) -> PlanKind:
        """The plan's kind."""
        return self.shape.kind

    @property
    def order(self) -> tuple[str, ...]:
        """The plan's order."""
        return self.shape.order


@dataclass(frozen=True, slots=True)
class Contest:
    """Which plans meet: the one in force, those that may follow it, and others for comparison.

    min_gain: share of the incumbent's cost a successor must save, >= 0. must_leave: the incumbent
    runs no longer, whatever it costs.
    """

    incumbent: PlanShape
    contenders: tuple[PlanShape, ...]
    references: tuple[PlanShape, ...] = ()
    min_gain: float = 0.0
    must_leave: bool = False


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """Plans compared on one sample: plans[0] is the incumbent, best the one to run.

    best: the cheapest contender, or the incumbent on a tie or when less than min_gain would be
    saved (withheld: the contender that was cheaper). saving: cost of the incumbent minus cost of
    the best, tuple by tuple. visits_init, d_init: visits per tuple and tuple dropping ratio of the
    best plan (of its order, under early drop, when it drops nothing early) on the same sample: the
    baselines of eq. 5 (erratum 18). asked_for: the incumbent had to leave.
    """

    plans: tuple[PlanCost, ...]
    n_contenders: int
    best: PlanCost
    saving: Mean
    visits_init: float
    d_init: float
    withheld: PlanCost | None = None
    min_gain: float = 0.0
    asked_for: bool = False

    @property
    def incumbent(self) -> PlanCost:
        """The plan in force."""
        return self.plans[0]

    @property
    def switches(self) -> bool:
        """Whether another plan is to run."""
        return self.best is not self.incumbent

    @property
    def challenger(self) -> PlanCost | None:
        """What the incumbent is measured against: the best plan if it is another, else the
        cheapest other contender; None when there is no other."""
        if self.switches:
            return self.best
        others = self.plans[1 : 1 + self.n_contenders]
        return min(others, key=lambda plan: plan.cost.value, default=None)


def branch_free_price(n_words: int) -> float:
    """What a branch-free visit costs relative to one with early drop, by the width of a bitmap:
    what was measured, and in between along the logarithm of the width."""
    return float(np.interp(math.log(n_words), np.log(list(_PRICES)), list(_PRICES.values())))


def route(
    constructs: ConstructSet, regions: Regions, shape: PlanShape, stop_rule: StopRule
) -> Trace | Routed:
    """What T tuples, regions intp[T, n], do under a plan; under early drop in its order when it
    is 'no early drop'. A ticket plan is drawn with a fixed seed."""
    if shape.kind == "hybrid":
        return walk_plan(constructs, regions, shape.order, shape.arrows, stop_rule)
    if shape.kind == "ticket":
        lottery = Lottery(_COSTING_SEED)
        return ticket_trace(constructs, regions, shape.order, stop_rule, lottery)
    return trace(constructs, regions, shape.order, stop_rule)


def tuple_costs(trace: Trace | Routed, shape: PlanShape, model: CostModel) -> NDArray[np.float64]:
    """float64[T]: the cost of each tuple on its route."""
    weights = model.weigh(shape.order)
    if shape.kind == "no early drop":
        return np.full(len(trace.grb), float(weights.sum()) * model.no_drop_visit_cost)
    costs: NDArray[np.float64] = trace.visited @ weights
    return costs


def expected_visits(
    constructs: ConstructSet, regions: Regions, order: Sequence[str], stop_rule: StopRule
) -> Mean:
    """Visits per tuple of an order with early drop on a sample of at least one tuple."""
    return mean_of(trace(constructs, regions, order, stop_rule).visits)


def choose_plan(
    constructs: ConstructSet, regions: Regions, contest: Contest, model: CostModel
) -> PlanChoice:
    """Cost the plans of the contest on one sample, regions intp[T, n], and choose.

    Raises ValueError for an empty sample: nothing is installed from one.
    """
    if not len(regions):
        raise ValueError("no plan can be chosen from an empty sample")
    incumbent, against = contest.incumbent, rivals(contest.incumbent, contest.contenders)
    shapes = list(dict.fromkeys([incumbent, *against, *contest.references]))
    routes = {s: route(constructs, regions, s, model.stop_rule) for s in shapes}
    costs = {s: tuple_costs(routes[s], s, model) for s in shapes}
    plans = {s: _plan_cost(s, routes[s], costs[s]) for s in shapes}
    values = {s: plan.cost.value for s, plan in plans.items()}
    best, withheld = best_plan(
        incumbent, contest.contenders, values, contest.must_leave, contest.min_gain
    )
    return PlanChoice(
        plans=tuple(plans.values()),
        n_contenders=len(against),
        best=plans[best],
        saving=mean_of(costs[incumbent] - costs[best]),
        visits_init=float(routes[best].visits.mean()),
        d_init=routes[best].n_unmatched / len(regions),
        withheld=plans[withheld] if withheld else None,
        min_gain=contest.min_gain,
        asked_for=contest.must_leave and best != incumbent,
    )


def _plan_cost(shape: PlanShape, trace: Trace | Routed, costs: NDArray[np.float64]) -> PlanCost:
    all_of_them = shape.kind == "no early drop"
    visits = float(len(shape.order)) if all_of_them else float(trace.visits.mean())
    return PlanCost(shape, visits, mean_of(costs))


def executed_cost(
    shape: PlanShape, model: CostModel, visits: int, reached: Mapping[str, int]
) -> float:
    """What a batch cost by the executor's exact counts; weighted when visits per construct are
    known."""
    spent = float(visits)
    if model.weights and all(a in reached for a in shape.order):
        spent = sum(model.weights[a] * reached[a] for a in shape.order)
    return spent * (model.no_drop_visit_cost if shape.kind == "no early drop" else 1.0)


def sample_costs(
    constructs: ConstructSet, model: CostModel, shape: PlanShape, regions: Regions
) -> NDArray[np.float64]:
    """float64[T]: the cost of each sampled tuple under a plan."""
    return tuple_costs(route(constructs, regions, shape, model.stop_rule), shape, model)
