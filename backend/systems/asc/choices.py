"""What other values of knobs would have planned at an evaluation, for what-if questions.

At each evaluation that is stored one of them, in turn, builds a plan from a part of the sample, and
it and the plan in force are costed there. The extra work is bounded by a credit that tuples of the
stream earn, as for trials. Ours, not the papers'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, get_args

from backend.adaptive.evidence import choices_detail
from backend.adaptive.stats import thinned
from backend.systems.asc.cost import CostModel, PlanShape, sample_costs
from backend.systems.asc.hybrid import Compare
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.matching import StopRule
from backend.systems.asc.orderings import BASELINES, Ordering, propose
from backend.systems.asc.trials import MOST_TUPLES, build_steps
from backend.systems.asc.watch import EvaluationMoment

#: Those that are tried; what the best fixed order costs is in the regret ledger.
TRIED: Final[tuple[Ordering, ...]] = ("macro", "hybrid", "macs", "sas", "macssas")
#: What deciding on micro-arrows takes beside building an order.
_HYBRID_TIMES: Final = 8
#: Work in steps of about 3 ns: what a tuple of the stream earns, what one evaluation may earn.
_STEPS_PER_TUPLE: Final = 400
_MOST_STEPS: Final = 1_000_000


def tried(knobs: AscKnobs, has_weights: bool) -> list[tuple[str, str]]:
    """(knob, value) of what is planned with beside the knobs in force. has_weights: visits of
    constructs were measured."""
    knob_values: list[tuple[str, tuple[str, ...]]] = [
        ("ordering", TRIED),
        ("stop_rule", get_args(StopRule)),
        ("visit_costs", ("equal", "measured") if has_weights else ()),
        ("hybrid_compare", get_args(Compare) if knobs.ordering == "hybrid" else ()),
    ]
    return [
        (name, value)
        for name, values in knob_values
        for value in values
        if value != getattr(knobs, name)
    ]


class OtherValues:
    """Tries one at a time."""

    def __init__(self) -> None:
        self._turn = self._credit = self._at = 0

    def at(self, moment: EvaluationMoment) -> dict[str, Any]:
        """A part of a decision's detail; nothing without a sample, or with no credit left."""
        knobs, seen = moment.knobs, moment.watch.n_seen
        others = tried(knobs, moment.weights is not None)
        name, value = others[self._turn % len(others)]
        changed: dict[str, Any] = {name: value}
        asked = replace(knobs, **changed)
        price = build_steps(moment) * (_HYBRID_TIMES if asked.ordering == "hybrid" else 2)
        earned = min(_STEPS_PER_TUPLE * (seen - self._at), _MOST_STEPS)
        self._credit, self._at = min(self._credit + earned, max(_MOST_STEPS, price)), seen
        skips = not knobs.what_if or knobs.by_period or knobs.ordering in BASELINES
        if skips or len(moment.sample) < knobs.least_samples or price > self._credit:
            return {}
        self._turn, self._credit = self._turn + 1, self._credit - price
        sample = thinned(moment.sample, MOST_TUPLES)
        plan = propose(
            asked.ordering, moment.constructs, [sample], _model(asked, moment), asked.rules
        ).shape

        def cost(shape: PlanShape, by: AscKnobs) -> float:
            # what visits weigh is measured, whichever of both plans by it
            weighed = replace(by, visit_costs="measured") if name == "visit_costs" else by
            model = _model(weighed, moment)
            return float(sample_costs(moment.constructs, model, shape, sample).mean())

        return choices_detail(name, cost(moment.shape, knobs), {value: cost(plan, asked)})


def _model(knobs: AscKnobs, moment: EvaluationMoment) -> CostModel:
    return knobs.cost_model(moment.weights, moment.constructs.n_words)
