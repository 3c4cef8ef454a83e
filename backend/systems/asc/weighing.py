"""What the plan log has of evaluations that thresholds decide on. [B05] §7"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from backend.adaptive.planlog.logged import Weighed
from backend.adaptive.stats import thinned
from backend.systems.asc.cost import PlanChoice, PlanShape
from backend.systems.asc.evidence import decision_record
from backend.systems.asc.steering import SelectionPlans, plan_form
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Json

#: What thresholds decide.
SUBJECT: Final = "plan by thresholds"
#: Sampled tuples that statistics and the price of the plan in force are taken on, at most.
_MOST: Final = 256


def weighed(
    moment: EvaluationMoment, verdict: Verdict, choice: PlanChoice | None = None
) -> Weighed | None:
    """An evaluation: S, and the price of the plan in force beside that of the plan it was compared
    with, if it was; None without a sample."""
    sample = thinned(moment.sample, _MOST)
    if not len(sample):
        return None
    plans = SelectionPlans(moment.constructs, moment.shape, moment.model, moment.knobs)
    names = zip(plans.schema.statistics, plans.statistics(sample), strict=True)
    decision = decision_record(moment, verdict, "", {}, choice)
    challenger = (choice.withheld or choice.challenger) if choice else None
    cost = decision.predicted_old
    if cost is None:
        cost = float(plans.prices(plan_form(moment.shape), sample).mean())
    new = _plan(challenger.shape) if challenger else None
    decision = replace(decision, old=_plan(moment.shape), new=new, predicted_old=cost)
    statistics = {each.name: (value, each.unit) for each, value in names}
    return Weighed(decision, SUBJECT, plans.schema.cost_unit, statistics)


def _plan(shape: PlanShape) -> Json:
    kind, order, moves = plan_form(shape)
    return {"kind": kind, "order": order, "moves": moves}
