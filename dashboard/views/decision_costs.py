"""The cost comparison of a decision card: predicted, measured, and the same tuples replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dashboard.components.formats import show
from dashboard.views.decisions import (
    LEVELS,
    MIN_SAMPLES,
    TUPLES,
    CostBar,
    Measured,
    OutcomeWords,
    cost_unit,
    followed,
    sampled,
)
from dashboard.views.saved import changed
from storage.vocabulary.records import Decision, DecisionOutcome

_PREDICTED: Final = ", predicted"
#: Of what is held at a time, before and after a change.
LEVEL_NAMES: Final = ("held before", "held after")


def predicted_costs(decision: Decision, detail: Mapping[str, Any]) -> list[CostBar]:
    """Every plan that was costed (in force, new order, no early drop), or what the record has."""
    plans = [plan for plan in detail.get("plans") or () if isinstance(plan, Mapping)]
    if plans:
        return [_planned(plan) for plan in plans]
    basis = f"on {show(decision.n_sample, 'int')} {sampled(decision)}"
    what = followed(decision).what
    old, new = LEVEL_NAMES if cost_unit(decision) in LEVELS else (f"old {what}", f"new {what}")
    pairs = ((old, decision.predicted_old), (new, decision.predicted_new))
    return [
        CostBar(label + _PREDICTED, _enough(value, decision.n_sample, "not predicted"), basis, True)
        for label, value in pairs
        if value is not None or decision.new is not None
    ]


def measured_costs(decision: Decision, outcome: DecisionOutcome | None) -> list[CostBar]:
    """What the new order cost, and both orders on the same sampled tuples."""
    if cost_unit(decision) in LEVELS:
        return _measured_levels(outcome)
    what, on, alike, per = followed(decision)
    if outcome is None:
        waiting = Measured(None, "not measured yet")
        return [
            CostBar(f"new {what}, measured", waiting, "", False),
            CostBar(f"old {what}, {alike}", waiting, "", True),
        ]
    basis = f"estimated on {show(outcome.n_sample, 'int')} {on}"
    actual = _enough(outcome.actual_new, outcome.n, "not measured")
    same_new = _enough(outcome.sample_new, outcome.n_sample, "not measured")
    same_old = _enough(outcome.counterfactual_old, outcome.n_sample, "not measured")
    counted = f"measured on {show(outcome.n, 'int')} {per}"
    return [
        CostBar(f"new {what}, measured", actual, counted, False),
        CostBar(f"new {what}, {alike}", same_new, basis, True),
        CostBar(f"old {what}, {alike}", same_old, basis, True),
    ]


def _measured_levels(outcome: DecisionOutcome | None) -> list[CostBar]:
    """What is held since, and what would be held without the change."""
    held = without = Measured(None, "not measured yet")
    basis = ""
    if outcome is not None:
        basis = f"over {show(outcome.n, 'int')} arrivals"
        held = _enough(outcome.actual_new, outcome.n, "not measured")
        without = _enough(outcome.counterfactual_old, outcome.n_sample, "not measured")
    return [
        CostBar("held since, measured", held, basis, False),
        CostBar("held without it", without, basis, True),
    ]


def saved_words(
    saved: Measured,
    outcome: DecisionOutcome | None,
    unit: str = "visits",
    how: OutcomeWords = TUPLES,
) -> str:
    """'saved 750 visits per 1 000 tuples (estimated on 250 sampled tuples)', or why not."""
    if saved.value is None or outcome is None:
        return saved.reason
    verb = "saved" if saved.value > 0 else "lost"
    basis = f"estimated on {show(outcome.n_sample, 'int')} {how.on}"
    if changed(saved.value, 0.0, "bytes" if unit in LEVELS else "int")[0] == "nothing":
        return f"brought nothing ({basis})"
    if unit in LEVELS:
        return f"{verb} {show(abs(saved.value), 'bytes')} ({basis})"
    return f"{verb} {show(abs(saved.value), 'int')} {unit} per 1 000 {how.per} ({basis})"


def interval_of(mean: Mapping[str, Any]) -> tuple[float, float] | None:
    """The 95 % confidence interval of a recorded mean {mean, low, high, n}; None without one."""
    low, high = number_of(mean.get("low")), number_of(mean.get("high"))
    return (low, high) if low is not None and high is not None else None


def number_of(value: Any) -> float | None:
    """The value as a number; None when it is none (or NaN)."""
    return float(value) if isinstance(value, int | float) and value == value else None


def _planned(plan: Mapping[str, Any]) -> CostBar:
    given = plan.get("cost")
    cost: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    n = int(number_of(cost.get("n")) or 0)
    return CostBar(
        label=_name(plan) + _PREDICTED,
        cost=_enough(number_of(cost.get("mean")), n, "not predicted"),
        basis=f"on {show(n, 'int')} sampled tuples",
        estimated=True,
        interval=interval_of(cost),
        chosen=bool(plan.get("chosen")),
    )


def _name(plan: Mapping[str, Any]) -> str:
    """'old order', 'new hybrid plan', 'no early drop'."""
    kind = str(plan.get("kind", ""))
    if kind == "no early drop":
        return kind
    age = "old" if plan.get("incumbent") else "new"
    return f"{age} order" if kind == "early drop" else f"{age} {kind} plan"


def _enough(value: float | None, n: int, missing: str) -> Measured:
    if value is None:
        return Measured(None, missing)
    if n < MIN_SAMPLES:
        return Measured(None, f"not enough samples (n={n} < {MIN_SAMPLES})")
    return Measured(value)


def digits(value: Any, missing: str = "—") -> str:
    """A number with three significant digits."""
    number = number_of(value)
    return missing if number is None else f"{number:.3g}"
