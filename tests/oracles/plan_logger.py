"""Slow twin of the logs of a unit: each evaluation told anew from all that happened before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """A batch: its tuples, what ran of the subject (elements, cost), and an evaluation or None:
    (statistic, present, its cost, rival, its cost, whether it is taken)."""

    n_tuples: int
    ran: tuple[int, float]
    evaluation: tuple[float, str, float, str, float, bool] | None


class Told(NamedTuple):
    """What the log has of an evaluation."""

    number: int
    t: int
    plan: str
    chosen: str
    replaced: bool
    n_ran: int
    cost_ran: float


def told(steps: Sequence[Step]) -> list[Told]:
    """Of one subject, whose log begins with its first evaluation."""
    found: list[Told] = []
    for place, step in enumerate(steps):
        if step.evaluation is None:
            continue
        _, present, _, rival, _, is_taken = step.evaluation
        before = [at for at in range(place) if steps[at].evaluation is not None]
        since = [at.ran for at in steps[before[-1] + 1 : place + 1]] if before else []
        replaced = bool(found) and found[-1].chosen != present
        n = 0 if replaced else sum(ran[0] for ran in since)
        cost = 0.0
        for _, spent in [] if replaced else since:
            cost += spent
        chosen = rival if is_taken and rival != present else present
        t = sum(at.n_tuples for at in steps[: place + 1])
        found.append(Told(len(found) + 1, t, present, chosen, replaced, n, cost))
    return found
