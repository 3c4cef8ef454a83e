"""The joins of a network as an operator core: orders of their pipelines, and caches.

Every join of three inputs or more has decisions of its own ([B05] chapter 5), which stay while the
join does, whatever other queries come or go. All of them share the memory of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.job import NetworkJob
from backend.operators.network.join_tuning import PAGE_BYTES, CacheSpec, JoinTuning, Segment
from backend.operators.network.plan import JoinOp, NetworkPlan
from backend.operators.network.reports import NetworkReport
from backend.operators.network.tuning import Tuning
from backend.systems.contract import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    OperatorCore,
    Refusal,
    UnitState,
)
from backend.systems.joins.decide.memory import divided
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.join import AdaptiveJoin, join_in, keys_of
from backend.systems.joins.knobs import JoinKnobs
from backend.systems.joins.published import PublishedJoin
from backend.systems.joins.run_pool import run_pool, run_pool_samples
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.joins import JOINS as VOCABULARY
from storage.vocabulary.records import Entity, Json, Matrix, Sample

#: Joins of fewer inputs have one order and no segment that could be cached.
LEAST_INPUTS: Final = 3
#: The memory of a run is shared anew when the share of a join in the elements moved by more.
_MOVED: Final = 0.2


class AdaptiveJoins(Mapping[str, AdaptiveJoin]):
    """All tuned joins of a network, by operator."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._by_id: dict[str, AdaptiveJoin] = {}
        self._network: LaidOutNetwork | None = None
        self._run_bytes = 0
        self._shares: Mapping[str, float] = {}

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
        self._run_bytes = knobs.run_pool_bytes
        self._divide()
        return "" if self._shown() == shown else "the joins are tuned otherwise"

    def _shown(self) -> list[object]:
        """What a plan shows of the joins: orders, and caches in use."""
        return [(id, one.core.orders, *one.core.caches.choice) for id, one in self.items()]

    def _divide(self) -> None:
        """Share the memory of the run among the joins."""
        pages: Mapping[str, int | None] = dict.fromkeys(self)
        if self._run_bytes:
            shares = self._steady_shares()
            demands = {id: one.core.caches.pages.demand(shares[id]) for id, one in self.items()}
            pages = divided(self._run_bytes // PAGE_BYTES, demands)
        for id, one in self.items():
            one.core.allow(pages[id])

    def _steady_shares(self) -> Mapping[str, float]:
        """The shares of joins, as they were while none has moved much: pages are not to go to and
        fro with every batch."""
        now, before = {id: self.share(id) for id in self}, self._shares
        moved = (abs(n - before[id]) > _MOVED * before[id] for id, n in now.items() if id in before)
        if now.keys() != before.keys() or any(moved):
            self._shares = now
        return self._shares

    def share(self, id: str) -> float:
        """Elements of a join per element of all joins; equal parts before any came."""
        n = sum(one.n_elements for one in self.values())
        return self[id].n_elements / n if n else 1 / len(self)

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return replace(job, tunings={**job.tunings, **self._tunings})

    @property
    def _tunings(self) -> dict[str, JoinTuning]:
        return {id: one.core.tuning for id, one in self.items()}

    def observe(self, batch_id: int, n_tuples: int, report: NetworkReport) -> CoreNews:
        if not n_tuples:
            return CoreNews()
        before = self._tunings
        news = [one.observe(batch_id, n_tuples, report) for one in self.values()]
        self._divide()
        records = tuple(record for records in news for record in records)
        return CoreNews(records, self._tunings != before)

    # ------------------------------------------------------------------ what is published

    @property
    def _published(self) -> list[PublishedJoin]:
        network = self._network
        if network is None:
            return []
        return [PublishedJoin(network, one, self.share(id)) for id, one in self.items()]

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        for join in self._published:
            graph = join.drawn(graph)
        return graph

    def entities(self) -> list[Entity]:
        joins = self._published
        return [*run_pool(joins), *(entity for join in joins for entity in join.entities())]

    def samples(self, report: NetworkReport) -> list[Sample]:
        joins = self._published
        pool = run_pool_samples(joins, report, self._run_bytes)
        return [*pool, *(sample for join in joins for sample in join.samples(report))]

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
        self._divide()


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
        one.id
        for one in plan.operators
        if isinstance(one.work, JoinOp) and len(one.inputs) >= LEAST_INPUTS
    ]


JOINS: Final[CoreKind] = JoinCores()
