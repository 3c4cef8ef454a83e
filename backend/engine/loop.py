"""The loop around one stream: boundary, batch, profile, decide, record (StreaMon)."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from backend.adaptive.selection.arrows import arrow_matrices
from backend.adaptive.selection.matrices import region_matrices, selectivity_matrix
from backend.adaptive.selection.normal_form import QueryError
from backend.adaptive.selection.reoptimizer import SelectionReOptimizer
from backend.engine import recorder
from backend.engine.control import (
    Carried,
    Refused,
    Registry,
    answer_applied,
    answer_refused,
    carry_out,
)
from backend.engine.describe import plan_entities, query_entities
from backend.engine.execution import BatchResult, PlanSnapshot
from backend.engine.visit_costs import VisitCostMeter
from backend.model.conditions import ContinuousQuery
from backend.model.events import (
    BatchExecuted,
    Instruction,
    KnobsChanged,
    QueriesChanged,
    RecordDecision,
)
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from storage.records import (
    Batch,
    BatchRecord,
    Command,
    CommandAnswer,
    Entity,
    Event,
    Json,
    Matrix,
    Run,
    Sample,
)
from storage.writer import EngineWriter


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What a run executes: a stream, its queries, and facts about source and sink to show."""

    stream: str
    schema: Schema
    queries: tuple[ContinuousQuery, ...]
    source: Mapping[str, Json]
    sink: Mapping[str, Json]


@dataclass
class _Boundary:
    """What a batch boundary brought, to be recorded with the batch that follows it."""

    instructions: list[Instruction]
    answers: list[CommandAnswer]
    events: list[Event]
    knobs: list[str]


class Engine:
    """Runs one stream's decisions and records. ``start`` first; batches come one at a time.

    begin_batch and end_batch are called by the runner around each micro-batch; idle by another
    thread while none is running, so that commands are answered on a silent stream too.
    """

    def __init__(
        self, run: Run, job: StreamJob, settings: KnobSettings, writer: EngineWriter
    ) -> None:
        self.run, self.job, self.writer = run, job, writer
        self.settings = settings
        self.registry = Registry({q.name: q for q in job.queries})
        self.core = SelectionReOptimizer(job.queries, job.schema, settings)
        self.stop_requested = threading.Event()
        self._ran = self.core.plan
        self._last_end: float | None = None
        self._ledger = recorder.EntityLedger()
        self._lock = threading.Lock()
        self._in_batch = False
        self._next_batch = 0
        self._boundary = _Boundary([], [], [], [])
        self._totals = {"tuples": 0, "matched": 0, "misfits": 0, "decisions": 0}
        self._query_totals: dict[str, int] = {}
        self._commit_ms: float | None = None
        self._visit_costs = VisitCostMeter()

    def start(self) -> None:
        """Record the run with its first plan, entities and knobs. Raises StoreError."""
        knobs = recorder.knob_rows(self.settings, 0, self.settings.values)
        self.writer.begin_run(self.run, self._entity_changes(0), knobs)
        self._record_boundary(_Boundary(self.core.start(), [], [], []))

    @property
    def in_batch(self) -> bool:
        """A batch is between its begin and its end."""
        return self._in_batch

    def begin_batch(self, batch_id: int) -> PlanSnapshot:
        """Take in commands, then fix what the batch runs."""
        with self._lock:
            self._in_batch = True
            self._next_batch = batch_id
            self._take_commands(batch_id)
            self._ran = self.core.plan
            return PlanSnapshot(
                batch_id,
                self.core.constructs,
                self._ran,
                self.settings.word("stop_rule"),
                self.settings.number("profile_prob"),
            )

    def end_batch(self, result: BatchResult) -> None:
        """Feed the decision core and record everything of the batch in one transaction."""
        with self._lock:
            before = time.perf_counter()
            costs = self._visit_costs.read(self.settings, self.core.constructs, result.sample)
            decided = self.core.handle(_executed(result, self._ran.version, costs))
            core_us = (time.perf_counter() - before) * 1e6
            self._count(result, decided)
            record = self._batch_record(result, decided, core_us)
            written = time.perf_counter()
            self.writer.write_batch(record)
            self._commit_ms = (time.perf_counter() - written) * 1e3
            self._boundary = _Boundary([], [], [], [])
            self._next_batch = result.batch_id + 1
            self._in_batch = False

    def idle(self) -> None:
        """Between batches: carry out and answer commands at once, and give a sign of life."""
        with self._lock:
            if self._in_batch:
                return
            self._take_commands(self._next_batch)
            if self._boundary.answers:
                boundary, self._boundary = self._boundary, _Boundary([], [], [], [])
                self._record_boundary(boundary)

    def abandon_batch(self) -> None:
        """The batch failed; what its boundary brought stays for the next record."""
        with self._lock:
            self._in_batch = False

    def _take_commands(self, batch_id: int) -> None:
        for command in self.writer.pending_commands(self.run.id):
            try:
                carried = self._carry_out(command, batch_id)
            except (Refused, QueryError) as refusal:
                self._boundary.answers.append(answer_refused(command, str(refusal), time.time()))
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
        carried = carry_out(command, self.settings, self.registry, schemas)
        if carried.registry is not self.registry:
            title = carried.event.title
            changed = QueriesChanged(carried.registry.active, batch_id, title)
            self._boundary.instructions += self.core.handle(changed)
        if carried.settings is not self.settings:
            turned = KnobsChanged(carried.settings, batch_id)
            self._boundary.instructions += self.core.handle(turned)
            self._boundary.knobs.append(str(command.payload["knob"]))
        self.settings, self.registry = carried.settings, carried.registry
        return carried

    def _count(self, result: BatchResult, decided: list[Instruction]) -> None:
        self._totals["tuples"] += result.n_tuples
        self._totals["matched"] += result.n_matched
        self._totals["misfits"] += result.n_misfits
        for instruction in decided:
            if isinstance(instruction, RecordDecision):
                self._totals["decisions"] = max(self._totals["decisions"], instruction.seq)
        for name, n in result.matched_by_query.items():
            self._query_totals[name] = self._query_totals.get(name, 0) + n

    def _batch_record(
        self, result: BatchResult, decided: list[Instruction], core_us: float
    ) -> BatchRecord:
        boundary = self._boundary
        plans, decisions, outcomes, events = recorder.instructed(
            [*boundary.instructions, *decided], self.job.stream
        )
        if result.n_misfits:
            title = f"{result.n_misfits} tuples kept aside"
            events = (*events, Event("misfit", title, result.misfits[0].error, "warning"))
        return BatchRecord(
            run_id=self.run.id,
            batch=recorder.batch_row(result, self._ran.version),
            entities=self._entity_changes(result.batch_id),
            samples=tuple(self._samples(result, core_us)),
            plans=plans,
            decisions=decisions,
            outcomes=outcomes,
            matrices=self._matrices() if plans or decisions else (),
            events=(*boundary.events, *events),
            knobs=recorder.knob_rows(self.settings, result.batch_id, dict.fromkeys(boundary.knobs)),
            answers=tuple(boundary.answers),
            results=recorder.result_rows(result.recent),
            misfits=recorder.misfit_rows(result),
        )

    def _record_boundary(self, boundary: _Boundary) -> None:
        """A record without data: the start of the run, or commands carried out while idle."""
        now = time.time()
        plans, decisions, outcomes, events = recorder.instructed(
            boundary.instructions, self.job.stream
        )
        batch = Batch(None, now, 0.0, 0, 0, 0, self.core.plan.version)
        self.writer.write_batch(
            BatchRecord(
                run_id=self.run.id,
                batch=batch,
                entities=self._entity_changes(self._next_batch),
                plans=plans,
                decisions=decisions,
                outcomes=outcomes,
                matrices=self._matrices() if plans else (),
                events=(*boundary.events, *events),
                knobs=recorder.knob_rows(
                    self.settings, self._next_batch, dict.fromkeys(boundary.knobs)
                ),
                answers=tuple(boundary.answers),
            )
        )

    def _samples(self, result: BatchResult, core_us: float) -> list[Sample]:
        n_sampled = len(next(iter(result.sample.values()), ()))
        monitor = self.core.monitor
        samples = recorder.asc_samples(result, self._ran)
        samples += recorder.query_samples(result, self._query_totals)
        samples += recorder.profile_samples(n_sampled, monitor.window_tuples, core_us)
        samples += recorder.system_samples(self._system_values(result, n_sampled))
        if result.backlog_tuples is not None:
            samples.append(Sample("queue:source", "size_tuples", result.backlog_tuples, "tuples"))
        return samples

    def _system_values(
        self, result: BatchResult, n_sampled: int
    ) -> dict[str, tuple[float | None, str]]:
        n, monitor = result.n_tuples, self.core.monitor
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
            "d_window": (monitor.d_window, "prob"),
            "visits_window": (monitor.visits_window, "visits/tuple"),
            "d_init": (monitor.d_init, "prob"),
            "visits_init": (monitor.visits_init, "visits/tuple"),
            "profile_share": (n_sampled / n if n else None, "prob"),
            "tuples_total": (self._totals["tuples"], "tuples"),
            "matched_total": (self._totals["matched"], "tuples"),
            "misfits_total": (self._totals["misfits"], "tuples"),
            "decisions_total": (self._totals["decisions"], "decisions"),
            "backlog_tuples": (result.backlog_tuples, "tuples"),
            "commit_ms": (self._commit_ms, "ms"),
            **monitor.regret.samples(),
        }

    def _entity_changes(self, batch: int) -> tuple[Entity, ...]:
        constructs = self.core.constructs
        paused = dict.fromkeys(self.registry.paused)
        now = plan_entities(constructs, self.job.stream, self.job.source, self.job.sink)
        now += query_entities(self.registry.queries.values(), constructs, paused)
        return self._ledger.changes(now, batch)

    def _matrices(self) -> tuple[Matrix, ...]:
        constructs, regions = self.core.constructs, self.core.profile_regions
        found = [
            *region_matrices(constructs, regions),
            selectivity_matrix(constructs, regions, self.core.plan.order),
            *arrow_matrices(constructs, regions, self.core.plan, self.core.stop_rule),
        ]
        return tuple(Matrix(**asdict(data)) for data in found)


def _executed(
    result: BatchResult, plan_version: int, visit_costs: Mapping[str, float]
) -> BatchExecuted:
    return BatchExecuted(
        batch_id=result.batch_id,
        n_tuples=result.n_tuples,
        n_matched=result.n_matched,
        visits=result.visits,
        plan_version=plan_version,
        reached=result.reached,
        sample=result.sample,
        visit_costs=visit_costs,
    )
