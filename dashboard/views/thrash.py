"""The thrash detector: plans left and returned to within a window, and what each flip cost.

A loop is a chain of plan versions that comes back to a plan given up no more than ``window``
tuples before; loops that share a flip are one. A plan that somebody's turn of a knob brought ends
the chain: it is no thrashing. What would have avoided a loop is read off the record: a mu above
every flip's change, or a cool-down longer than the longest wait between its flips. Both are
estimates: another mu or cool-down would have made another run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from dashboard.components.formats import show
from dashboard.views.decisions import MIN_SAMPLES, TUPLES, cost_unit, followed
from dashboard.views.events import names
from storage.tables.rows import DecisionEntry
from storage.vocabulary.planlog import SURE_SAVING
from storage.vocabulary.records import PlanVersion

#: A plan returned to within so many lambdas counts as a loop.
WINDOW_LAMBDAS: Final = 10
DEFAULT_WINDOW: Final = 100_000
_CHANGES: Final = (">=", ">")
_LASTS: Final = "still in force"
_Number = TypeVar("_Number", int, float)


class Flip(NamedTuple):
    """One switch of a loop. plan: its version; first: the attribute the new order has where
    it first differs from the one before.

    change, mu: the inequality's sides, None = unknown. waited: tuples since the flip before it in
    the loop. lasted: tuples until the next switch, None while it lasts. cost: what it cost over
    the plan it replaced in that time (negative: saved), estimated on n sampled tuples; why: why
    there is no number.
    """

    plan: int
    batch: int
    time: float | None
    first: str
    decision: int | None
    change: float | None
    mu: float | None
    waited: int | None
    lasted: int | None
    cost: float | None
    n: int
    why: str


class FlipLoop(NamedTuple):
    """Flips oldest first. since, until: Unix s of the first and the last of them.

    route: what each plan has where it first differs from the one before, 'A → B → A'. mu: all
    flips changed by less than or equal to it; cooldown: the longest wait, in tuples; None = cannot
    be told. cost: of all flips together but for one still in force. unit: of the costs.
    """

    flips: list[Flip]
    since: float | None
    until: float | None
    route: str
    mu: float | None
    cooldown: int | None
    cost: float | None
    unit: str = "visits"


class FlipStep(NamedTuple):
    """A plan version with the tuples filtered before it took effect. turned: a turn of a knob
    brought it."""

    plan: PlanVersion
    tuples: int
    turned: bool = False


def find_loops(
    plans: Sequence[PlanVersion],
    tuples_before: Callable[[int], int],
    decisions: Mapping[int, DecisionEntry],
    window: int,
    turns: Collection[int] = (),
) -> list[FlipLoop]:
    """The loops among the plan versions, oldest first.

    tuples_before: how many tuples the run had filtered before a batch. decisions: by seq, those
    that made the plans (of others the costs are unknown). window: tuples. turns: batches at which
    knobs were turned.
    """
    steps = [
        step._replace(turned=_is_turned(step.plan, decisions, turns))
        for step in _changes(plans, tuples_before)
    ]
    spans: list[tuple[int, int]] = []
    for here in range(2, len(steps)):
        left = _left_at(steps, here, window)
        if left is None:
            continue
        if spans and left <= spans[-1][1]:
            left = min(spans.pop()[0], left)
        spans.append((left, here))
    return [_loop(steps, first, last, decisions) for first, last in spans]


def _changes(plans: Sequence[PlanVersion], tuples_before: Callable[[int], int]) -> list[FlipStep]:
    """The versions that differ from the one before."""
    ordered = sorted(plans, key=lambda plan: plan.version)
    kept = [
        plan
        for place, plan in enumerate(ordered)
        if place == 0 or _state(plan) != _state(ordered[place - 1])
    ]
    return [FlipStep(plan, tuples_before(plan.batch)) for plan in kept]


def _state(plan: PlanVersion) -> tuple[str, tuple[str, ...]]:
    return plan.kind, plan.order


def _is_turned(
    plan: PlanVersion, decisions: Mapping[int, DecisionEntry], turns: Collection[int]
) -> bool:
    """Whether a turn of a knob brought the plan: it came with the turn, untriggered."""
    entry = None if plan.decision is None else decisions.get(plan.decision)
    if entry is not None and entry.decision.relation in _CHANGES:
        return False
    decided = plan.batch if entry is None else entry.decision.batch
    return decided in turns or plan.batch in turns


def _left_at(steps: Sequence[FlipStep], here: int, window: int) -> int | None:
    """The step that left the plan of step ``here``, when it did so within the window."""
    for place in range(here - 2, -1, -1):
        if steps[here].turned or steps[place + 1].turned or steps[place + 2].turned:
            return None
        if _between(steps[place + 1], steps[here]) > window:
            return None
        if _state(steps[place].plan) == _state(steps[here].plan):
            return place + 1
    return None


def _between(step: FlipStep, other: FlipStep) -> int:
    return other.tuples - step.tuples


def _loop(
    steps: Sequence[FlipStep], first: int, last: int, decisions: Mapping[int, DecisionEntry]
) -> FlipLoop:
    places = range(first, last + 1)
    flips = [_flip(steps, place, place == first, decisions) for place in places]
    changes = [flip.change for flip in flips]
    waits = [flip.waited for flip in flips[1:]]
    costs = [flip.cost for flip in flips if flip.why != _LASTS]
    is_piloted = any(_is_look(decisions.get(flip.decision or 0)) for flip in flips)
    return FlipLoop(
        flips=flips,
        since=flips[0].time,
        until=flips[-1].time,
        route=" → ".join([_brought(steps, first - 1, first), *(flip.first for flip in flips)]),
        mu=_largest(changes),
        cooldown=None if is_piloted else _largest(waits),
        cost=None if None in costs or not costs else sum(cost for cost in costs if cost),
        unit=_unit(flips, decisions),
    )


def _is_look(entry: DecisionEntry | None) -> bool:
    """Whether the autopilot decided, which has neither a mu nor a cool-down."""
    return entry is not None and entry.decision.metric == SURE_SAVING


def _unit(flips: Sequence[Flip], decisions: Mapping[int, DecisionEntry]) -> str:
    """Of the costs, from the first decision that names one."""
    for flip in flips:
        entry = decisions.get(flip.decision) if flip.decision is not None else None
        if entry is not None:
            return cost_unit(entry.decision)
    return "visits"


def _largest(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _flip(
    steps: Sequence[FlipStep],
    place: int,
    begins: bool,
    decisions: Mapping[int, DecisionEntry],
) -> Flip:
    plan = steps[place].plan
    entry = None if plan.decision is None else decisions.get(plan.decision)
    decision = entry.decision if entry else None
    compared = decision is not None and not _is_look(entry) and decision.relation in _CHANGES
    lasted = _between(steps[place], steps[place + 1]) if place + 1 < len(steps) else None
    cost, n, why = _cost(entry, lasted)
    return Flip(
        plan=plan.version,
        batch=max(0, plan.batch),
        time=plan.recorded_at,
        first=_brought(steps, place, place - 1),
        decision=plan.decision,
        change=decision.lhs if decision and compared else None,
        mu=decision.rhs if decision and compared else None,
        waited=None if begins else _between(steps[place - 1], steps[place]),
        lasted=lasted,
        cost=cost,
        n=n,
        why=why,
    )


def _brought(steps: Sequence[FlipStep], place: int, other: int) -> str:
    """What a plan has at the first place where its order differs from that of another step; its
    kind where the order is the same."""
    plan = steps[place].plan
    pairs = zip(names(plan), names(steps[other].plan), strict=False)
    moved = next((own for own, before in pairs if own != before), None)
    return moved or plan.kind


def _cost(entry: DecisionEntry | None, lasted: int | None) -> tuple[float | None, int, str]:
    """What the new plan cost over the old one while it lasted; n; why there is no number."""
    outcome = entry.outcome if entry else None
    if outcome is None or outcome.sample_new is None or outcome.counterfactual_old is None:
        return None, 0, "not measured"
    if outcome.n_sample < MIN_SAMPLES:
        words = f"not enough samples (n={show(outcome.n_sample, 'int')} < {MIN_SAMPLES})"
        return None, outcome.n_sample, words
    if entry is not None and (per := followed(entry.decision).per) != TUPLES.per:
        return None, outcome.n_sample, f"measured for {per}"
    if lasted is None:
        return None, outcome.n_sample, _LASTS
    return (outcome.sample_new - outcome.counterfactual_old) * lasted, outcome.n_sample, ""
