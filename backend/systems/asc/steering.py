"""Selection plans as the autopilot sees them: S, a search, and cost(P, S). [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.changes import ChangeDetector
from backend.adaptive.planlog.confidence import order_worst
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from backend.model.bits import n_bits
from backend.model.events import BatchExecuted, MicroArrow, SelectionPlan
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape, executed_cost, sample_costs
from backend.systems.asc.evidence import ALGORITHM
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.matching import Regions
from backend.systems.asc.orderings import propose
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.asc_rule import EARLY, contenders
from storage.vocabulary.looks import LookFacts
from storage.vocabulary.records import Decision

#: Sampled tuples in which conditions settle, and those that a look takes meanwhile: sampling costs
#: no query anything, so that a change is answered at once.
_SETTLING: Final = 512
_FIRST: Final = 64
#: Share of a rearrangement's work that the search for the best order may take.
_EFFORT: Final = 0.5


def log_schema(constructs: ConstructSet) -> LogSchema:
    """S: the selectivity of each construct alone, in schema order."""
    names = (NamedStatistic(f"selectivity {a}", "prob") for a in constructs.attributes)
    return LogSchema(tuple(names), "visits/tuple")


def plan_form(shape: PlanShape) -> LogJson:
    """A plan as the log keeps it."""
    return [shape.kind, list(shape.order), [list(astuple(arrow)) for arrow in shape.arrows]]


def shape_of_form(form: LogJson) -> PlanShape:
    """The plan of ``plan_form``."""
    kind, order, arrows = form
    return PlanShape(kind, tuple(order), tuple(MicroArrow(*arrow) for arrow in arrows))


class SelectionPilot(Steering):
    """The autopilot of some constructs. At first nothing is known: conditions settle."""

    def __init__(self, constructs: ConstructSet, t: int = 0) -> None:
        super().__init__(log_schema(constructs), t)
        self._constructs = constructs
        self._changes, self._version = ChangeDetector(), 0
        self.settle(_SETTLING)

    def forget(self) -> None:
        """As after a kill; so is what was counted of constructs."""
        super().forget()
        self._changes = ChangeDetector()

    def executed(self, event: BatchExecuted, plan: SelectionPlan, model: CostModel) -> None:
        """A batch ran under the plan in force; where the share of the tuples that reach a construct
        is surely another, conditions are."""
        cost = executed_cost(PlanShape.of(plan), model, event.visits, event.reached)
        self.ran(event.n_tuples, cost)
        if plan.version != self._version:
            self._changes, self._version = ChangeDetector(), plan.version
        passed_by = {name: event.n_tuples - n for name, n in event.reached.items()}
        if self._changes.add(dict.fromkeys(passed_by, event.n_tuples), passed_by) is not None:
            self.settle(_SETTLING)

    def look_at(self, plan: SelectionPlan, model: CostModel, knobs: AscKnobs) -> SteeredLook | None:
        """A look, when one is due. plan: in force."""
        shape = PlanShape.of(plan)
        plans = SelectionPlans(self._constructs, shape, model, knobs)
        least = min(_FIRST, knobs.least_samples) if self._settling else knobs.least_samples
        return self.look(plans, plan_form(shape), least, knobs.caution)


def look_record(look: SteeredLook, moment: EvaluationMoment) -> tuple[Decision, PlanShape | None]:
    """A look as a decision, and the plan to run from now on if it is another."""
    facts = LookFacts(
        ALGORITHM,
        moment.seq,
        moment.batch_id,
        moment.plan.version,
        moment.knobs.version,
    )
    best = shape_of_form(look.plan) if look.verdict.is_switch else None
    return look.decision(facts), best


class SelectionPlans:
    """The plans of some constructs under the knobs in force; samples are regions intp[T, n]."""

    def __init__(
        self, constructs: ConstructSet, incumbent: PlanShape, model: CostModel, knobs: AscKnobs
    ) -> None:
        self._constructs, self._incumbent = constructs, incumbent
        self._model, self._knobs = model, knobs
        self.schema = log_schema(constructs)

    def statistics(self, sample: Regions) -> Sequence[float]:
        """float[n]: the share of queries that a tuple's region does not refute, construct by
        construct, on average."""
        constructs = self._constructs
        n_slots = max(1, int(n_bits(constructs.initial)))
        shares = []
        for place, construct in enumerate(constructs.constructs.values()):
            hit, counts = np.unique(sample[:, place], return_counts=True)
            alive = np.bitwise_count(construct.qrb[hit] & constructs.initial).sum(axis=1)
            shares.append(float((alive * counts).sum() / len(sample) / n_slots))
        return shares

    def search(self, sample: Regions) -> Sequence[LogJson]:
        """The plan of the ordering in force, those that may follow whatever it proposes, and the
        best order on the sample, as far as a bounded search finds it."""
        knobs, model, constructs = self._knobs, self._model, self._constructs
        proposal = propose(knobs.ordering, constructs, [sample], model, knobs.rules)
        best = extreme_order(
            constructs,
            sample,
            model.stop_rule,
            model.weights,
            starts=[proposal.shape.order],
            effort=_EFFORT,
        )
        shapes = contenders(self._incumbent, proposal.shape, PlanShape)
        plans = dict.fromkeys([*shapes, PlanShape(EARLY, best.order)])
        return [plan_form(shape) for shape in plans]

    def prices(self, plan: LogJson, sample: Regions) -> NDArray[np.float64]:
        """float64[T], visits."""
        return sample_costs(self._constructs, self._model, shape_of_form(plan), sample)

    def worst(self, old: LogJson, new: LogJson) -> float | None:
        """Visits, of two orders with early drop."""
        before, after = shape_of_form(old), shape_of_form(new)
        if {before.kind, after.kind} != {EARLY}:
            return None
        attributes = self._constructs.attributes
        weights = self._model.weigh(attributes).tolist()
        places = {attribute: place for place, attribute in enumerate(attributes)}
        order, other = ([places[name] for name in shape.order] for shape in (before, after))
        return order_worst(order, other, weights)
