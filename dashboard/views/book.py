"""The entities of a run at a moment, found by what they are for; ids are opaque here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

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

    def addressed(self, name: str) -> str:
        """The id of an entity as people address it: by itself, or ``@name`` of a query, which is
        found in any run."""
        is_query = name.startswith(QUERY_NAMED)
        return (self.named("query", name.removeprefix(QUERY_NAMED)) or name) if is_query else name

    def systems(self) -> list[str]:
        """Ids of what has numbers of the whole: the engine, and the unit's own if it has one."""
        return [SYSTEM, *(entity.id for entity in self.of("system") if entity.id != SYSTEM)]

    def whole(self, values: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
        """The numbers of the whole; those of the unit before the engine's."""
        return {name: n for id in self.systems() for name, n in values.get(id, {}).items()}

    def owners(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """(entity, property) keys of properties of the whole."""
        return [(entity, name) for name in names for entity in self.systems()]

    def keys_of(self, role: str, names: Iterable[str]) -> list[tuple[str, str]]:
        """(entity, property) keys of properties of the entities with the role."""
        return [(entity.id, name) for entity in self.of(role) for name in names]

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

    def whole_name(self, entity: str) -> str:
        """What it is called, in full where its name is shortened: what an operator does."""
        name, text = self.name(entity), ""
        if name.endswith("…") and entity in self._by_id:
            text = str(self._by_id[entity].properties.get("text") or "")
        return text or name

    def owner(self, entity: str) -> str:
        """What the first of its operators is called; '' where a part says none, or it is gone."""
        facts = self._by_id[entity].properties if entity in self._by_id else {}
        known = (id for id in facts.get("owners") or () if id in self._by_id)
        return next((self.name(id) for id in known), "")

    def title(self, entity: str) -> str:
        """The queries that an operator is for; the operator itself where nobody says."""
        facts = self._by_id[entity].properties if entity in self._by_id else {}
        return ", ".join(map(str, facts.get("queries") or ())) or self.name(entity)

    def named(self, role: str, name: str) -> str:
        """Id of the entity with the role and the name, '' when there is none."""
        return next((entity.id for entity in self.of(role) if entity.name == name), "")


def added(series: Mapping[tuple[str, str], SeriesData]) -> dict[str, SeriesData]:
    """Series of several entities as one for each property: values added batch by batch, at the
    batches that the series of most points has."""
    each: dict[str, list[SeriesData]] = {}
    for (_, name), data in series.items():
        each.setdefault(name, []).append(data)
    return {name: _sum(several) for name, several in each.items()}


def _sum(several: Sequence[SeriesData]) -> SeriesData:
    """A series is 0 before it begins, and between its points as at the last one."""
    longest = max(several, key=lambda data: len(data.batch))
    total = np.zeros((3, len(longest.batch)))
    for data in several:
        places = np.searchsorted(data.batch, longest.batch, side="right")
        points = np.nan_to_num(np.vstack([data.value, data.low, data.high]))
        total += np.hstack([np.zeros((3, 1)), points])[:, places]
    return longest._replace(value=total[0], low=total[1], high=total[2])


def by_property(series: Mapping[tuple[str, str], SeriesData]) -> dict[str, SeriesData]:
    """Series by property, of keys as Book.owners() gives them: a unit's own before the engine's."""
    engine = {name: data for (entity, name), data in series.items() if entity == SYSTEM}
    return engine | {name: data for (entity, name), data in series.items() if entity != SYSTEM}
