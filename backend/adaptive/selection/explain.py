"""Sentences people understand, with the numbers in them, for every decision."""

from __future__ import annotations

import math
from collections.abc import Sequence

from backend.adaptive.selection.cost import PlanChoice, PlanCost
from backend.adaptive.selection.trigger import Watched


def arrows(order: Sequence[str]) -> str:
    """``dep_delay → origin → carrier``."""
    return " → ".join(order) if order else "(no constructs)"


def plan_text(kind: str, order: Sequence[str]) -> str:
    """A plan in words: its order, or that it drops nothing early."""
    return arrows(order) if kind == "early drop" else "no early drop"


def count(n: int) -> str:
    """A number of tuples with thousands apart: ``5 000``."""
    return f"{n:,}".replace(",", " ")


def number(value: float) -> str:
    """Three significant digits, at least two decimals: ``2.31``, ``0.843``, ``0.00``."""
    return f"{value:.2f}" if value == 0 or abs(value) >= 1 else f"{value:.3g}"


def percent(share: float, signed: bool = False) -> str:
    """``34 %``; one decimal below 10 %; ``+`` or ``-`` in front when signed."""
    value = 100 * share
    digits = 0 if abs(value) >= 10 or value == 0 else 1
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return f"{text} %"


def change_sentence(watched: Watched, mu: float, n_tuples: int) -> str:
    """``visits per tuple rose from 2.31 to 3.10 (+34 % ≥ μ = 10 %) over 5 000 tuples``."""
    now, init = watched.now, watched.init
    verb = "rose" if now > init else "fell" if now < init else "stayed"
    moved = f"from {number(init)} to {number(now)}" if now != init else f"at {number(now)}"
    sign = "≥" if watched.change >= mu else "<"
    if math.isinf(watched.change):
        size = "from zero, more than any μ"
    else:
        shown = math.copysign(watched.change, now - init)
        size = f"{percent(shown, signed=True)} {sign} μ = {100 * mu:g} %"
    return f"{watched.metric} {verb} {moved} ({size}) over {count(n_tuples)} tuples"


def choice_sentence(choice: PlanChoice, no_drop_visit_cost: float) -> str:
    """Which plan won on the sample, and against what."""
    best, old = choice.best, choice.incumbent
    n_sample = f"on {count(best.cost.n)} sampled tuples"
    if not choice.switches:
        price = _price(old, no_drop_visit_cost)
        kept = f"{plan_text(old.kind, old.order)} kept, predicted cheapest at {price}"
        second = choice.challenger
        if second is None:
            return f"{kept} {n_sample}"
        other = plan_text(second.kind, second.order)
        return f"{kept} against {_price(second, no_drop_visit_cost)} for {other} {n_sample}"
    new = f"new plan: {plan_text(best.kind, best.order)}"
    if best.kind == old.kind == "early drop":
        new = f"new order {arrows(best.order)}"
    return (
        f"{new} predicted {_price(best, no_drop_visit_cost)} against "
        f"{_price(old, no_drop_visit_cost)} for the old {n_sample}"
    )


def _price(plan: PlanCost, no_drop_visit_cost: float) -> str:
    """``2.05``, or for no early drop ``3.60 (12 branch-free visits at 0.3)``."""
    if plan.kind == "early drop":
        return number(plan.cost.value)
    n = len(plan.order)
    return f"{number(plan.cost.value)} ({n} branch-free visits at {no_drop_visit_cost:g} each)"
