"""A unit at work in a run: its queries, and how it is told that they change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backend.engine.entity_ledger import EntityLedger
from backend.engine.planner import Place
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.knobs import KnobSettings
from backend.systems import contract
from backend.systems.contract import MOST_STATE_BYTES, KeepsState, Recorded, Refused
from storage.tables.columns import dump_json
from storage.vocabulary.kinds import Severity
from storage.vocabulary.records import Entity, Event, KeptState, Unit

log = logging.getLogger(__name__)


class BrokeOff(Exception):
    """A unit broke off in a change, which was undone: what it came to by that."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__("broke off and undone")
        self.recorded = recorded


@dataclass
class RunningUnit:
    """A unit with its place, its queries (paused ones included) and the plan the last batch ran.

    resting: its knobs, while it has left the run with its last query. keeps_state: it runs as a
    network. ended: query -> why it is over, of queries that read a stream that has failed.
    inexact: why its answers were approximate in the last batch; '' = they were not. kept_bytes:
    of what it knew when it was last recorded.
    """

    place: Place
    unit: contract.SystemUnit
    queries: dict[str, ContinuousQuery]
    since_batch: int
    ran_version: int = 0
    ledger: EntityLedger = field(default_factory=EntityLedger)
    resting: KnobSettings | None = None
    keeps_state: bool = False
    ended: dict[str, str] = field(default_factory=dict)
    inexact: str = ""
    kept_bytes: int | None = None

    @property
    def id(self) -> str:
        return self.place.unit_id

    def active(self, paused: frozenset[str]) -> tuple[ContinuousQuery, ...]:
        """Its queries that run."""
        resting = paused | self.ended.keys()
        return tuple(query for name, query in self.queries.items() if name not in resting)

    def entities(self, paused: frozenset[str]) -> Sequence[Entity]:
        """The unit's, with queries that are over."""
        resting = paused | self.ended.keys()
        entities = self.unit.entities({n: q for n, q in self.queries.items() if n in resting})
        return [self._over(entity) for entity in entities] if self.ended else entities

    def _over(self, entity: Entity) -> Entity:
        if entity.role != "query" or entity.name not in self.ended:
            return entity
        facts = {**entity.properties, "state": "ended", "why": self.ended[entity.name]}
        return replace(entity, properties=facts)

    def exactness_events(self) -> list[Event]:
        """Its answers became approximate in the last batch, for another reason, or exact again."""
        before, self.inexact = self.inexact, self.unit.inexact
        if self.inexact == before:
            return []
        title = "answers are approximate" if self.inexact else "answers are exact again"
        severity: Severity = "warning" if self.inexact else "info"
        return [Event("exactness", title, self.inexact, severity, unit_id=self.id)]

    def state(self) -> KeptState | None:
        """What it knows, for the record; None: it learns nothing between plans."""
        if not isinstance(self.unit, KeepsState):
            return None
        text, before = dump_json(self.unit.facts()), self.kept_bytes
        self.kept_bytes = len(text)
        if self.kept_bytes <= MOST_STATE_BYTES:
            return KeptState(self.id, text)
        if before is None or before <= MOST_STATE_BYTES:
            warning = "unit %s knows %d bytes, at most %d are kept: a kill would lose them"
            log.warning(warning, self.id, self.kept_bytes, MOST_STATE_BYTES)
        return KeptState(self.id, dump_json({}))

    def told(
        self, event: KnobsChanged | QueriesChanged, undo: KnobsChanged | QueriesChanged
    ) -> Recorded:
        """What it comes to. Raises Refused; and BrokeOff, when it was told what was before."""
        try:
            return stamped(self.unit.changed(event), self.id)
        except Refused:
            raise
        except Exception as error:
            raise BrokeOff(stamped(self.unit.changed(undo), self.id)) from error

    def requeried(
        self,
        members: dict[str, ContinuousQuery],
        paused: frozenset[str],
        before: frozenset[str],
        reason: str,
        batch: int,
    ) -> Recorded:
        """These are its queries from now on. before: those that rested until now. Raises as told();
        nothing is changed then."""
        resting = paused | self.ended.keys()
        active = tuple(query for name, query in members.items() if name not in resting)
        then = QueriesChanged(active, batch, reason)
        undo = QueriesChanged(self.active(before), batch, f"{reason}: undone")
        recorded = self.told(then, undo)
        self.queries = members
        self.ended = {name: why for name, why in self.ended.items() if name in members}
        return recorded

    def record(self) -> Unit:
        """As the store has it."""
        system = self.place.system
        read = (stream for query in self.queries.values() for stream in query.reads)
        inputs = tuple(dict.fromkeys((*self.place.inputs, *read)))
        title = f"{system.title} of {self.place.group}"
        return Unit(self.id, system.name, title, inputs, tuple(self.queries), self.since_batch)


def stamped(recorded: Recorded, id: str) -> Recorded:
    """With the unit's id on every record."""
    return Recorded(
        tuple(replace(plan, unit_id=id) for plan in recorded.plans),
        tuple(replace(decision, unit_id=id) for decision in recorded.decisions),
        tuple(replace(outcome, unit_id=id) for outcome in recorded.outcomes),
        tuple(replace(event, unit_id=id) for event in recorded.events),
        tuple(replace(evaluation, unit_id=id) for evaluation in recorded.logged),
    )
