"""Sentences people understand, with the numbers in them, for every decision."""

from __future__ import annotations

import math

from backend.adaptive.words import count, number, numbers, percent
from backend.systems.asc.cost import PlanChoice, PlanCost, PlanShape
from backend.systems.asc.orderings import NAMES
from backend.systems.asc.rearrange import UNTRIGGERED, Rearrangement
from backend.systems.asc.trigger import VISITS, Watched
from backend.systems.asc.watch import EvaluationMoment
from storage.vocabulary.looks import form_words


def plan_text(shape: PlanShape) -> str:
    """A plan in words: its order, its micro-arrows, or that it drops nothing early."""
    return form_words([shape.kind, shape.order, shape.arrows])


def change_sentence(moment: EvaluationMoment, watched: Watched) -> str:
    """``visits per tuple rose from 2.31 to 3.10 (+34 % ≥ μ = 10 %) over 5 000 tuples``."""
    mu, n_tuples = moment.knobs.mu, moment.reading.n_tuples if moment.reading else 0
    now, init = watched.now, watched.init
    verb = "rose" if now > init else "fell" if now < init else "stayed"
    moved = f"from {number(init)} to {number(now)}" if now != init else f"at {number(now)}"
    sign = "≥" if watched.change >= mu else "<"
    if math.isinf(watched.change):
        size = "from zero, more than any μ"
    else:
        shown = math.copysign(watched.change, now - init)
        size = f"{percent(shown, signed=True)} {sign} μ = {100 * mu:g} %"
    sentence = f"{watched.metric} {verb} {moved} ({size}) over {count(n_tuples)} tuples"
    if moment.plan.kind != "no early drop" or watched.metric != VISITS:
        return sentence
    return f"{sentence}, as its order would need with early drop"


def rearrangement_sentence(moment: EvaluationMoment, rearrangement: Rearrangement) -> str:
    """Why plans were compared, and which won."""
    knobs, kind, watched = moment.knobs, moment.kind, moment.watched
    sentence = choice_sentence(rearrangement.choice, moment.model.no_drop_visit_cost)
    if rearrangement.n_periods:
        tau = count(knobs.tau_tuples)
        periods = f"{rearrangement.n_periods} monitoring periods of τ = {tau} sampled tuples"
        sentence = f"after {periods}, {sentence}"
    if watched is not None:
        return f"{change_sentence(moment, watched)}; {sentence}"
    if kind != "ordering changed" or moment.built_by == knobs.ordering:
        return f"{UNTRIGGERED[kind]}: {sentence}"
    change = f"from {NAMES[moment.built_by]} to {NAMES[knobs.ordering]}"
    return f"{UNTRIGGERED[kind]} {change}: {sentence}"


def choice_sentence(choice: PlanChoice, no_drop_visit_cost: float) -> str:
    """Which plan won on the sample, and against what."""
    best, old, other = choice.best, choice.incumbent, choice.withheld or choice.challenger
    n_sample = f"on {count(best.cost.n)} sampled tuples"
    if other is None:
        return f"plan kept: there is no other, {n_sample}"
    old_number, other_number = numbers(old.cost.value, other.cost.value)
    old_price = old_number + _visits_of(old, no_drop_visit_cost)
    other_price = other_number + _visits_of(other, no_drop_visit_cost)
    if choice.withheld is not None:
        return _withheld_sentence(choice, choice.withheld, other_price, old_price, n_sample)
    if not choice.switches:
        if old_price == other_price:
            same = f"{plan_text(other.shape)} costs the same"
            return f"{_kept(old)}: {same}, {old_price}, {n_sample}"
        against = f"{other_price} for {plan_text(other.shape)}"
        return f"{_kept(old)}, predicted cheapest at {old_price} against {against} {n_sample}"
    same_kind = best.kind == old.kind == "early drop"
    new = f"new {'order' if same_kind else 'plan:'} {plan_text(best.shape)}"
    sentence = f"{new} predicted {other_price} against {old_price} for the old {n_sample}"
    return f"{sentence}, as asked for" if choice.asked_for else sentence


def _withheld_sentence(
    choice: PlanChoice, withheld: PlanCost, price: str, old_price: str, n_sample: str
) -> str:
    """``order kept: a → b predicted 2.29 against 2.30, 0.4 % less; min_gain asks for 1 % …``."""
    old = choice.incumbent
    saved = 1 - withheld.cost.value / old.cost.value
    return (
        f"{_kept(old)}: {plan_text(withheld.shape)} predicted {price} against {old_price}, only "
        f"{percent(saved)} less where min_gain = {100 * choice.min_gain:g} % is asked for, "
        f"{n_sample}"
    )


def _kept(plan: PlanCost) -> str:
    words = {"early drop": "order", "hybrid": "hybrid plan", "ticket": "ticket routing"}
    return f"{words.get(plan.kind, plan.kind)} kept"


def _visits_of(plan: PlanCost, no_drop_visit_cost: float) -> str:
    """Nothing, or for no early drop `` (12 branch-free visits at 0.3 each)``."""
    if plan.kind != "no early drop":
        return ""
    return f" ({len(plan.order)} branch-free visits at {no_drop_visit_cost:g} each)"
