"""Both sides of recorded decisions on k-constraints, worked out again from the record.

Written from docs/introspection.md; no decision core is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from storage.vocabulary.records import Decision

#: lhs, rhs; None = infinite.
Sides = tuple[float | None, float | None]


def _constraints(d: Decision) -> Sides:
    """What a constraint adds to those that are used then, against its cost, weighed."""
    detail = d.detail
    if d.metric == "constraints of known k":
        return 0, 0
    if d.metric == "arrivals waited for":
        return _waited(d)
    if d.metric == "k":
        return max(detail["k"].values(), default=None), detail["threshold"]
    problem, key, weights = detail["problem"], detail["key"], detail["weights"]
    for one, weight in weights.items():
        is_used, by = one in detail["before"], detail["hysteresis"]
        assert math.isclose(weight, 1 - by if is_used else 1 + by), f"weight {weight} of {one}"
    others = {*detail["after"]} - {key}
    saved = _saved(problem, others | {key}) - _saved(problem, others)
    return saved, problem["costs"][key] * weights[key]


def _saved(problem: Mapping[str, Any], used: set[str]) -> float:
    found = 0.0
    for effect in problem["effects"]:
        best = [[v for one, v in g.items() if one in used] for g in effect["groups"]]
        found += min(max(values) for values in best) if all(best) else 0.0
    return found


def _k_changes(d: Decision) -> Sides:
    _, _, before, after, distance, _ = (None if n == -1 else n for n in d.detail["change"])
    return distance if d.metric == "distance" else after, before


def _waited(d: Decision) -> Sides:
    return d.detail["arrival"], d.detail["until"]


def _lost(d: Decision) -> Sides:
    lost, results = d.detail["lost"], d.detail["results"]
    return lost / results if results else 1.0, d.detail["budget"]


def _lost_repeatedly(d: Decision) -> Sides:
    if d.metric == "arrivals waited for":
        return _waited(d)
    return d.detail["n_lost"], d.detail["least"]


#: By kind of decision.
RULES: Final[Mapping[str, Callable[[Decision], Sides]]] = {
    "constraint choice": _constraints,
    "k of a constraint": _k_changes,
    "declared k": lambda d: (d.detail["largest"], d.detail["declared"]),
    "k lost repeatedly": _lost_repeatedly,
    "loss budget": _lost,
}
