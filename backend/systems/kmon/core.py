"""The joins of a network under k-constraints as an operator core.

Every join has decisions of its own ([B05] chapter 6), which stay while the join does, whatever
other queries come or go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from backend.adaptive.core import Evaluations
from backend.model.conditions import ContinuousQuery
from backend.model.knobs import KnobSettings, KnobSpec, names_in
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon.tuning import ConstraintTuning, KMonProfile, KMonTuning
from backend.systems.contract import Refusal
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.joined import JoinsByOperator
from backend.systems.kmon import weighing
from backend.systems.kmon.candidates import ConstrainedJoin, declared_words
from backend.systems.kmon.join import AdaptedKMon
from backend.systems.kmon.knobs import KMonKnobs
from backend.systems.kmon.planning import planned
from backend.systems.kmon.published import PublishedKMon
from backend.systems.kmon.settings import KMonSettings
from storage.vocabulary.kmon import KMON as VOCABULARY
from storage.vocabulary.memory import Bid, Grant, MemoryUse
from storage.vocabulary.records import Sample


class KMonCore(JoinsByOperator[AdaptedKMon, PublishedKMon]):
    """All joins of a network under k-constraints."""

    state_name = "kmon"

    @property
    def inexact(self) -> Mapping[str, str]:
        """Results are lost for good only with loss = budget, by constraints that nobody declared,
        or that do not hold. What a relation lacks from earlier batches is not told any more."""
        lost = "results may be lost: loss = budget with"
        return {id: f"{lost} {', '.join(join.risks)}" for id, join in self.items() if join.risks}

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: joins that are in it still keep what they know."""
        before, self._by_id, self._network = self._by_id, {}, network
        readers, ids, reasons = network.plan.readers(), constrained(network.plan), []
        for id in ids:
            view = ConstrainedJoin.of(network.plan, id)
            join = before.get(id)
            is_new = join is None or join.view != view
            if join is None or is_new:
                join = AdaptedKMon(view, self._evaluations)
            join.name, join.query = network.names[id], next(iter(readers[id]), "")
            join.is_one_of_many = len(ids) > 1
            queries = [network.queries[name] for name in readers[id] if name in network.queries]
            reason = join.turn(_settings(join, KMonKnobs.of(settings), queries))
            if not is_new and reason:
                reasons.append(reason)
            self._by_id[id] = join
        self._shown_now = None
        return "; ".join(reasons)

    def observe(self, ran: NetworkRan) -> CoreNews:
        before, news = self._tunings, list[CoreNews]()
        for id, join in self.items():
            counts, arrival = ran.report.operators.get(id), join.arrival
            if counts is not None and isinstance(counts.profile, KMonProfile):
                records = join.observe(ran.batch_id, counts.profile)
                news.append(weighing.news(join, records, join.arrival - arrival))
        return CoreNews.of(news, self._tunings != before)

    # ------------------------------------------------------------------ memory

    def bids(self) -> Mapping[str, Bid]:
        return {id: join.pool.bid(self._node(id)) for id, join in self.items()}

    def grant(self, grants: Mapping[str, Grant]) -> bool:
        """How much it has says what bytes are worth at the next choice; nothing runs otherwise."""
        for id, join in self.items():
            join.n_pages = grants[id].n_pages
        return False

    def memory_uses(self) -> Mapping[str, MemoryUse]:
        return {id: join.pool.use for id, join in self.items()}

    # ------------------------------------------------------------------ what is published

    def _node(self, id: str) -> str:
        assert self._network is not None
        return self._network.node(id)

    def _show(self, network: LaidOutNetwork, id: str) -> PublishedKMon:
        return PublishedKMon(network, id, self[id])

    def samples(self, report: NetworkReport) -> list[Sample]:
        return [sample for join in self._shown for sample in join.samples()]


class KMonCores:
    """Which k-constraints joins use."""

    name = "kmon"
    title = "k-Mon"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = KMonKnobs.specs()

    def planned(self, tree: OperatorTree) -> OperatorTree | Refusal:
        return planned(tree)

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        joins = constrained(plan)
        if not joins:
            return Refusal("it has no join of streams along keys, so no k-constraint to use")
        return frozenset(joins)

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return KMonCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """All constraints with nothing lost, then with a budget, then by the literal estimates."""
        views = {id: ConstrainedJoin.of(plan, id) for id in constrained(plan)}
        tunings = {
            id: KMonTuning(
                tuple(ConstraintTuning(candidate.id) for candidate in view.candidates.values()),
                sample_prob=0.5,
                window=1,
            )
            for id, view in views.items()
        }
        return [
            tunings,
            {id: replace(tuning, loss="budget") for id, tuning in tunings.items()},
            {id: replace(tuning, estimator="literal") for id, tuning in tunings.items()},
        ]


def constrained(plan: NetworkPlan) -> list[str]:
    """The joins under k-constraints of a plan."""
    return [planned.id for planned, _ in plan.working(KMonOp)]


def _settings(
    join: AdaptedKMon, knobs: KMonKnobs, queries: Iterable[ContinuousQuery]
) -> KMonSettings:
    """The knobs, with names as constraints of the join, with their query or without. Where
    relations change nothing is lost, whatever the knob says."""
    declared_of = [declaration for query in queries for declaration in query.constraints]
    declared, unmet = (
        join.view.declared(declared_of),
        [declaration for declaration in declared_of if not join.view.meant(declaration)],
    )
    pinned, forbidden = (
        frozenset(
            key
            for key, candidate in join.view.candidates.items()
            if {candidate.name, f"{candidate.name} of {join.query}"} & names_in(names)
        )
        for names in (knobs.pinned_constraints, knobs.forbidden_constraints)
    )
    if join.view.work.changes:
        knobs = replace(knobs, loss="never")
    return KMonSettings(knobs, declared, pinned, forbidden, tuple(map(declared_words, unmet)))


KMON: Final[CoreKind] = KMonCores()
