"""The units of a run: made for its queries, told what happens, asked what they run and show."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from backend.adaptive.planlog.records import PlanLogRefused
from backend.engine.control import Registry
from backend.engine.entity_ledger import EntityLedger
from backend.engine.job import RunJob
from backend.engine.knobs import RUN_POOL
from backend.engine.parts import UnitParts
from backend.engine.planner import Place, place, placed
from backend.engine.pool import RunPool
from backend.engine.resume import state_of
from backend.engine.running import BrokeOff, RunningUnit, stamped
from backend.engine.settings import ENGINE, ScopedSettings, knobs_of, of_unit, taken_up
from backend.engine.taps import Taps
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.ids import entity_id, unit_entity
from backend.operators.contract import BatchPlan, BatchResult, Operator
from backend.operators.network.core.job import NetworkJob
from backend.systems import contract
from backend.systems.contract import (
    BatchRan,
    MayWait,
    Observation,
    Recorded,
    Refused,
    UnitJob,
)
from backend.systems.stream.sysstream import SYS_ARRIVING, SYS_TIMES
from backend.workloads.sysstream import SYS_STREAMS
from storage.reading.resume import LastState
from storage.vocabulary.records import Entity, Event, KeptState, Sample, Unit

log = logging.getLogger(__name__)


class UnitSet:
    """All units of a run. Changes are published through ``changes``, once.

    listening: unit -> the network over what the run records that it ran last, for no host.
    """

    def __init__(self, job: RunJob) -> None:
        self._job = job
        self._units: dict[str, RunningUnit] = {}
        self._published: dict[str, Unit] = {}
        self._gone: list[Entity] = []
        self._resting: dict[str, RunningUnit] = {}
        self._last: LastState | None = None
        self._failed: dict[str, str] = {}
        self._parts = UnitParts()
        self.pool, self.taps = RunPool(), Taps(self._units)
        self.listening: dict[str, NetworkJob] = {}

    @property
    def plans(self) -> dict[str, int]:
        """Unit -> version of the plan in force, or adopted for the next batch."""
        return {id: unit.unit.plan_version for id, unit in self._units.items()}

    def unit(self, id: str) -> contract.SystemUnit:
        """Raises KeyError."""
        return self._units[id].unit

    def start(
        self, registry: Registry, settings: ScopedSettings, last: LastState | None, batch: int
    ) -> tuple[Recorded, ScopedSettings]:
        """Make the units of the registered queries; what they come to, and their knobs besides
        ``settings``. last: what a killed run left. Raises Refused, QueryError, KnobRefused."""
        of_units, self._last = Recorded(), last
        self._parts = UnitParts(last, self._job.asked)
        for where, members in placed(registry.queries.values(), self._job.systems).values():
            recorded, settings = self._add(where, members, registry, settings, batch)
            of_units = of_units.then(recorded)
        settings.check_weights()
        self._check_learned()
        if last is not None:
            self._take_up(last, batch)
        self.share_memory(settings)
        return of_units, self.with_parts(settings)

    def _check_learned(self) -> None:
        """Raises Refused where the logs to learn from are of none of the units."""
        learned = self._job.learned
        if learned and not learned.keys() & self._units.keys():
            logs, units = (", ".join(sorted(ids)) or "none" for ids in (learned, self._units))
            raise Refused(f"the run to learn from has logs of {logs}; this run's units are {units}")

    def with_parts(self, settings: ScopedSettings) -> ScopedSettings:
        """The settings with the knobs of single entities, as they are now."""
        return self._parts.in_force([unit.unit for unit in self._units.values()], settings)

    def _take_up(self, last: LastState, batch: int) -> None:
        """Remember what was published; what is there no more goes."""
        units = [unit.unit for unit in last.units if unit.unit.removed_batch is None]
        self._published = {unit.id: unit for unit in units}
        gone = [e for e in last.entities if e.unit_id and e.unit_id not in self._units]
        self._gone += [replace(entity, removed_batch=batch) for entity in gone]
        for id, running in self._units.items():
            running.ledger = EntityLedger(e for e in last.entities if e.unit_id == id)

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
            knobs = taken_up(knobs, knobs_of(last, id), job.asked)
        made = UnitJob(
            id,
            where.inputs,
            {**job.schemas, **SYS_ARRIVING},
            tuple(q for q in members if q.name not in registry.paused),
            functions=job.functions,
            relations=job.relations,
            times={name: input.time for name, input in job.inputs.items()} | SYS_TIMES,
            stored=job.stored,
            batch=batch,
            progress=job.progress,
            learned=job.learned.get(id, ()),
        )
        unit = where.system.unit(made, knobs)
        known = None if last is None else last.unit(id)
        since = batch if known is None else known.unit.since_batch
        try:
            recorded = stamped(unit.start(state_of(last, id)), id)
        except PlanLogRefused as refused:
            raise Refused(f"unit {id} cannot learn from that run: {refused}") from refused
        queries = {q.name: q for q in members}
        self._units[id] = RunningUnit(where, unit, queries, since, inexact=unit.inexact)
        return recorded, settings.having(id, knobs)

    def plan(self, batch_id: int) -> BatchPlan:
        """What the batch runs."""
        operators: dict[str, dict[str, Operator]] = {name: {} for name in self._job.inputs}
        networks: dict[str, NetworkJob] = {}
        self.listening = {}
        for id, unit in self._units.items():
            unit.ran_version = unit.unit.plan_version
            work = unit.unit.operator(batch_id)
            unit.keeps_state = isinstance(work, NetworkJob)
            if not isinstance(work, NetworkJob):
                operators[unit.place.input][id] = work
            elif work.streams.keys() & SYS_STREAMS.keys():
                self.listening[id] = work
            elif work.plan.operators:
                networks[id] = work
        return BatchPlan(batch_id, operators, networks, self.taps.begin())

    def share_memory(self, settings: ScopedSettings) -> None:
        """Divide the pool of the run by what units bid now."""
        self.pool.divide(self._now(), settings.scopes[ENGINE].whole(RUN_POOL.name))

    def _now(self) -> dict[str, contract.SystemUnit]:
        return {id: unit.unit for id, unit in self._units.items()}

    @property
    def selects(self) -> bool:
        """Whether tuples are selected; not where all queries are answered by networks."""
        return not self._units or any(not unit.keeps_state for unit in self._units.values())

    @property
    def ran(self) -> dict[str, int]:
        """Unit -> version of the plan the last batch ran."""
        return {id: unit.ran_version for id, unit in self._units.items() if unit.ran_version}

    def executed(self, result: BatchResult, ms: float, settings: ScopedSettings) -> Recorded:
        """Let every unit decide on its part of a batch, then divide the memory of the run."""
        recorded = Recorded()
        waiting = {name: input.backlog_tuples for name, input in result.inputs.items()}
        backlog = {name: n for name, n in waiting.items() if n is not None}
        for id, part in result.units.items():
            if id in self._units:
                ran = BatchRan(result.batch_id, part, ms, backlog)
                recorded = recorded.then(stamped(self._units[id].unit.executed(ran), id))
        self.taps.look(result)
        for event in recorded.events:
            if event.kind == "input":
                log.warning("%s (%s)", event.title, event.detail)
        self.share_memory(settings)
        events = tuple(e for unit in self._units.values() for e in unit.exactness_events())
        return recorded.then(Recorded(events=events))

    def turned(
        self, scope: str, settings: ScopedSettings, before: ScopedSettings, batch: int
    ) -> Recorded:
        """A knob of ``scope`` was turned. Raises Refused."""
        self._parts.turned(scope, settings)
        if scope not in self._units:
            return Recorded()
        unit = self._units[scope]
        then = KnobsChanged(settings.scopes[scope], batch)
        return unit.told(then, KnobsChanged(before.scopes[scope], batch))

    def requeried(
        self,
        names: Sequence[str],
        registry: Registry,
        before: Registry,
        settings: ScopedSettings,
        reason: str,
        batch: int,
    ) -> tuple[Recorded, ScopedSettings]:
        """Queries were registered, paused, resumed or removed. Raises Refused, also where a unit
        would come or go by one of several; and BrokeOff."""
        if len(names) > 1:
            return self._requeried_together(names, registry, before, reason, batch), settings
        name = names[0]
        holder = next((unit for unit in self._units.values() if name in unit.queries), None)
        query = registry.queries.get(name)
        if query is not None and name not in registry.paused:
            self._check_inputs(query)
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
        recorded = holder.requeried(members, registry.paused, before.paused, reason, batch)
        return recorded, self._return(holder, settings)

    def _requeried_together(
        self, names: Sequence[str], registry: Registry, before: Registry, reason: str, batch: int
    ) -> Recorded:
        """Each unit plans once. When one breaks off, what the others did is undone."""
        done: list[tuple[RunningUnit, dict[str, ContinuousQuery]]] = []
        recorded = Recorded()
        for id, members in self._members_then(names, registry).items():
            unit, queries = self._units[id], self._units[id].queries
            try:
                changed = unit.requeried(members, registry.paused, before.paused, reason, batch)
            except Exception as error:
                recorded = (
                    recorded.then(error.recorded) if isinstance(error, BrokeOff) else recorded
                )
                for other, old in done:
                    paused, why = (before.paused, registry.paused), f"{reason}: undone"
                    recorded = recorded.then(other.requeried(old, *paused, why, batch))
                raise BrokeOff(recorded) from error
            recorded = recorded.then(changed)
            done.append((unit, queries))
        return recorded

    def _members_then(
        self, names: Sequence[str], registry: Registry
    ) -> dict[str, dict[str, ContinuousQuery]]:
        """Unit -> its queries after the change. Raises Refused where a unit comes or goes."""
        holders = {name: id for id, unit in self._units.items() for name in unit.queries}
        units: dict[str, dict[str, ContinuousQuery]] = {}
        for name in names:
            query = registry.queries.get(name)
            if query is not None and name not in registry.paused:
                self._check_inputs(query)
            if query is not None and name not in holders:
                holders[name] = place(query, self._job.systems).unit_id
            id = holders[name]
            if id not in self._units:
                raise Refused(f"unit {id} begins with one of several changes")
            members = units.setdefault(id, dict(self._units[id].queries))
            if query is None:
                del members[name]
            else:
                members[name] = query
        for id, members in units.items():
            if not members and self._units[id].place.system.leaves_when_empty:
                raise Refused(f"unit {id} ends with one of several changes")
        return units

    def _check_inputs(self, query: ContinuousQuery) -> None:
        """Raises Refused for a query with state over a stream that has failed."""
        for stream in query.reads if query.plan is not None else ():
            if stream in self._failed:
                why = self._failed[stream]
                raise Refused(f"query {query.name!r} reads stream {stream}, which failed: {why}")

    def inputs_failed(
        self, failed: Mapping[str, str], paused: frozenset[str], batch: int
    ) -> tuple[Recorded, list[Event]]:
        """Streams (name -> why) give no more tuples: queries of networks that read one are over,
        others of the same unit go on. Units without state just get no more tuples."""
        self._failed, recorded, events = dict(failed), Recorded(), list[Event]()
        for id, unit in self._units.items():
            over = {q.name: why for q in unit.active(paused) if (why := _lost(q, failed))}
            if over and unit.keeps_state:
                unit.ended |= over
                reason = "; ".join(dict.fromkeys(over.values()))
                changed = unit.unit.changed(QueriesChanged(unit.active(paused), batch, reason))
                recorded = recorded.then(stamped(changed, id))
                events += [
                    Event("query", f"query {n} is over", w, "error") for n, w in over.items()
                ]
        return recorded, events

    def _leave(
        self, unit: RunningUnit, settings: ScopedSettings, batch: int
    ) -> tuple[Recorded, ScopedSettings]:
        """A unit goes with its last query; it keeps its numbers, should the query come again."""
        event = QueriesChanged((), batch, "its last query was removed")
        recorded = stamped(unit.unit.changed(event), unit.id)
        self._gone += unit.ledger.changes((), batch)
        unit.queries, unit.resting = {}, settings.scopes[unit.id]
        self._resting[unit.id] = self._units.pop(unit.id)
        return recorded, settings.without(unit.id)

    def _return(self, unit: RunningUnit, settings: ScopedSettings) -> ScopedSettings:
        """A unit that had left is back, with its knobs; of others nothing changes."""
        if unit.resting is None:
            return settings
        knobs, unit.resting = unit.resting, None
        self._units[unit.id] = self._resting.pop(unit.id)
        return settings.having(unit.id, knobs)

    @property
    def waits(self) -> str:
        """Why no batch may begin before something is changed; '' while batches may."""
        units = (unit.unit for unit in self._units.values())
        return next((u.waits for u in units if isinstance(u, MayWait) and u.waits), "")

    def entity_changes(self, paused: frozenset[str], batch: int) -> list[Entity]:
        """Entities that are new, changed or gone since the last call."""
        entities, self._gone = self._gone, []
        for unit in self._units.values():
            entities += unit.ledger.changes(unit.entities(paused), batch)
        return entities

    def known_entities(self) -> dict[str, Entity]:
        """All entities of the units as they were last told, by id."""
        entities: dict[str, Entity] = {}
        for unit in self._units.values():
            entities |= unit.ledger.known
        return entities

    def observe(self) -> Observation:
        """Samples and matrices of all units, each thing once."""
        observation = Observation()
        for id, unit in self._units.items():
            seen = unit.unit.observe()
            matrices = tuple(replace(matrix, unit_id=id) for matrix in seen.matrices)
            inexact = sorted(unit.unit.inexact_queries if unit.inexact else ())
            marks = [Sample(entity_id(id, "query", name), "inexact", 1.0, "") for name in inexact]
            if unit.kept_bytes is not None:
                marks.append(Sample(unit_entity(id), "kept_bytes", unit.kept_bytes, "bytes"))
            samples = (*observation.samples, *seen.samples, *marks)
            observation = Observation(samples, (*observation.matrices, *matrices))
        now = self._now()
        return Observation(
            (*observation.samples, *self.pool.samples(now)),
            (*observation.matrices, *self.pool.matrices(now)),
        )

    def states(self) -> tuple[KeptState, ...]:
        """What each unit knows that learns between plans."""
        return tuple(kept for unit in self._units.values() if (kept := unit.state()) is not None)

    def query_entity(self, name: str) -> str | None:
        """The id of a query's entity; None when the query is registered no more."""
        for id, unit in self._units.items():
            if name in unit.queries:
                return entity_id(id, "query", name)
        return None

    def changes(self, batch: int) -> tuple[Unit, ...]:
        """Records of units that are new, changed or gone since the last call."""
        now = {id: unit.record() for id, unit in self._units.items()}
        changed = [unit for id, unit in now.items() if self._published.get(id) != unit]
        gone = [
            replace(unit, removed_batch=batch)
            for id, unit in self._published.items()
            if id not in now
        ]
        self._published = now
        return (*changed, *gone)


def _lost(query: ContinuousQuery, failed: Mapping[str, str]) -> str:
    """Why a query that needs all its streams is over; '' while it is not."""
    lost = [f"stream {s} failed: {failed[s]}" for s in query.reads if s in failed]
    return "; ".join(lost)
