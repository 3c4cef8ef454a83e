"""STREAM as a unit: all queries of a run that do more than select, as one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from backend.adaptive.core import Evaluations
from backend.adaptive.words import REFILLED
from backend.cql.answers import Implicit
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.functions import Functions
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob, Schedule
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import JoinTrees
from backend.systems.contract import BatchRan, Observation, Recorded, Refused, UnitJob, UnitState
from backend.systems.cores import ChecksKnobs, CoreKind, CoreNews, NetworkRan
from backend.systems.publishing import PublishedUnit, query_entity
from backend.systems.stream.answered import AnswersSoFar
from backend.systems.stream.capacities import CAPACITY, Capacities, queues_of
from backend.systems.stream.claims import claimed, decided
from backend.systems.stream.compiling import called_functions, compile_queries
from backend.systems.stream.knobs import StreamKnobs
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.logs import NetworkLogs
from backend.systems.stream.published import (
    arrived,
    curve_matrix,
    decision_words,
    query_times,
    samples,
    shard_load,
)
from backend.systems.stream.registered import RegisteredQuery, tick_of
from backend.systems.stream.state_limit import StateLimit
from backend.systems.stream.tapping import tapped
from backend.systems.stream.waiting import Waits
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.looks import in_version
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.planlog import SURE_SAVING
from storage.vocabulary.records import (
    Decision,
    Entity,
    Event,
    Json,
    Matrix,
    PlanVersion,
    Sample,
)


class AdoptNetwork(NamedTuple):
    """Run the network of the unit as it is now from a batch on."""

    version: int
    batch_id: int
    reason: str
    decision: int | None = None
    predicted: float | None = None


class NetworkUnit(PublishedUnit[AdoptNetwork]):
    """The network of all its queries."""

    def __init__(self, job: UnitJob, settings: KnobSettings, cores: Sequence[CoreKind]) -> None:
        """Raises Refused for queries that cannot run together. cores: what adapts its operators, in
        the order in which they decide."""
        super().__init__(job)
        self._settings, self._knobs, self._kinds = settings, StreamKnobs.of(settings), cores
        self._capacities = Capacities(self._knobs.queue_capacity)
        self._state, self._waits = StateLimit(self._knobs.state_limit_bytes), Waits()
        self._tick_us = tick_of(job)
        self._queries = {query.name: RegisteredQuery(query, job.batch) for query in job.queries}
        self.layout, self._claims = self._laid_out(self._queries, self._knobs)
        self._answered = AnswersSoFar(query.start for query in self._queries.values())
        self._version, self._evaluations = 0, Evaluations()
        self.cores = [kind.core(self._evaluations) for kind in cores]
        self._logs = NetworkLogs(self.cores, self._evaluations)
        self._check(self.layout, settings)
        self._lay_out_cores()
        self._made: NetworkJob | None = None
        self._digest: str | None = None
        self._shown: tuple[object, list[Entity]] | None = None
        self._last_ms: float | None = None
        self._seconds: float | None = None

    @property
    def plan_version(self) -> int:
        return self._version

    @property
    def inexact(self) -> str:
        whys = (why for core in self.cores for why in core.inexact.values())
        return "; ".join(dict.fromkeys(whys))

    @property
    def inexact_queries(self) -> frozenset[str]:
        readers = self.layout.plan.readers()
        return frozenset(name for core in self.cores for id in core.inexact for name in readers[id])

    def start(self, state: UnitState | None) -> Recorded:
        batch = self._job.batch
        if state is None:
            learned = self._logs.learn(self._job.learned)
            return self._recorded([self._adopt(batch, "the queries the run begins with"), *learned])
        evidence = state.plan.evidence
        _check_fixed(evidence["shards"], evidence.get("join_trees", "mjoin"), self._knobs)
        known, instructions = evidence["registered"], list[Any]()
        for name, query in self._queries.items():
            since, meaning = known.get(name, (batch, ""))
            if meaning == query.meaning:
                self._queries[name] = query._replace(since=since)
            else:
                instructions.append(query.begins)
        self.layout, self._claims = self._laid_out(self._queries, self._knobs)
        self._version, self._evaluations.seq = state.plan.version, state.n_decisions
        self._lay_out_cores()
        instructions += self._restore(state)
        refills = not state.facts or any(core.refills for core in self.cores)
        instructions += [REFILLED] if refills else []
        if self._graph().digest == state.facts.get("drawn", state.plan.hash):
            return self._recorded(instructions)
        reason = "the queries are others" if state.facts else "what had been learnt is gone"
        return self._recorded([*instructions, self._adopt(batch, reason)])

    def _restore(self, state: UnitState) -> list[Event]:
        """Take up what was known when the last batch was over."""
        starts = [query.start for query in self._queries.values()]
        self._answered.restore(state.facts, starts, self._job.batch)
        self._evaluations.n_rejected = state.facts.get("n_rejected", 0)
        for core in self.cores:
            core.restore(state)
        return self._logs.resume(state)

    def operator(self, batch_id: int) -> NetworkJob:
        if self._made is None:
            self._made = self._job_of(self.layout.plan)
        return self._made

    def executed(self, event: BatchRan) -> Recorded:
        self._result, report = event.result, event.result.report
        self._state = self._state.using(report.state_bytes)
        before, self._last_ms = self._last_ms, event.ms
        self._seconds = None if before is None else (event.ms - before) / 1e3
        self._answered.ran(report)
        n = sum(arrived(self.layout, report).values())
        backlog = {s: n for s, n in event.backlog.items() if s in self.layout.streams}
        ran = NetworkRan(event.batch_id, n, report, event.ms, backlog)
        waits = event.batch_id, event.ms, report.clocks
        records: list[Any] = [*self._waits.ran(*waits, self.layout.clocks)]
        self._logs.passed(n)
        version = self._version
        for core in self.cores:
            news = core.observe(ran)
            records += self._logs.logged(news, version)
            records += self._adopted(event.batch_id, news)
        return self._recorded(records)

    def _adopted(self, batch_id: int, news: CoreNews) -> list[Any]:
        """What a core decided; a plan of its own where operators run otherwise from now on."""
        if news.is_new:
            self._made = self._digest = None
        switches = [d for d in news.records if isinstance(d, Decision) and d.verdict == "switched"]
        records: list[Any] = []
        version = self._version
        if switches:
            last, reason = switches[-1], "; ".join(switch.explanation for switch in switches)
            records.append(self._adopt(batch_id + 1, reason, last.seq, last.predicted_new))
        for record in news.records:
            if isinstance(record, Decision) and record.metric == SURE_SAVING:
                records.append(in_version(record, version))
            elif record in switches:
                records.append(replace(record, plan_version=self._version))
            elif not isinstance(record, Decision) or self._is_stored(record):
                records.append(record)
        return records

    def _is_stored(self, decision: Decision) -> bool:
        every = self._knobs.reject_sample_every
        return self._evaluations.is_stored(cast(Verdict, decision.verdict), every)

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        if isinstance(event, KnobsChanged):
            return self._turned(event.settings, event.batch_id)
        self._state.check_new(q.name for q in event.queries if q.name not in self._queries)
        queries = {}
        for query in event.queries:
            known = self._queries.get(query.name)
            stays = known is not None and known.query.plan == query.plan
            start = known.since if known is not None and stays else event.batch_id
            queries[query.name] = RegisteredQuery(query, start)
        layout, claims = self._laid_out(queries, self._knobs)
        self._check(layout, self._settings)
        self.layout, self._claims = layout, claims
        known_before = {query.start for query in self._queries.values()}
        self._answered.keep((query.start for query in queries.values()), known_before)
        if self._queries.keys() - queries.keys():
            self._state = self._state.using(None)
        begins = [query.begins for query in queries.values() if query.start not in known_before]
        self._queries = queries
        self._lay_out_cores()
        return self._recorded([*begins, self._adopt(event.batch_id, event.reason)])

    def facts(self) -> Mapping[str, Json]:
        of_cores = {name: known for core in self.cores for name, known in core.state().items()}
        self._digest = self._digest or self._graph().digest
        own = {"n_rejected": self._evaluations.n_rejected, "drawn": self._digest}
        return {**self._answered.facts(), **own, **self._logs.facts(), **of_cores}

    def parts(self) -> Mapping[str, tuple[KnobSpec, ...]]:
        queues = {self.layout.queue(id): (CAPACITY,) for id in queues_of(self.layout.plan)}
        of_cores = {id: own for core in self.cores for id, own in core.parts().items()}
        return {**queues, **of_cores}

    def part_turned(self, part: str, settings: KnobSettings) -> None:
        self._made = self._digest = None
        for core in self.cores:
            if part in core.parts():
                core.part_turned(part, settings)
                return
        queue = next(id for id in queues_of(self.layout.plan) if self.layout.queue(id) == part)
        self._capacities = self._capacities.having(queue, settings.whole(CAPACITY.name))

    def bids(self) -> Mapping[str, Bid]:
        return {id: bid for core in self.cores for id, bid in core.bids().items()}

    def grant(self, grants: Mapping[str, Grant]) -> None:
        for core in self.cores:
            if (own := core.bids()) and core.grant({id: grants[id] for id in own}):
                self._made = self._digest = None

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {id: use for core in self.cores for id, use in core.memory_uses().items()}

    @property
    def waits(self) -> str:
        return self._state.excess

    def decided(self, operator: str, waiting: Mapping[str, int]) -> tuple[str, str]:
        return decision_words(self.layout, operator, waiting)

    def tapped(self, entity: str) -> Mapping[str, str]:
        return tapped(self.layout, entity)

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        waits = {clock: wait._replace(seconds=0) for clock, wait in self._waits.reported.items()}
        key = (self._version, self._knobs, self._capacities, waits, *paused)
        if self._shown is None or self._shown[0] != key:
            self._shown = (key, self._entities(paused))
        return self._shown[1]

    def observe(self) -> Observation:
        result = self._result
        seen = super().observe()
        if result is None:
            return seen
        report = result.report
        starts = [query.start for query in self._queries.values()]
        relations = self._answered.matrices(self.layout.plan, starts)
        of_report = (curve_matrix(self.layout, report), *shard_load(report), *relations)
        return Observation(seen.samples, (*seen.matrices, *of_report))

    def _turned(self, settings: KnobSettings, batch_id: int) -> Recorded:
        """Other values of the knobs. Raises Refused."""
        before, knobs = self._knobs, StreamKnobs.of(settings)
        _check_fixed(before.shards, before.join_trees, knobs)
        self._check(self.layout, settings)
        reasons = []
        if (knobs.sharing, knobs.implicit_istream) != (before.sharing, before.implicit_istream):
            self.layout, self._claims = self._laid_out(self._queries, knobs)
            reasons.append(f"sharing is {'on' if knobs.sharing else 'off'}")
            reasons.append(f"implicit Istream: {knobs.implicit_istream}")
        self._settings, self._knobs = settings, knobs
        self._made = self._digest = None
        self._capacities = replace(self._capacities, common=knobs.queue_capacity)
        self._state = replace(self._state, limit_bytes=knobs.state_limit_bytes)
        reasons += self._lay_out_cores()
        if not reasons:
            return Recorded()
        return self._recorded([self._adopt(batch_id, ", ".join(reasons))])

    def _check(self, layout: NetworkLayout, settings: KnobSettings) -> None:
        """Raises Refused for values of knobs that a core cannot do with."""
        for core in self.cores:
            if isinstance(core, ChecksKnobs):
                core.check(layout, settings)

    def _laid_out(
        self, queries: Mapping[str, RegisteredQuery], knobs: StreamKnobs
    ) -> tuple[NetworkLayout, list[frozenset[str]]]:
        """The network of some queries, and the operators that each core has. Raises Refused."""
        registered = [query.query for query in queries.values()]
        plan = compile_queries(
            registered,
            implicit_istream=cast(Implicit, knobs.implicit_istream),
            sharing=knobs.sharing,
            since={name: query.since for name, query in queries.items()},
            tick_us=self._tick_us,
            joins=cast(JoinTrees, knobs.join_trees),
            keyed=knobs.shards > 1,
            kinds=self._kinds,
        )
        layout = NetworkLayout.of(self._job.id, plan, registered)
        return layout, claimed(self._kinds, plan, layout.names)

    def _lay_out_cores(self) -> list[str]:
        """The plan or the knobs are others; why the plan is another by what cores make of that."""
        reasons = [core.lay_out(self.layout, self._settings) for core in self.cores]
        return [reason for reason in reasons if reason]

    def _graph(self) -> PlanGraph:
        """The plan as its cores have it executed."""
        graph = self.layout.graph()
        for core in self.cores:
            graph = core.drawn(graph)
        return graph

    def _adopt(
        self,
        batch_id: int,
        reason: str,
        decision: int | None = None,
        predicted: float | None = None,
    ) -> AdoptNetwork:
        self._version += 1
        self._made = self._digest = None
        return AdoptNetwork(self._version, batch_id, reason, decision, predicted)

    def _job_of(self, plan: NetworkPlan) -> NetworkJob:
        job, layout = self._job, self.layout
        streams = [name for name in job.schemas if name in layout.streams]
        made = NetworkJob(
            plan,
            {name: job.schemas[name] for name in streams},
            {name: job.times[name] for name in streams},
            {name: job.stored[name].table for name in layout.relations},
            called_functions(plan, job.functions or Functions()),
            Schedule(capacity=self._capacities.limits(plan)),
            self._knobs.shards,
        )
        return decided(made, self.cores, self._claims)

    def _entities(self, paused: Mapping[str, ContinuousQuery]) -> list[Entity]:
        id, knobs, layout = self._job.id, self._knobs, self.layout
        facts: dict[str, Json] = {"shards": knobs.shards, "tick_us": self._tick_us}
        entities = layout.entities("Operator network", self._capacities, facts)
        entities += [entity for core in self.cores for entity in core.entities()]
        for query in self._queries.values():
            wait = self._waits.reported.get(layout.clocks[query.query.name])
            entities.append(layout.query(query.query, query.since, wait))
        return [*entities, *(query_entity(id, query, "paused") for query in paused.values())]

    def _samples(self, result: UnitResult) -> list[Sample]:
        sizes = {name: self._answered.size(query.start) for name, query in self._queries.items()}
        report = result.report
        of_all = samples(self.layout, report, self._knobs.shards, self._seconds, sizes)
        of_all += query_times(self.layout, report, self._waits.waits)
        return [*of_all, *(sample for core in self.cores for sample in core.samples(report))]

    def _matrices(self) -> tuple[Matrix, ...]:
        return tuple(matrix for core in self.cores for matrix in core.matrices())

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
                "registered": {
                    n: [query.since, query.meaning] for n, query in self._queries.items()
                },
                "sharing": knobs.sharing,
                "shards": knobs.shards,
                "join_trees": knobs.join_trees,
                "predicted": adopted.predicted,
            },
        )


def _check_fixed(shards: int, join_trees: str, now: StreamKnobs) -> None:
    """Raises Refused where a knob that state is laid out by is not as it was."""
    for name, before in {"shards": shards, "join_trees": join_trees}.items():
        if getattr(now, name) != before:
            raise Refused(
                f"{name} stays {before}: it is fixed for a run; start a new run with --fresh"
            )
