"""What if a plan had not been changed: the record beside a branch that keeps the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from dashboard.base.face import KeptCost, KeptSetting
from dashboard.components.formats import show
from dashboard.views.knobs import NAMES_SEPARATOR
from dashboard.views.saved import NOISE
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Decision, Json

#: What a change is said to have saved, cost, or neither: of an amount, of a level.
_WORDS: Final = {
    False: ("saved {}", "cost {} more", "saved nothing"),
    True: ("holds {} less on average", "holds {} more on average", "holds no less"),
}


class KeptTotals(NamedTuple):
    """The cost of both runs in the batches first..last. is_next: another change ends them."""

    first: int
    last: int
    recorded: float
    kept: float
    is_next: bool = False


def by_batch(
    series: Iterable[SeriesData], weights: Mapping[str, float], scale: float
) -> dict[int, float]:
    """Batch -> the cost of all parts together; of a point of several batches at its last one.
    weights: of the entities, where one of their tuples has a price."""
    costs: dict[int, float] = {}
    for data in series:
        weight = scale * weights.get(data.entity, 0.0 if weights else 1.0)
        values = weight * np.nan_to_num(data.value) * data.n
        for batch, value in zip(data.batch.tolist(), values.tolist(), strict=True):
            costs[batch] = costs.get(batch, 0.0) + value
    return costs


def totals_in(
    costs: tuple[Mapping[int, float], Mapping[int, float]],
    first: int,
    last: int,
    is_level: bool,
    is_next: bool = False,
) -> KeptTotals:
    """Of the recorded run and of the branch; of a level the mean of the batches."""
    n = last - first + 1 if is_level else 1
    recorded, kept = (
        sum(value for batch, value in side.items() if first <= batch <= last) / n for side in costs
    )
    return KeptTotals(first, last, recorded, kept, is_next)


def came_to(cost: KeptCost, totals: KeptTotals, whole: KeptTotals | None) -> list[str]:
    """What the change did, in sentences. whole: up to the end, where another change came before."""
    end = ", up to the next change" if totals.is_next else ", up to the end of what is on record"
    stretch = f"in batches {totals.first} to {totals.last}{end}"
    saved = totals.kept - totals.recorded
    words = [f"This change {_effect(cost, totals)} {stretch}."]
    if _is_nothing(totals):
        words[0] = f"{words[0][:-1]}: {_amount(cost, totals.recorded)} with it and without it."
    elif totals.kept:
        words[0] = f"{words[0][:-1]}: {show(abs(saved) / totals.kept, 'pct')} of "
        words[0] += f"{_amount(cost, totals.kept)} without it."
    if whole is not None:
        more = "more" if whole.kept >= whole.recorded else "less"
        amount = _amount(cost, abs(whole.kept - whole.recorded))
        words.append(f"Kept up to batch {whole.last}, the plan before comes to {amount} {more}.")
    return words


def _effect(cost: KeptCost, totals: KeptTotals) -> str:
    saved, other, nothing = _WORDS[cost.is_level]
    if _is_nothing(totals):
        return nothing
    less = totals.kept - totals.recorded
    return (saved if less > 0 else other).format(_amount(cost, abs(less)))


def _is_nothing(totals: KeptTotals) -> bool:
    """What reads 0.0 % is nothing."""
    return abs(totals.kept - totals.recorded) <= NOISE * max(totals.kept, totals.recorded)


def _amount(cost: KeptCost, value: float) -> str:
    return f"{show(value, cost.form)} {cost.words}".strip()


def points(costs: Mapping[int, float], since: int, most: int) -> list[tuple[int, float]]:
    """What is drawn of a run: at most so many batches, with their cost."""
    batches = sorted(batch for batch in costs if batch >= since)
    step = max(1, -(-len(batches) // most))
    return [(batch, round(costs[batch], 3)) for batch in batches[::step]]


def turned_to(knob: str, value: Json) -> KeptSetting:
    """The setting of systems that have one knob which holds any plan."""
    return lambda decision, knobs: (knob, value)


def by_names(pinned: str, forbidden: str) -> KeptSetting:
    """The setting of systems whose plans are lists of names, with knobs that list those which stay
    and those which are not used; one turn does not undo a plan that lost and won names."""

    def setting(decision: Decision, knobs: Mapping[str, Json]) -> tuple[str, Json] | None:
        before, after = (_names(plan) for plan in (decision.old, decision.new))
        gone = [name for name in before if name not in after]
        came = [name for name in after if name not in before]
        if bool(gone) == bool(came):
            return None
        knob = forbidden if came else pinned
        own = [name.strip() for name in str(knobs.get(knob, "")).split(NAMES_SEPARATOR.strip())]
        return knob, NAMES_SEPARATOR.join(filter(None, dict.fromkeys((*own, *came, *gone))))

    return setting


def _names(plan: Json) -> list[str]:
    order = plan.get("order", ()) if isinstance(plan, Mapping) else ()
    return [str(name) for name in order]
