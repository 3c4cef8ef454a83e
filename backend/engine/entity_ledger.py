"""Which entities were published, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from storage.vocabulary.records import Entity, Json


class EntityLedger:
    """Which entities were published; tells what is new, changed or gone. known: those a run that
    goes on has published."""

    def __init__(self, known: Iterable[Entity] = ()) -> None:
        self._known: dict[str, Entity] = {entity.id: entity for entity in known}
        self._last: Sequence[Entity] = ()

    @property
    def known(self) -> Mapping[str, Entity]:
        """Those that are alive, by id."""
        return self._known

    def changes(self, now: Sequence[Entity], batch: int) -> tuple[Entity, ...]:
        """Entities to publish at ``batch``: changed ones as new versions, missing ones removed.

        Objects that were there before, not only equal ones, take no time.
        """
        if now is self._last:
            return ()
        self._last = now
        current = {entity.id: entity for entity in now}
        changed = [
            replace(entity, since_batch=batch)
            for entity in current.values()
            if (old := self._known.get(entity.id)) is not entity and _facts(old) != _facts(entity)
        ]
        gone = [
            replace(e, removed_batch=batch) for e in self._known.values() if e.id not in current
        ]
        self._known = current
        return (*changed, *gone)


def _facts(entity: Entity | None) -> Json:
    if entity is None:
        return None
    return (entity.kind, entity.role, entity.name, entity.properties, entity.query)
