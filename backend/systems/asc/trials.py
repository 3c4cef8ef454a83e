"""What other plans would have made of each evaluation of the trigger, for what-if questions.

With every evaluation goes a trial: what was read and compared, what the last orders of the run cost
on its sampled tuples, and the plan a rebuild would give there. From these alone the run can be
decided again with another μ (dashboard/systems/asc/recorded_trials.py, whatif_view.py). Where the
trigger stayed quiet nothing was built: the macro-sequence of the sample stands for the rebuild, or
a known plan about as good. The extra work is bounded by a credit that tuples of the stream earn.
Ours, not the papers'.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.logged import Weighed
from backend.adaptive.stats import thinned
from backend.systems.asc.cost import PlanChoice, PlanShape, branch_free_price
from backend.systems.asc.macro import macro_sequence
from backend.systems.asc.matching import Regions
from backend.systems.asc.orderings import BASELINES
from backend.systems.asc.watch import EvaluationMoment
from backend.systems.asc.weighing import weighed
from storage.vocabulary.kinds import Verdict

#: Orders of the run that are costed with a trial, and the sampled tuples that is done on, at most.
MOST_ORDERS: Final = 16
MOST_TUPLES: Final = 256
#: Words of GRB of all tuples under all orders.
_WORDS: Final = 1 << 17
#: Work in steps of about 3 ns: what a tuple of the stream earns, what one trial may earn.
_STEPS_PER_TUPLE: Final = 400
_MOST_STEPS: Final = 1_000_000
#: What a place of all orders, and a candidate of an order being built, take beside their words.
_PLACE_STEPS: Final = 24_000
_BUILD_STEPS: Final = 16_000
#: A known plan this close (relative) to a new order stands for it.
_CLOSE: Final = 0.005
#: Trials kept until a decision that is stored takes them along.
_MOST_OPEN: Final = 64
_DIGITS: Final = 4

Json: TypeAlias = Any


class Trials:
    """Makes the trials of a run, and keeps them until a stored decision takes them along."""

    def __init__(self) -> None:
        self._known: dict[PlanShape, None] = {}
        self._open: list[Json] = []
        self._is_fresh = True
        self._credit = 0
        self._at = 0
        #: The last evaluation, for the plan log; whoever takes it takes it away.
        self.weighed: Weighed | None = None

    def restart(self) -> None:
        """Queries or the stop rule changed: nothing known holds any longer."""
        self._known.clear()
        self._is_fresh = True

    def taken(self) -> dict[str, Json]:
        """The trials since the last call, oldest first, as a part of a decision's detail; they are
        forgotten here."""
        trials, self._open = self._open, []
        return {"trials": trials} if trials else {}

    def rejected(self, moment: EvaluationMoment, verdict: Verdict) -> None:
        """Note an evaluation at which nothing was built."""
        self.weighed = weighed(moment, verdict)
        if self._skips(moment):
            return
        self._earn(moment)
        row = {**self._head(moment), "verdict": verdict, "candidate": None}
        if len(moment.sample):
            self._remember(moment.shape)
            table = _Table(moment)
            self._fill(table, moment.ratios)
            row |= {"candidate": self._candidate(table), **table.json()}
        self._keep(row)

    def rebuilt(self, moment: EvaluationMoment, proposed: PlanShape, choice: PlanChoice) -> None:
        """Note an evaluation at which ``proposed`` was built and met the plan in force."""
        self.weighed = weighed(moment, "switched" if choice.switches else "kept", choice)
        if self._skips(moment):
            return
        self._earn(moment)
        table = _Table(moment)
        costs = {plan.shape: plan for plan in choice.plans}
        for shape in (moment.shape, proposed):
            self._remember(shape)
        self._fill(table, {**moment.ratios, **_compared(proposed, choice)})
        verdict = "switched" if choice.switches else "kept"
        contest = {
            "plans": [[*_name(s), p.visits, p.cost.value] for s, p in costs.items()],
            "best": _name(choice.best.shape),
            "visits_init": choice.visits_init,
            "d_init": choice.d_init,
        }
        head = {**self._head(moment), "verdict": verdict, "candidate": _name(proposed)}
        self._keep({**head, **table.json(), "contest": contest})

    def _skips(self, moment: EvaluationMoment) -> bool:
        """Whether no trial is made, and the next one has to begin anew."""
        knobs = moment.knobs
        skips = not knobs.what_if or knobs.by_period or knobs.ordering in BASELINES
        self._is_fresh = self._is_fresh or skips
        return skips

    def _earn(self, moment: EvaluationMoment) -> None:
        earned = min(_STEPS_PER_TUPLE * (moment.watch.n_seen - self._at), _MOST_STEPS)
        self._credit = min(self._credit + earned, max(_MOST_STEPS, build_steps(moment)))
        self._at = moment.watch.n_seen

    def _head(self, moment: EvaluationMoment) -> dict[str, Json]:
        knobs, reading, base = moment.knobs, moment.reading, moment.watch.baseline
        visits, dropping = (reading.visits, reading.dropping) if reading else (None, None)
        fresh, self._is_fresh = self._is_fresh, False
        return {
            "seq": moment.seq,
            "batch": moment.batch_id,
            "kind": moment.kind,
            "fresh": fresh,
            "at": moment.watch.n_seen,
            "since_switch": moment.watch.cooldown.waited,
            "running": _name(moment.shape),
            "built_by": moment.built_by,
            "init": list(base) if base else None,
            "visits": visits.now if visits else None,
            "d": dropping.now if dropping else None,
            "n_sample": len(moment.sample),
            "held": [*moment.watch.held(knobs), knobs.tau_tuples],
            "prices": [
                knobs.no_drop_visit_cost,
                round(branch_free_price(moment.constructs.n_words), _DIGITS),
            ],
            "mu": knobs.mu,
            "trigger": knobs.trigger,
            "min_samples": knobs.least_samples,
            "cooldown_tuples": knobs.cooldown_tuples,
            "min_gain": knobs.min_gain,
            "ordering": knobs.ordering,
        }

    def _keep(self, row: Json) -> None:
        self._open.append(row)
        if len(self._open) > _MOST_OPEN:
            del self._open[0]
            self._open[0] = {**self._open[0], "fresh": True}

    def _remember(self, shape: PlanShape) -> None:
        """Make a plan the newest known one."""
        plain = _plain(shape)
        self._known.pop(plain, None)
        self._known[plain] = None
        while len(self._known) > MOST_ORDERS:
            del self._known[next(iter(self._known))]

    def _fill(self, table: _Table, ratios: Mapping[PlanShape, float]) -> None:
        """Cost the known plans, newest first, as far as the credit goes. A hybrid plan whose ω is
        not known counts as its macro order."""
        known = list(reversed(self._known))
        orders = list(dict.fromkeys(shape.order for shape in known))
        for n in range(len(orders), 0, -1):
            if self._pay(table.price(n)):
                table.cost_orders(orders[:n])
                break
        for shape in known:
            table.add(shape, ratios.get(shape, 1.0))

    def _candidate(self, table: _Table) -> Json:
        """The plan a rebuild would give: a new order, or a known plan about as good; [kind, order,
        digest], None without any."""
        moment, best = table.moment, table.best
        if not self._pay(build_steps(moment)):
            return _name(best) if best is not None else None
        new = PlanShape("early drop", macro_sequence(moment.constructs, table.sample).order)
        if not table.has(new):
            self._credit -= table.price(1)
            table.cost_orders([new.order])
        close = [s for s in self._known if table.close(s, new)]
        chosen = close[-1] if close else new
        if best is not None and table.cost(best) < table.cost(new) * (1 - _CLOSE):
            chosen = best
        self._remember(chosen)
        return _name(chosen)

    def _pay(self, steps: int) -> bool:
        if self._credit < steps:
            return False
        self._credit -= steps
        return True


class _Table:
    """Plans with what they cost on the sample of one trial."""

    def __init__(self, moment: EvaluationMoment) -> None:
        self.moment = moment
        most = _WORDS // (MOST_ORDERS * moment.constructs.n_words)
        self.sample = thinned(moment.sample, max(MOST_TUPLES // 4, min(MOST_TUPLES, most)))
        self._rows: dict[PlanShape, tuple[float, float]] = {}
        self._d: float | None = None

    def price(self, n_orders: int) -> int:
        """What costing so many orders takes, in steps."""
        n_words = n_orders * len(self.sample) * self.moment.constructs.n_words
        return len(self.moment.shape.order) * (n_words + _PLACE_STEPS)

    def has(self, shape: PlanShape) -> bool:
        """Whether the plan is costed."""
        return shape in self._rows

    def cost_orders(self, orders: Sequence[tuple[str, ...]]) -> None:
        """Follow the sample through at least one order, with early drop."""
        visits, costs, self._d = _followed(self.moment, self.sample, orders)
        for order, n_visits, cost in zip(orders, visits.tolist(), costs.tolist(), strict=True):
            self._rows[PlanShape("early drop", order)] = n_visits, cost

    def add(self, shape: PlanShape, omega: float) -> None:
        """A plan that costs omega times its order, if that is costed."""
        costed = self._rows.get(PlanShape("early drop", shape.order))
        if costed is not None:
            self._rows[shape] = costed[0] * omega, costed[1] * omega

    def cost(self, shape: PlanShape) -> float:
        """Cost of a plan that has one."""
        return self._rows[shape][1]

    @property
    def best(self) -> PlanShape | None:
        """The cheapest plan, None without any."""
        return min(self._rows, key=self.cost, default=None)

    def close(self, shape: PlanShape, new: PlanShape) -> bool:
        """Whether a plan is costed and about as good as the new order."""
        return shape in self._rows and self.cost(shape) <= self.cost(new) * (1 + _CLOSE)

    def json(self) -> dict[str, Json]:
        """plans: [kind, order, digest, visits, cost] each; d_init; no_drop_cost."""
        order = self.moment.shape.order
        no_drop = float(self.moment.model.weigh(order).sum()) * self.moment.model.no_drop_visit_cost
        return {
            "plans": [
                [*_name(shape), round(visits, _DIGITS), round(cost, _DIGITS)]
                for shape, (visits, cost) in self._rows.items()
            ],
            "n": len(self.sample),
            "d_init": self._d,
            "no_drop_cost": no_drop,
        }


def _followed(
    moment: EvaluationMoment, sample: Regions, orders: Sequence[tuple[str, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """float64[K], float64[K]: visits per tuple and their cost under K orders, all at once; and the
    share of the sample that satisfies no query."""
    constructs, model = moment.constructs, moment.model
    columns = {attribute: i for i, attribute in enumerate(constructs.attributes)}
    used_constructs = list(constructs.constructs.values())
    weights = model.weigh(constructs.attributes)
    grb = np.tile(constructs.initial, (len(orders), len(sample), 1))
    total, costs = np.zeros(len(orders)), np.zeros(len(orders))
    if used_constructs:
        masks = np.stack([c.qrb[sample[:, i]] for i, c in enumerate(used_constructs)])
        usage = np.stack([c.qub for c in used_constructs])
    for attributes in zip(*orders, strict=True):
        at = [columns[attribute] for attribute in attributes]
        tested = grb & usage[at][:, None, :] if model.stop_rule == "resolved" else grb
        visited = np.count_nonzero(tested.any(axis=2), axis=1) / len(sample)
        total += visited
        costs += visited * weights[at]
        grb &= masks[at]
    return total, costs, 1 - float(np.count_nonzero(grb[0].any(axis=1))) / len(sample)


def _plain(shape: PlanShape) -> PlanShape:
    """What is remembered of a plan: of 'no early drop' its order, with early drop."""
    return shape if shape.kind != "no early drop" else PlanShape("early drop", shape.order)


def _compared(shape: PlanShape, choice: PlanChoice) -> dict[PlanShape, float]:
    """ω of a hybrid plan, when it and its macro order were compared."""
    costs = {plan.shape: plan.cost.value for plan in choice.plans}
    macro = costs.get(PlanShape("early drop", shape.order))
    known = shape.kind == "hybrid" and shape in costs and macro
    return {shape: costs[shape] / macro} if known and macro else {}


def _name(shape: PlanShape) -> list[Json]:
    """[kind, order, digest]: what tells a plan from others; the digest is '' without arrows."""
    if not shape.arrows:
        return [shape.kind, list(shape.order), ""]
    arrows = json.dumps([[a.attribute, a.region, a.target] for a in shape.arrows])
    return [shape.kind, list(shape.order), hashlib.sha256(arrows.encode()).hexdigest()[:8]]


def build_steps(moment: EvaluationMoment) -> int:
    """What building a macro-sequence on the sample of a trial takes."""
    n, words = len(moment.constructs.attributes), moment.constructs.n_words
    return n * (n + 1) // 2 * (min(len(moment.sample), MOST_TUPLES) * words + _BUILD_STEPS)
