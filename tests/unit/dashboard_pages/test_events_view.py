"""Titles of plan changes."""

from __future__ import annotations

import pytest

from dashboard.views.events import plan_title, titled
from storage.tables.rows import StoredEvent
from storage.vocabulary.kinds import EventKind
from storage.vocabulary.records import Event, PlanVersion


def a_plan(version: int, order: str, kind: str = "early drop") -> PlanVersion:
    entities = tuple(f"u/{name}" for name in order.split())
    graph = {"nodes": [{"id": f"u/{name}", "name": name} for name in order.split()]}
    return PlanVersion(version, version, kind, entities, graph, f"{kind}{order}", "", version * 10)


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        (None, a_plan(1, "a b"), "Plan 1: a first"),
        (a_plan(1, "a b c d"), a_plan(2, "d a b c"), "Plan 2: d before a"),
        (a_plan(1, "a b c"), a_plan(2, "b c a"), "Plan 2: b before a"),
        (a_plan(1, "a b"), a_plan(2, "b a", "no early drop"), "Plan 2: no early drop"),
        (a_plan(1, "a b", "hybrid"), a_plan(2, "a b", "hybrid"), "Plan 2: other micro-arrows"),
        (a_plan(1, "a b"), a_plan(2, "a c"), "Plan 2: with c, without b"),
        (a_plan(1, "a b"), a_plan(2, "c d e a b"), "Plan 2: with c, with d, 1 more"),
    ],
)
def test_a_plan_is_named_by_what_changed(
    old: PlanVersion | None, new: PlanVersion, title: str
) -> None:
    assert plan_title(old, new) == title


def test_only_rearrangements_without_a_title_of_their_own_get_one() -> None:
    plans = [a_plan(2, "b a"), a_plan(1, "a b")]
    events = [
        Event("rearrangement", "plan changed", ref={"decision": 20}),
        Event("rearrangement", "plan changed", ref={"decision": 99}),
        Event("rearrangement", "named", ref={"decision": 20}),
        Event("knob", "plan changed", ref={"decision": 20}),
    ]
    stored = [StoredEvent(i, 0, 0.0, event) for i, event in enumerate(events)]
    titles = [one.event.title for one in titled(stored, plans)]
    assert titles == ["Plan 2: b before a", "plan changed", "named", "plan changed"]


@pytest.mark.parametrize(
    ("kind", "title", "words"),
    [
        ("knob", "mu 0.1 → 0.3", "Threshold μ 0.1 → 0.3"),
        ("knob", "turn #3 kept", "turn #3 kept"),
        (
            "run",
            "a branch of r1 at batch 7 with pool_bytes = 9 is begun",
            "a branch of r1 at batch 7 with Pool of a join's caches = 9 is begun",
        ),
        ("run", "stop requested", "stop requested"),
    ],
)
def test_a_knob_is_called_as_on_its_card(kind: EventKind, title: str, words: str) -> None:
    (found,) = titled([StoredEvent(1, 1, 1.0, Event(kind, title))], [])
    assert found.event.title == words
