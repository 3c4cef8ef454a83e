"""A-Greedy as a unit: the filters of one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from backend.adaptive.planlog.logged import PlanLogger
from backend.cql.printer import format_filter
from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.filters import AdoptFilters, BatchFiltered, FilterPlan, Probing, Shares
from backend.model.functions import Functions
from backend.model.ids import entity_id, unit_entity
from backend.model.knobs import KnobSettings
from backend.operators.contract import UnitResult
from backend.operators.filters.pipeline import PipelineOperator
from backend.systems.agreedy.matrices import sampling_matrix
from backend.systems.agreedy.published import (
    entities_of,
    filter_samples,
    monitor_samples,
    plan_version,
    race_matrices,
    race_samples,
)
from backend.systems.agreedy.reoptimizer import LAPS, FiltersReOptimizer
from backend.systems.agreedy.steering import SUBJECT
from backend.systems.contract import BatchRan, Recorded, Refused, UnitJob, UnitState
from backend.systems.publishing import PublishedUnit, order_of, tuples_so_far
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.records import Entity, Matrix, PlanVersion, Sample


class _Laps:
    """Looks at the clock when the core says that a part of its work is done."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, 0.0
        self.us = dict.fromkeys(LAPS, 0.0)

    def begin(self) -> None:
        self._last = self._clock()

    def __call__(self, part: str) -> None:
        now = self._clock()
        self.us[part] = (now - self._last) * 1e6
        self._last = now


class FilterUnit(PublishedUnit[AdoptFilters]):
    """The filters of one query; without one, nothing is emitted."""

    def __init__(self, job: UnitJob, settings: KnobSettings) -> None:
        """Raises Refused for more than one query, and for windows that nobody opened."""
        super().__init__(job)
        self._laps = _Laps(job.clock)
        self.core = FiltersReOptimizer(self._only(job.queries), settings, self._laps)
        self._operator: PipelineOperator | None = None
        self._ran = self.core.plan
        self._raised: dict[str, int] = {}
        self._logger = PlanLogger()

    @property
    def plan_version(self) -> int:
        return self.core.plan.version

    def start(self, state: UnitState | None) -> Recorded:
        batch = self._job.batch
        if state is None:
            events = self.core.pilot.learn(self._job.learned)
            return self._recorded([*self.core.start(batch), *events])
        plan = state.plan
        for f in self.core.filters:
            n_raised = state.total(entity_id(self._job.id, "filter", f.name), "raised_total")
            self._raised[f.name] = int(n_raised)
        order, n_decisions = order_of(plan), state.n_decisions
        n_tuples = int(state.total(unit_entity(self._job.id), "tuples_total"))
        resumed = self.core.resume(order, plan.version, n_decisions, batch, state.looks, n_tuples)
        events = self._logger.resume(state.looks, {"t": n_tuples})
        return self._recorded([*resumed, *events])

    def operator(self, batch_id: int) -> PipelineOperator:
        core, job, known = self.core, self._job, self._operator
        self._ran = core.plan
        query = core.query.name if core.query else None
        by_name = {f.name: f for f in core.filters}
        filters = tuple(by_name[name] for name in core.plan.order)
        wanted = (query, filters, core.probing, core.profile_prob)
        if known is None or wanted != (
            known.query,
            known.filters,
            known.probing,
            known.profile_prob,
        ):
            functions, relations = job.functions or Functions(), job.relations
            known = self._operator = PipelineOperator(
                query, job.schema, filters, functions, relations, core.probing, core.profile_prob
            )
        return known

    def executed(self, event: BatchRan) -> Recorded:
        self._result = event.result
        for name, n in event.result.report.raised.items():
            self._raised[name] = self._raised.get(name, 0) + n
        filtered = self._filtered(event)
        self._laps.begin()
        version = self.core.plan.version
        instructions = self.core.handle(filtered)
        return self._recorded([*self._log(filtered, version), *instructions])

    def _log(self, filtered: BatchFiltered, version: int) -> list[LoggedEvaluation]:
        """The check that thresholds decided on, after a batch under a version of the plan."""
        n, weighed = filtered.n_tuples, self.core.weighed
        self._logger.passed(n)
        is_current = filtered.plan_version == version and not self.core.knobs.is_piloted
        ran = {SUBJECT: (n, self.core.spent_us(filtered))} if is_current else {}
        return self._logger.logged(ran, [weighed] if weighed else [], version)

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, QueriesChanged):
            self._only(event.queries)
        return self._recorded(self.core.handle(event))

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        return entities_of(self.core, self._job.id, paused)

    def _samples(self, result: UnitResult) -> list[Sample]:
        id, monitor, standings = self._job.id, self.core.monitor, self.core.standings
        samples = filter_samples(id, result, self._ran, monitor, self._raised)
        samples.append(tuples_so_far(id, self.core.pilot.t))
        samples += monitor_samples(id, result, monitor, self._probability)
        return samples + race_samples(id, standings, self._laps.us["race"])

    def _matrices(self) -> tuple[Matrix, ...]:
        core = self.core
        shares = core.pilot.shares if core.knobs.is_piloted else {}
        return (*core.matrices(), *race_matrices(core.standings), *sampling_matrix(shares))

    def _plan_record(self, adopted: AdoptFilters) -> PlanVersion:
        return plan_version(adopted, self._job.id, self._job.input, self.core.algorithm)

    @property
    def _probability(self) -> float:
        """What the last batch was profiled with."""
        return self._operator.profile_prob if self._operator else 0.0

    @property
    def _probing(self) -> Probing:
        return self._operator.probing if self._operator else Probing("none")

    def _filtered(self, event: BatchRan) -> BatchFiltered:
        """The batch as the core sees it; the times of its own work are of the batch before."""
        laps, counts = self._laps.us, event.result.report
        ran: FilterPlan = self._ran
        return BatchFiltered(
            batch_id=event.batch_id,
            plan_version=ran.version,
            n_tuples=counts.n_evaluated,
            n_matched=event.result.n_matched,
            evaluated=counts.evaluated,
            dropped=counts.dropped,
            filters=ran.order,
            outcomes=counts.outcomes,
            n_passed=counts.n_passed,
            profile_prob=self._probability,
            probing=self._probing,
            costs=counts.costs,
            time_s=event.ms / 1e3,
            spent=Shares(
                counts.tuples_us,
                counts.profile_us,
                laps["window"],
                laps["view"],
                laps["violations"],
            ),
            whole=counts.whole,
        )

    def _only(self, queries: Sequence[ContinuousQuery]) -> ContinuousQuery | None:
        """The one query. Raises Refused when there are more, and for a window that is not open."""
        if len(queries) > 1:
            names = ", ".join(repr(query.name) for query in queries)
            raise Refused(f"a unit of A-Greedy orders the filters of one query, not of {names}")
        if not queries:
            return None
        for member in queries[0].filters:
            if isinstance(member, WindowMember) and member not in self._job.relations:
                shown = format_filter(member)
                message = f"{shown}: a window cannot come to a run that has begun"
                raise Refused(f"{message}; put the query into the workload file")
        return queries[0]
