"""One rearrangement: a plan is proposed, meets the one in force on the sample, the better runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.systems.asc.cost import (
    Contest,
    PlanChoice,
    PlanShape,
    choose_plan,
)
from backend.systems.asc.matching import Regions
from backend.systems.asc.orderings import BASELINES, Ordering, ProposedPlan, propose
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.asc_rule import contenders, must_leave

#: Kinds of evaluation that need no trigger, and how their explanations begin.
UNTRIGGERED: Final = {
    "initial order": "first measured order",
    "run resumed": "first measured order since the run went on",
    "queries changed": "first measured order since the queries changed",
    "stop rule changed": "first measured order since the stop rule changed",
    "visit cost changed": "what a visit costs was changed",
    "ordering changed": "ordering changed",
    "arrow rules changed": "the rules of micro-arrows were changed",
    "policy changed": "first measured order since thresholds decide",
}


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """What was proposed and what was chosen. n_periods: 0 when one sample served all steps."""

    proposal: ProposedPlan
    choice: PlanChoice
    n_periods: int


def rearrange(moment: EvaluationMoment, periods: Sequence[Regions]) -> Rearrangement:
    """Build the plan the ``ordering`` knob names and choose. Raises ValueError for no sample.

    The plan is built from the sample plans are compared on unless there are ``periods``, one a
    step.
    """
    knobs, constructs, model = moment.knobs, moment.constructs, moment.model
    built_from = periods or [moment.sample]
    proposal = propose(knobs.ordering, constructs, built_from, model, knobs.rules)
    meeting = contest(moment.shape, moment.built_by, proposal, knobs.min_gain)
    choice = choose_plan(constructs, moment.sample, meeting, model)
    return Rearrangement(proposal, choice, len(periods))


def contest(
    incumbent: PlanShape, built_by: Ordering, proposal: ProposedPlan, min_gain: float
) -> Contest:
    """Who meets whom.

    'No early drop' always may run, and is not asked to leave by another ordering; a baseline
    runs unopposed. A plan another ordering has built leaves for the one asked for.
    """
    ordering, shape = proposal.ordering, proposal.shape
    is_baseline = ordering in BASELINES
    if shape.kind == "ticket" and incumbent.kind == "ticket":
        shape = incumbent
    plain = PlanShape("early drop", shape.order)
    return Contest(
        incumbent=incumbent,
        contenders=(shape,) if is_baseline else contenders(incumbent, shape, PlanShape),
        references=(plain,) if shape.kind != "early drop" else (),
        min_gain=min_gain,
        must_leave=is_baseline or must_leave(incumbent, built_by, ordering),
    )


def normalised(measured: Mapping[str, float], attributes: Sequence[str]) -> dict[str, float] | None:
    """Measured times as weights of mean 1; None unless every attribute has a time > 0."""
    times = [measured.get(a, 0.0) for a in attributes]
    if not times or not all(time > 0 for time in times):
        return None
    mean = sum(times) / len(times)
    return {a: time / mean for a, time in zip(attributes, times, strict=True)}
