"""A look of the autopilot as a decision on record: its inequality, in words and in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backend.adaptive.headroom import recorded
from backend.adaptive.planlog.records import LogJson
from backend.adaptive.planlog.steering import SteeredLook
from backend.adaptive.words import count, significant
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.planlog import LOOK, RECORD, SURE_SAVING
from storage.vocabulary.records import Decision


@dataclass(frozen=True, slots=True)
class LookFacts:
    """What a core adds to a look. seq, batch: of the decision; version: of the plan in force;
    plan_facts: version and plan -> what the store says of it; plan_words: in an explanation."""

    algorithm: str
    seq: int
    batch: int
    version: int
    knob_version: int
    plan_facts: Callable[[int | None, LogJson], dict[str, Any]]
    plan_words: Callable[[LogJson], str]


def look_decision(look: SteeredLook, facts: LookFacts) -> Decision:
    """``sure saving × dwell > switching + deciding``, and whether the plan changed."""
    verdict, offer, unit = look.verdict, look.offer, look.cost_unit
    switched = verdict.is_switch
    version = facts.version + 1 if switched else None
    cost = look.look.cost
    return Decision(
        seq=facts.seq,
        batch=facts.batch,
        algorithm=facts.algorithm,
        kind=LOOK,
        verdict=_verdict(look),
        metric=SURE_SAVING,
        lhs=0.0 if offer is None else max(0.0, verdict.worth),
        relation=">",
        rhs=verdict.price,
        n=look.ran[0],
        n_sample=look.n_sample,
        knob_version=facts.knob_version,
        explanation=look_sentence(look, facts.plan_words),
        old=facts.plan_facts(facts.version, look.present),
        new=None if look.rival is None else facts.plan_facts(version, look.rival),
        predicted_old=cost,
        predicted_new=None if offer is None else offer.cost,
        plan_version=version,
        detail={
            "cost_unit": unit.replace("/", " per "),
            RECORD: look.record,
            **recorded(_headroom(look)),
        },
    )


def look_sentence(look: SteeredLook, plan_words: Callable[[LogJson], str]) -> str:
    """Why the plan changed or was kept, with the four terms."""
    verdict, offer = look.verdict, look.offer
    if offer is None:
        search = f"a search on {_sample(look.n_sample)} found none"
        return f"plan kept: no other is known here, and {search}"
    plan = plan_words(look.rival)
    unit = _spoken(look.cost_unit).partition("/")[0]
    sample = f"on {_sample(offer.saving.n)}"
    price = (
        f"{_sum(verdict.price)} {unit} that switching ({_sum(verdict.switching)}) and the look "
        f"({_sum(verdict.deciding)}) cost"
    )
    if math.isinf(verdict.saving) or verdict.saving <= 0:
        saved = f"{significant(abs(offer.saving.mean))} {unit} per tuple"
        if offer.saving.mean <= 0:
            return f"plan kept: {plan} costs {saved} more {sample}; needed: {price}"
        return f"plan kept: {plan} saves {saved} {sample}, but nothing surely; needed: {price}"
    is_settling = look.look.is_settling
    surely = "likely" if is_settling else "surely"
    terms = (
        f"{surely} saves {significant(verdict.saving)} {unit} per tuple "
        f"({significant(offer.saving.mean)} {sample}), for {count(round(verdict.dwell))} tuples to "
        f"come: {_sum(verdict.worth)}"
    )
    if verdict.is_switch:
        known = "known plan taken" if look.is_known else "new plan"
        known += ", as conditions are new: " if is_settling else ": "
        return f"{known}{plan} {terms} > {price}"
    if verdict.is_transient:
        return f"plan kept: {plan} {terms}, but conditions like these have passed before it paid"
    if verdict.worth > verdict.price:
        return f"plan kept: {plan} {terms} > {price}, but not on the newest tuples"
    return f"plan kept: {plan} {terms} ≤ {price}"


def _verdict(look: SteeredLook) -> Verdict:
    if look.verdict.is_switch:
        return "switched"
    is_short = look.offer is not None and look.verdict.worth <= look.verdict.price
    return "below_threshold" if is_short else "kept"


def _headroom(look: SteeredLook) -> list[Headroom]:
    """What the nearest plan, which the decision names, falls short of: the saving that would have
    to be sure; and when that is looked at again."""
    verdict = look.verdict
    due = [] if look.due is None else [_next_look(look.due)]
    if look.offer is None or verdict.is_switch or not verdict.dwell:
        return due
    needed, sure = verdict.price / verdict.dwell, max(0.0, verdict.saving)
    words = (
        f"the nearest other plan has to save {significant(needed)} {_spoken(look.cost_unit)} "
        f"surely, so far {significant(sure)} ({significant(look.offer.saving.mean)} on the sample)"
    )
    near = min(1.0, sure / needed) if needed else 1.0
    return [Headroom(words, max(0.0, needed - sure), look.cost_unit, near), *due]


def _next_look(due: int) -> Headroom:
    words = (
        f"the next look is due about {count(due)} tuples after the last one, or once the "
        "statistics leave their region"
    )
    return Headroom(words, float(due), "tuples", 0.0)


def _spoken(unit: str) -> str:
    """As it is written in sentences."""
    return "µ" + unit[1:] if unit.startswith("us") else unit


def _sample(n_tuples: int) -> str:
    return f"{count(n_tuples)} sampled tuples"


def _sum(value: float) -> str:
    return count(round(value)) if abs(value) >= 100 else significant(value)
