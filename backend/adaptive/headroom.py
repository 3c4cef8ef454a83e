"""Headroom as every decision core tells it: what an evaluation that kept the plan fell short of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from backend.adaptive.core import Cooldown
from backend.adaptive.words import count, number, numbers, percent
from storage.vocabulary.headroom import DETAIL, Headroom, overtaking_words


def overtaking(
    entity: str, over: str, rise: float | None, drop_prob: float, then: str = ""
) -> Headroom:
    """An operator that would go before another if it dropped more. rise: of its drop probability,
    given drop_prob now; None: none is enough. then: what the change waits for besides."""
    near = 0.0
    if rise is not None:
        near = 1.0 if rise <= 0 else drop_prob / (drop_prob + rise)
    return Headroom(
        f"{overtaking_words(entity, over, rise)}{then}", rise, "prob", near, entity, over
    )


def waiting_for(have: int, need: int, what: str) -> Headroom:
    """A change that waits until there are enough of something, such as sampled tuples."""
    left = max(0, need - have)
    words = f"{count(left)} more {what} have to come first ({count(have)} of {count(need)} did)"
    return Headroom(words, float(left), "tuples", min(1.0, have / need) if need else 1.0)


def cooling(cooldown: Cooldown, cooldown_tuples: int) -> Headroom:
    """A change that waits for the end of the cool-down."""
    return waiting_for(cooldown.waited or 0, cooldown_tuples, "tuples of the cool-down")


def saving(who: str, old: float, new: float, least: float, unit: str) -> Headroom:
    """A plan that would run if it cost less. old, new: costs in ``unit``; least: share of the old
    one that it has to save."""
    missing = max(0.0, new - old * (1 - least))
    needed = f"it needs to be {percent(least)} cheaper" if least else "it needs to be cheaper"
    if new == old:
        words = f"{who} costs the same ({number(new)}): {needed}"
    else:
        words = "{} costs {}, the plan in force {}: {}".format(who, *numbers(new, old), needed)
    near = 1.0 if missing == 0 or not new else old * (1 - least) / new
    return Headroom(words, missing, unit, near)


def moving(what: str, moved: float, threshold: float, then: str) -> Headroom:
    """A look that is taken when something has moved by a share. moved: so far."""
    words = f"{what} has to move by {percent(threshold)}, so far {percent(moved)}; then {then}"
    near = min(1.0, moved / threshold) if threshold else 1.0
    return Headroom(words, max(0.0, threshold - moved), "prob", near)


def recorded(headrooms: Iterable[Headroom]) -> dict[str, Any]:
    """For the detail of a decision: nearest first; nothing where there is none."""
    nearest = sorted(headrooms, key=lambda headroom: -headroom.near)
    return {DETAIL: [headroom._asdict() for headroom in nearest]} if nearest else {}
