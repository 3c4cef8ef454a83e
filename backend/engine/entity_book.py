"""The entities of a selection run, made anew only where queries came, went or changed place."""

from __future__ import annotations

from backend.engine.control import Registry
from backend.engine.deciding import StreamJob
from backend.engine.describe import plan_entities, query_entity
from backend.systems.asc.constructs import ConstructSet
from storage.vocabulary.records import Entity


class EntityBook:
    """Remembers what was published; with thousands of queries nearly all of it stays."""

    def __init__(self) -> None:
        self._constructs: ConstructSet | None = None
        self._registry = Registry({})
        self._by_name: dict[str, Entity] = {}
        self._all: tuple[Entity, ...] = ()

    def entities(
        self, constructs: ConstructSet, job: StreamJob, registry: Registry
    ) -> tuple[Entity, ...]:
        """Everything there is now; the same object as before when nothing changed."""
        if constructs is self._constructs and registry is self._registry:
            return self._all
        for name in self._touched(constructs, registry):
            if name in registry.queries:
                query, paused = registry.queries[name], name in registry.paused
                self._by_name[name] = query_entity(query, constructs, paused)
            else:
                self._by_name.pop(name, None)
        self._constructs, self._registry = constructs, registry
        found = plan_entities(constructs, job.stream, job.source, job.sink)
        self._all = (*found, *self._by_name.values())
        return self._all

    def _touched(self, constructs: ConstructSet, registry: Registry) -> set[str]:
        """Queries that came, went, were paused or got other slots, and those they share a slot
        with; all when other attributes have constructs."""
        before, known = self._constructs, self._registry
        if before is None or before.attributes != constructs.attributes:
            return {*registry.queries, *known.queries}
        old, new = before.names_slots, constructs.names_slots
        found = {name for name, slots in new.items() if old.get(name) is not slots}
        found |= old.keys() - new.keys()
        found |= {n for n, q in registry.queries.items() if known.queries.get(n) is not q}
        found |= known.queries.keys() - registry.queries.keys()
        found |= known.paused ^ registry.paused
        for constructs_then in (before, constructs):
            shared = {s for name in found for s in constructs_then.names_slots.get(name, ())}
            found |= {name for slot in shared for name in constructs_then.slot_names[slot]}
        return found
