"""The entities of a run at a moment, found by what they are for; ids are opaque here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from storage.tables.rows import SeriesData
from storage.vocabulary.records import Entity

#: Id of the engine itself, which every run has.
SYSTEM: Final = "system"


#: In front of the name of a query.
QUERY_NAMED: Final = "@"


class Book(Mapping[str, Entity]):
    """Entities by id. unit: only those of this unit and what all units share; '' = all."""

    def __init__(self, entities: Iterable[Entity] = (), unit: str = "") -> None:
        self._by_id = {
            entity.id: entity for entity in entities if not unit or entity.unit_id in (unit, "")
        }

    def __getitem__(self, entity: str) -> Entity:
        return self._by_id[entity]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def addressed(self, told: str) -> str:
        """The id of an entity as people address it: by itself, or ``@name`` of a query, which is
        found in any run."""
        is_query = told.startswith(QUERY_NAMED)
        return (self.named("query", told.removeprefix(QUERY_NAMED)) or told) if is_query else told

    def systems(self) -> list[str]:
        """Ids of what has numbers of the whole: the engine, and the unit's own if it has one."""
        return [SYSTEM, *(entity.id for entity in self.of("system") if entity.id != SYSTEM)]

    def whole(self, values: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
        """The numbers of the whole; those of the unit before the engine's."""
        return {name: n for id in self.systems() for name, n in values.get(id, {}).items()}

    def owners(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """(entity, property) keys of properties of the whole."""
        return [(entity, name) for name in names for entity in self.systems()]

    def of(self, *roles: str) -> list[Entity]:
        """The entities with one of the roles."""
        return [entity for entity in self._by_id.values() if entity.role in roles]

    def first(self, role: str) -> str:
        """Id of the first entity with the role, '' when there is none."""
        return next((entity.id for entity in self.of(role)), "")

    def role(self, entity: str) -> str:
        """Role of an entity, '' for an unknown one."""
        return self._by_id[entity].role if entity in self._by_id else ""

    def name(self, entity: str) -> str:
        """What people call an entity; an unknown one has its id only."""
        return self._by_id[entity].name if entity in self._by_id else entity

    def named(self, role: str, name: str) -> str:
        """Id of the entity with the role and the name, '' when there is none."""
        return next((entity.id for entity in self.of(role) if entity.name == name), "")


def by_property(found: Mapping[tuple[str, str], SeriesData]) -> dict[str, SeriesData]:
    """Series by property, of keys as Book.owners() gives them: a unit's own before the engine's."""
    engine = {name: data for (entity, name), data in found.items() if entity == SYSTEM}
    return engine | {name: data for (entity, name), data in found.items() if entity != SYSTEM}
