"""Which system runs a query, and in which unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from backend.model.conditions import ContinuousQuery
from backend.systems.contract import Refusal, Refused, System


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query runs: in the unit of ``system`` for ``group``. inputs: the streams it reads."""

    system: System
    group: str
    inputs: tuple[str, ...]

    @property
    def input(self) -> str:
        """The one stream of a unit that reads one."""
        (only,) = self.inputs
        return only

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        return f"{self.system.name}.{self.group}"


def place(query: ContinuousQuery, systems: Sequence[System]) -> Place:
    """The system that a query names, or else the first that claims it. Raises Refused with the
    reason of each that does not."""
    reasons = []
    for system in _asked(query, systems):
        claim = system.claim(query)
        if not isinstance(claim, Refusal):
            return Place(system, claim.group, query.reads)
        reasons.append(f"{system.title}: {claim.reason}")
    raise Refused("; ".join([f"no system can run query {query.name!r}", *reasons]))


def _asked(query: ContinuousQuery, systems: Sequence[System]) -> list[System]:
    """Who is asked. Raises Refused: no system has the name that the query asks for."""
    if not query.system:
        return [system for system in systems if system.is_default]
    named = [system for system in systems if system.name == query.system]
    if not named:
        names = ", ".join(system.name for system in systems)
        raise Refused(
            f"query {query.name!r} names the system {query.system!r}; the systems are {names}"
        )
    return named


def placed(
    queries: Iterable[ContinuousQuery], systems: Sequence[System]
) -> dict[str, tuple[Place, tuple[ContinuousQuery, ...]]]:
    """Unit id -> where it is, with the inputs of all its queries, and these in their order. Raises
    Refused."""
    units: dict[str, tuple[Place, tuple[ContinuousQuery, ...]]] = {}
    for query in queries:
        where = place(query, systems)
        before, members = units.get(where.unit_id, (where, ()))
        inputs = tuple(dict.fromkeys((*before.inputs, *where.inputs)))
        units[where.unit_id] = (replace(where, inputs=inputs), (*members, query))
    return units
