"""Decisions on constraints as records, with the words and numbers behind them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.adaptive.evidence import choices_detail, plan_detail
from backend.adaptive.headroom import recorded, waiting_for
from backend.adaptive.words import count, percent, size, too_thin
from backend.operators.network.kmon.tuning import UNKNOWN_K, KChange
from backend.systems.kmon.candidates import ConstraintCandidate
from backend.systems.kmon.choosing import CHOOSERS, MOST_TRIED, ConstraintProblem, Margin, margin
from backend.systems.kmon.knobs import KMonKnobs
from backend.systems.kmon.standing import SPAN, ConstraintStanding
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision

#: Kinds of decisions.
K, REFUTED, THRASH, BUDGET, CHOICE = (
    "k of a constraint",
    "declared k",
    "k lost repeatedly",
    "loss budget",
    "constraint choice",
)
#: Share by which savings have to exceed costs before a constraint is taken up, or to fall short of
#: them before it is dropped.
HYSTERESIS: Final = 0.1
BYTES: Final = "bytes"
#: What is compared when constraints are chosen.
SAVING: Final = "bytes saved, against cost"


@dataclass(frozen=True, slots=True)
class Look:
    """When something is looked at. n: arrivals of the batch; join: its name; about: what decisions
    begin with, '' in a unit with one join; candidates: by key."""

    batch: int
    n: int
    arrival: int
    knobs: KMonKnobs
    evaluations: Evaluations
    candidates: Mapping[str, ConstraintCandidate]
    join: str
    about: str

    def name(self, key: str) -> str:
        """Of a constraint."""
        return self.candidates[key].name

    def names(self, keys: Collection[str]) -> list[str]:
        """In order of the candidates."""
        return [candidate.name for key, candidate in self.candidates.items() if key in keys]

    def decision(
        self,
        kind: str,
        verdict: Verdict,
        metric: str,
        sides: tuple[float | None, str, float | None],
        words: str,
        key: str = "",
        n_sample: int = 0,
        detail: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Decision:
        """A record; key: of the constraint it is about, '' for all."""
        lhs, relation, rhs = sides
        about = {"constraint": self.name(key), "key": key} if key else {}
        return Decision(
            seq=self.evaluations.count(),
            batch=self.batch,
            algorithm="k-mon",
            kind=kind,
            verdict=verdict,
            metric=metric,
            lhs=lhs,
            relation=relation,
            rhs=rhs,
            n=self.n,
            n_sample=n_sample,
            knob_version=self.knobs.version,
            explanation=f"{self.about}{words}",
            detail={"join": self.join, "arrival": self.arrival, **about, **(detail or {})},
            **more,
        )


def k_said(k: int) -> str:
    """``k 12``, ``no k``."""
    return "no k" if k == UNKNOWN_K else f"k {count(k)}"


def k_decision(look: Look, key: str, change: KChange, n_left: int) -> Decision:
    """A change of k that the estimator made: the plan is another where it is found or lost. n_left:
    further ones of the batch, told together."""
    name, before, after = look.name(key), _finite(change.before), _finite(change.after)
    sentence = f"{name}: {k_said(change.before)} becomes {k_said(change.after)}"
    sides: tuple[float | None, str, float | None]
    if change.before != UNKNOWN_K and change.distance > change.before:
        metric, sides = "distance", (change.distance, ">", before)
        sentence += f", a distance of {count(change.distance)} was observed"
    else:
        grows = after is None or (before is not None and after > before)
        metric, sides = "k", (after, ">" if grows else "<", before)
        sentence += f", as {count(change.n)} observations say"
    limit = look.knobs.k_threshold
    if change.after > limit != UNKNOWN_K:
        sentence += f"; above {count(limit)} it is not used"
    stays = UNKNOWN_K not in (change.before, change.after)
    return look.decision(
        K,
        "kept" if stays else "switched",
        metric,
        sides,
        sentence,
        key,
        change.n,
        {
            "change": list(change),
            "n_left": n_left,
            "threshold": _finite(limit),
            "cost_unit": BYTES,
        },
        old=plan_detail(None, "k", [name], k=before),
        new=plan_detail(None, "k", [name], k=after),
    )


def refuted_decision(look: Look, key: str, declared: int, largest: int, then: str) -> Decision:
    """A declared k that the data refutes. then: what is made of it."""
    name = look.name(key)
    sentence = f"{name}: k {count(declared)} was declared, and a distance of {count(largest)} came"
    return look.decision(
        REFUTED,
        "switched",
        "distance",
        (largest, ">", declared),
        f"{sentence}; {then}",
        key,
        1,
        {"declared": declared, "largest": largest, "cost_unit": BYTES},
    )


def thrash_decision(look: Look, key: str, n_lost: int, least: int, wait: int) -> Decision:
    """A constraint waits because its k was lost too often."""
    span = SPAN * look.knobs.window_arrivals
    sentence = f"{look.name(key)}: k was lost {n_lost} times within {count(span)} arrivals"
    return look.decision(
        THRASH,
        "switched",
        "times that k was lost",
        (n_lost, ">=", least),
        f"{sentence}; it is not used for {count(wait)} arrivals",
        key,
        n_lost,
        {"n_lost": n_lost, "least": least, "span": span, "wait": wait, "cost_unit": BYTES},
    )


def budget_decision(look: Look, key: str, lost: float, results: float, wait: int) -> Decision:
    """A constraint waits because results beyond the budget were lost."""
    share, budget = lost / results if results else 1.0, look.knobs.loss_budget
    sentence = f"{percent(share)} of the results so far may be lost, {percent(budget)} are allowed"
    return look.decision(
        BUDGET,
        "switched",
        "share of results lost",
        (share, ">", budget),
        f"{sentence}; {look.name(key)} is not used for {count(wait)} arrivals",
        key,
        round(results),
        {"lost": lost, "results": results, "budget": budget, "wait": wait, "cost_unit": BYTES},
    )


@dataclass(frozen=True)
class Choice:
    """A choice of constraints. problem: costs as they are; before, after: what is used; unsettled:
    what was taken up not long ago and stays, like what is pinned; weights: of costs; held: bytes at
    the moment."""

    problem: ConstraintProblem
    before: frozenset[str]
    after: frozenset[str]
    unsettled: frozenset[str]
    weights: Mapping[str, float]
    held: float

    @property
    def changed(self) -> list[str]:
        """Constraints that are taken up or dropped."""
        return sorted(self.before ^ self.after)

    @cached_property
    def burdens(self) -> dict[str, float]:
        """What each way of choosing comes to, as long as all sets can be tried."""
        if len(self.problem.costs) > MOST_TRIED:
            return {}
        return {name: self.problem.burden(find(self.problem)) for name, find in CHOOSERS.items()}

    def margin(self, key: str) -> Margin:
        """What a constraint adds to the set after the choice, its cost weighed."""
        saved, cost = margin(self.problem, self.after, key)
        return Margin(saved, cost * self.weights[key])

    def nearness(self, key: str) -> float:
        """How near a constraint is to being taken up, or dropped; 1 would do."""
        saved, cost = self.margin(key)
        if key in self.after:
            return cost / saved if saved else 1.0
        return saved / cost if cost else 0.0


def changed_decision(look: Look, choice: Choice, key: str, wait: int) -> Decision:
    """A constraint is taken up, or dropped for ``wait`` arrivals."""
    is_new, held = key in choice.after, choice.held
    (saved, cost), plain = choice.margin(key), choice.problem.costs[key]
    sentence = f"{look.name(key)} is {'taken up' if is_new else 'dropped'}: it saves "
    sentence += f"{size(saved)} and costs {size(plain)}"
    if wait:
        sentence += f"; it is not used for {count(wait)} arrivals"
    gain = saved - plain if is_new else plain - saved
    return look.decision(
        CHOICE,
        "switched",
        SAVING,
        (saved, ">" if is_new else "<=", cost),
        sentence,
        key,
        look.arrival,
        _choice_detail(look, choice) | {"wait": wait},
        predicted_old=held,
        predicted_new=max(0.0, held - gain),
        **_plans(look, choice),
    )


def kept_decision(look: Look, choice: Choice, resting: Mapping[str, int] | None = None) -> Decision:
    """Nothing changes; both sides are those of the constraint that is nearest to a change. resting:
    of those that are not watched from now on, for how many arrivals."""
    verdict: Verdict = "below_threshold"
    resting = resting or {}
    costs = choice.problem.costs
    free = [*resting] or [key for key in costs if key not in choice.problem.pinned]
    key = max(free or costs, key=lambda other: (choice.nearness(other), other))
    is_used, (saved, cost) = key in choice.after, choice.margin(key)
    if is_used and saved <= cost:
        verdict = "thin" if key in choice.unsettled else "pinned"
    sides = f"it saves {size(saved)} and costs {size(choice.problem.costs[key])}"
    pauses = [f"{look.name(other)} for {count(rest)}" for other, rest in resting.items()]
    rests = f"; not watched for some arrivals: {', '.join(pauses)}" if pauses else ""
    then = "dropped" if is_used else "taken up"
    words = f"{look.name(key)} would be {then} if it saved {'less' if is_used else 'more'} than "
    words += f"{size(cost)} ({size(saved)} now)"
    room = Headroom(words, abs(cost - saved), BYTES, choice.nearness(key), look.name(key))
    return look.decision(
        CHOICE,
        verdict,
        SAVING,
        (saved, "<=" if is_used else ">", cost),
        f"{look.name(key)} is {'used' if is_used else 'not used'} as before: {sides}{rests}",
        key,
        look.arrival,
        _choice_detail(look, choice) | {"resting": dict(resting)} | recorded([room]),
        predicted_old=choice.held,
        predicted_new=choice.held,
        **_plans(look, choice),
    )


def threshold_decision(
    look: Look, working: Collection[str], standings: Mapping[str, ConstraintStanding]
) -> Decision:
    """All constraints are used whose k is small enough; sides are those of the largest in use."""
    limit, key = (
        look.knobs.k_threshold,
        max(working, key=lambda other: standings[other].k, default=""),
    )
    names = ", ".join(look.names(working)) or "none"
    k = standings[key].k if key else UNKNOWN_K
    return look.decision(
        CHOICE,
        "below_threshold",
        "k",
        (_finite(k), ">", _finite(limit)),
        f"all constraints of small k are used: {names}",
        key,
        detail={
            "k": {other: standings[other].k for other in sorted(working)},
            "threshold": _finite(limit),
            "cost_unit": BYTES,
        },
    )


def resumed_decision(look: Look, key: str, until: int) -> Decision:
    """A constraint has waited long enough."""
    return look.decision(
        THRASH,
        "switched",
        "arrivals waited for",
        (look.arrival, ">=", until),
        f"{look.name(key)} is used again, it has waited for long enough",
        key,
        detail={"until": until, "cost_unit": BYTES},
    )


def cooldown_decision(look: Look, choice: Choice, key: str, left: int) -> Decision:
    """A constraint would be used if it did not wait. left: arrivals."""
    saved, cost = choice.margin(key)
    sentence = f"{look.name(key)} would save {size(saved)}; it was given up, and is not "
    return look.decision(
        CHOICE,
        "cooldown",
        SAVING,
        (saved, ">", cost),
        f"{sentence}used for {count(left)} more arrivals",
        key,
        look.arrival,
        _choice_detail(look, choice) | {"left": left},
        **_plans(look, choice),
    )


def thin_decision(look: Look, n_observed: int) -> Decision:
    """Nothing to choose from: no k is known. n_observed: most distances behind an estimate."""
    need = look.knobs.window_arrivals
    return look.decision(
        CHOICE,
        "thin",
        "constraints of known k",
        (0, ">", 0),
        f"no k is known: {too_thin(n_observed, need, 'observations')}",
        n_sample=n_observed,
        detail={"window": need} | recorded([waiting_for(n_observed, need, "observations")]),
    )


def waiting_decision(look: Look, key: str, until: int) -> Decision:
    """Nothing to choose from: all that are known wait. key: the one that has waited longest."""
    left = until - look.arrival
    return look.decision(
        CHOICE,
        "below_threshold",
        "arrivals waited for",
        (look.arrival, ">=", until),
        f"{look.name(key)} waits for {count(left)} more arrivals",
        key,
        detail={"until": until, "left": left}
        | recorded([waiting_for(look.arrival, until, "arrivals")]),
    )


def _choice_detail(look: Look, choice: Choice) -> dict[str, Any]:
    problem, now = choice.problem, choice.before & choice.problem.costs.keys()
    detail: dict[str, Any] = {
        "cost_unit": BYTES,
        "hysteresis": HYSTERESIS,
        "problem": problem.to_json(),
        "weights": dict(choice.weights),
        "before": sorted(choice.before),
        "after": sorted(choice.after),
        "names": {key: look.name(key) for key in problem.costs},
        "held": choice.held,
        "greedy_bound": problem.bound,
    }
    if choice.burdens:
        detail |= choices_detail("constraint_choice", problem.burden(now), choice.burdens)
    return detail


def _plans(look: Look, choice: Choice) -> dict[str, Any]:
    return {
        "old": plan_detail(None, "constraints", look.names(choice.before)),
        "new": plan_detail(None, "constraints", look.names(choice.after)),
    }


def _finite(k: int) -> int | None:
    """None is said of no k: none is large enough to count on."""
    return None if k == UNKNOWN_K else k
