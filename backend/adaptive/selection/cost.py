"""What a plan costs, on a sample, and which plan is cheapest. Unit: early-drop visits per tuple.

[L12] counts visited constructs; beyond the papers, 'no early drop' (all constructs, branch-free)
is a plan too: n visits, each at ``no_drop_visit_cost`` of an early-drop visit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.selection.constructs import ConstructSet
from backend.adaptive.selection.matching import Regions, StopRule, trace
from backend.model.events import PlanKind

#: Normal quantile of the 95 % confidence intervals.
_Z95: Final = 1.959964
#: Means this close (relative) are a tie: rounding must not change a plan.
_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Mean:
    """A sample mean with its 95 % confidence interval (normal; low = high = mean for n = 1)."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class CostModel:
    """What turns visits into cost: the stop rule of early drop, and the price of a branch-free
    visit relative to an early-drop one (>= 0)."""

    stop_rule: StopRule
    no_drop_visit_cost: float


@dataclass(frozen=True, slots=True)
class PlanCost:
    """A plan and what it costs on the sample.

    visits: constructs visited per tuple. cost: early-drop visits per tuple, with its interval.
    """

    kind: PlanKind
    order: tuple[str, ...]
    visits: float
    cost: Mean


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """Plans compared on one sample: plans[0] is the incumbent, best the cheapest (the incumbent
    on a tie). saving: cost of the incumbent minus cost of the best, tuple by tuple.

    visits_init, d_init: visits per tuple and tuple dropping ratio of the best plan's order under
    early drop on the same sample: the baselines of eq. 5 (erratum 18).
    """

    plans: tuple[PlanCost, ...]
    best: PlanCost
    saving: Mean
    visits_init: float
    d_init: float

    @property
    def incumbent(self) -> PlanCost:
        """The plan in force."""
        return self.plans[0]

    @property
    def switches(self) -> bool:
        """Whether another plan is cheaper than the incumbent."""
        return self.best is not self.incumbent

    @property
    def challenger(self) -> PlanCost | None:
        """The cheapest plan other than the incumbent; None when there is no other."""
        return min(self.plans[1:], key=lambda plan: plan.cost.value, default=None)


def mean_of(values: NDArray[np.float64] | NDArray[np.intp]) -> Mean:
    """Mean and 95 % confidence interval of at least one value."""
    mean = float(values.mean())
    half = _Z95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(mean, mean - half, mean + half, len(values))


def expected_visits(
    constructs: ConstructSet, regions: Regions, order: Sequence[str], stop_rule: StopRule
) -> Mean:
    """Visits per tuple of an order with early drop on a sample of at least one tuple."""
    return mean_of(trace(constructs, regions, order, stop_rule).visits)


def choose_plan(
    constructs: ConstructSet,
    regions: Regions,
    incumbent: tuple[PlanKind, tuple[str, ...]],
    candidate: tuple[str, ...],
    model: CostModel,
) -> PlanChoice:
    """Cost the incumbent, early drop in the candidate's and in the incumbent's order, and no
    early drop, on one sample; choose the cheapest.

    regions: intp[T, n]. Raises ValueError for an empty sample: nothing is installed from one.
    """
    if not len(regions):
        raise ValueError("no plan can be chosen from an empty sample")
    options: list[tuple[PlanKind, tuple[str, ...]]] = [incumbent, ("early drop", candidate)]
    options.append(("early drop", incumbent[1]))
    if incumbent[0] == "early drop":
        options.append(("no early drop", candidate))
    distinct = list(dict.fromkeys(options))
    traces = {order: trace(constructs, regions, order, model.stop_rule) for _, order in distinct}
    costs = {
        (kind, order): _costs(kind, traces[order].visits, len(order), model)
        for kind, order in distinct
    }
    best = min(distinct, key=lambda option: float(costs[option].mean()))
    if math.isclose(costs[best].mean(), costs[incumbent].mean(), rel_tol=_TIE):
        best = incumbent
    plans = {
        option: PlanCost(*option, _visits(option, traces[option[1]].visits), mean_of(cost))
        for option, cost in costs.items()
    }
    return PlanChoice(
        plans=tuple(plans.values()),
        best=plans[best],
        saving=mean_of(costs[incumbent] - costs[best]),
        visits_init=float(traces[best[1]].visits.mean()),
        d_init=traces[best[1]].n_unmatched / len(regions),
    )


def _costs(
    kind: PlanKind, visits: NDArray[np.intp], n_attributes: int, model: CostModel
) -> NDArray[np.float64]:
    """float[T]: the cost of each tuple."""
    if kind == "early drop":
        return visits.astype(np.float64)
    return np.full(len(visits), n_attributes * model.no_drop_visit_cost)


def _visits(option: tuple[PlanKind, tuple[str, ...]], visits: NDArray[np.intp]) -> float:
    kind, order = option
    return float(visits.mean()) if kind == "early drop" else float(len(order))
