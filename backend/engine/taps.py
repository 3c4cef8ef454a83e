"""Which places of the plan are looked into, for how many batches more, and what there was to see.

Nothing of it is kept: who looks asks again, so that it ends by itself, as it does with a kill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backend.operators.contract import BatchResult
from backend.operators.network.core.reports import NetworkReport, Tapped
from backend.operators.values import plain
from backend.systems.contract import CanBeTapped, Refused, SystemUnit
from storage.vocabulary.taps import MOST_TAPPED_BATCHES, TapSample


class Taps:
    """Taps of the units of a run (by id, as they are now)."""

    def __init__(self, units: Mapping[str, Any]) -> None:
        self._units = units
        self._left: dict[str, int] = {}
        self._tapped: dict[str, Mapping[str, str]] = {}

    def ask(self, entity: Any, batches: Any) -> None:
        """Look into what goes through an entity, for so many batches. Raises Refused."""
        if type(batches) is not int or not 1 <= batches <= MOST_TAPPED_BATCHES:
            allowed = f"a whole number of batches, 1 to {MOST_TAPPED_BATCHES}"
            raise Refused(f"batches = {batches!r} is refused: allowed is {allowed}")
        if not isinstance(entity, str) or not any(self._of(entity).values()):
            raise Refused(
                f"{entity!r} cannot be tapped: name an edge or an operator of a network of the run"
            )
        self._left[entity] = max(batches, self._left.get(entity, 0))

    def _of(self, entity: str) -> dict[str, Mapping[str, str]]:
        """Unit -> its operators that are to be looked into, with their entities."""
        units: dict[str, SystemUnit] = {id: running.unit for id, running in self._units.items()}
        return {
            id: unit.tapped(entity) for id, unit in units.items() if isinstance(unit, CanBeTapped)
        }

    def begin(self) -> dict[str, frozenset[str]]:
        """Of the next batch: unit -> the operators that are looked into."""
        tapped: dict[str, dict[str, str]] = {}
        for entity in self._left:
            for id, operators in self._of(entity).items():
                tapped.setdefault(id, {}).update(operators)
        self._left = {entity: left - 1 for entity, left in self._left.items() if left > 1}
        self._tapped = {id: operators for id, operators in tapped.items() if operators}
        return {id: frozenset(operators) for id, operators in self._tapped.items()}

    def seen(self, result: BatchResult) -> tuple[TapSample, ...]:
        """What there was to see in the batch."""
        samples: list[TapSample] = []
        for id, entities in self._tapped.items():
            report = result.units[id].report if id in result.units else None
            if isinstance(report, NetworkReport):
                samples += [
                    _sample(id, entities[operator], report.operators[operator].n_out, tapped)
                    for operator, tapped in report.tapped.items()
                ]
        return tuple(samples)


def _sample(unit: str, entity: str, n_passed: int, tapped: Tapped) -> TapSample:
    rows = [
        [kept.tau, kept.sign, kept.n, *(plain(value) for value in kept.values)]
        for kept in tapped.elements
    ]
    return TapSample(unit, entity, n_passed, tapped.columns, rows)
