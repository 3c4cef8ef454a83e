"""Words of events: a rearrangement is named by what moved in the plan it made, a knob by what
people call it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dashboard.components.names import named, words_of
from dashboard.views.orders import compare_orders
from dashboard.views.plan_changes import network_changes
from storage.tables.rows import StoredEvent
from storage.vocabulary.records import PlanVersion

_UNNAMED: Final = "plan changed"
#: Kinds of plans that are more than their order -> what is another one where the order is not.
_SAME_ORDER: Final = {"hybrid": "other micro-arrows"}
#: A knob where the engine tells a turn of it; a branch with another value names it as decisions do.
_TURNED: Final = re.compile(r"^\w+(?= .* → )")


def titled(events: Sequence[StoredEvent], plans: Sequence[PlanVersion]) -> list[StoredEvent]:
    """The events as people read them; a rearrangement without a title gets its plan's."""
    titles = plan_titles(plans)
    return [_titled(event, titles) for event in events]


def plan_titles(plans: Sequence[PlanVersion]) -> dict[tuple[str, int], str]:
    """(Unit, decision) -> title of the plan it made; plans: all versions, in any order."""
    titles: dict[tuple[str, int], str] = {}
    before: dict[str, PlanVersion] = {}
    for plan in sorted(plans, key=lambda plan: plan.version):
        if plan.decision is not None:
            titles[plan.unit_id, plan.decision] = plan_title(before.get(plan.unit_id), plan)
        before[plan.unit_id] = plan
    return titles


def plan_title(old: PlanVersion | None, new: PlanVersion) -> str:
    """'Plan 3: temp before dep_delay', or what else tells it from the plan before."""
    return f"Plan {new.version}: {difference(old, new)}"


def names(plan: PlanVersion) -> list[str]:
    """The attributes or filters of a plan, in order, as people call them."""
    called = {node["id"]: str(node["name"]) for node in plan.graph.get("nodes", ())}
    return [called.get(entity, entity) for entity in plan.order]


def of_unit(stored: StoredEvent, unit: str) -> StoredEvent:
    """The event, its title saying whose it is."""
    event = stored.event
    return replace(stored, event=replace(event, title=f"{unit}: {event.title}")) if unit else stored


def difference(old: PlanVersion | None, new: PlanVersion) -> str:
    """What tells a plan from the one before: 'temp before dep_delay'."""
    order = names(new)
    if old is None:
        return f"{order[0]} first" if order else new.kind
    if old.kind != new.kind:
        return new.kind
    if new.kind == "network":
        return network_changes(old, new)
    before = names(old)
    if set(before) != set(order):
        return _other_members(before, order)
    if before == order:
        return _SAME_ORDER.get(new.kind, "the same order")
    risen = max(compare_orders(before, order)[1], key=lambda item: item.moved).attribute
    overtaken = before[: before.index(risen)]
    following = order[order.index(risen) + 1 :]
    return f"{risen} before {next(name for name in following if name in overtaken)}"


def _other_members(before: Sequence[str], order: Sequence[str]) -> str:
    added = [name for name in order if name not in before]
    gone = [name for name in before if name not in order]
    words = [f"with {name}" for name in added[:2]] + [f"without {name}" for name in gone[:2]]
    more = len(added[2:]) + len(gone[2:])
    return ", ".join([*words, f"{more} more"] if more else words)


def _titled(stored: StoredEvent, titles: dict[tuple[str, int], str]) -> StoredEvent:
    event = stored.event
    if event.kind in ("knob", "run"):
        title = named(event.title)
        if event.kind == "knob":
            title = _TURNED.sub(lambda match: words_of(match[0]), title)
        return replace(stored, event=replace(event, title=title))
    if event.kind != "rearrangement" or event.title != _UNNAMED:
        return stored
    decision = (event.ref or {}).get("decision")
    title = titles.get((event.unit_id, decision), "") if isinstance(decision, int) else ""
    return replace(stored, event=replace(event, title=title)) if title else stored
