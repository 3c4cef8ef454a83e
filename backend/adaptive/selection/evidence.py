"""Decision records, with the numbers behind them as JSON-typed data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from backend.adaptive.selection.cost import Mean, PlanChoice, PlanCost
from backend.adaptive.selection.knobs import Settings
from backend.adaptive.selection.macro import MacroSequence, Step
from backend.adaptive.selection.trigger import DROPPING, VISITS, Reading
from backend.model.events import RecordDecision, SelectionPlan

ALGORITHM: Final = "asc"
COST_UNIT: Final = "visits per tuple"
#: Metric of evaluations no trigger called for: lhs = predicted new, rhs = predicted old cost.
PREDICTED: Final = "predicted cost per tuple"
_METRICS: Final = {"visits": VISITS, "dropping ratio": DROPPING, "either": VISITS}

Verdict: TypeAlias = Literal["switched", "kept", "below_threshold", "thin", "cooldown"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one evaluation found. reading: None when no trigger called for it; choice: None when
    no plans were compared."""

    kind: str
    verdict: Verdict
    batch_id: int
    reading: Reading | None
    n_sample: int
    explanation: str
    detail: Mapping[str, Any]
    choice: PlanChoice | None = None


def decision_record(
    seq: int, settings: Settings, old: SelectionPlan, new: SelectionPlan | None, found: Evaluation
) -> RecordDecision:
    """The record of an evaluation: ``change >= μ`` when the trigger was read, else
    ``predicted new < predicted old``. old, new: the plan before, and the one adopted if any."""
    reading, choice = found.reading, found.choice
    challenger = choice.challenger if choice else None
    predicted_new = challenger.cost.value if challenger else None
    predicted_old = choice.incumbent.cost.value if choice else None
    watched = reading.decisive(settings.trigger) if reading else None
    metric = f"change of {watched.metric if watched else _METRICS[settings.trigger]}"
    fixed = {"trigger": settings.trigger, "mu": settings.mu, "cost_unit": COST_UNIT}
    return RecordDecision(
        seq=seq,
        batch_id=found.batch_id,
        algorithm=ALGORITHM,
        kind=found.kind,
        verdict=found.verdict,
        metric=metric if reading else PREDICTED,
        lhs=(watched.lhs if watched else None) if reading else predicted_new,
        relation=">=" if reading else "<",
        rhs=settings.mu if reading else predicted_old,
        n=reading.n_tuples if reading else found.n_sample,
        n_sample=found.n_sample,
        knob_version=settings.version,
        explanation=found.explanation,
        old=_plan_detail(old, old.version),
        new=_plan_detail(challenger, new.version if new else None) if challenger else None,
        predicted_old=predicted_old,
        predicted_new=predicted_new,
        plan_version=new.version if new else None,
        detail={**fixed, **(reading.detail() if reading else {}), **found.detail},
    )


def _plan_detail(plan: SelectionPlan | PlanCost, version: int | None) -> dict[str, Any]:
    """A plan: its version (None: only proposed), kind and order (attribute names)."""
    return {"version": version, "kind": plan.kind, "order": list(plan.order)}


def mean_detail(mean: Mean) -> dict[str, Any]:
    """A mean with its 95 % confidence interval and sample size."""
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "n": mean.n}


def choice_detail(choice: PlanChoice, macro: MacroSequence, source: str) -> dict[str, Any]:
    """Plans compared, the saving with its interval, and how the candidate order was built.

    source: which sampled tuples were used, 'last λ tuples' or 'profile window'.
    """
    return {
        "sample": source,
        "plans": [
            {
                "kind": plan.kind,
                "order": list(plan.order),
                "visits": plan.visits,
                "cost": mean_detail(plan.cost),
                "incumbent": plan is choice.incumbent,
                "chosen": plan is choice.best,
            }
            for plan in choice.plans
        ],
        "saving": mean_detail(choice.saving),
        "d_init": choice.d_init,
        "visits_init": choice.visits_init,
        "cover_prefix": list(macro.cover_prefix),
        "n_comparisons": macro.n_comparisons,
        "steps": [_step_detail(step) for step in macro.steps],
    }


def _step_detail(step: Step) -> dict[str, Any]:
    return {
        "phase": step.phase,
        "chosen": step.chosen,
        "sentence": step.sentence(),
        "n": step.n_sample,
        "candidates": [
            {
                "attribute": c.attribute,
                "score": c.score,
                "individual": c.individual,
                "newly_covered": c.newly_covered,
            }
            for c in step.candidates
        ],
    }
