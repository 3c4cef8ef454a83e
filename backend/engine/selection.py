"""Adaptive selection as a decision core of the loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields

from backend.engine import recorder
from backend.engine.control import Refused, Registry
from backend.engine.deciding import Recorded, StreamJob
from backend.engine.entity_book import EntityBook
from backend.engine.execution import BatchResult, PlanSnapshot
from backend.engine.visit_costs import VisitCostMeter
from backend.model.conditions import ContinuousQuery
from backend.model.events import BatchExecuted, Instruction, KnobsChanged, QueriesChanged
from backend.model.knobs import KnobSettings
from backend.systems.asc.arrows import arrow_matrices
from backend.systems.asc.matrices import region_matrices, selectivity_matrix
from backend.systems.asc.memory import MIB, mib
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from storage.vocabulary.records import Entity, Matrix, Sample


class SelectionDeciding:
    """The queries of one stream, answered together by attribute selection constructs."""

    system, title = "asc", "Selections"

    def __init__(self, job: StreamJob, settings: KnobSettings) -> None:
        """Raises QueryError, and Refused for a query that calls functions."""
        _refuse_filters(job.queries)
        self.core = SelectionReOptimizer(job.queries, job.schema, settings, job.progress)
        self._stream, self._settings = job.stream, settings
        self._ran = self.core.plan
        self._core_us = 0.0
        self._n_last = 0
        self._visit_costs = VisitCostMeter()
        self._book = EntityBook()

    @property
    def plan_version(self) -> int:
        return self.core.plan.version

    def start(self) -> Recorded:
        return self._recorded(self.core.start())

    def snapshot(self, batch_id: int, settings: KnobSettings) -> PlanSnapshot:
        self._ran, self._settings = self.core.plan, settings
        return PlanSnapshot(
            batch_id,
            self.core.constructs,
            self._ran,
            settings.word("stop_rule"),
            self._profile_prob(settings),
            settings.word("executor"),
        )

    def executed(self, result: BatchResult) -> Recorded:
        before = time.perf_counter()
        self._n_last = result.n_tuples
        costs = self._visit_costs.read(self._settings, self.core.constructs, result.sample)
        decided = self.core.handle(_executed(result, self._ran.version, costs))
        self._core_us = (time.perf_counter() - before) * 1e6
        return self._recorded(decided)

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, QueriesChanged):
            _refuse_filters(event.queries)
        else:
            self._refuse_memory(event.settings)
            self._settings = event.settings
        return self._recorded(self.core.handle(event))

    def entities(self, job: StreamJob, registry: Registry) -> tuple[Entity, ...]:
        return self._book.entities(self.core.constructs, job, registry)

    def samples(self, result: BatchResult) -> list[Sample]:
        window = self.core.monitor.window_tuples
        found = recorder.asc_samples(result, self._ran)
        return found + recorder.profile_samples(_n_sampled(result), window, self._core_us)

    def watched(self, result: BatchResult) -> dict[str, tuple[float | None, str]]:
        monitor, n = self.core.monitor, result.n_tuples
        return {
            "d_window": (monitor.d_window, "prob"),
            "visits_window": (monitor.visits_window, "visits/tuple"),
            "d_init": (monitor.d_init, "prob"),
            "visits_init": (monitor.visits_init, "visits/tuple"),
            "profile_share": (_n_sampled(result) / n if n else None, "prob"),
            **monitor.regret.samples(),
        }

    def matrices(self) -> tuple[Matrix, ...]:
        constructs, regions = self.core.constructs, self.core.profile_regions
        found = [
            *region_matrices(constructs, regions),
            selectivity_matrix(constructs, regions, self.core.plan.order),
            *arrow_matrices(constructs, regions, self.core.plan, self.core.stop_rule),
        ]
        return tuple(
            Matrix(**{f.name: getattr(data, f.name) for f in fields(data)}) for data in found
        )

    def _profile_prob(self, settings: KnobSettings) -> float:
        """Of a batch as large as the last, no more are sampled than the profile window keeps, or
        than all monitoring periods take together."""
        wanted, kept = settings.number("profile_prob"), settings.number("tau_tuples")
        if settings.word("monitoring") == "by period":
            kept *= max(1, len(self.core.constructs.attributes) - 1)
        return min(wanted, kept / max(1, self._n_last))

    def _refuse_memory(self, settings: KnobSettings) -> None:
        """Less memory than the bitmaps take: queries have to go first."""
        allowed, taken = settings.number("bitmap_memory"), self.core.constructs.bitmap_bytes
        if allowed < self._settings.number("bitmap_memory") and taken > allowed * MIB:
            message = f"the bitmaps take {mib(taken)}; remove or pause queries first"
            raise Refused(f"bitmap_memory = {allowed:g} MiB refused: {message}")

    def _recorded(self, instructions: list[Instruction]) -> Recorded:
        return recorder.instructed(instructions, lambda plan: recorder.plan_row(plan, self._stream))


def _n_sampled(result: BatchResult) -> int:
    return len(next(iter(result.sample.values()), ()))


def _refuse_filters(queries: tuple[ContinuousQuery, ...]) -> None:
    """Calls and windows are pipelined filters, and those are runs of their own."""
    for query in queries:
        if query.filters:
            message = f"query {query.name!r} calls functions or looks into a window"
            raise Refused(f"{message}; it needs a run of its own: put it into the workload file")


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
