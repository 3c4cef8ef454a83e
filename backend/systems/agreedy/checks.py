"""One check put into words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from backend.systems.agreedy.costing import mean_of, tuple_costs
from backend.systems.agreedy.evidence import near_detail, violated_detail
from backend.systems.agreedy.exact import PS_PER_US, Picoseconds
from backend.systems.agreedy.explain import cost_sentence, finding_sentence
from backend.systems.agreedy.findings import Finding, Situation, near_violations
from backend.systems.agreedy.knobs import Settings
from backend.systems.agreedy.orders import cost_of_view, optimal_order, order_cost
from backend.systems.agreedy.policy import Policy, Proposal
from backend.systems.agreedy.window import ProfileWindow
from storage.vocabulary.kinds import Verdict

#: The gap to the best order is looked at for so many filters at most.
GAP_UP_TO: Final = 10


class Examined(NamedTuple):
    """The proposed order (the present one when nothing is violated), the costs per tuple of the
    present and the proposed one, the sentence and the numbers."""

    order: list[int]
    old_us: float | None
    new_us: float | None
    explanation: str
    detail: dict[str, Any]


def examine(
    s: Situation,
    window: ProfileWindow,
    policy: Policy,
    finding: Finding,
    verdict: Verdict,
    names: Sequence[str],
    settings: Settings,
) -> Examined:
    """What a check comes to. names: by filter."""
    proposal = _proposal(s, policy, finding)
    old, new = _us(proposal.old_ps, s.n_tuples), _us(proposal.new_ps, s.n_tuples)
    is_new = proposal.order != s.view.order
    detail: dict[str, Any] = {
        "near": near_detail(near_violations(s, policy.kept(s.view)), names),
        "violated": violated_detail(finding),
        "window_tuples": len(window),
        "complete": s.is_complete,
    }
    if verdict == "switched" and s.is_complete:
        detail |= _compared(s, window, proposal.order, names)
    said = finding_sentence(finding, names, settings.rule)
    if verdict == "switched":
        said += f"; {cost_sentence(old, new, [names[x] for x in proposal.order])}"
    else:
        said += _because(verdict, len(window), settings)
    return Examined(proposal.order, old, new if is_new else None, said, detail)


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


def _proposal(s: Situation, policy: Policy, finding: Finding) -> Proposal:
    if finding.is_violated or policy.name == "optimal":
        return policy.propose(s, finding)
    return Proposal(list(s.view.order), cost_of_view(s.view, s.costs, s.n_tuples), None)


def _us(total_ps: Picoseconds | None, n_tuples: int) -> float | None:
    return None if total_ps is None or not n_tuples else total_ps / n_tuples / PS_PER_US


def _because(verdict: Verdict, held: int, settings: Settings) -> str:
    if verdict == "thin":
        return f"; not acted on, {held} profile tuples of the {settings.min_samples} needed"
    if verdict == "cooldown":
        return f"; not acted on within {settings.cooldown_tuples} tuples of the last switch"
    if verdict == "pinned":
        return "; not acted on, the order is fixed"
    return "; order kept"


def _compared(
    s: Situation, window: ProfileWindow, order: list[int], names: Sequence[str]
) -> dict[str, Any]:
    """Both orders on the window, tuple by tuple, with 95 % intervals."""
    drops, n_passed = window.drops(), window.n_passed
    old = tuple_costs(drops, n_passed, s.view.order, s.costs)
    new = tuple_costs(drops, n_passed, order, s.costs)
    plans = [
        {
            "kind": "early drop",
            "order": [names[x] for x in chosen],
            "visits": found.evaluations,
            "cost": found.mean.detail(),
            "incumbent": is_old,
            "chosen": not is_old,
        }
        for chosen, found, is_old in ((s.view.order, old, True), (order, new, False))
    ]
    return {"plans": plans, "saving": mean_of(old.us - new.us).detail()}
