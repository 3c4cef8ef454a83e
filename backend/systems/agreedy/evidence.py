"""Decision records of the filter orders, with the numbers behind them as JSON-typed data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from backend.systems.agreedy.exact import PS_PER_US
from backend.systems.agreedy.findings import Finding, Near
from backend.systems.agreedy.knobs import Settings
from backend.systems.agreedy.policy import Policy
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision

COST_UNIT: Final = "us per tuple"
RANK_METRIC: Final = "drops per us"
EVIDENCE_METRIC: Final = "rank difference, lower bound"
COST_METRIC: Final = "predicted cost per tuple"
#: Violated pairs a record names.
MOST_VIOLATED: Final = 200


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. order, new: names by position before and (proposed) after.

    n: tuples since the last check; n_sample: profile tuples of the window, passes included.
    old_us, new_us: predicted cost per tuple of both orders.
    """

    batch_id: int
    verdict: Verdict
    finding: Finding
    explanation: str
    names: Sequence[str]
    order: tuple[str, ...]
    new: tuple[str, ...] | None
    n: int
    n_sample: int
    old_us: float | None
    new_us: float | None
    detail: Mapping[str, Any]


def decision_record(
    seq: int, settings: Settings, policy: Policy, versions: tuple[int, int | None], check: Check
) -> Decision:
    """The record of a check; versions: of the plan before, and of the one adopted if any.

    The inequality is own rank < α · challenger's rank; by evidence 0 < lower bound of their
    difference; for 'optimal' best cost < α · present cost.
    """
    lhs, relation, rhs, metric = _inequality(settings, policy, check)
    return Decision(
        seq=seq,
        batch=check.batch_id,
        algorithm=policy.name,
        kind=policy.invariant,
        verdict=check.verdict,
        metric=metric,
        lhs=lhs,
        relation=relation,
        rhs=rhs,
        n=check.n,
        n_sample=check.n_sample,
        knob_version=settings.version,
        explanation=check.explanation,
        old=_plan(versions[0], check.order),
        new=None if check.new is None else _plan(versions[1], check.new),
        predicted_old=check.old_us,
        predicted_new=check.new_us,
        plan_version=versions[1],
        detail={
            "cost_unit": COST_UNIT,
            "rule": "evidence" if settings.rule.by_evidence else "alpha",
            "alpha": float(settings.rule.alpha),
            "pair": pair_detail(check.finding, check.names),
            **check.detail,
        },
    )


def _inequality(
    settings: Settings, policy: Policy, check: Check
) -> tuple[float | None, str, float | None, str]:
    finding, alpha = check.finding, float(settings.rule.threshold)
    if policy.name == "optimal":
        rhs = None if check.old_us is None else alpha * check.old_us
        return check.new_us, "<", rhs, COST_METRIC
    if settings.rule.by_evidence and finding.interval is not None:
        return 0.0, "<", finding.interval.low, EVIDENCE_METRIC
    own, other = finding.ranks
    return finite(own), "<", finite(alpha * other), RANK_METRIC


def pair_detail(finding: Finding, names: Sequence[str]) -> dict[str, Any]:
    """The deciding pair: positions count from 1; costs in us, ranks in drops per us and tuple."""
    interval, own, other = finding.interval, finding.ranks[0], finding.ranks[1]
    return {
        "position": finding.pair.position + 1,
        "challenger_position": finding.pair.challenger + 1,
        "filter": names[finding.own],
        "challenger": names[finding.other],
        "dropped": finding.v_own,
        "challenger_dropped": finding.v_other,
        "both_dropped": finding.both,
        "n_reached": finding.n_row,
        "cost_us": finding.costs[0] / PS_PER_US,
        "challenger_cost_us": finding.costs[1] / PS_PER_US,
        "rank": finite(own),
        "challenger_rank": finite(other),
        "violated": finding.is_violated,
        "interval": None
        if interval is None
        else {
            "difference": interval.difference,
            "low": interval.low,
            "high": interval.high,
            "confidence": interval.confidence,
            "n": interval.n,
        },
    }


def near_detail(near: Sequence[Near], names: Sequence[str]) -> list[dict[str, Any]]:
    """The pairs nearest to a violation, ranked; rise_prob: by how much the challenger's drop
    probability has to rise, None when no rise is enough."""
    return [
        {
            "position": n.pair.position + 1,
            "challenger_position": n.pair.challenger + 1,
            "filter": names[n.own],
            "challenger": names[n.other],
            "rise_prob": n.rise_prob,
        }
        for n in near
    ]


def violated_detail(finding: Finding) -> list[list[int]]:
    """[row, position, challenger's position] of the violated pairs, from 1, row by row; the first
    MOST_VIOLATED of them."""
    return [[place + 1 for place in cell] for cell in finding.violated[:MOST_VIOLATED]]


def finite(value: float) -> float | None:
    """The value, or None when it is infinite, which JSON cannot say."""
    return None if math.isinf(value) else value


def _plan(version: int | None, order: Sequence[str]) -> dict[str, Any]:
    return {"version": version, "kind": "early drop", "order": list(order)}
