"""STREAM as a unit: all queries of a run that do more than select, as one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from backend.adaptive.words import REFILLED
from backend.cql.answers import Implicit
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.contract import UnitResult
from backend.operators.network.job import NetworkJob, Policy, Schedule
from backend.operators.network.plan import NetworkPlan
from backend.operators.network.reports import NetworkReport
from backend.systems.contract import BatchRan, Observation, Recorded, Refused, UnitJob, UnitState
from backend.systems.joins.core import AdaptiveJoins
from backend.systems.joins.published import PublishedJoin
from backend.systems.joins.run_pool import run_pool, run_pool_samples
from backend.systems.publishing import PublishedUnit, query_entity
from backend.systems.stream.calls import called_functions
from backend.systems.stream.capacities import CAPACITY, Capacities, queues_of
from backend.systems.stream.chains.chaining import BY_CHAINS, Chaining, ChainWatch
from backend.systems.stream.chains.measured import NetworkProfile
from backend.systems.stream.chains.progress import slopes_of, steps_of
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.published import (
    arrived,
    curve_matrix,
    decision_words,
    mean_waiting,
    progress_matrix,
    samples,
    shard_load,
)
from backend.systems.stream.registered import RegisteredQuery, tick_of
from backend.systems.stream.rewrites import JoinTrees
from backend.systems.stream.state_limit import StateLimit
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision, Entity, Json, Matrix, PlanVersion, Sample

#: A schedule counts with other costs when the work of a tuple has changed by this share.
COSTS_CHANGED: Final = 0.25


class AdoptNetwork(NamedTuple):
    """Run the network of the unit as it is now from a batch on."""

    version: int
    batch_id: int
    reason: str
    decision: int | None = None
    predicted: float | None = None


class NetworkUnit(PublishedUnit[AdoptNetwork]):
    """The network of all its queries."""

    def __init__(self, job: UnitJob, settings: KnobSettings) -> None:
        """Raises Refused for queries that cannot run together."""
        super().__init__(job)
        self._knobs = StreamKnobs.of(settings)
        self._capacities = Capacities(self._knobs.queue_capacity)
        self._state = StateLimit(self._knobs.state_limit_bytes)
        self._tick_us = tick_of(job)
        self._queries = {query.name: RegisteredQuery(query, job.batch) for query in job.queries}
        self.layout = self._laid_out(self._queries, self._knobs)
        self._sizes = {one.start: 0 for one in self._queries.values()}
        self._version, self._chaining = 0, Chaining()
        self._watch, self._profile = ChainWatch(), NetworkProfile()
        self.joins = AdaptiveJoins(self._watch.evaluations)
        self._tune_joins()
        self._costs: dict[str, float] = {}
        self._work_us = 0.0
        self._made: NetworkJob | None = None
        self._shown: tuple[object, list[Entity]] | None = None
        self._last_ms: float | None = None
        self._seconds: float | None = None

    @property
    def plan_version(self) -> int:
        return self._version

    def start(self, state: UnitState | None) -> Recorded:
        batch = self._job.batch
        if state is None:
            return self._recorded([self._adopt(batch, "the queries the run begins with")])
        self._sizes = {}
        evidence = state.plan.evidence
        _check_fixed(evidence["shards"], evidence.get("join_trees", "mjoin"), self._knobs)
        known = evidence["registered"]
        for name, one in self._queries.items():
            since, meaning = known.get(name, (batch, ""))
            if meaning == one.meaning:
                self._queries[name] = one._replace(since=since)
        slopes = {id: (slope, n) for id, (slope, n) in evidence["slopes"].items()}
        self._chaining = Chaining(slopes)
        self.layout = self._laid_out(self._queries, self._knobs)
        self._version, self._watch.evaluations.seq = state.plan.version, state.n_decisions
        self._tune_joins()
        totals = {one.id: one.totals_in(state) for one in self._published_joins}
        self.joins.restore(evidence.get("joins", {}), totals)
        if self._graph().digest == state.plan.hash:
            return self._recorded([REFILLED])
        return self._recorded([REFILLED, self._rechained(batch, "the queries are others")])

    def operator(self, batch_id: int) -> NetworkJob:
        if self._made is None:
            self._made = self._job_of(self.layout.plan)
        return self._made

    def executed(self, event: BatchRan) -> Recorded:
        self._result, report = event.result, event.result.report
        self._state = self._state.using(report.state_bytes)
        before, self._last_ms = self._last_ms, event.ms
        self._seconds = None if before is None else (event.ms - before) / 1e3
        for start in self._sizes:
            self._sizes[start] += report.net.get(start[0], 0)
        self._profile.ran(report.operators)
        self._recalibrate()
        n = sum(arrived(self.layout, report).values())
        if not n:
            return Recorded()
        profile, policy = self._profile, self._policy
        steps = steps_of(self.layout.plan, profile.selectivities, profile.costs)
        waited = mean_waiting(report) / n
        found: list[Any] = [
            *self._watch.outcomes(event.batch_id, n, steps, profile, policy, waited)
        ]
        names, version = self.layout.names, self._knobs.version
        told = self._watch.check(
            event.batch_id, n, steps, profile, policy, self._chaining, names, version
        )
        decision = told.decision
        if told.adopted is not None:
            self._chaining = told.adopted
            reason, expected = decision.explanation, decision.predicted_new
            adopted = self._adopt(event.batch_id + 1, reason, decision.seq, expected)
            found += [replace(decision, plan_version=adopted.version), adopted]
        elif self._is_stored(decision):
            found.append(decision)
        return self._recorded([*found, *self._tuned(event.batch_id, n, report)])

    def _tuned(self, batch_id: int, n_tuples: int, report: NetworkReport) -> list[Any]:
        """What the joins decided; a plan of its own where one runs otherwise from now on."""
        news = self.joins.observe(batch_id, n_tuples, report)
        found: list[Any] = []
        switched = [d for d in news.found if isinstance(d, Decision) and d.verdict == "switched"]
        if news.is_new:
            self._made = None
        if switched:
            last = switched[-1]
            reason = "; ".join(one.explanation for one in switched)
            found.append(self._adopt(batch_id + 1, reason, last.seq, last.predicted_new))
        for one in news.found:
            if one in switched:
                one = replace(one, plan_version=self._version)
            elif isinstance(one, Decision) and not self._is_stored(one):
                continue
            found.append(one)
        return found

    def _is_stored(self, decision: Decision) -> bool:
        evaluations, every = self._watch.evaluations, self._knobs.reject_sample_every
        return evaluations.is_stored(cast(Verdict, decision.verdict), every)

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, KnobsChanged):
            return self._turned(StreamKnobs.of(event.settings), event.batch_id)
        self._state.check_new(q.name for q in event.queries if q.name not in self._queries)
        queries = {}
        for query in event.queries:
            known = self._queries.get(query.name)
            stays = known is not None and known.query.plan == query.plan
            start = known.since if known is not None and stays else event.batch_id
            queries[query.name] = RegisteredQuery(query, start)
        self.layout = self._laid_out(queries, self._knobs)
        known_before = {one.start for one in self._queries.values()}
        self._sizes = {
            one.start: self._sizes.get(one.start, 0)
            for one in queries.values()
            if one.start in self._sizes or one.start not in known_before
        }
        if self._queries.keys() - queries.keys():
            self._state = self._state.using(None)
        self._queries = queries
        self._tune_joins()
        return self._recorded([self._rechained(event.batch_id, event.reason)])

    def parts(self) -> Mapping[str, tuple[KnobSpec, ...]]:
        return {self.layout.queue(id): (CAPACITY,) for id in queues_of(self.layout.plan)}

    def part_turned(self, part: str, settings: KnobSettings) -> None:
        queue = next(id for id in queues_of(self.layout.plan) if self.layout.queue(id) == part)
        self._capacities = self._capacities.having(queue, settings.whole(CAPACITY.name))
        self._made = None

    @property
    def waits(self) -> str:
        return self._state.excess

    def decided(self, operator: str, waiting: Mapping[str, int]) -> tuple[str, str]:
        return decision_words(self.layout, operator, waiting)

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        key = (self._version, self._knobs, self._capacities, *paused)
        if self._shown is None or self._shown[0] != key:
            self._shown = (key, self._entities(paused))
        return self._shown[1]

    def observe(self) -> Observation:
        result = self._result
        seen = super().observe()
        if result is None:
            return seen
        report = result.report
        told = (curve_matrix(self.layout, report), *shard_load(report))
        return Observation(seen.samples, (*seen.matrices, *told))

    def _turned(self, knobs: StreamKnobs, batch_id: int) -> Recorded:
        """Other values of the knobs. Raises Refused."""
        before = self._knobs
        _check_fixed(before.shards, before.join_trees, knobs)
        reasons = []
        if (knobs.sharing, knobs.implicit_istream) != (before.sharing, before.implicit_istream):
            self.layout = self._laid_out(self._queries, knobs)
            reasons.append(f"sharing is {'on' if knobs.sharing else 'off'}")
            reasons.append(f"implicit Istream: {knobs.implicit_istream}")
        if knobs.scheduler != before.scheduler:
            reasons.append(f"the scheduler is {knobs.scheduler}")
        self._knobs, self._made, drawn = knobs, None, self._graph()
        self._capacities = replace(self._capacities, common=knobs.queue_capacity)
        self._state = replace(self._state, limit_bytes=knobs.state_limit_bytes)
        self._tune_joins()
        if not reasons and self._graph() != drawn:
            reasons.append("the joins are tuned otherwise")
        if not reasons:
            return Recorded()
        return self._recorded([self._rechained(batch_id, ", ".join(reasons))])

    def _laid_out(
        self, queries: Mapping[str, RegisteredQuery], knobs: StreamKnobs
    ) -> NetworkLayout:
        """The network of some queries."""
        plan = compile_queries(
            [one.query for one in queries.values()],
            implicit_istream=cast(Implicit, knobs.implicit_istream),
            sharing=knobs.sharing,
            since={name: one.since for name, one in queries.items()},
            tick_us=self._tick_us,
            joins=cast(JoinTrees, knobs.join_trees),
            keyed=knobs.shards > 1,
        )
        return NetworkLayout.of(self._job.id, plan)

    def _tune_joins(self) -> None:
        """Have the joins of the network tuned as the knobs say."""
        self.joins.lay_out(self.layout.plan, self.layout.names, self._knobs)

    @property
    def _published_joins(self) -> list[PublishedJoin]:
        share = self.joins.share
        return [PublishedJoin(self.layout, one, share(id)) for id, one in self.joins.items()]

    def _graph(self) -> PlanGraph:
        """The plan with its chains, and the caches in use."""
        graph = self.layout.graph(self._chaining)
        for join in self._published_joins:
            graph = join.drawn(graph)
        return graph

    def _adopt(
        self,
        batch_id: int,
        reason: str,
        decision: int | None = None,
        predicted: float | None = None,
    ) -> AdoptNetwork:
        self._version += 1
        self._made = None
        return AdoptNetwork(self._version, batch_id, reason, decision, predicted)

    def _rechained(self, batch_id: int, reason: str) -> AdoptNetwork:
        """Another network or policy is in force; its chains are those of what is known so far."""
        self._watch.forget()
        plan, profile = self.layout.plan, self._profile
        profile.only(plan)
        slopes = {}
        if self._policy in BY_CHAINS and profile.costs:
            steps = steps_of(plan, profile.selectivities, profile.costs)
            slopes = slopes_of(self._policy, steps)
        self._chaining = Chaining(slopes)
        self._recalibrate()
        return self._adopt(batch_id, reason)

    def _recalibrate(self) -> None:
        """Schedule with the costs that were measured, once they differ from those in use."""
        work = self._profile.work_us(self.layout.plan)
        if work and abs(work - self._work_us) > COSTS_CHANGED * self._work_us:
            self._work_us, self._costs = work, self._profile.costs
            self._made = None

    @property
    def _policy(self) -> Policy:
        return cast(Policy, self._knobs.scheduler)

    def _job_of(self, plan: NetworkPlan) -> NetworkJob:
        job, layout = self._job, self.layout
        streams = [name for name in job.schemas if name in layout.streams]
        return NetworkJob(
            plan,
            {name: job.schemas[name] for name in streams},
            {name: job.times[name] for name in streams},
            {name: job.stored[name].table for name in layout.relations},
            called_functions(plan, job.functions or Functions()),
            self._schedule(plan),
            self._knobs.shards,
            self.joins.tunings,
        )

    def _schedule(self, plan: NetworkPlan) -> Schedule:
        return Schedule(
            policy=self._policy,
            slopes=self._chaining.slopes,
            costs=self._costs,
            work=self._work_us,
            capacity=self._capacities.limits(plan),
            load=self._knobs.load,
        )

    def _entities(self, paused: Mapping[str, ContinuousQuery]) -> list[Entity]:
        id, knobs, layout = self._job.id, self._knobs, self.layout
        facts: dict[str, Json] = {"shards": knobs.shards, "tick_us": self._tick_us}
        found = layout.entities("Operator network", self._capacities, facts)
        joins = self._published_joins
        found += [*run_pool(id, joins), *(one for join in joins for one in join.entities())]
        found += [layout.query(one.query, one.since) for one in self._queries.values()]
        return [*found, *(query_entity(id, query, "paused") for query in paused.values())]

    def _samples(self, result: UnitResult) -> list[Sample]:
        sizes = {name: self._sizes.get(one.start) for name, one in self._queries.items()}
        shards = self._knobs.shards
        report = result.report
        found = samples(self.layout, report, self._chaining, shards, self._seconds, sizes)
        joins = self._published_joins
        found += run_pool_samples(self._job.id, joins, report, self._knobs.run_pool_bytes)
        return found + [one for join in joins for one in join.samples(report)]

    def _matrices(self) -> tuple[Matrix, ...]:
        profile, plan = self._profile, self.layout.plan
        steps = steps_of(plan, profile.selectivities, profile.costs)
        joins = (one for join in self._published_joins for one in join.matrices())
        return (progress_matrix(self.layout, steps, self._chaining), *joins)

    def _plan_record(self, adopted: AdoptNetwork) -> PlanVersion:
        graph, knobs = self._graph(), self._knobs
        return PlanVersion(
            version=adopted.version,
            batch=adopted.batch_id,
            kind="network",
            order=graph.order,
            graph=graph.to_json(),
            hash=graph.digest,
            reason=adopted.reason,
            decision=adopted.decision,
            evidence={
                "registered": {n: [one.since, one.meaning] for n, one in self._queries.items()},
                "slopes": {id: list(slope) for id, slope in self._chaining.slopes.items()},
                "scheduler": knobs.scheduler,
                "sharing": knobs.sharing,
                "shards": knobs.shards,
                "join_trees": knobs.join_trees,
                "predicted_waiting": adopted.predicted,
                "joins": self.joins.state(),
            },
        )


def _check_fixed(shards: int, join_trees: str, now: StreamKnobs) -> None:
    """Raises Refused where a knob that state is laid out by is not as it was."""
    for name, before in {"shards": shards, "join_trees": join_trees}.items():
        if getattr(now, name) != before:
            raise Refused(
                f"{name} stays {before}: it is fixed for a run; begin another one with --fresh"
            )
