"""Knobs of single entities: a queue's capacity. Their scope is the entity."""

from __future__ import annotations

from collections.abc import Iterable

from backend.engine.settings import ScopedSettings, knobs_of, taken_up
from backend.model.knobs import KnobSettings
from backend.systems.contract import HasParts, SystemUnit
from storage.reading.resume import LastState


class UnitParts:
    """The entities of all units that have knobs of their own, as they are now.

    last: what a killed run left; asked: knobs whose values were given for this start.
    """

    def __init__(self, last: LastState | None = None, asked: frozenset[str] = frozenset()) -> None:
        self._last, self._asked = last, asked
        self._units: dict[str, HasParts] = {}

    def in_force(self, units: Iterable[SystemUnit], settings: ScopedSettings) -> ScopedSettings:
        """The settings with the knobs of the entities that the units have now, and of no others."""
        now: dict[str, HasParts] = {}
        for unit in units:
            if isinstance(unit, HasParts):
                for id, specs in unit.parts().items():
                    now[id] = unit
                    if id not in self._units:
                        knobs = self._first(id, KnobSettings.defaults(specs))
                        unit.part_turned(id, knobs)
                        settings = settings.having(id, knobs)
        for id in self._units.keys() - now.keys():
            settings = settings.without(id)
        self._units = now
        return settings

    def _first(self, id: str, knobs: KnobSettings) -> KnobSettings:
        last = self._last
        return knobs if last is None else taken_up(knobs, knobs_of(last, id), self._asked)

    def turned(self, scope: str, settings: ScopedSettings) -> None:
        """A knob of ``scope`` was turned, which may be one of these entities."""
        if scope in self._units:
            self._units[scope].part_turned(scope, settings.scopes[scope])
