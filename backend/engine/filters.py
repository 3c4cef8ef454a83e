"""Pipelined filters as a decision core of the loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

from backend.cql.printer import format_filter
from backend.engine import recorder
from backend.engine.control import Refused, Registry
from backend.engine.deciding import Recorded, StreamJob
from backend.engine.describe import PROFILE
from backend.engine.describe_filters import (
    filter_samples,
    monitor_samples,
    pipeline_entities,
    pipeline_plan,
    race_matrix,
    race_samples,
)
from backend.engine.execution import FilterBatchResult, FilterSnapshot
from backend.engine.loop import Loop
from backend.model.conditions import ContinuousQuery, Expensive, WindowMember
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.filters import BatchFiltered, FilterInstruction, Shares
from backend.model.knobs import KnobSettings
from backend.systems.agreedy.reoptimizer import LAPS, FiltersReOptimizer
from storage.vocabulary.records import Entity, Matrix, Run, Sample
from storage.writer import EngineWriter


class _Laps:
    """Looks at the clock when the core says that a part of its work is done."""

    def __init__(self) -> None:
        self._last = 0.0
        self.us = dict.fromkeys(LAPS, 0.0)

    def begin(self) -> None:
        self._last = time.perf_counter()

    def __call__(self, part: str) -> None:
        now = time.perf_counter()
        self.us[part] = (now - self._last) * 1e6
        self._last = now


class FiltersDeciding:
    """The filters of one query; without one, nothing is emitted."""

    system, title = "agreedy", "Filters"

    def __init__(self, job: StreamJob, settings: KnobSettings) -> None:
        """Raises Refused for more than one query."""
        self._laps = _Laps()
        self.core = FiltersReOptimizer(_only(job.queries), settings, self._laps)
        self._stream = job.stream
        self._ran = self._snapshot(-1)
        self._raised: dict[str, int] = {}
        self._windows = {f for q in job.queries for f in q.filters if isinstance(f, WindowMember)}

    @property
    def plan_version(self) -> int:
        return self.core.plan.version

    def start(self) -> Recorded:
        return self._recorded(self.core.start())

    def snapshot(self, batch_id: int, settings: KnobSettings) -> FilterSnapshot:
        self._ran = self._snapshot(batch_id)
        return self._ran

    def executed(self, result: FilterBatchResult) -> Recorded:
        for name, n in result.raised.items():
            self._raised[name] = self._raised.get(name, 0) + n
        event = self._event(result)
        self._laps.begin()
        return self._recorded(self.core.handle(event))

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, QueriesChanged):
            query = _only(event.queries)
            self._refuse_windows(query.filters if query else ())
        return self._recorded(self.core.handle(event))

    def entities(self, job: StreamJob, registry: Registry) -> list[Entity]:
        return pipeline_entities(self.core, job, registry)

    def samples(self, result: FilterBatchResult) -> list[Sample]:
        monitor = self.core.monitor
        found = filter_samples(result, self._ran.plan, monitor, self._raised)
        found += monitor_samples(result, monitor, self._ran.profile_prob)
        if self.core.standings:
            found.append(Sample(PROFILE, "race_us", self._laps.us["race"], "us"))
        return found + race_samples(self.core.standings)

    def watched(self, result: FilterBatchResult) -> dict[str, tuple[float | None, str]]:
        n = result.n_tuples
        return {"profile_share": (result.n_profiled / n if n else None, "prob")}

    def matrices(self) -> tuple[Matrix, ...]:
        standings = self.core.standings
        race = (race_matrix(standings),) if standings else ()
        return (*(Matrix(**asdict(data)) for data in self.core.matrices()), *race)

    def _refuse_windows(self, filters: Sequence[Expensive]) -> None:
        """The streams windows look into are opened when the run starts."""
        for member in filters:
            if isinstance(member, WindowMember) and member not in self._windows:
                shown = format_filter(member)
                message = f"{shown}: a window cannot come to a run that has begun"
                raise Refused(f"{message}; put the query into the workload file")

    def _snapshot(self, batch_id: int) -> FilterSnapshot:
        core = self.core
        query = core.query.name if core.query else None
        prob = core.profile_prob
        return FilterSnapshot(batch_id, query, core.filters, core.plan, core.probing, prob)

    def _event(self, result: FilterBatchResult) -> BatchFiltered:
        """The batch as the core sees it; the times of its own work are of the batch before."""
        laps = self._laps.us
        spent = Shares(
            result.tuples_us,
            result.profile_us,
            laps["window"],
            laps["view"],
            laps["violations"],
        )
        return BatchFiltered(
            batch_id=result.batch_id,
            plan_version=self._ran.plan.version,
            n_tuples=result.n_evaluated,
            n_matched=result.n_matched,
            evaluated=result.reached,
            dropped=result.dropped,
            filters=self._ran.plan.order,
            outcomes=result.outcomes,
            n_passed=result.n_passed,
            profile_prob=self._ran.profile_prob,
            probing=self._ran.probing,
            costs=result.costs,
            time_s=time.monotonic(),
            spent=spent,
        )

    def _recorded(self, instructions: Sequence[FilterInstruction]) -> Recorded:
        stream, algorithm = self._stream, self.core.algorithm
        return recorder.instructed(
            instructions, lambda plan: pipeline_plan(plan, stream, algorithm)
        )


class FilterEngine(Loop[FilterSnapshot, FilterBatchResult]):
    """The loop around the filters of one query."""

    def __init__(
        self, run: Run, job: StreamJob, settings: KnobSettings, writer: EngineWriter
    ) -> None:
        deciding = FiltersDeciding(job, settings)
        super().__init__(run, job, settings, writer, deciding)
        self.core: FiltersReOptimizer = deciding.core


def _only(queries: Sequence[ContinuousQuery]) -> ContinuousQuery | None:
    """The one query of the run. Raises Refused when there are more."""
    if len(queries) > 1:
        first, *others = (query.name for query in queries)
        message = f"this run orders the filters of one query, {first!r}; remove or pause it before"
        raise Refused(f"{message} {others[-1]!r} can run here")
    return queries[0] if queries else None
