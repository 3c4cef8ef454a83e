"""Decision records, with the numbers behind them as JSON-typed data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from backend.adaptive.evidence import compared_detail, plan_detail
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanChoice, PlanShape
from backend.systems.asc.hybrid import ArrowDecision, HybridSequence
from backend.systems.asc.macro import MacroStep
from backend.systems.asc.rearrange import Rearrangement
from backend.systems.asc.trigger import DROPPING, VISITS
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision

ALGORITHM: Final = "asc"
COST_UNIT: Final = "visits per tuple"
#: With measured visit costs.
WEIGHTED_UNIT: Final = "visits per tuple, weighted"
#: Metric of evaluations no trigger called for: lhs = predicted new, rhs = predicted old cost.
PREDICTED: Final = "predicted cost per tuple"
#: Micro-arrows listed with a decision, those of most support; the matrix ``arrows`` has all.
_MOST_ARROWS: Final = 40
_METRICS: Final = {"visits": VISITS, "dropping ratio": DROPPING, "either": VISITS}


def decision_record(
    moment: EvaluationMoment,
    verdict: Verdict,
    explanation: str,
    detail: Mapping[str, Any],
    choice: PlanChoice | None = None,
) -> Decision:
    """The record of an evaluation: ``change >= μ`` when the trigger was read, else
    ``predicted new < predicted old``, with a min_gain ``<=`` of what that leaves of the old one.
    choice: None when no plans were compared."""
    reading, watched, knobs = moment.reading, moment.watched, moment.knobs
    challenger = (choice.withheld or choice.challenger) if choice else None
    predicted_new = challenger.cost.value if challenger else None
    predicted_old = choice.incumbent.cost.value if choice else None
    gain = choice.min_gain if choice else 0.0
    version = moment.plan.version + 1 if verdict == "switched" else None
    metric = f"change of {watched.metric if watched else _METRICS[knobs.trigger]}"
    fixed = {"trigger": knobs.trigger, "mu": knobs.mu, "cost_unit": COST_UNIT}
    return Decision(
        seq=moment.seq,
        batch=moment.batch_id,
        algorithm=ALGORITHM,
        kind=moment.kind,
        verdict=verdict,
        metric=metric if reading else PREDICTED,
        lhs=(watched.lhs if watched else None) if reading else predicted_new,
        relation=">=" if reading else "<=" if gain else "<",
        rhs=knobs.mu if reading or predicted_old is None else (1 - gain) * predicted_old,
        n=reading.n_tuples if reading else len(moment.sample),
        n_sample=len(moment.sample),
        knob_version=knobs.version,
        explanation=explanation,
        old=_plan_of(moment.shape, moment.plan.version),
        new=_plan_of(challenger.shape, version) if challenger else None,
        predicted_old=predicted_old,
        predicted_new=predicted_new,
        plan_version=version,
        detail={**fixed, **(reading.detail() if reading else {}), **detail},
    )


def _plan_of(shape: PlanShape, version: int | None) -> dict[str, Any]:
    n_arrows = {"n_arrows": len(shape.arrows)} if shape.kind == "hybrid" else {}
    return plan_detail(version, shape.kind, shape.order, **n_arrows)


def choice_detail(moment: EvaluationMoment, rearrangement: Rearrangement) -> dict[str, Any]:
    """Plans compared, the saving with its interval, and how the candidate was built."""
    choice, proposal, model = rearrangement.choice, rearrangement.proposal, moment.model
    detail: dict[str, Any] = {
        "sample": moment.source,
        "ordering": proposal.ordering,
        "plans": _plans_detail(choice),
        "saving": choice.saving.detail(),
        "min_gain": choice.min_gain,
        "no_drop_visit_cost": model.no_drop_visit_cost,
        "d_init": choice.d_init,
        "visits_init": choice.visits_init,
        "cover_prefix": list(proposal.cover_prefix),
        "n_comparisons": proposal.built.n_comparisons,
        "steps": [_step_detail(step) for step in proposal.steps],
    }
    if choice.asked_for:
        detail["asked_for"] = True
    if rearrangement.n_periods:
        detail["n_periods"] = rearrangement.n_periods
    if model.weights:
        detail |= {"cost_unit": WEIGHTED_UNIT, "weights": dict(model.weights)}
    if proposal.search:
        search = proposal.search
        detail["search"] = {"exact": search.exact, "cost": search.cost, "n": search.n}
    if proposal.hybrid:
        detail["arrows"] = _arrows_detail(proposal.hybrid, moment.constructs)
    return detail


def cooldown_detail(moment: EvaluationMoment, verdict: Verdict) -> dict[str, Any]:
    """What an evaluation waits for that the cool-down held back; nothing of others."""
    if verdict != "cooldown":
        return {}
    return {
        "cooldown_tuples": moment.knobs.cooldown_tuples,
        "since_switch_tuples": moment.watch.cooldown.waited,
    }


def _plans_detail(choice: PlanChoice) -> list[dict[str, Any]]:
    return [
        compared_detail(
            plan.kind,
            plan.order,
            plan.visits,
            plan.cost,
            incumbent=plan is choice.incumbent,
            chosen=plan is choice.best,
        )
        for plan in choice.plans
    ]


def _arrows_detail(hybrid: HybridSequence, constructs: ConstructSet) -> dict[str, Any]:
    """Regions decided and left undecided, and the micro-arrows of most support."""
    established = [d for d in hybrid.decisions if d.target is not None]
    shown = sorted(established, key=lambda d: -d.support)[:_MOST_ARROWS]
    return {
        "n_established": len(established),
        "n_decided": len(hybrid.decisions),
        "n_thin": hybrid.n_thin,
        "shown": [_arrow_detail(d, constructs) for d in shown],
    }


def _arrow_detail(decision: ArrowDecision, constructs: ConstructSet) -> dict[str, Any]:
    labels = constructs.constructs[decision.attribute].region_labels()
    return {
        "attribute": decision.attribute,
        "row": decision.region,
        "region": labels[decision.region],
        "target": decision.target,
        "level": decision.level,
        "metric": decision.metric,
        "support": decision.support,
        "score": decision.score,
        "macro_score": decision.macro_score,
        "gain": decision.gain,
    }


def _step_detail(step: MacroStep) -> dict[str, Any]:
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
