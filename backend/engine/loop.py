"""The loop around a run: boundary, batch, profile, decide, record (StreaMon)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from backend.engine import recorder
from backend.engine.boundary import Boundary
from backend.engine.control import (
    Carried,
    Controlled,
    Registry,
    carry_out_all,
    check_intake,
    in_groups,
)
from backend.engine.entity_ledger import EntityLedger
from backend.engine.input_news import InputNews
from backend.engine.job import RunJob
from backend.engine.knobs import RATE, SPEED
from backend.engine.listening import Listening, RunsListening
from backend.engine.misfits import Aside, MisfitNews
from backend.engine.pace import PACING
from backend.engine.provisional import ProvisionalTurns
from backend.engine.query_totals import QueryTotals
from backend.engine.refusals import refusal_of
from backend.engine.resume import check_step
from backend.engine.running import BrokeOff
from backend.engine.settings import ENGINE, ScopedSettings, check_scopes, frame_taken_up, of_frame
from backend.engine.totals import Totals
from backend.engine.units import UnitSet
from backend.engine.upkeep import Upkeep
from backend.model.ids import source_id
from backend.model.knobs import KnobValue
from backend.operators.contract import BatchPlan, BatchResult, InputResult
from backend.systems.contract import Recorded, ShowsDecisions, SystemUnit
from storage.reading.resume import LastState
from storage.vocabulary.kinds import Phase
from storage.vocabulary.records import Batch, BatchRecord, Command, Entity, Event, Run, Sample
from storage.writer import EngineWriter

log = logging.getLogger(__name__)


class Loop:
    """Runs the decisions and records of a run, called as ``BatchLoop`` says; ``start`` first.

    last: what a run that goes on had come to; registry: its queries.
    """

    def __init__(
        self,
        run: Run,
        job: RunJob,
        writer: EngineWriter,
        last: LastState | None = None,
        registry: Registry | None = None,
    ) -> None:
        """Raises Refused, KnobRefused for what cannot run."""
        self.run, self.job, self.writer = run, job, writer
        self.stop_requested = threading.Event()
        self._lock = threading.Lock()
        self._in_batch = self._is_changed = False
        self._recorded_batch = -1 if last is None or last.last_batch is None else last.last_batch
        self._next_batch = self._recorded_batch + 1
        self._units = UnitSet(job)
        settings = frame_taken_up(of_frame(job), last, job.asked)
        queries = registry or Registry({q.name: q for q in job.queries})
        first, settings = self._units.start(queries, settings, last, self._next_batch)
        check_scopes(job, settings)
        check_intake(settings, queries.queries.values())
        self._now = Controlled(settings, queries, taps=self._units.taps)
        self._boundary = Boundary(first)
        self._provisional = ProvisionalTurns()
        self._frame = recorder.framed(job, self._now.pace.held)
        self._ledger, self._totals = EntityLedger(), Totals.of(last)
        self._query_totals = QueryTotals(self._units.query_entity, self._totals.by_query)
        self._misfits, self._inputs, self._listening = MisfitNews(), InputNews(), Listening()
        self.aside = Aside()
        self._commit_ms: float | None = None
        self._upkeep = Upkeep(writer, run.id, job.log)

    def start(self, kept: str | None = None, alone: bool = False) -> None:
        """Record the run; or that it goes on. kept: of a run that goes on, what it keeps, in words.
        alone: no other of its workload may be at work. Raises StoreError."""
        run = self.run
        if kept is None:
            self.writer.begin_run(run, alone=alone)
        else:
            start = (run.started_at, run.version, run.settings, run.inputs, kept)
            self.writer.resume_run(run.id, *start)
            self._provisional = ProvisionalTurns(self.writer.unkept_turns(run.id))
        self._boundary.turned += recorder.all_knobs(self._now.settings)
        self._flush(self._next_batch)

    @property
    def in_batch(self) -> bool:
        """Between the begin and the end of a batch."""
        return self._in_batch

    @property
    def is_changed(self) -> bool:
        """Queries or knobs were changed since the last batch began."""
        return self._is_changed

    @property
    def settings(self) -> ScopedSettings:
        """The knobs in force."""
        return self._now.settings

    def unit(self, id: str) -> SystemUnit:
        """A unit of the run. Raises KeyError."""
        return self._units.unit(id)

    @property
    def failed_inputs(self) -> dict[str, str]:
        """Inputs that have failed, and why."""
        return dict(self._inputs.failed)

    @property
    def totals(self) -> Totals:
        """What was counted since the run began, over kills of it."""
        return self._totals

    def input_knob(self, input: str, name: str) -> KnobValue:
        """The value in force of a knob of a replayed input; its rate at the speed of the run."""
        scopes = self.settings.scopes
        if name == RATE.name:
            own = scopes[source_id(input)].number(name)
            return own * scopes[ENGINE].number(SPEED.name)
        return scopes[source_id(input)].values[name]

    def listens(self, listener: RunsListening) -> None:
        """Networks over SysStream run there."""
        self._listening.listener = listener

    def tell(self, event: Event) -> None:
        """Record what whoever runs the batches came to know."""
        with self._lock:
            self._boundary.events.append(event)

    def may_begin(self) -> bool:
        """A batch may begin: the run is not held, or this is a step."""
        return self._now.pace.may_begin

    def decided(self, unit: str, operator: str, waiting: Mapping[str, int]) -> None:
        """A scheduling decision of a network; it is recorded while decisions are stepped."""
        if not self._now.pace.in_decisions:
            return
        with self._lock:
            self._now = replace(self._now, pace=self._now.pace.decided())
            shown = self._units.unit(unit)
            assert isinstance(shown, ShowsDecisions)
            self._boundary.events.append(Event("run", *shown.decided(operator, waiting)))
            self._flush(self._next_batch)

    def may_decide(self) -> bool:
        """The next scheduling decision may be made. Takes in commands about that."""
        if not self._now.pace.may_decide:
            with self._lock:
                self._take_commands(self._next_batch, PACING)
                if self._boundary.answers:
                    self._flush(self._next_batch)
        return self._now.pace.may_decide or self.stop_requested.is_set()

    def begins(self, phase: Phase) -> None:
        """The engine does this from now on: told with its signs of life when it lasts."""
        self._upkeep.begins(phase)

    def begin_batch(self, batch_id: int) -> BatchPlan:
        """Take in commands, then fix what the batch runs; one that was recorded before a kill runs
        again for its results alone. Raises OutOfStep."""
        check_step(batch_id, self._recorded_batch)
        with self._lock:
            self._in_batch = True
            if batch_id > self._recorded_batch:
                self._next_batch = batch_id
                self._take_commands(batch_id)
            self._now = replace(self._now, pace=self._now.pace.begun())
            self._is_changed = False
            plan = self._units.plan(batch_id)
            self._listening.networks, self._listening.taps = self._units.listening, plan.taps
            return plan

    def end_batch(self, result: BatchResult) -> None:
        """Let the units decide and record everything of the batch in one transaction."""
        self.begins("units decide")
        with self._lock:
            self._now = replace(self._now, pace=self._now.pace.ended())
            if result.batch_id > self._recorded_batch:
                record = self._batch_record(result)
                written = time.perf_counter()
                self.writer.write_batch(record)
                self._commit_ms = (time.perf_counter() - written) * 1e3
                self._boundary = Boundary()
                self._recorded_batch = result.batch_id
                self._next_batch = result.batch_id + 1
                for line in self.aside.lines(result.inputs):
                    log.warning("%s", line)
            self._in_batch = False

    def idle(self) -> None:
        """Between batches: carry out and answer commands at once. In a batch it does not wait."""
        if self._in_batch:
            return
        with self._lock:
            if self._in_batch:  # it has just begun
                return
            self._take_commands(self._next_batch)
            if self._boundary.has_news:
                self._flush(self._next_batch)

    def between_batches(self) -> None:
        """Give a sign of life now and then, and keep the store tidy."""
        self._upkeep.look()

    def ending(self, why: str) -> None:
        """The run was stopped from outside; said before what runs it is taken down."""
        self.writer.set_state(self.run.id, "ended", why, time.time())

    def finish(self, failures: Mapping[str, str]) -> None:
        """The last batch is over: publish the totals of queries that still wait for it, and which
        inputs failed (name -> why) when no batch told."""
        with self._lock:
            rest = self._query_totals.rest()
            late = {name: InputResult(failure=why) for name, why in failures.items()}
            self._boundary.events += (news := self._inputs.events(late))
            if rest or news:
                self._flush(self._next_batch, rest, late if news else {})

    def abandon_batch(self) -> None:
        """The batch failed; what its boundary brought stays for the next record."""
        with self._lock:
            self._in_batch = False

    def _take_commands(self, batch_id: int, kinds: Collection[str] | None = None) -> None:
        """Carry out what was asked. kinds: of commands, and nothing else; None: all there is."""
        asked = self._boundary.unanswered(self.writer.pending_commands(self.run.id))
        for group in in_groups(c for c in asked if kinds is None or c.kind in kinds):
            self._take(group, batch_id)
        if kinds is None:
            self._boundary.events += self.job.branches.news() if self.job.branches else ()
            for turn in self._provisional.due(self._now.settings):
                self._take_back(turn, batch_id)

    def _take(self, commands: Sequence[Command], batch_id: int) -> None:
        """Carry out commands as one change; in halves, where one of them is in the way."""
        try:
            self._carry_out(commands, batch_id)
        except Exception as error:  # one request may never end the run
            self._keep_undone(error)
            if len(commands) == 1:
                self._boundary.refused(commands[0], refusal_of(commands[0], error))
                return
            for half in (slice(len(commands) // 2), slice(len(commands) // 2, None)):
                self._take(commands[half], batch_id)

    def _take_back(self, turn: Command, batch_id: int) -> None:
        """Undo a turn that nobody kept; one that cannot be undone stands, and the log says why."""
        try:
            event = self._change([turn], batch_id)[0].event
        except Exception as error:  # as of a request
            self._keep_undone(error)
            log.error("turn %d is not taken back: %s", turn.id, refusal_of(turn, error))
            return
        ref = {**event.ref, "taken_back": True}
        self._boundary.events.append(replace(event, severity="warning", ref=ref))

    def _keep_undone(self, error: Exception) -> None:
        """A change broke off and was undone: that is recorded, too."""
        if isinstance(error, BrokeOff):
            self._boundary.recorded = self._boundary.recorded.then(error.recorded)

    def _carry_out(self, commands: Sequence[Command], batch_id: int) -> None:
        """Carry out commands and answer them. Raises what refuses it; nothing is changed then."""
        changes = self._change(commands, batch_id)
        for command, carried in zip(commands, changes, strict=True):
            if carried.keeps is not None:
                self._provisional.keep(carried.keeps)
            if carried.turned is not None:
                self._provisional.turned(command, carried.turned, carried.old_value, carried.also)
            if carried.stop:
                self.stop_requested.set()
            self._boundary.applied(command, carried, batch_id)

    def _change(self, commands: Sequence[Command], batch_id: int) -> list[Carried]:
        """Change what commands are about. Raises what refuses it; nothing is changed then."""
        boundary = self._boundary
        changes = carry_out_all(commands, self._now, self.job, self._in_batch)
        carried = changes[-1]
        settings, registry = carried.after.settings, carried.after.registry
        recorded = Recorded()
        if names := [change.query for change in changes if change.query]:
            title = carried.event.title if len(names) == 1 else f"{len(names)} queries changed"
            asked = (names, registry, self._now.registry, settings, title, batch_id)
            recorded, settings = self._units.requeried(*asked)
        if carried.turned is not None:
            recorded = self._units.turned(carried.turned[0], settings, self._now.settings, batch_id)
        settings = self._units.with_parts(settings)
        boundary.turned += recorder.changed_knobs(self._now.settings, settings)
        boundary.recorded = boundary.recorded.then(recorded)
        self._now = replace(carried.after, settings=settings, registry=registry)
        self._is_changed = True
        if carried.query or carried.turned is not None:
            self._await(self._units.waits)
        self._units.share_memory(self.settings)
        self._frame = recorder.framed(self.job, self._now.pace.held)
        return changes

    def _await(self, why: str) -> None:
        """Hold the run for what a unit waits for (why), or no more ('')."""
        before, self._now = self._now.pace, replace(self._now, pace=self._now.pace.awaiting(why))
        if self._now.pace == before:
            return
        self._frame = recorder.framed(self.job, self._now.pace.held)
        title = "the run paused" if why else "the run resumed"
        self._boundary.events.append(Event("run", title, why, "warning" if why else "info"))
        log.warning("%s%s", title, f" {why}" if why else "")

    def _batch_record(self, result: BatchResult) -> BatchRecord:
        result, ran = self._listening.joined(result), self._units.ran
        decided = self._units.executed(result, time.monotonic() * 1e3, self.settings)
        self._totals.count(result, self._boundary.recorded.then(decided))
        seen = self._units.observe()
        news, inputs = self._misfits.events(result), self._inputs.events(result.inputs)
        if inputs:
            paused, after = self._now.registry.paused, result.batch_id + 1
            ended, events = self._units.inputs_failed(self._inputs.failed, paused, after)
            decided, inputs = decided.then(ended), [*inputs, *events]
        self._await(self._units.waits)
        base = self._record(recorder.batch_row(result, ran), decided, result.batch_id)
        base = replace(base, samples=(*seen.samples, *self._samples(result, seen.samples)))
        self._listening.recorded(base, self._known_entities, self.run.started_at)
        return replace(
            base,
            events=(*base.events, *news, *inputs),
            matrices=(*seen.matrices, *recorder.batch_matrices(result)),
            results=recorder.result_rows(result),
            misfits=recorder.misfit_rows(result.inputs),
            taps=self._units.taps.seen,
            inputs=tuple(recorder.input_row(n, input) for n, input in result.inputs.items()),
        )

    def _flush(
        self,
        batch: int,
        samples: Sequence[Sample] = (),
        inputs: Mapping[str, InputResult] | None = None,
    ) -> None:
        """A record without data: start or end of the run, or commands carried out while idle."""
        record = replace(
            self._record(recorder.boundary_row(self._units.plans), Recorded(), batch),
            samples=tuple(samples),
            matrices=self._units.observe().matrices,
            inputs=tuple(recorder.input_row(n, input) for n, input in (inputs or {}).items()),
        )
        self.writer.write_batch(record)
        self._boundary = Boundary()

    def _record(self, row: Batch, decided: Recorded, batch: int) -> BatchRecord:
        """What every record has: what the boundary brought, and what changed."""
        recorded = (boundary := self._boundary).recorded.then(decided)
        return BatchRecord(
            run_id=self.run.id,
            batch=row,
            entities=self._entity_changes(batch),
            units=self._units.changes(batch),
            plans=recorded.plans,
            decisions=recorded.decisions,
            outcomes=recorded.outcomes,
            logged=recorded.logged,
            events=(*boundary.events, *recorded.events),
            knobs=recorder.knob_rows(self._now.settings, batch, boundary.turned),
            answers=tuple(boundary.answers),
            states=self._units.states(),
        )

    def _samples(self, result: BatchResult, of_units: Sequence[Sample]) -> list[Sample]:
        visits = sum(s.value or 0 for s in of_units if s.property == "reached_tuples")
        selects, n_bytes = self._units.selects, self.writer.n_bytes
        values = self._totals.values(result, visits, selects, self._commit_ms, n_bytes)
        return [
            *recorder.input_samples(result.inputs),
            *self._query_totals.add(recorder.matched(result)),
            *recorder.system_samples(values),
            *recorder.partition_samples(result.partitions),
            *self._totals.evaluated(),
        ]

    def _known_entities(self) -> dict[str, Entity]:
        return {**self._ledger.known, **self._units.known_entities()}

    def _entity_changes(self, batch: int) -> tuple[Entity, ...]:
        of_units = self._units.entity_changes(self._now.registry.paused, batch)
        return (*self._ledger.changes((*self._frame, *self._units.pool.entities), batch), *of_units)
