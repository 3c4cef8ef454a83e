"""The regret ledger: what adapting saved or lost, on the sampled tuples.

At every evaluation (each λ) the plan in force, the plan before it, the order the run began with
and the best fixed order in hindsight are followed through the same sampled tuples since the last
entry. The best order is looked for as often as a bounded share of the work allows; between two
searches the last one found stands, or a known one that does better. What the first order would
have cost more is summed over all tuples of the stream; its variance is that of the sample in each
stretch (stretches are independent). Ours, not the papers'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.stats import thinned
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape, route, tuple_costs
from backend.systems.asc.lattice import affordable, extreme_order, work
from backend.systems.asc.matching import Regions, Trace
from backend.systems.asc.walk import Routed, Walked

#: Share of a rearrangement's work one search for the best order in hindsight may take, and the
#: steps of all searches together per tuple of the stream (of about 3 ns: half a microsecond).
_EFFORT: Final = 0.12
_STEPS_PER_TUPLE: Final = 150
#: The sampled tuples it is looked for on at most, and those below which it is not.
_MOST: Final = 256
_FEWEST: Final = 64
#: Words of all tuples' GRB, times constructs, a plan may be followed through.
_WORDS: Final = 1 << 17


class Regret(NamedTuple):
    """The last entry of the ledger. Costs in early-drop visits per tuple on ``n_sample`` tuples.

    running, previous, best, first: plan in force, plan before the last switch, best fixed order in
    hindsight, order the run began with; None = there is none, or not known yet. saved_total:
    visits saved since the run began against its first order (negative: lost); saved_se: its
    standard error. micro_ratio ξ, relative_cost ω: of a hybrid plan, else None.
    """

    running: float | None = None
    previous: float | None = None
    best: float | None = None
    first: float | None = None
    saved_total: float = 0.0
    saved_se: float = 0.0
    n_sample: int = 0
    micro_ratio: float | None = None
    relative_cost: float | None = None

    def samples(self) -> dict[str, tuple[float | None, str]]:
        """The entry as properties of the system, with units; all unknown before the first one, but
        for sums that go on from an earlier ledger."""
        known = self.n_sample > 0 or (self.saved_total, self.saved_se) != (0, 0)
        return {
            "regret_running": (self.running, "visits/tuple"),
            "regret_previous": (self.previous, "visits/tuple"),
            "regret_best": (self.best, "visits/tuple"),
            "regret_first": (self.first, "visits/tuple"),
            "regret_saved_total": (self.saved_total if known else None, "visits"),
            "regret_saved_se": (self.saved_se if known else None, "visits"),
            "micro_ratio": (self.micro_ratio, "prob"),
            "relative_cost": (self.relative_cost, ""),
        }


class Saved(NamedTuple):
    """What a ledger has summed up, for one that goes on from there; see Regret. first: the order
    the run began with."""

    first: PlanShape
    total: float
    se: float


class RegretLedger:
    """Collects the sampled tuples of a stretch under one plan; ``settle`` makes an entry of it.

    ratios: ω of the hybrid plans of the last entry (running, previous, first). total, se: what a
    ledger before this one has summed up.
    """

    def __init__(self, first: PlanShape, total: float = 0.0, se: float = 0.0) -> None:
        self.first = first
        self.previous: PlanShape | None = None
        self.entry = Regret(saved_total=total, saved_se=se)
        self.ratios: dict[PlanShape, float] = {}
        self._variance = se**2
        self._best: tuple[str, ...] | None = None
        self._credit = math.inf
        self._n_tuples = 0
        self._sample: list[Regions] = []

    def add(self, n_tuples: int, regions: Regions) -> None:
        """A batch ran under the plan in force; regions: its sample, intp[T, n]."""
        self._n_tuples += n_tuples
        self._credit += n_tuples * _STEPS_PER_TUPLE
        if len(regions):
            self._sample.append(regions)

    def settle(self, constructs: ConstructSet, running: PlanShape, model: CostModel) -> Regret:
        """Close the stretch; one of fewer than two sampled tuples stays open."""
        if sum(map(len, self._sample)) < 2:
            return self.entry
        limit = _WORDS // max(1, constructs.n_words * len(constructs.attributes))
        regions = thinned(np.concatenate(self._sample), max(_FEWEST, limit))
        plan_costs = _Costs(constructs, regions, model)
        costs = {
            shape: plan_costs.of(shape) for shape in {running, self.first, self.previous} if shape
        }
        self._search(plan_costs, constructs, regions, model)
        self._save(costs[self.first] - costs[running], self._n_tuples)
        self.entry = Regret(
            running=float(costs[running].mean()),
            previous=float(costs[self.previous].mean()) if self.previous else None,
            best=plan_costs.least([shape.order for shape in costs], self._best),
            first=float(costs[self.first].mean()),
            saved_total=self.entry.saved_total,
            saved_se=math.sqrt(self._variance),
            n_sample=len(regions),
            micro_ratio=plan_costs.micro_ratio(running),
            relative_cost=plan_costs.relative_cost(running),
        )
        ratios = {shape: plan_costs.relative_cost(shape) for shape in costs}
        self.ratios = {shape: ratio for shape, ratio in ratios.items() if ratio is not None}
        self._n_tuples, self._sample = 0, []
        return self.entry

    def switched(self, old: PlanShape) -> None:
        """Another plan is in force; call after ``settle``."""
        self.previous = old

    def rebuild(self, first: PlanShape, previous: PlanShape | None) -> None:
        """Queries changed: the plans over other constructs; the open stretch is given up."""
        self.first, self.previous = first, previous
        self.ratios = {}
        self._best, self._credit = None, math.inf
        self._n_tuples, self._sample = 0, []

    def _search(
        self, costs: _Costs, constructs: ConstructSet, regions: Regions, model: CostModel
    ) -> None:
        """Look for the best fixed order, when enough tuples allow and the work is due."""
        rule = model.stop_rule
        sample = thinned(regions, min(_MOST, affordable(constructs, rule, _EFFORT)))
        needed = work(constructs, rule, len(sample), _EFFORT)
        if len(sample) < _FEWEST or self._credit < needed:
            return
        self._credit = 0.0
        starts = [shape.order for shape in costs.known]
        best = extreme_order(constructs, sample, rule, model.weights, starts=starts, effort=_EFFORT)
        self._best = best.order

    def _save(self, saved: NDArray[np.float64], n_tuples: int) -> None:
        """Add a stretch: the sample's mean times all its tuples, without replacement."""
        n = len(saved)
        left_out = max(0.0, 1 - n / n_tuples) if n_tuples else 0.0
        self._variance += n_tuples**2 * float(saved.var(ddof=1)) / n * left_out
        total = self.entry.saved_total + n_tuples * float(saved.mean())
        self.entry = self.entry._replace(saved_total=total)


class _Costs:
    """Plans on one sample, each followed once."""

    def __init__(self, constructs: ConstructSet, regions: Regions, model: CostModel) -> None:
        self._constructs, self._regions, self._model = constructs, regions, model
        self._routes: dict[PlanShape, Trace | Routed] = {}

    def of(self, shape: PlanShape) -> NDArray[np.float64]:
        """float64[T]: the cost of each tuple."""
        return tuple_costs(self._route(shape), shape, self._model)

    @property
    def known(self) -> list[PlanShape]:
        """The plans followed so far."""
        return list(self._routes)

    def least(
        self, orders: Sequence[tuple[str, ...]], best: tuple[str, ...] | None
    ) -> float | None:
        """The least cost of the best order found and the orders known, as fixed orders; None when
        none was found yet."""
        if best is None:
            return None
        shapes = {PlanShape("early drop", order) for order in (*orders, best)}
        return min(float(self.of(shape).mean()) for shape in shapes)

    def micro_ratio(self, shape: PlanShape) -> float | None:
        """ξ of a hybrid plan."""
        route = self._route(shape)
        return route.micro_ratio if isinstance(route, Walked) else None

    def relative_cost(self, shape: PlanShape) -> float | None:
        """ω of a hybrid plan: its cost over that of its macro order."""
        if shape.kind != "hybrid":
            return None
        macro = float(self.of(PlanShape("early drop", shape.order)).mean())
        return float(self.of(shape).mean()) / macro if macro else None

    def _route(self, shape: PlanShape) -> Trace | Routed:
        if shape not in self._routes:
            rule = self._model.stop_rule
            self._routes[shape] = route(self._constructs, self._regions, shape, rule)
        return self._routes[shape]
