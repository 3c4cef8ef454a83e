"""The entities of a selection unit, made anew only where queries came, went or changed place."""

from __future__ import annotations

from collections.abc import Mapping

from backend.model.conditions import ContinuousQuery
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.published import construct_entities, query_in
from backend.systems.publishing import unit_entities
from storage.vocabulary.records import Entity

Queries = Mapping[str, ContinuousQuery]


class EntityBook:
    """Remembers what was published; with thousands of queries nearly all of it stays."""

    def __init__(self, unit_id: str, input: str) -> None:
        self._unit_id, self._input = unit_id, input
        self._constructs: ConstructSet | None = None
        self._known: Queries = {}
        self._paused: Queries = {}
        self._by_name: dict[str, Entity] = {}
        self._all: tuple[Entity, ...] = ()

    def entities(
        self, constructs: ConstructSet, active: Queries, paused: Queries
    ) -> tuple[Entity, ...]:
        """Everything there is now; the same object as before when nothing changed."""
        if constructs is self._constructs and paused == self._paused:
            return self._all
        now = {**active, **paused}
        for name in self._touched(constructs, now, paused):
            if name in now:
                entity = query_in(self._unit_id, now[name], constructs, name in paused)
                self._by_name[name] = entity
            else:
                self._by_name.pop(name, None)
        self._constructs, self._known, self._paused = constructs, now, dict(paused)
        self._all = (
            *unit_entities(self._unit_id, f"Selections of {self._input}"),
            *construct_entities(constructs, self._unit_id),
            *self._by_name.values(),
        )
        return self._all

    def _touched(self, constructs: ConstructSet, now: Queries, paused: Queries) -> set[str]:
        """Queries that came, went, were paused or got other slots, and those they share a slot
        with; all when other attributes have constructs."""
        before, known = self._constructs, self._known
        if before is None or before.attributes != constructs.attributes:
            return {*now, *known}
        old, new = before.names_slots, constructs.names_slots
        touched = {name for name, slots in new.items() if old.get(name) is not slots}
        touched |= old.keys() - new.keys()
        touched |= {name for name, query in now.items() if known.get(name) is not query}
        touched |= known.keys() - now.keys()
        touched |= paused.keys() ^ self._paused.keys()
        for constructs_then in (before, constructs):
            shared = {s for name in touched for s in constructs_then.names_slots.get(name, ())}
            touched |= {name for slot in shared for name in constructs_then.slot_names[slot]}
        return touched
