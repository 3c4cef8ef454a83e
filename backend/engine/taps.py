"""Which places of the plan are looked into, for how many batches more, and what there was to see.

Nothing of it is kept: who looks asks again, so that it ends by itself, as it does with a kill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from backend.operators.contract import BatchResult
from backend.operators.network.core.reports import NetworkReport, Tapped
from backend.operators.values import plain
from backend.systems.contract import CanBeTapped, Refused, SystemUnit, TellsPassed
from storage.vocabulary.taps import MOST_TAPPED_BATCHES, TapSample

#: Characters of a value that are kept.
LONGEST_TEXT: Final = 200


class Taps:
    """Taps of the units of a run (by id, as they are now). seen: what there was to see in the last
    batch."""

    def __init__(self, units: Mapping[str, Any]) -> None:
        self._units = units
        self._left: dict[str, int] = {}
        self._tapped: dict[str, Mapping[str, str]] = {}
        self._told: list[str] = []
        self.seen: tuple[TapSample, ...] = ()

    def ask(self, entity: Any, batches: Any) -> None:
        """Look into what goes through an entity, for so many batches. Raises Refused."""
        if type(batches) is not int or not 1 <= batches <= MOST_TAPPED_BATCHES:
            allowed = f"a whole number of batches, 1 to {MOST_TAPPED_BATCHES}"
            raise Refused(f"batches = {batches!r} is refused: allowed is {allowed}")
        if not isinstance(entity, str) or not self._is_known(entity):
            raise Refused(
                f"{entity!r} cannot be tapped: name an edge or an operator of a network of the "
                "run, or of selections all of whose tuples go one way"
            )
        self._left[entity] = max(batches, self._left.get(entity, 0))

    def _is_known(self, entity: str) -> bool:
        return bool(self._by(entity)) or any(self._of(entity).values())

    def _of(self, entity: str) -> dict[str, Mapping[str, str]]:
        """Unit -> its operators that are to be looked into, with their entities."""
        units: dict[str, SystemUnit] = {id: running.unit for id, running in self._units.items()}
        return {
            id: unit.tapped(entity) for id, unit in units.items() if isinstance(unit, CanBeTapped)
        }

    def _by(self, entity: str) -> list[str]:
        """Units that tell by themselves what passed it."""
        units: dict[str, SystemUnit] = {id: running.unit for id, running in self._units.items()}
        return [
            id
            for id, unit in units.items()
            if isinstance(unit, TellsPassed) and unit.has_on_the_way(entity)
        ]

    def begin(self) -> dict[str, frozenset[str]]:
        """Of the next batch: unit -> the operators that are looked into."""
        tapped: dict[str, dict[str, str]] = {}
        for entity in self._left:
            for id, operators in self._of(entity).items():
                tapped.setdefault(id, {}).update(operators)
        self._told = sorted({id for entity in self._left for id in self._by(entity)})
        self._left = {entity: left - 1 for entity, left in self._left.items() if left > 1}
        self._tapped = {id: operators for id, operators in tapped.items() if operators}
        return {id: frozenset(operators) for id, operators in self._tapped.items()}

    def look(self, result: BatchResult) -> None:
        """A batch is over."""
        samples: list[TapSample] = []
        for id, entities in self._tapped.items():
            report = result.units[id].report if id in result.units else None
            if isinstance(report, NetworkReport):
                samples += [
                    _sample(id, entities[operator], report.operators[operator].n_out, tapped)
                    for operator, tapped in report.tapped.items()
                ]
        for id in self._told:
            if id in result.units:
                samples += map(_plain, self._units[id].unit.passed())
        self.seen = tuple(samples)


def _plain(sample: TapSample) -> TapSample:
    """As JSON can hold it, long texts cut."""
    return replace(sample, rows=[[_short(plain(value)) for value in row] for row in sample.rows])


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST_TEXT
    return f"{value[: LONGEST_TEXT - 1]}…" if is_long else value


def _sample(unit: str, entity: str, n_passed: int, tapped: Tapped) -> TapSample:
    rows = [[kept.tau, kept.sign, kept.n, *kept.values] for kept in tapped.elements]
    return _plain(TapSample(unit, entity, n_passed, tapped.columns, rows))
