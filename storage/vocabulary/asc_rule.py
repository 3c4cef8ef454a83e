"""The rule by which a selection plan is rearranged: eq. 5 of [L12] and the contest of plans.

Pure, and of plain values only: the decision core decides by it, and the ghost run of the dashboard
(dashboard/systems/asc/recorded_trials.py, whatif_view.py) decides a recorded run again by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from storage.vocabulary.kinds import Verdict

#: Kinds of plans that may run whatever is proposed.
Contending: TypeAlias = Literal["early drop", "no early drop"]
EARLY: Final = "early drop"
NO_DROP: Final = "no early drop"
#: Costs this close (relative) are a tie: rounding must not change a plan.
_TIE: Final = 1e-9


class RankedPlan(Protocol):
    """What the rule asks of a plan; plans are told apart by ==."""

    @property
    def kind(self) -> str: ...
    @property
    def order(self) -> tuple[str, ...]: ...


P = TypeVar("P", bound=RankedPlan)
W = TypeVar("W")


def relative_change(now: float, init: float) -> float:
    """|now - init| / init (eq. 5); with init = 0: 0 if now = 0, else +inf (erratum 17)."""
    if init == 0:
        return 0.0 if now == 0 else math.inf
    return abs(now - init) / init


def decisive(
    trigger: str, visits: W | None, dropping: W | None, change: Callable[[W], float]
) -> W | None:
    """The quantity the ``trigger`` knob makes decide; None when it is unknown.

    'either': the one that has changed more (visits on a tie), once both are known.
    """
    if trigger == "visits":
        return visits
    if trigger == "dropping ratio":
        return dropping
    known = [w for w in (visits, dropping) if w is not None]
    return max(known, key=change) if len(known) == 2 else None


def rejection(
    change: float | None, mu: float, cools_down: bool, n_sample: int, min_samples: int
) -> Verdict | None:
    """Why nothing is built at an evaluation of the trigger; None: a plan is built.

    change: of the decisive quantity, None = unknown. n_sample: sampled tuples there are.
    """
    if change is None:
        return "thin"
    if change < mu:
        return "below_threshold"
    if cools_down:
        return "cooldown"
    return "thin" if n_sample < min_samples else None


def contenders(
    incumbent: P, proposed: P, plan: Callable[[Contending, tuple[str, ...]], P]
) -> tuple[P, ...]:
    """Who may follow the plan in force. plan: makes one of its kind and order.

    'No early drop' always may run; under it, its own order with early drop may, too.
    """
    if incumbent.kind != NO_DROP:
        return proposed, plan(NO_DROP, proposed.order)
    return (proposed, plan(EARLY, incumbent.order)) if proposed.kind == EARLY else (proposed,)


def must_leave(incumbent: RankedPlan, built_by: str, ordering: str) -> bool:
    """Whether the plan in force was built by another ordering than the one asked for, so that it
    leaves whatever it costs; 'no early drop' is not asked to."""
    return built_by != ordering and incumbent.kind != NO_DROP


def rivals(incumbent: P, contending: Sequence[P]) -> list[P]:
    """The contenders that are not the plan in force, each once."""
    return [plan for plan in dict.fromkeys(contending) if plan != incumbent]


def best_plan(
    incumbent: P, contending: Sequence[P], costs: Mapping[P, float], leaves: bool, min_gain: float
) -> tuple[P, P | None]:
    """The plan to run, and the cheaper one not worth the change if there is one.

    costs: of the incumbent and its rivals, any unit. leaves: the incumbent runs no longer, unless
    it contends itself. min_gain: share of its cost a successor must save, >= 0.
    """
    stays = not leaves or incumbent in contending
    options = [*([incumbent] if stays else []), *rivals(incumbent, contending)]
    best = min(options, key=lambda plan: costs[plan])
    if best == incumbent or leaves:
        return best, None
    old, new = costs[incumbent], costs[best]
    if math.isclose(new, old, rel_tol=_TIE):
        return incumbent, None
    if new > old * (1 - min_gain):
        return incumbent, best
    return best, None
