"""One check of the invariant as a decision, with the words and numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from backend.adaptive.core import Cooldown
from backend.adaptive.evidence import compared_detail, plan_detail
from backend.adaptive.headroom import recorded
from backend.adaptive.ordering.costing import tuple_costs
from backend.adaptive.ordering.findings import (
    Finding,
    Near,
    Situation,
    near_violations,
    pair_detail,
)
from backend.adaptive.ordering.headroom import check_headroom, pair_headroom
from backend.adaptive.ordering.orders import optimal_order, order_cost
from backend.adaptive.ordering.policies import Policy
from backend.adaptive.ordering.ranks import us_per_tuple
from backend.adaptive.ordering.window import ProfileWindow
from backend.adaptive.stats import mean_of
from backend.adaptive.words import why_kept
from backend.systems.agreedy.explain import cost_sentence, finding_sentence
from backend.systems.agreedy.knobs import AgreedyKnobs
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision

#: Violated pairs a record names.
MOST_VIOLATED: Final = 200
#: The gap to the best order is looked at for so many filters at most.
GAP_UP_TO: Final = 10


class Check(NamedTuple):
    """What is checked when. seq: its number. version: of the plan in force; n: tuples since the
    last check. names: by filter. cooldown: since the last switch."""

    seq: int
    batch_id: int
    version: int
    n: int
    names: Sequence[str]
    knobs: AgreedyKnobs
    cooldown: Cooldown


def examine(
    check: Check,
    s: Situation,
    window: ProfileWindow,
    policy: Policy,
    finding: Finding,
    verdict: Verdict,
) -> tuple[list[int], Decision]:
    """The order to run if the verdict is to switch, by filter, and the decision."""
    names, knobs, switched = check.names, check.knobs, verdict == "switched"
    proposal = policy.considered(s, finding)
    old_us, new_us = us_per_tuple(proposal.old_ps, s.n_tuples), None
    if proposal.order != s.view.order:
        new_us = us_per_tuple(proposal.new_ps, s.n_tuples)
    order, new = ([names[x] for x in ordered] for ordered in (s.view.order, proposal.order))
    lhs, rhs, metric = policy.inequality(knobs.rule, finding, old_us, new_us)
    sentence = finding_sentence(finding, names, knobs.rule)
    why = why_kept(verdict, len(window), policy.least_window(knobs), knobs.cooldown_tuples)
    version = check.version + 1 if switched else None
    return proposal.order, Decision(
        seq=check.seq,
        batch=check.batch_id,
        algorithm=policy.name,
        kind=policy.invariant,
        verdict=verdict,
        metric=metric,
        lhs=lhs,
        relation="<",
        rhs=rhs,
        n=check.n,
        n_sample=s.n_tuples,
        knob_version=knobs.version,
        explanation=f"{sentence}; {why or cost_sentence(old_us, new_us, new)}",
        old=plan_detail(check.version, "early drop", order),
        new=plan_detail(version, "early drop", new) if switched else None,
        predicted_old=old_us,
        predicted_new=new_us,
        plan_version=version,
        detail=_detail(check, s, window, policy, finding, verdict, (old_us, new_us))
        | (_compared(s, window, proposal.order, names) if switched and s.is_complete else {}),
    )


def _detail(
    check: Check,
    s: Situation,
    window: ProfileWindow,
    policy: Policy,
    finding: Finding,
    verdict: Verdict,
    costs: tuple[float | None, float | None],
) -> dict[str, Any]:
    names, near = check.names, near_violations(s, policy.kept(s.view))
    return {
        "cost_unit": "us per tuple",
        "rule": "evidence" if s.rule.by_evidence else "alpha",
        "alpha": float(s.rule.alpha),
        "pair": pair_detail(finding, names),
        "near": [_near_detail(n, names) for n in near],
        "violated": _violated_detail(finding),
        "window_tuples": len(window),
        "least_tuples": policy.least_window(check.knobs),
        "cooldown_tuples": check.knobs.cooldown_tuples,
        "complete": s.is_complete,
        **recorded(_headroom(check, s, near, len(window), policy, verdict, costs)),
    }


def _headroom(
    check: Check,
    s: Situation,
    near: list[Near],
    held: int,
    policy: Policy,
    verdict: Verdict,
    costs: tuple[float | None, float | None],
) -> list[Headroom]:
    """costs: of the present order and of the one looked at, us per tuple."""
    knobs = check.knobs
    pairs = policy.headroom(s.rule, pair_headroom(near, check.names, s.rule), *costs)
    needed, spell = policy.least_window(knobs), knobs.cooldown_tuples
    return check_headroom(verdict, pairs, held, needed, check.cooldown, spell)


def order_gap(s: Situation) -> float | None:
    """By what share the present order is dearer than the best on the window; None if unknown."""
    if not s.is_complete or not s.n_tuples or s.view.n > GAP_UP_TO:
        return None
    best = optimal_order(s.columns, s.costs, s.view.order, s.n_tuples, s.view.n_native)
    if best is None:
        return None
    least = order_cost(best, s.columns, s.costs, s.n_tuples)
    now = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
    return now / least - 1 if least else None


def _compared(
    s: Situation, window: ProfileWindow, order: list[int], names: Sequence[str]
) -> dict[str, Any]:
    """Both orders on the window, tuple by tuple, with 95 % intervals."""
    drops, n_passed = window.drops(), window.n_passed
    old = tuple_costs(drops, n_passed, s.view.order, s.costs)
    new = tuple_costs(drops, n_passed, order, s.costs)
    plans = [
        compared_detail(
            "early drop",
            [names[x] for x in chosen],
            costs.evaluations,
            mean_of(costs.us),
            incumbent=is_old,
            chosen=not is_old,
        )
        for chosen, costs, is_old in ((s.view.order, old, True), (order, new, False))
    ]
    return {"plans": plans, "saving": mean_of(old.us - new.us).detail()}


def _near_detail(near: Near, names: Sequence[str]) -> dict[str, Any]:
    """A pair near to a violation; rise_prob: by how much the challenger's drop probability has to
    rise, None when no rise is enough."""
    return {
        "position": near.pair.position + 1,
        "challenger_position": near.pair.challenger + 1,
        "filter": names[near.own],
        "challenger": names[near.other],
        "rise_prob": near.rise_prob,
    }


def _violated_detail(finding: Finding) -> list[list[int]]:
    """[row, position, challenger's position] of the violated pairs, from 1, row by row; the first
    MOST_VIOLATED of them."""
    return [[place + 1 for place in cell] for cell in finding.violated[:MOST_VIOLATED]]
