"""Attribute selection constructs as a unit: the selection queries of one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from backend.adaptive.planlog.logged import PlanLogger
from backend.model.conditions import ContinuousQuery
from backend.model.events import (
    AdoptPlan,
    BatchExecuted,
    KnobsChanged,
    QueriesChanged,
    SelectionPlan,
)
from backend.model.ids import unit_entity
from backend.model.knobs import KnobSettings
from backend.operators.contract import UnitResult
from backend.operators.selection.operator import SelectionOperator
from backend.operators.selection.worker import ShippedPlan
from backend.systems.asc.arrows import arrow_matrices
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanShape, executed_cost
from backend.systems.asc.entity_book import EntityBook
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.matching import StopRule
from backend.systems.asc.matrices import region_matrices, selectivity_matrix
from backend.systems.asc.memory import MIB, mib
from backend.systems.asc.published import construct_samples, monitor_samples, plan_version, shape_of
from backend.systems.asc.regret import Saved
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from backend.systems.asc.shipping import shipped_plan
from backend.systems.asc.visit_costs import VisitCostMeter
from backend.systems.asc.ways import is_on_the_way, passed
from backend.systems.asc.weighing import SUBJECT
from backend.systems.contract import BatchRan, Recorded, Refused, UnitJob, UnitState
from backend.systems.publishing import PublishedUnit, tuples_so_far
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.records import Entity, Matrix, PlanVersion, Sample
from storage.vocabulary.taps import TapSample

#: A profile probability that follows the size of batches stays while it is this close (relative).
_SETTLED: Final = 0.1


class _Shipped(NamedTuple):
    """A plan that was laid out, and of what."""

    constructs: ConstructSet
    plan: SelectionPlan
    stop_rule: StopRule
    made: ShippedPlan

    def is_of(self, constructs: ConstructSet, plan: SelectionPlan, stop_rule: StopRule) -> bool:
        same = self.constructs is constructs and self.plan is plan
        return same and self.stop_rule == stop_rule


class SelectionUnit(PublishedUnit[AdoptPlan]):
    """The queries of one stream, answered together by attribute selection constructs."""

    def __init__(self, job: UnitJob, settings: KnobSettings) -> None:
        """Raises QueryError for queries that cannot be registered."""
        self.core = SelectionReOptimizer(job.queries, job.schema, settings, job.progress)
        super().__init__(job)
        self._queries = {query.name: query for query in job.queries}
        self._ran, self._logger = self.core.plan, PlanLogger()
        self._shipped: _Shipped | None = None
        self._operator: SelectionOperator | None = None
        self._n_last = 0
        self._core_us = 0.0
        self._visit_costs = VisitCostMeter(job.clock)
        self._book = EntityBook(job.id, job.input)

    @property
    def plan_version(self) -> int:
        return self.core.plan.version

    def start(self, state: UnitState | None) -> Recorded:
        batch = self._job.batch
        if state is None:
            events = self.core.pilot.learn(self._job.learned)
            return self._recorded([*self.core.start(batch), *events])
        plan, of_unit = state.plan, unit_entity(self._job.id)
        saved = Saved(
            shape_of(state.first or plan),
            state.total(of_unit, "regret_saved_total"),
            state.total(of_unit, "regret_saved_se"),
        )
        shape, n_decisions = shape_of(plan), state.n_decisions
        n_tuples = int(state.total(of_unit, "tuples_total"))
        resumed = self.core.resume(
            shape, plan.version, n_decisions, batch, saved, state.looks, n_tuples
        )
        events = self._logger.resume(state.looks, {"t": n_tuples})
        return self._recorded([*resumed, *events])

    def operator(self, batch_id: int) -> SelectionOperator:
        core = self.core
        self._ran = core.plan
        shipped, rule = self._shipped, core.stop_rule
        if shipped is None or not shipped.is_of(core.constructs, core.plan, rule):
            made = shipped_plan(core.constructs, core.plan, rule)
            shipped = self._shipped = _Shipped(core.constructs, core.plan, rule, made)
        known, made, prob = self._operator, shipped.made, self._profile_prob()
        if known is None or known.plan is not made or known.profile_prob != prob:
            known = self._operator = SelectionOperator(made, prob)
        return known

    def executed(self, event: BatchRan) -> Recorded:
        clock, result = self._job.clock, event.result
        before = clock()
        self._n_last, self._result = result.n_tuples or self._n_last, result
        wanted = self.core.knobs.visit_costs == "measured"
        counts = result.report
        batch_executed = BatchExecuted(
            batch_id=event.batch_id,
            n_tuples=result.n_tuples,
            n_matched=result.n_matched,
            visits=sum(counts.reached.values()),
            plan_version=self._ran.version,
            reached=counts.reached,
            sample=counts.sample,
            visit_costs=self._visit_costs.read(wanted, self.core.constructs, counts.sample),
        )
        instructions = [*self.core.handle(batch_executed), *self._log(batch_executed)]
        self._core_us = (clock() - before) * 1e6
        return self._recorded(instructions)

    def _log(self, event: BatchExecuted) -> list[LoggedEvaluation]:
        """The evaluation that thresholds decided on, after a batch under the plan that ran."""
        core, n, ran = self.core, event.n_tuples, self._ran
        self._logger.passed(n)
        own, core.trials.weighed = core.trials.weighed, None
        if core.knobs.is_piloted:
            return []
        cost = executed_cost(PlanShape.of(ran), core.cost_model(), event.visits, event.reached)
        return self._logger.logged({SUBJECT: (n, cost)}, [own] if own else [], ran.version)

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, KnobsChanged):
            self._refuse_memory(AscKnobs.of(event.settings))
        instructions = self.core.handle(event)
        if isinstance(event, QueriesChanged):
            self._queries = {query.name: query for query in event.queries}
        return self._recorded(instructions)

    def has_on_the_way(self, entity: str) -> bool:
        return is_on_the_way(entity, self._job.id, self._job.input, self.core.plan)

    def passed(self) -> Sequence[TapSample]:
        result = self._result
        if result is None:
            return ()
        own = self._job.id, self._job.input, result.n_tuples
        return passed(*own, self._ran, self.core.constructs, result.report.sample)

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        return self._book.entities(self.core.constructs, self._queries, paused)

    def _samples(self, result: UnitResult) -> list[Sample]:
        samples = construct_samples(self._job.id, result, self._ran)
        samples.append(tuples_so_far(self._job.id, self.core.pilot.t))
        return samples + monitor_samples(self._job.id, result, self.core.monitor, self._core_us)

    def _plan_record(self, adopted: AdoptPlan) -> PlanVersion:
        return plan_version(adopted, self._job.id, self._job.input)

    def _matrices(self) -> tuple[Matrix, ...]:
        constructs, regions = self.core.constructs, self.core.profile_regions
        return (
            *region_matrices(constructs, regions),
            selectivity_matrix(constructs, regions, self.core.plan.order),
            *arrow_matrices(constructs, regions, self.core.plan, self.core.stop_rule),
        )

    def _profile_prob(self) -> float:
        """Of a batch as large as the last, no more are sampled than the profile window keeps, or
        than all monitoring periods take together; about as many as before are as many."""
        knobs = self.core.knobs
        wanted, kept = knobs.profile_prob, knobs.tau_tuples
        if knobs.by_period:
            kept *= max(1, len(self.core.constructs.attributes) - 1)
        most = kept / max(1, self._n_last)
        known = self._operator.profile_prob if self._operator else most
        if wanted > most and abs(known - most) <= _SETTLED * most:
            most = known
        return min(wanted, most)

    def _refuse_memory(self, knobs: AscKnobs) -> None:
        """Less memory than the bitmaps take: queries have to go first."""
        allowed, taken = knobs.bitmap_memory, self.core.constructs.bitmap_bytes
        if allowed < self.core.knobs.bitmap_memory and taken > allowed * MIB:
            message = f"the bitmaps take {mib(taken)}; remove or pause queries first"
            raise Refused(f"bitmap_memory = {allowed:g} MiB refused: {message}")
