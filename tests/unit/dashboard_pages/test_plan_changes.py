"""A plan of a network is named by what happened to the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dashboard.views.events import plan_title
from storage.vocabulary.records import PlanVersion

Facts = Mapping[str, Any]
Plan = dict[str, tuple[str, str, Facts]]


def a_plan(version: int, nodes: Mapping[str, tuple[str, str, Facts]]) -> PlanVersion:
    """nodes: id -> role, name, properties."""
    rows = [
        {"id": id, "role": role, "name": name, "properties": dict(facts)}
        for id, (role, name, facts) in nodes.items()
    ]
    return PlanVersion(version, version, "network", ("a", "b"), {"nodes": rows}, "", "")


def chains(*numbers: int) -> Plan:
    names = ["σ v > 3", "⋈", "count", "max"]
    pairs = enumerate(zip(names, numbers, strict=False))
    return {f"o{k}": ("operator", name, {"chain": number}) for k, (name, number) in pairs}


def join(**facts: Any) -> Plan:
    return {"j": ("join", "four_way", facts)}


CACHE: Plan = {"c": ("cache", "R ⋈ S", {})}
BITS: Plan = {"s": ("stem", "R", {"attributes": ["a", "b"], "bits": [3, 1]})}
MORE: Plan = {"s": ("stem", "R", {"attributes": ["a", "b"], "bits": [2, 2]})}
OUT: Plan = {"q": ("output", "late", {})}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (chains(1, 1, 1, 1), chains(1, 1, 2, 2), "chain σ v > 3 → max was split in 2"),
        (chains(1, 1, 2, 2), chains(3, 3, 3, 3), "2 chains were joined to σ v > 3 → max"),
        (chains(1, 1, 2, 2), chains(1, 2, 2, 2), "2 chains are cut elsewhere"),
        (chains(1, 1, 2, 2), chains(2, 2, 1, 1), "chains run in another order"),
        (join(), join() | CACHE, "R ⋈ S is cached now"),
        (join() | CACHE, join(), "R ⋈ S is cached no more"),
        (
            join(pipelines={"R": ["S", "T"]}),
            join(pipelines={"R": ["T", "S"]}),
            "R probes T, then S",
        ),
        (
            join(routes=[{"origin": "R", "route": ["S", "T"]}]),
            join(routes=[{"origin": "R", "route": ["T", "S"]}]),
            "R takes T → S",
        ),
        (BITS, MORE, "index bits of R: a 2, b 2"),
        (
            join(constraints=[{"name": "RIDS S", "k": 5}]),
            join(constraints=[{"name": "RIDS S", "k": 9}]),
            "k of RIDS S: 5 → 9",
        ),
        (
            join(constraints=[]),
            join(constraints=[{"name": "RIDS S", "k": 5}]),
            "RIDS S is used now, k = 5",
        ),
        (join(), join() | OUT, "query late runs now"),
        (join() | OUT, join(), "query late runs no more"),
        (
            join(pipelines={"R": ["S", "T"]}),
            join(pipelines={"R": ["T", "S"]}) | CACHE | OUT,
            "query late runs now, R ⋈ S is cached now, 1 change more",
        ),
        (join(), chains(1, 1), "with σ v > 3, with ⋈, 1 change more"),
        (join(), join(), "the same parts, set otherwise"),
    ],
)
def test_what_happened_is_named(old: Any, new: Any, told: str) -> None:
    assert plan_title(a_plan(1, old), a_plan(2, new)) == f"Plan 2: {told}"


def test_what_a_stranger_wrote_into_the_record_breaks_nothing() -> None:
    odd = {"j": ("join", "j", {"pipelines": 3, "routes": [], "constraints": None, "chain": None})}
    assert plan_title(a_plan(1, join()), a_plan(2, odd)) == "Plan 2: the same parts, set otherwise"
