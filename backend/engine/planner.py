"""Which system runs a query, and in which unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backend.model.conditions import ContinuousQuery
from backend.systems.contract import Refusal, Refused, System


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query runs: in the unit of ``system`` for ``group``, which reads ``input``."""

    system: System
    group: str
    input: str

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        return f"{self.system.name}.{self.group}"


def place(query: ContinuousQuery, systems: Sequence[System]) -> Place:
    """The first system that claims the query. Raises Refused with the reason of each that does
    not."""
    reasons = []
    for system in systems:
        claim = system.claim(query)
        if not isinstance(claim, Refusal):
            return Place(system, claim.group, query.stream)
        reasons.append(f"{system.title}: {claim.reason}")
    raise Refused("; ".join([f"no system can run query {query.name!r}", *reasons]))


def placed(
    queries: Iterable[ContinuousQuery], systems: Sequence[System]
) -> dict[str, tuple[Place, tuple[ContinuousQuery, ...]]]:
    """Unit id -> where it is, and its queries in their order. Raises Refused."""
    found: dict[str, tuple[Place, tuple[ContinuousQuery, ...]]] = {}
    for query in queries:
        where = place(query, systems)
        _, members = found.get(where.unit_id, (where, ()))
        found[where.unit_id] = (where, (*members, query))
    return found
