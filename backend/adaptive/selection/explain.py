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


def numbers(first: float, second: float) -> tuple[str, str]:
    """Two numbers as ``number`` writes them, with decimals added until they differ."""
    if number(first) != number(second) or first == second:
        return number(first), number(second)
    digits = next((d for d in range(3, 9) if f"{first:.{d}f}" != f"{second:.{d}f}"), 9)
    return f"{first:.{digits}f}", f"{second:.{digits}f}"


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
    best, old, other = choice.best, choice.incumbent, choice.challenger
    n_sample = f"on {count(best.cost.n)} sampled tuples"
    if other is None:
        return f"plan kept: there is no other, {n_sample}"
    old_number, other_number = numbers(old.cost.value, other.cost.value)
    old_price = old_number + _visits_of(old, no_drop_visit_cost)
    other_price = other_number + _visits_of(other, no_drop_visit_cost)
    if not choice.switches:
        kept = "order" if old.kind == "early drop" else "no early drop"
        against = f"{other_price} for {plan_text(other.kind, other.order)}"
        return f"{kept} kept, predicted cheapest at {old_price} against {against} {n_sample}"
    new = f"new plan: {plan_text(best.kind, best.order)}"
    if best.kind == old.kind:
        new = f"new order {arrows(best.order)}"
    return f"{new} predicted {other_price} against {old_price} for the old {n_sample}"


def _visits_of(plan: PlanCost, no_drop_visit_cost: float) -> str:
    """Nothing, or for no early drop `` (12 branch-free visits at 0.3 each)``."""
    if plan.kind == "early drop":
        return ""
    return f" ({len(plan.order)} branch-free visits at {no_drop_visit_cost:g} each)"
