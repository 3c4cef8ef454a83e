"""One evaluation as a card: inequalities, orders, predicted and measured cost, steps, knobs.

Keys of ``Decision.detail`` with a place of their own: ``inequalities`` [{metric, lhs, relation,
rhs, decides}], ``ci`` [low, high] of the left side, ``predicted_no_drop`` (visits per tuple),
``cost_unit``, ``steps`` [{phase, chosen, candidates [{attribute, score}]}]. All else that is a
number or a word is listed as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashboard.components.formats import show
from dashboard.views.decisions import (
    MIN_SAMPLES,
    Cost,
    DecisionCard,
    Inequality,
    Measured,
    OrderView,
    Step,
    metric_words,
    saved_per_1000,
    sign_of,
    test_words,
    verdict_words,
)
from dashboard.views.orders import compare_orders
from storage.records import Decision, DecisionOutcome, Knob, PlanVersion
from storage.rows import DecisionEntry

_PLACED: Final = frozenset(
    {"inequalities", "ci", "ci_low", "ci_high", "predicted_no_drop", "cost_unit", "steps"}
)
_METRICS: Final = {
    "selectivity": "conditional selectivity s, least wins",
    "dropping ratio": "tuple dropping ratio d, greatest wins",
    "last": "nothing: the last one left",
}
_RELATIONS: Final = {
    ">=": float.__ge__,
    ">": float.__gt__,
    "<=": float.__le__,
    "<": float.__lt__,
}


def build_card(
    entry: DecisionEntry, knobs: Sequence[Knob], plans: Sequence[PlanVersion]
) -> DecisionCard:
    """The card of an evaluation. knobs: as in force at its batch. plans: of the run, any order."""
    decision, detail = entry.decision, _mapping(entry.decision.detail)
    sign, word, meaning = verdict_words(decision.verdict)
    old, new = _orders(decision, plans)
    saved = saved_per_1000(entry)
    return DecisionCard(
        seq=decision.seq,
        batch=decision.batch,
        time=entry.time,
        verdict=decision.verdict,
        sign=sign,
        word=word,
        meaning=meaning,
        sentence=decision.explanation,
        inequalities=_inequalities(decision, detail),
        n=decision.n,
        n_sample=decision.n_sample,
        interval=_interval(detail),
        old=old,
        new=new,
        costs=_costs(decision, detail, entry.outcome),
        unit=str(detail.get("cost_unit") or "visits/tuple"),
        saved=saved,
        saved_words=_saved_words(saved, entry.outcome),
        steps=_steps(detail),
        knob_version=decision.knob_version,
        knobs=[(knob.name, knob_text(knob.value), knob.unit) for knob in knobs],
        further=[(key, _plain(value)) for key, value in detail.items() if _lists(key, value)],
        algorithm=decision.algorithm,
    )


def knob_text(value: Any) -> str:
    """A knob's value as one writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def order_names(plan: Any) -> list[str]:
    """Attribute names of a recorded order: a list, or a mapping with 'order'; 'asc:' is dropped."""
    names = plan.get("order", ()) if isinstance(plan, Mapping) else plan
    if not isinstance(names, list | tuple):
        return []
    return [str(name).removeprefix("asc:") for name in names]


def _inequalities(decision: Decision, detail: Mapping[str, Any]) -> list[Inequality]:
    given = detail.get("inequalities")
    if isinstance(given, list) and given:
        return [
            _inequality(
                str(one.get("metric", "")),
                one.get("lhs"),
                str(one.get("relation", ">=")),
                one.get("rhs"),
                bool(one.get("decides")),
            )
            for one in given
            if isinstance(one, Mapping)
        ]
    return [_inequality(decision.metric, decision.lhs, decision.relation, decision.rhs, True)]


def _inequality(
    name: str, lhs: float | None, relation: str, rhs: float | None, decides: bool
) -> Inequality:
    holds: bool | None = None
    if lhs is not None and rhs is not None and relation in _RELATIONS:
        holds = bool(_RELATIONS[relation](float(lhs), float(rhs)))
    return Inequality(
        name=metric_words(name),
        lhs=lhs,
        relation=sign_of(relation),
        rhs=rhs,
        holds=holds,
        decides=decides,
        words=test_words(lhs, relation, rhs),
    )


def _orders(
    decision: Decision, plans: Sequence[PlanVersion]
) -> tuple[OrderView | None, OrderView | None]:
    old_names, new_names = order_names(decision.old), order_names(decision.new)
    old_items, new_items = compare_orders(old_names, new_names or old_names)
    adopted = next((plan for plan in plans if plan.decision == decision.seq), None)
    before = _before(decision, adopted, plans)
    old = OrderView(_kind(decision.old), old_items, before) if old_names else None
    if not new_names:
        return old, None
    return old, OrderView(_kind(decision.new), new_items, adopted.version if adopted else None)


def _before(
    decision: Decision, adopted: PlanVersion | None, plans: Sequence[PlanVersion]
) -> int | None:
    """Version of the plan that was in force when the decision was taken."""
    if adopted is not None:
        return adopted.version - 1 if adopted.version > 1 else None
    running = [plan.version for plan in plans if plan.batch <= decision.batch]
    return max(running, default=None)


def _costs(
    decision: Decision, detail: Mapping[str, Any], outcome: DecisionOutcome | None
) -> list[Cost]:
    sampled = f"predicted on {show(decision.n_sample, 'int')} sampled tuples"
    predicted = [
        ("old order", decision.predicted_old),
        ("new order", decision.predicted_new),
        ("no early drop", _number(detail.get("predicted_no_drop"))),
    ]
    costs = [
        Cost(label, _enough(value, decision.n_sample, "not predicted"), sampled, True)
        for label, value in predicted
        if value is not None or (decision.new is not None and label != "no early drop")
    ]
    if decision.verdict == "switched":
        costs += _measured(outcome)
    return costs


def _measured(outcome: DecisionOutcome | None) -> list[Cost]:
    if outcome is None:
        return [
            Cost("new order, measured", Measured(None, "not measured yet"), "", False),
            Cost("old order, same tuples", Measured(None, "not measured yet"), "", True),
        ]
    sampled = f"estimated on {show(outcome.n_sample, 'int')} sampled tuples"
    actual = _enough(outcome.actual_new, outcome.n, "not measured")
    same_new = _enough(outcome.sample_new, outcome.n_sample, "not measured")
    same_old = _enough(outcome.counterfactual_old, outcome.n_sample, "not measured")
    counted = f"measured on {show(outcome.n, 'int')} tuples"
    return [
        Cost("new order, measured", actual, counted, False),
        Cost("new order, same tuples", same_new, sampled, True),
        Cost("old order, same tuples", same_old, sampled, True),
    ]


def _enough(value: float | None, n: int, missing: str) -> Measured:
    if value is None:
        return Measured(None, missing)
    if n < MIN_SAMPLES:
        return Measured(None, f"not enough samples (n={n} < {MIN_SAMPLES})")
    return Measured(value)


def _saved_words(saved: Measured, outcome: DecisionOutcome | None) -> str:
    if saved.value is None or outcome is None:
        return saved.reason
    verb = "saved" if saved.value >= 0 else "lost"
    amount = show(abs(saved.value), "int")
    n = show(outcome.n_sample, "int")
    return f"{verb} {amount} visits per 1 000 tuples (estimated on {n} sampled tuples)"


def _steps(detail: Mapping[str, Any]) -> list[Step]:
    steps = detail.get("steps")
    if not isinstance(steps, list):
        return []
    return [
        _step(number, step)
        for number, step in enumerate(steps, start=1)
        if isinstance(step, Mapping)
    ]


def _step(number: int, step: Mapping[str, Any]) -> Step:
    phase = str(step.get("phase", ""))
    return Step(
        number=number,
        phase=phase,
        metric=_METRICS.get(phase, str(step.get("metric", ""))),
        winner=str(step.get("chosen") or step.get("winner") or ""),
        candidates=_candidates(step.get("candidates")),
    )


def _candidates(given: Any) -> list[tuple[str, float | None]]:
    """Pairs of attribute and score, from a mapping or a list of {attribute, score}."""
    if isinstance(given, Mapping):
        return [(str(name), _number(value)) for name, value in given.items()]
    rows = [one for one in given or () if isinstance(one, Mapping)]
    return [(str(one.get("attribute", "")), _number(one.get("score"))) for one in rows]


def _interval(detail: Mapping[str, Any]) -> tuple[float, float] | None:
    pair = detail.get("ci") or (detail.get("ci_low"), detail.get("ci_high"))
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return None
    low, high = _number(pair[0]), _number(pair[1])
    return (low, high) if low is not None and high is not None else None


def _kind(plan: Any) -> str:
    return str(plan.get("kind", "")) if isinstance(plan, Mapping) else ""


def _lists(key: str, value: Any) -> bool:
    return key not in _PLACED and isinstance(value, str | int | float)


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
