"""The joins of a network as an operator core: orders of their pipelines, and caches.

Every join of three inputs or more has decisions of its own ([B05] chapter 5), which stay while the
join does, whatever other queries come or go. All of them share the memory of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.contract import Refusal
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.joined import JoinsByOperator, keys_of
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.steering import JoinPilot
from backend.systems.joins.join import AdaptiveJoin, join_in
from backend.systems.joins.knobs import JoinKnobs
from backend.systems.joins.published import PublishedJoin
from storage.vocabulary.joins import JOINS as VOCABULARY
from storage.vocabulary.memory import PAGE_BYTES, Bid, Grant, MemoryUse
from storage.vocabulary.records import Sample

#: Joins of fewer inputs have one order and no segment that could be cached.
LEAST_INPUTS: Final = 3


class AdaptiveJoins(JoinsByOperator[AdaptiveJoin, PublishedJoin]):
    """All tuned joins of a network."""

    state_name = "joins"

    def __init__(self, evaluations: Evaluations) -> None:
        super().__init__(evaluations)
        self._report: NetworkReport | None = None

    @property
    def refills(self) -> bool:
        """Windows of profiled elements go on as their means, or not at all."""
        return bool(self)

    def pilots(self) -> dict[str, JoinPilot]:
        pilots = (pilot for join in self.values() for pilot in join.core.pilots)
        return {pilot.schema.subject: pilot for pilot in pilots}

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: joins that are in it still keep what they know."""
        knobs, drawn = JoinSettings.of(settings), self._choices()
        plan, names, self._network = network.plan, network.names, network
        before, self._by_id = self._by_id, {}
        readers, ids = plan.readers(), wide_joins(plan)
        for id in ids:
            join = before.get(id)
            if join is None or join.work != join_in(plan, id):
                join = AdaptiveJoin(plan, id, self._evaluations)
            join.call(names[id])
            join.is_one_of_many = len(ids) > 1
            join.query = next(iter(readers[id]), "")
            join.n_shards = settings.whole("shards") if keys_of(plan, id) else 1
            join.turn(knobs)
            self._by_id[id] = join
        self._shown_now = None
        return "" if self._choices() == drawn else "the joins are tuned otherwise"

    def _choices(self) -> list[object]:
        """What a plan shows of the joins: orders, and caches in use."""
        return [(id, join.core.orders, *join.core.caches.choice) for id, join in self.items()]

    def bids(self) -> dict[str, Bid]:
        joins = {join.id: join for join in self._shown}
        return {
            id: join.core.caches.pages.bid(join.n_elements, joins[id].pool, joins[id].caches)
            for id, join in self.items()
        }

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        before = self._tunings
        for id, join in self.items():
            join.share = grants[id].share
            join.core.allow(grants[id].n_pages)
        self._shown_now = None
        return self._tunings != before

    def memory_uses(self) -> dict[str, MemoryUse]:
        report = self._report
        return {
            join.id: join.memory_use(None if report is None else join.profile(report))
            for join in self._shown
        }

    def observe(self, ran: NetworkRan) -> CoreNews:
        self._report, self._shown_now = ran.report, None
        if not ran.n_tuples:
            return CoreNews()
        before = self._tunings
        news = [join.observe(ran.batch_id, ran.n_tuples, ran.report) for join in self.values()]
        return CoreNews.of(news, self._tunings != before)

    def _show(self, network: LaidOutNetwork, id: str) -> PublishedJoin:
        return PublishedJoin(network, self[id])

    def samples(self, report: NetworkReport) -> list[Sample]:
        return [sample for join in self._shown for sample in join.samples(report)]


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
