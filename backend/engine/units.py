"""The units of a run: made for its queries, told what happens, asked what they run and show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backend.engine.control import Registry
from backend.engine.entity_ledger import EntityLedger
from backend.engine.job import RunJob
from backend.engine.planner import Place, place, placed
from backend.engine.settings import ScopedSettings, of_unit, taken_up
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.ids import entity_id, unit_entity
from backend.model.knobs import KnobSettings
from backend.operators.contract import BatchResult, Operator
from backend.systems import contract
from backend.systems.contract import BatchRan, Observation, Recorded, Refused, UnitJob, UnitState
from storage.resume import LastState
from storage.vocabulary.records import Entity, Knob, Unit


class BrokeOff(Exception):
    """A unit broke off in a change, which was undone: what it came to by that."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__("broke off and undone")
        self.recorded = recorded


@dataclass
class RunningUnit:
    """A unit with its place, its queries (paused ones included) and the plan the last batch ran.

    resting: its knobs, while it has left the run with its last query.
    """

    place: Place
    unit: contract.Unit
    queries: dict[str, ContinuousQuery]
    since_batch: int
    ran_version: int = 0
    ledger: EntityLedger = field(default_factory=EntityLedger)
    resting: KnobSettings | None = None

    @property
    def id(self) -> str:
        return self.place.unit_id

    def active(self, paused: frozenset[str]) -> tuple[ContinuousQuery, ...]:
        """Its queries that run."""
        return tuple(query for name, query in self.queries.items() if name not in paused)

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

    def record(self) -> Unit:
        """As the store has it."""
        system, inputs = self.place.system, (self.place.input,)
        title = f"{system.title} of {self.place.group}"
        return Unit(self.id, system.name, title, inputs, tuple(self.queries), self.since_batch)


class UnitSet:
    """All units of a run. Changes are published through ``changes``, once."""

    def __init__(self, job: RunJob) -> None:
        self._job = job
        self._units: dict[str, RunningUnit] = {}
        self._published: dict[str, Unit] = {}
        self._gone: list[Entity] = []
        self._resting: dict[str, RunningUnit] = {}
        self._last: LastState | None = None

    @property
    def plans(self) -> dict[str, int]:
        """Unit -> version of the plan in force, or adopted for the next batch."""
        return {id: one.unit.plan_version for id, one in self._units.items()}

    def unit(self, id: str) -> contract.Unit:
        """Raises KeyError."""
        return self._units[id].unit

    def start(
        self, registry: Registry, settings: ScopedSettings, last: LastState | None, batch: int
    ) -> tuple[Recorded, ScopedSettings]:
        """Make the units of the registered queries; what they come to, and their knobs besides
        ``settings``. last: what a killed run left. Raises Refused, QueryError, KnobRefused."""
        found, self._last = Recorded(), last
        for where, members in placed(registry.queries.values(), self._job.systems).values():
            recorded, settings = self._add(where, members, registry, settings, batch)
            found = found.then(recorded)
        if last is not None:
            self._take_up(last, batch)
        return found, settings

    def _take_up(self, last: LastState, batch: int) -> None:
        """Remember what was published; what is there no more goes."""
        units = [one.unit for one in last.units if one.unit.removed_batch is None]
        self._published = {unit.id: unit for unit in units}
        gone = [e for e in last.entities if e.unit_id and e.unit_id not in self._units]
        self._gone += [replace(entity, removed_batch=batch) for entity in gone]
        for id, one in self._units.items():
            one.ledger = EntityLedger(e for e in last.entities if e.unit_id == id)

    def _add(
        self,
        where: Place,
        members: Sequence[ContinuousQuery],
        registry: Registry,
        settings: ScopedSettings,
        batch: int,
    ) -> tuple[Recorded, ScopedSettings]:
        job, id, last = self._job, where.unit_id, self._last
        knobs = of_unit(job, id, where.system.knobs)
        if last is not None:
            knobs = taken_up(knobs, _knobs_of(last, id), job.asked)
        made = UnitJob(
            id,
            where.input,
            job.inputs[where.input].schema,
            tuple(q for q in members if q.name not in registry.paused),
            functions=job.functions,
            relations=job.relations,
            batch=batch,
            progress=job.progress,
        )
        unit = where.system.unit(made, knobs)
        known = None if last is None else last.unit(id)
        since = batch if known is None else known.unit.since_batch
        recorded = stamped(unit.start(state_of(last, id)), id)
        self._units[id] = RunningUnit(where, unit, {q.name: q for q in members}, since)
        return recorded, settings.having(id, knobs)

    def operators(self, batch_id: int) -> dict[str, dict[str, Operator]]:
        """Input -> unit -> what the batch runs."""
        found: dict[str, dict[str, Operator]] = {name: {} for name in self._job.inputs}
        for id, one in self._units.items():
            one.ran_version = one.unit.plan_version
            found[one.place.input][id] = one.unit.operator(batch_id)
        return found

    @property
    def ran(self) -> dict[str, int]:
        """Unit -> version of the plan the last batch ran."""
        return {id: one.ran_version for id, one in self._units.items() if one.ran_version}

    def executed(self, result: BatchResult, ms: float) -> Recorded:
        """Let every unit decide on its part of a batch."""
        found = Recorded()
        for id, part in result.units.items():
            if id in self._units:
                ran = BatchRan(result.batch_id, part, ms)
                found = found.then(stamped(self._units[id].unit.executed(ran), id))
        return found

    def turned(
        self, scope: str, settings: ScopedSettings, before: ScopedSettings, batch: int
    ) -> Recorded:
        """A knob of ``scope`` was turned. Raises Refused."""
        if scope not in self._units:
            return Recorded()
        one = self._units[scope]
        then = KnobsChanged(settings.scopes[scope], batch)
        return one.told(then, KnobsChanged(before.scopes[scope], batch))

    def requeried(
        self,
        name: str,
        registry: Registry,
        before: Registry,
        settings: ScopedSettings,
        reason: str,
        batch: int,
    ) -> tuple[Recorded, ScopedSettings]:
        """Query ``name`` was registered, paused, resumed or removed. Raises Refused."""
        holder = next((one for one in self._units.values() if name in one.queries), None)
        query = registry.queries.get(name)
        if holder is None:
            assert query is not None
            where = place(query, self._job.systems)
            holder = self._units.get(where.unit_id) or self._resting.get(where.unit_id)
            if holder is None:
                return self._add(where, (query,), registry, settings, batch)
        members = {n: q for n, q in holder.queries.items() if n != name}
        if query is not None:
            members = {**holder.queries, name: query}
        if not members and holder.place.system.leaves_when_empty:
            return self._leave(holder, settings, batch)
        active = tuple(q for n, q in members.items() if n not in registry.paused)
        then = QueriesChanged(active, batch, reason)
        undo = QueriesChanged(holder.active(before.paused), batch, f"{reason}: undone")
        recorded = holder.told(then, undo)
        holder.queries = members
        return recorded, self._return(holder, settings)

    def _leave(
        self, one: RunningUnit, settings: ScopedSettings, batch: int
    ) -> tuple[Recorded, ScopedSettings]:
        """A unit goes with its last query; it keeps its numbers, should the query come again."""
        event = QueriesChanged((), batch, "its last query was removed")
        recorded = stamped(one.unit.changed(event), one.id)
        self._gone += one.ledger.changes((), batch)
        one.queries, one.resting = {}, settings.scopes[one.id]
        self._resting[one.id] = self._units.pop(one.id)
        return recorded, settings.without(one.id)

    def _return(self, one: RunningUnit, settings: ScopedSettings) -> ScopedSettings:
        """A unit that had left is back, with its knobs; of others nothing changes."""
        if one.resting is None:
            return settings
        knobs, one.resting = one.resting, None
        self._units[one.id] = self._resting.pop(one.id)
        return settings.having(one.id, knobs)

    def entity_changes(self, paused: frozenset[str], batch: int) -> list[Entity]:
        """Entities that are new, changed or gone since the last call."""
        found, self._gone = self._gone, []
        for one in self._units.values():
            resting = {n: q for n, q in one.queries.items() if n in paused} if paused else {}
            found += one.ledger.changes(one.unit.entities(resting), batch)
        return found

    def observe(self) -> Observation:
        """Samples and matrices of all units, each thing once."""
        found = Observation()
        for id, one in self._units.items():
            seen = one.unit.observe()
            matrices = tuple(replace(matrix, unit_id=id) for matrix in seen.matrices)
            found = Observation((*found.samples, *seen.samples), (*found.matrices, *matrices))
        return found

    def query_entity(self, name: str) -> str | None:
        """The id of a query's entity; None when the query is registered no more."""
        for id, one in self._units.items():
            if name in one.queries:
                return entity_id(id, "query", name)
        return None

    def changes(self, batch: int) -> tuple[Unit, ...]:
        """Records of units that are new, changed or gone since the last call."""
        now = {id: one.record() for id, one in self._units.items()}
        changed = [unit for id, unit in now.items() if self._published.get(id) != unit]
        gone = [
            replace(unit, removed_batch=batch)
            for id, unit in self._published.items()
            if id not in now
        ]
        self._published = now
        return (*changed, *gone)


def stamped(recorded: Recorded, id: str) -> Recorded:
    """With the unit's id on every record."""
    return Recorded(
        tuple(replace(one, unit_id=id) for one in recorded.plans),
        tuple(replace(one, unit_id=id) for one in recorded.decisions),
        tuple(replace(one, unit_id=id) for one in recorded.outcomes),
        tuple(replace(one, unit_id=id) for one in recorded.events),
    )


def state_of(last: LastState | None, id: str) -> UnitState | None:
    """What a unit of a killed run goes on with; None for a new one."""
    known = None if last is None else last.unit(id)
    if known is None or known.plan is None:
        return None
    totals = last.totals if last else {}
    counted = totals.get(unit_entity(id), {}).get("decisions_total", 0)
    n_decisions = max(known.last_seq, int(counted))
    return UnitState(known.plan, n_decisions, first=known.first, totals=totals)


def _knobs_of(last: LastState, scope: str) -> tuple[Knob, ...]:
    return tuple(knob for knob in last.knobs if knob.scope == scope)
