"""The joins of a network as an operator core: orders of their pipelines, and caches.

Every join of three inputs or more has decisions of its own ([B05] chapter 5), which stay while the
join does, whatever other queries come or go. All of them share the memory of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.adaptive.memory import PAGE_BYTES, Bid, Grant, MemoryUse
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.contract import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    OperatorCore,
    Refusal,
    UnitState,
)
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.join import AdaptiveJoin, join_in, keys_of
from backend.systems.joins.knobs import JoinKnobs
from backend.systems.joins.published import PublishedJoin
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.joins import JOINS as VOCABULARY
from storage.vocabulary.records import Entity, Json, Matrix, Sample

#: Joins of fewer inputs have one order and no segment that could be cached.
LEAST_INPUTS: Final = 3


class AdaptiveJoins(Mapping[str, AdaptiveJoin]):
    """All tuned joins of a network, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._by_id: dict[str, AdaptiveJoin] = {}
        self._network: LaidOutNetwork | None = None
        self._report: NetworkReport | None = None
        self._shown_now: list[PublishedJoin] | None = None

    def __getitem__(self, id: str) -> AdaptiveJoin:
        return self._by_id[id]

    def __iter__(self) -> Any:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def inexact(self) -> str:
        return ""

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: joins that are in it still keep what they know."""
        knobs, shown = JoinSettings.of(settings), self._shown()
        plan, names, self._network = network.plan, network.names, network
        before, self._by_id = self._by_id, {}
        readers, ids = plan.readers(), wide_joins(plan)
        for id in ids:
            join = before.get(id)
            if join is None or join.work != join_in(plan, id):
                join = AdaptiveJoin(plan, id, self._evaluations)
            join.name, join.is_one_of_many = names[id], len(ids) > 1
            join.query = next(iter(readers[id]), "")
            join.n_shards = settings.whole("shards") if keys_of(plan, id) else 1
            join.turn(knobs)
            self._by_id[id] = join
        self._shown_now = None
        return "" if self._shown() == shown else "the joins are tuned otherwise"

    def _shown(self) -> list[object]:
        """What a plan shows of the joins: orders, and caches in use."""
        return [(id, one.core.orders, *one.core.caches.choice) for id, one in self.items()]

    def bids(self) -> dict[str, Bid]:
        joins = {one.id: one for one in self._published}
        return {
            id: one.core.caches.pages.bid(one.n_elements, joins[id].pool)
            for id, one in self.items()
        }

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        before = self._tunings
        for id, one in self.items():
            one.share = grants[id].share
            one.core.allow(grants[id].n_pages)
        self._shown_now = None
        return self._tunings != before

    def memory_uses(self) -> dict[str, MemoryUse]:
        report = self._report
        return {
            one.id: one.memory_use(None if report is None else one.profile(report))
            for one in self._published
        }

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return replace(job, tunings={**job.tunings, **self._tunings})

    @property
    def _tunings(self) -> dict[str, JoinTuning]:
        return {id: one.core.tuning for id, one in self.items()}

    def observe(self, batch_id: int, n_tuples: int, report: NetworkReport) -> CoreNews:
        self._report, self._shown_now = report, None
        if not n_tuples:
            return CoreNews()
        before = self._tunings
        news = [one.observe(batch_id, n_tuples, report) for one in self.values()]
        records = tuple(record for records in news for record in records)
        return CoreNews(records, self._tunings != before)

    # ------------------------------------------------------------------ what is published

    @property
    def _published(self) -> list[PublishedJoin]:
        network = self._network
        if self._shown_now is None and network is not None:
            self._shown_now = [PublishedJoin(network, one) for one in self.values()]
        return self._shown_now or []

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        for join in self._published:
            graph = join.drawn(graph)
        return graph

    def entities(self) -> list[Entity]:
        return [entity for join in self._published for entity in join.entities()]

    def samples(self, report: NetworkReport) -> list[Sample]:
        return [sample for join in self._published for sample in join.samples(report)]

    def matrices(self) -> list[Matrix]:
        return [matrix for join in self._published for matrix in join.matrices()]

    # ------------------------------------------------------------------ a run that is resumed

    def state(self) -> Mapping[str, Json]:
        return {"joins": {id: one.core.state() for id, one in self.items()}}

    def restore(self, state: UnitState) -> None:
        known = state.plan.evidence.get("joins", {})
        for join in self._published:
            if join.id in known:
                self[join.id].core.restore(known[join.id], join.totals_in(state))
        self._shown_now = None


class JoinCores:
    """Orders and caches of joins of three inputs or more."""

    name = "joins"
    title = "Adaptive joins"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = JoinKnobs.specs()

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        wide = wide_joins(plan)
        if not wide:
            return Refusal("it joins fewer than three inputs, so no order and no cache to choose")
        return frozenset(wide)

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return AdaptiveJoins(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """A join of three with a cache, then with a larger one."""
        three = [id for id in wide_joins(plan) if len(plan.operator(id).inputs) == LEAST_INPUTS]
        return [dict.fromkeys(three, _rehearsed(n_bytes)) for n_bytes in (PAGE_BYTES, 65_536)]


def _rehearsed(n_bytes: int) -> JoinTuning:
    cache = CacheSpec("1,2|0", (1, 2), (0,), (Segment(0, 0, 1),), n_bytes)
    orders = ((1, 2), (2, 0), (1, 0))
    return JoinTuning(orders=orders, profile_prob=(1.0, 1.0, 1.0), caches=(cache,))


def wide_joins(plan: NetworkPlan) -> list[str]:
    """The joins that have an order and caches to choose."""
    return [
        planned.id for planned, _ in plan.working(JoinOp) if len(planned.inputs) >= LEAST_INPUTS
    ]


JOINS: Final[CoreKind] = JoinCores()
