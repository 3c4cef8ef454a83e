"""A look of the autopilot as a decision: its inequality, in words and in numbers.

Pure: it is made of what a look wrote down, by the core that took it and by who reads it back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from storage.vocabulary.headroom import DETAIL, Headroom
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.planlog import (
    BY_AUTOPILOT,
    LOOK,
    RECORD,
    SUBJECT,
    SURE_SAVING,
    counted,
)
from storage.vocabulary.records import Decision, Json
from storage.vocabulary.words import arrows, count, significant

#: Kinds of plans whose parts stand beside each other.
UNORDERED: Final = frozenset({"caches", "constraints", "bits", "chains", "pipelines"})


def form_facts(version: int | None, form: Json) -> dict[str, Any]:
    """A plan of a log as decisions name it. form: [kind, order, micro-arrows], or the order of a
    plan with early drop; version: None = only proposed."""
    kind, order, moves = _parts(form)
    more = {"n_arrows": len(moves)} if kind == "hybrid" else {}
    return {"version": version, "kind": kind, "order": list(order), **more}


def form_words(form: Json) -> str:
    """A plan of a log in words: its order, its micro-arrows, or that it drops nothing early."""
    kind, order, moves = _parts(form)
    if kind == "no early drop":
        return kind
    if kind in UNORDERED:
        return ", ".join(order) or f"no {kind}"
    if kind == "ticket":
        return "ticket routing"
    if kind == "hybrid":
        n = len(moves)
        return f"{arrows(order)} with {n} micro-arrow{'' if n == 1 else 's'}"
    return arrows(order)


def _parts(form: Json) -> tuple[str, Json, Json]:
    if all(isinstance(part, str) for part in form):
        return "early drop", form, ()
    kind, order, moves = form
    return kind, order, moves


@dataclass(frozen=True, slots=True)
class LookFacts:
    """What a core adds to a look. seq, batch: of the decision; version: of the plan in force;
    plan_facts: version and plan -> what the store says of it; plan_words: in an explanation;
    subject: of its log."""

    algorithm: str
    seq: int
    batch: int
    version: int
    knob_version: int
    plan_facts: Callable[[int | None, Json], dict[str, Any]] = form_facts
    plan_words: Callable[[Json], str] = form_words
    subject: str = ""


class LookTerms(NamedTuple):
    """The four terms of a look, saving × dwell > switching + deciding, for the rival that came
    nearest. present, rival: plans, None without a rival; predicted: cost of the rival; n_saving,
    mean, squares: tuples that it was priced on, what it saved there, and Σ (x - mean)². saving:
    surely, -∞ = nothing is."""

    cost_unit: str
    present: Json
    rival: Json
    predicted: float | None
    n_saving: int
    mean: float
    squares: float
    saving: float
    dwell: float
    switching: float
    deciding: float
    is_switch: bool

    @property
    def half(self) -> float | None:
        """Half of the 95 % interval of the mean, None for less than two tuples."""
        n = self.n_saving
        return 1.96 * math.sqrt(self.squares / (n - 1) / n) if n > 1 else None

    @property
    def counted(self) -> str:
        """What the unit of cost is of."""
        return counted(self.cost_unit)

    @property
    def worth(self) -> float:
        """The left side, in the unit of cost."""
        return self.saving * self.dwell

    @property
    def price(self) -> float:
        """The right side."""
        return self.switching + self.deciding


def look_terms(record: Json, cost_unit: str, forms: Json) -> LookTerms:
    """Those of a record. forms: digest -> plan."""
    rival, saving = record["rival"], record["saving"]
    offers = {plan: numbers for plan, *numbers in record["offers"]}
    priced = offers[rival] if rival is not None else (None, 0, 0.0, 0.0)
    predicted, n, mean, squares, *_ = priced
    return LookTerms(
        cost_unit=cost_unit,
        present=forms[record["plan"]],
        rival=None if rival is None else forms[rival],
        predicted=predicted,
        n_saving=n,
        mean=mean,
        squares=squares,
        saving=-math.inf if saving is None else saving,
        dwell=record["dwell"],
        switching=record["switching"],
        deciding=record["deciding"],
        is_switch=record["chosen"] != record["plan"],
    )


def look_decision(record: Json, terms: LookTerms, facts: LookFacts) -> Decision:
    """``sure saving × dwell > switching + deciding``, and whether the plan changed."""
    version = facts.version + 1 if terms.is_switch else None
    about = {SUBJECT: facts.subject} if facts.subject else {}
    of = f"{facts.subject.removesuffix(BY_AUTOPILOT)}: " if about else ""
    return Decision(
        seq=facts.seq,
        batch=facts.batch,
        algorithm=facts.algorithm,
        kind=LOOK,
        verdict=_verdict(terms),
        metric=SURE_SAVING,
        lhs=0.0 if terms.rival is None else max(0.0, terms.worth),
        relation=">",
        rhs=terms.price,
        n=record["ran"][0],
        n_sample=record["n_sample"],
        knob_version=facts.knob_version,
        explanation=of + look_sentence(record, terms, facts.plan_words),
        old=facts.plan_facts(facts.version, terms.present),
        new=None if terms.rival is None else facts.plan_facts(version, terms.rival),
        predicted_old=record["cost"],
        predicted_new=terms.predicted,
        plan_version=version,
        detail={
            "cost_unit": terms.cost_unit.replace("/", " per "),
            RECORD: record,
            **about,
            **_headroom(terms, record["due"]),
        },
    )


def in_version(look: Decision, version: int) -> Decision:
    """The look of a part of a unit, which does not know the version of the unit's plan in force."""
    after = None if look.plan_version is None else version + 1
    new = None if look.new is None else {**look.new, "version": after}
    return replace(look, old={**look.old, "version": version}, new=new, plan_version=after)


def look_sentence(record: Json, terms: LookTerms, plan_words: Callable[[Json], str]) -> str:
    """Why the plan changed or was kept, with the four terms."""
    if terms.rival is None:
        search = f"a search on {_sample(record['n_sample'], terms)} found none"
        return f"plan kept: no other is known here, and {search}"
    plan = plan_words(terms.rival)
    unit, of = _spoken(terms.cost_unit).partition("/")[0], terms.counted
    sample = f"on {_sample(terms.n_saving, terms)}"
    price = (
        f"{_sum(terms.price)} {unit} that switching ({_sum(terms.switching)}) and the look "
        f"({_sum(terms.deciding)}) cost"
    )
    if math.isinf(terms.saving) or terms.saving <= 0:
        saved = f"{significant(abs(terms.mean))} {unit} per {of}"
        if terms.mean <= 0:
            return f"plan kept: {plan} costs {saved} more {sample}; needed: {price}"
        return f"plan kept: {plan} saves {saved} {sample}, but nothing surely; needed: {price}"
    is_settling = bool(record.get("settling"))
    sides = (
        f"{'likely' if is_settling else 'surely'} saves {significant(terms.saving)} {unit} per "
        f"{of} "
        f"({significant(terms.mean)} {sample}), for {count(round(terms.dwell))} {of}s to "
        f"come: {_sum(terms.worth)}"
    )
    if terms.is_switch:
        known = "known plan taken" if record.get("known") else "new plan"
        new = ", as conditions changed" if is_settling else ""
        return f"{known}{new}: {plan} {sides} > {price}"
    if record.get("is_transient"):
        return f"plan kept: {plan} {sides}, but conditions like these have passed before it paid"
    if terms.worth > terms.price:
        return f"plan kept: {plan} {sides} > {price}, but not on the newest {of}s"
    return f"plan kept: {plan} {sides} ≤ {price}"


def _verdict(terms: LookTerms) -> Verdict:
    if terms.is_switch:
        return "switched"
    is_short = terms.rival is not None and terms.worth <= terms.price
    return "below_threshold" if is_short else "kept"


def _headroom(terms: LookTerms, due: int | None) -> dict[str, Any]:
    """What the nearest plan, which the decision names, falls short of: the saving that would have
    to be sure; and when that is looked at again, nearest first."""
    rows = [] if due is None else [_next_look(due, terms.counted)]
    if terms.rival is not None and not terms.is_switch and terms.dwell:
        needed, sure = terms.price / terms.dwell, max(0.0, terms.saving)
        spread = "" if terms.half is None else f" ± {significant(terms.half)}"
        seen = f"seen {significant(terms.mean)}{spread}, of it sure {significant(sure)}"
        if terms.mean < 0:
            seen = f"but costs {significant(-terms.mean)}{spread} more on the sample"
        words = (
            f"the nearest other plan has to save {significant(needed)} {_spoken(terms.cost_unit)} "
            f"surely; {seen}"
        )
        near = min(1.0, sure / needed) if needed else 1.0
        rows.insert(0, Headroom(words, max(0.0, needed - sure), terms.cost_unit, near))
    return {DETAIL: [row._asdict() for row in rows]} if rows else {}


def _next_look(due: int, of: str) -> Headroom:
    words = (
        f"the next look is due about {count(due)} {of}s after the last one, or once the "
        "statistics leave their region"
    )
    return Headroom(words, float(due), f"{of}s", 0.0)


def _spoken(unit: str) -> str:
    """As it is written in sentences."""
    return "µ" + unit[1:] if unit.startswith("us") else unit


def _sample(n: int, terms: LookTerms) -> str:
    return f"{count(n)} sampled {terms.counted}s"


def _sum(value: float) -> str:
    return count(round(value)) if abs(value) >= 100 else significant(value)
