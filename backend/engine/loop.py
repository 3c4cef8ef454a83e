"""The loop around one stream: boundary, batch, profile, decide, record (StreaMon)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from backend.engine import recorder
from backend.engine.control import (
    Carried,
    Refused,
    Registry,
    answer_applied,
    answer_refused,
    carry_out,
)
from backend.engine.deciding import Deciding, Recorded, StreamJob
from backend.engine.execution import BatchResult, PlanSnapshot
from backend.engine.misfits import MisfitNews
from backend.engine.query_totals import QueryTotals
from backend.engine.selection import SelectionDeciding
from backend.engine.stamping import stamped, stamped_entities, stamped_knobs
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.knobs import KnobSettings
from backend.systems.asc.normal_form import QueryError
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from storage.texts import storable
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Command,
    CommandAnswer,
    Entity,
    Event,
    Run,
    Sample,
    Unit,
)
from storage.writer import EngineWriter

__all__ = ["Engine", "Loop", "StreamJob"]

log = logging.getLogger(__name__)
LONGEST_ANSWER: Final = 1000
SnapshotT = TypeVar("SnapshotT")
ResultT = TypeVar("ResultT", bound=BatchResult)


@dataclass
class _Boundary:
    """What a batch boundary brought, to be recorded with the batch that follows it."""

    recorded: Recorded = field(default_factory=Recorded)
    answers: list[CommandAnswer] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    knobs: list[str] = field(default_factory=list)


class Loop(Generic[SnapshotT, ResultT]):
    """Runs one stream's decisions and records. ``start`` first; batches come one at a time.

    begin_batch and end_batch are called by the runner around each micro-batch; idle by another
    thread while none is running, so that commands are answered on a silent stream too.
    """

    def __init__(
        self,
        run: Run,
        job: StreamJob,
        settings: KnobSettings,
        writer: EngineWriter,
        deciding: Deciding[SnapshotT, ResultT],
    ) -> None:
        self.run, self.job, self.writer = run, job, writer
        self.settings, self._deciding = settings, deciding
        self.registry = Registry({q.name: q for q in job.queries})
        self.stop_requested = threading.Event()
        self._ran_version = deciding.plan_version
        self._last_end: float | None = None
        self._ledger = recorder.EntityLedger()
        self._lock = threading.Lock()
        self._in_batch = False
        self._next_batch = 0
        self._boundary = _Boundary()
        self._totals = {"tuples": 0, "matched": 0, "misfits": 0, "decisions": 0}
        self._query_totals = QueryTotals()
        self._misfits = MisfitNews()
        self._commit_ms: float | None = None

    def start(self) -> None:
        """Record the run with its first plan, entities and knobs. Raises StoreError."""
        knobs = recorder.knob_rows(self.settings, 0, self.settings.values)
        id = self._unit().id
        entities = stamped_entities(self._entity_changes(0), id)
        self.writer.begin_run(self.run, entities, stamped_knobs(knobs, id))
        self._record_boundary(_Boundary(self._deciding.start()))

    @property
    def in_batch(self) -> bool:
        """A batch is between its begin and its end."""
        return self._in_batch

    def begin_batch(self, batch_id: int) -> SnapshotT:
        """Take in commands, then fix what the batch runs."""
        with self._lock:
            self._in_batch = True
            self._next_batch = batch_id
            self._take_commands(batch_id)
            self._ran_version = self._deciding.plan_version
            return self._deciding.snapshot(batch_id, self.settings)

    def end_batch(self, result: ResultT) -> None:
        """Feed the decision core and record everything of the batch in one transaction."""
        with self._lock:
            decided = self._deciding.executed(result)
            self._count(result, decided)
            record = self._batch_record(result, decided)
            written = time.perf_counter()
            self.writer.write_batch(record)
            self._commit_ms = (time.perf_counter() - written) * 1e3
            self._boundary = _Boundary()
            self._next_batch = result.batch_id + 1
            self._in_batch = False

    def idle(self) -> None:
        """Between batches: carry out and answer commands at once, and give a sign of life."""
        with self._lock:
            if self._in_batch:
                return
            self._take_commands(self._next_batch)
            if self._boundary.answers:
                boundary, self._boundary = self._boundary, _Boundary()
                self._record_boundary(boundary)

    def finish(self) -> None:
        """The last batch is over: publish the totals of queries that still wait for it."""
        with self._lock:
            rest = self._query_totals.rest()
            if rest:
                self._record_boundary(_Boundary(), rest)

    def abandon_batch(self) -> None:
        """The batch failed; what its boundary brought stays for the next record."""
        with self._lock:
            self._in_batch = False

    def _unit(self) -> Unit:
        """The one unit of the run, with the queries registered now."""
        system, title, stream = self._deciding.system, self._deciding.title, self.job.stream
        id, title = f"{system}.{stream}", f"{title} on {stream}"
        return Unit(id, system, title, (stream,), tuple(self.registry.queries))

    def _take_commands(self, batch_id: int) -> None:
        for command in self.writer.pending_commands(self.run.id):
            try:
                carried = self._carry_out(command, batch_id)
            except (Refused, QueryError) as refusal:
                self._boundary.answers.append(answer_refused(command, str(refusal), time.time()))
                continue
            except Exception as error:  # one request may never end the run
                log.exception("command %d (%s) broke off", command.id, command.kind)
                reason = f"the engine could not carry it out: {type(error).__name__}: {error}"
                reason = storable(reason)[:LONGEST_ANSWER]
                self._boundary.answers.append(answer_refused(command, reason, time.time()))
                continue
            self._boundary.answers.append(answer_applied(command, carried, batch_id, time.time()))
            self._boundary.events.append(carried.event)
            if carried.stop:
                self.stop_requested.set()

    def _carry_out(self, command: Command, batch_id: int) -> Carried:
        answered = {answer.command for answer in self._boundary.answers}
        if command.id in answered:
            raise Refused("answered already")
        schemas = {self.job.stream: self.job.schema}
        functions = self.job.functions
        carried = carry_out(command, self.settings, self.registry, schemas, functions)
        if carried.registry is not self.registry:
            title = carried.event.title
            changed = QueriesChanged(carried.registry.active, batch_id, title)
            undone = f"{title}: broke off and undone"
            self._bring(changed, QueriesChanged(self.registry.active, batch_id, undone))
        if carried.settings is not self.settings:
            turned = KnobsChanged(carried.settings, batch_id)
            self._bring(turned, KnobsChanged(self.settings, batch_id))
            self._boundary.knobs.append(str(command.payload["knob"]))
        self.settings, self.registry = carried.settings, carried.registry
        return carried

    def _bring(
        self, event: KnobsChanged | QueriesChanged, undo: KnobsChanged | QueriesChanged
    ) -> None:
        """Tell the core. Raises what it raises; ``undo`` puts back what a break left half done."""
        try:
            found = self._deciding.changed(event)
        except (Refused, QueryError):
            raise
        except Exception:
            self._boundary.recorded = self._boundary.recorded.then(self._deciding.changed(undo))
            raise
        self._boundary.recorded = self._boundary.recorded.then(found)

    def _count(self, result: ResultT, decided: Recorded) -> None:
        self._totals["tuples"] += result.n_tuples
        self._totals["matched"] += result.n_matched
        self._totals["misfits"] += result.n_misfits
        seqs = (decision.seq for decision in decided.decisions)
        self._totals["decisions"] = max(self._totals["decisions"], *seqs, 0)

    def _batch_record(self, result: ResultT, decided: Recorded) -> BatchRecord:
        boundary = self._boundary
        found = boundary.recorded.then(decided)
        news = self._misfits.events(result.batch_id, result.n_misfits, result.misfits)
        unit = self._unit()
        record = BatchRecord(
            run_id=self.run.id,
            batch=recorder.batch_row(result, {unit.id: self._ran_version}),
            entities=self._entity_changes(result.batch_id),
            samples=tuple(self._samples(result)),
            plans=found.plans,
            decisions=found.decisions,
            outcomes=found.outcomes,
            matrices=self._deciding.matrices() if found.plans or found.decisions else (),
            events=(*boundary.events, *found.events, *news),
            knobs=recorder.knob_rows(self.settings, result.batch_id, dict.fromkeys(boundary.knobs)),
            answers=tuple(boundary.answers),
            results=recorder.result_rows(result.recent),
            misfits=recorder.misfit_rows(result),
        )
        return stamped(record, unit, result.backlog_tuples)

    def _record_boundary(self, boundary: _Boundary, samples: Sequence[Sample] = ()) -> None:
        """A record without data: start or end of the run, or commands carried out while idle."""
        found = boundary.recorded
        knobs = dict.fromkeys(boundary.knobs)
        record = BatchRecord(
            run_id=self.run.id,
            batch=Batch(None, time.time(), 0.0, 0, 0, 0),
            entities=self._entity_changes(self._next_batch),
            samples=tuple(samples),
            plans=found.plans,
            decisions=found.decisions,
            outcomes=found.outcomes,
            matrices=self._deciding.matrices() if found.plans else (),
            events=(*boundary.events, *found.events),
            knobs=recorder.knob_rows(self.settings, self._next_batch, knobs),
            answers=tuple(boundary.answers),
        )
        self.writer.write_batch(stamped(record, self._unit()))

    def _samples(self, result: ResultT) -> list[Sample]:
        samples = self._deciding.samples(result)
        samples += self._query_totals.add(result.matched_by_query)
        samples += recorder.system_samples(self._system_values(result))
        if result.backlog_tuples is not None:
            samples.append(Sample("queue:source", "size_tuples", result.backlog_tuples, "tuples"))
        return samples

    def _system_values(self, result: ResultT) -> dict[str, tuple[float | None, str]]:
        n = result.n_tuples
        now, before = time.monotonic(), self._last_end
        self._last_end = now
        seconds = result.duration_ms / 1e3 if before is None else now - before
        return {
            "n_tuples": (n, "tuples"),
            "n_matched": (result.n_matched, "tuples"),
            "tuples_per_s": (n / seconds if seconds else None, "tuples/s"),
            "batch_ms": (result.duration_ms, "ms"),
            "dropping_ratio": (1 - result.n_matched / n if n else None, "prob"),
            "visits_per_tuple": (result.visits / n if n else None, "visits/tuple"),
            "tuples_total": (self._totals["tuples"], "tuples"),
            "matched_total": (self._totals["matched"], "tuples"),
            "misfits_total": (self._totals["misfits"], "tuples"),
            "decisions_total": (self._totals["decisions"], "decisions"),
            "backlog_tuples": (result.backlog_tuples, "tuples"),
            "commit_ms": (self._commit_ms, "ms"),
            **self._deciding.watched(result),
        }

    def _entity_changes(self, batch: int) -> tuple[Entity, ...]:
        return self._ledger.changes(self._deciding.entities(self.job, self.registry), batch)


class Engine(Loop[PlanSnapshot, BatchResult]):
    """The loop around the selection queries of one stream."""

    def __init__(
        self, run: Run, job: StreamJob, settings: KnobSettings, writer: EngineWriter
    ) -> None:
        deciding = SelectionDeciding(job, settings)
        super().__init__(run, job, settings, writer, deciding)
        self.core: SelectionReOptimizer = deciding.core
