"""The decision core of one join: a batch's profile in, decisions and the next tuning out.

[B05] chapter 5: first the orders of the pipelines, then, given these, the caches, then, given
these, their memory. No clock, no input or output, no random numbers: the same profiles give the
same decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Evaluations, FollowUp
from backend.adaptive.planlog.logged import Weighed
from backend.operators.network.joins.join_tuning import (
    JoinProfile,
    JoinTuning,
)
from backend.systems.joins.decide import weighing
from backend.systems.joins.decide.activity import Activity
from backend.systems.joins.decide.caching import CacheKeeper
from backend.systems.joins.decide.changes import CacheChange
from backend.systems.joins.decide.deciding import OrderDecider, PipelineBatch
from backend.systems.joins.decide.estimates import JoinStatistics
from backend.systems.joins.decide.join_model import JoinModel
from backend.systems.joins.decide.joint import JOINT_UP_TO_INPUTS
from backend.systems.joins.decide.joint_orders import JointOrders
from backend.systems.joins.decide.ordering import PipelineOrder
from backend.systems.joins.decide.regret import CachingRegret, CachingTotals
from backend.systems.joins.decide.selection import CacheSelection, Choice, outlasting
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape, Orders
from backend.systems.joins.decide.states import Transition
from backend.systems.joins.decide.steering import JoinPilot
from backend.systems.joins.decide.telling import (
    JoinLook,
    Told,
    cache_decision,
    tree_decision,
)
from storage.vocabulary.records import Decision, DecisionOutcome


class _Caches(NamedTuple):
    """What choices of caches are priced on, for so many elements."""

    problem: CacheSelection
    n: int


class _Since(NamedTuple):
    """What came since some look: tuples of the batches, elements of the join."""

    n_tuples: int = 0
    n_elements: int = 0

    def then(self, n_tuples: int, n_elements: int) -> _Since:
        return _Since(self.n_tuples + n_tuples, self.n_elements + n_elements)


class JoinController:
    """Decides for one join.

    planned: orders to begin with, where the settings have none; Cartesian products in them are
    put last. evaluations: the count of decisions, shared with others of the unit.
    """

    def __init__(
        self,
        shape: JoinShape,
        settings: JoinSettings,
        planned: Orders = (),
        evaluations: Evaluations | None = None,
    ) -> None:
        self.shape, self.settings = shape, settings
        self._evaluations, self._called = evaluations or Evaluations(), ""
        self._planned = planned or tuple(
            tuple(j for j in range(shape.n) if j != i) for i in range(shape.n)
        )
        self._lay_out()
        self.known = JoinStatistics(shape, settings)
        self.caches = CacheKeeper(shape, self.orders, settings)
        self._regret = CachingRegret()
        self._unpriced, self._weighed = _Since(), list[Weighed]()
        self.tuning = self._tuning()

    def _lay_out(self) -> None:
        """Pipelines as they begin. Raises ValueError: an order is no permutation."""
        settings, n = self.settings, self.shape.n
        orders = settings.orders or self._planned
        if len(orders) != n or any(sorted((i, *o)) != [*range(n)] for i, o in enumerate(orders)):
            raise ValueError(f"orders {orders} are not those of a join of {n} inputs")
        literally = bool(settings.orders)
        self.pipelines = [
            PipelineOrder(self.shape, i, order, literally) for i, order in enumerate(orders)
        ]
        self.deciders = self._new_deciders(self._called)
        self._cache_follow_up = FollowUp[Choice, _Caches]()
        self._joint, self._since_tree = JointOrders(), _Since()
        self._tree_decision: int | None = None

    # ------------------------------------------------------------------ what is in force

    @property
    def orders(self) -> Orders:
        """Of all pipelines."""
        return tuple(pipeline.operators for pipeline in self.pipelines)

    @property
    def totals(self) -> CachingTotals:
        """What caching came to since the beginning, up to the last time that was priced: once an
        interval, and when other caches are used."""
        return self._regret.totals

    def allow(self, n_pages: int | None) -> None:
        """How many pages of each shard its caches may have of those that joins share; None: they
        share none. ``tuning`` follows at once."""
        if n_pages != self.caches.pages.allowed:
            before = self.caches.in_force
            self.caches.pages.allowed = n_pages
            if self.caches.in_force != before:
                self._price(before)
            self.tuning = self._tuning()

    def _tuning(self) -> JoinTuning:
        settings, caches = self.settings, self.caches
        return JoinTuning(
            orders=self.orders,
            caches=caches.specs(),
            profile_prob=caches.profile_prob(self.known),
            shadows=caches.shadows(self.known),
            block_probes=settings.block_probes,
            bitmap_alpha=settings.bitmap_alpha,
            shadow_blocks=settings.window_observations,
            two_phase=settings.two_phase,
            seed=settings.seed,
        )

    # ------------------------------------------------------------------ events

    def turn(self, settings: JoinSettings) -> None:
        """Other settings; ``tuning`` follows at once, what has to be chosen with the next batch."""
        self._price(self.caches.in_force)
        before, self.settings = self.settings, settings
        if settings.orders != before.orders:
            self._lay_out()
        if _kept_differently(settings, before):
            measured, self.known = self.known.state(), JoinStatistics(self.shape, settings)
            self.known.restore(measured)
        if settings.orders != before.orders:
            self.known.reordered(range(self.shape.n))
        if settings.join_costs != before.join_costs:  # what was added up is in another unit
            self.deciders = self._new_deciders(self._called)
            self._cache_follow_up, self._regret = FollowUp(), CachingRegret()
            self._joint, self._since_tree, self._tree_decision = JointOrders(), _Since(), None
        self._forget(self.caches.turn(settings))
        self._forget(self.caches.reordered(self.orders))
        self.tuning = self._tuning()

    def observe(self, batch_id: int, n_tuples: int, profile: JoinProfile) -> Told:
        """A batch of n_tuples ran under ``tuning``, and this is what the join tells of it."""
        known, caches = self.known, self.caches
        n_elements = known.add(profile, caches.used(), caches.in_force)
        caches.passed(n_tuples, n_elements, Activity.of(profile), self.tuning, known)
        self._unpriced = self._unpriced.then(n_tuples, n_elements)
        saved = known.measured_saving(profile, caches.used(), caches.in_force)
        ran = weighing.ran_in(profile, known, self.pipelines, self.shape, n_elements, saved)
        self._weighed, decisions = [], list[Decision]()
        outcomes = self._follow(batch_id, n_elements, profile)
        self._reorder(batch_id, profile, decisions, outcomes)
        changes = self._look_at_caches()
        for change in changes:
            decision = cache_decision(self._look(batch_id), change)
            decisions.append(decision)
            self._weighed.append(weighing.of_caches(decision, self.shape, known, change))
            if change.verdict == "switched":
                outcomes += self._cache_follow_up.end(batch_id)
                old, new = dict(change.old), dict(change.new)
                self._cache_follow_up.begin(decision.seq, old, new, _price_caches)
        self._since_tree = self._since_tree.then(n_tuples, n_elements)
        if self._is_joint and self._may_look_at_trees():
            self._look_at_trees(batch_id, decisions, outcomes)
        before, self.tuning = self.tuning, self._tuning()
        is_new = self.tuning != before
        tuning = self.tuning if is_new else None
        return Told(tuple(decisions), tuple(outcomes), tuning, ran, tuple(self._weighed))

    def _look_at_caches(self) -> list[CacheChange]:
        is_due = self.caches.is_due(self.known)
        if is_due or self._unpriced.n_tuples >= self.settings.interval_tuples:
            self._price(self.caches.in_force)  # what is known now may be forgotten with a look
        changes = self.caches.observe(self.known) if is_due else []
        if changes:
            self._regret.look_back()
        return changes

    def _price(self, choice: Choice) -> None:
        """Have what came since the last time, with these caches in force, in what caching came to,
        at the statistics of now."""
        if self._unpriced.n_elements:
            problem = self.caches.problem(self.known)
            self._regret.account(problem, choice, self._unpriced.n_elements)
        self._unpriced = _Since()

    def _look(self, batch_id: int) -> JoinLook:
        seq, n = self._evaluations.count(), sum(pipeline.n for pipeline in self.known.pipelines)
        return JoinLook(seq, batch_id, n, self.shape, self.settings)

    # ------------------------------------------------------------------ orders

    def call(self, name: str) -> None:
        """What people call the join: what its autopilots decide is told by it."""
        called = f"{name}: "
        if called != self._called:
            self._called, self.deciders = called, self._new_deciders(called)

    @property
    def pilots(self) -> list[JoinPilot]:
        """Of the pipelines that have a choice."""
        both = zip(self.pipelines, self.deciders, strict=True)
        return [decider.pilot for pipeline, decider in both if pipeline.has_choice]

    def _new_deciders(self, called: str) -> list[OrderDecider]:
        settings, evaluations = self.settings, self._evaluations
        return [OrderDecider(p, settings, evaluations, called) for p in self.pipelines]

    def _reorder(
        self,
        batch_id: int,
        profile: JoinProfile,
        decisions: list[Decision],
        outcomes: list[DecisionOutcome],
    ) -> None:
        """Look at the order of each pipeline that something new is known of."""
        changed, known, has_moved, is_joint = [], self.known, self.caches.is_new, self._is_joint
        every = zip(self.pipelines, self.deciders, profile.pipelines, strict=True)
        for pipeline, decider, counts in every:
            news = decider.observe(
                PipelineBatch(
                    batch_id=batch_id,
                    pipeline=pipeline,
                    counts=counts,
                    known=known,
                    settings=self.settings,
                    has_moved=has_moved,
                    is_joint=is_joint,
                    lost=self._lost,
                )
            )
            outcomes += news.outcomes
            decisions += news.decisions
            self._weighed += news.weighed
            changed += [pipeline.input] if news.is_new else []
        outcomes += self._reordered(batch_id, changed)

    def _lost(self, input: int, filters: Sequence[int]) -> float:
        """What the caches save that do not outlast an order of a pipeline, until caches are chosen
        anew, for which they are profiled in half an interval."""
        orders, in_force = [*self.orders], self.caches.in_force
        if not in_force:
            return 0.0
        orders[input] = self.shape.operators(input, filters)
        kept = outlasting(in_force, self.caches.offered(tuple(orders)))
        if kept == in_force:
            return 0.0
        problem = self.caches.problem(self.known)
        saved = problem.cost(kept) - problem.cost(in_force)
        return max(0.0, saved) * self.settings.interval_tuples / 2

    def _reordered(self, batch_id: int, changed: Sequence[int]) -> list[DecisionOutcome]:
        """These pipelines have other orders now."""
        if not changed:
            return []
        self._price(self.caches.in_force)
        outcomes = self._cache_follow_up.end(batch_id)  # readers may be in other places
        self.known.reordered(changed)
        self._forget(self.caches.reordered(self.orders))
        return outcomes

    def _forget(self, steps: Iterable[Transition]) -> None:
        """Candidates that are gone may come again elsewhere: begin to watch them anew."""
        for step in steps:
            if step.after is None:
                self.known.forget(step.cache)
                self.known.forget_shadows(step.cache)

    # ------------------------------------------------------------------ trees

    @property
    def _is_joint(self) -> bool:
        """Whether all orders are looked at together, with caches."""
        settings, n = self.settings, self.shape.n
        is_asked = settings.join_order == "joint" and settings.caching != "off"
        return is_asked and n <= JOINT_UP_TO_INPUTS

    def _may_look_at_trees(self) -> bool:
        """Once an interval, when caches were chosen for the orders in force."""
        caches = self.caches
        is_settled = not (caches.is_profiling and caches.candidates)
        is_due = self._since_tree.n_tuples >= self.settings.interval_tuples
        return is_settled and is_due and self.known.are_full() and self.known.probe_cost > 0

    def _look_at_trees(
        self, batch_id: int, decisions: list[Decision], outcomes: list[DecisionOutcome]
    ) -> None:
        caches, known, n = self.caches, self.known, self._since_tree.n_elements
        problem = caches.problem(known)
        cost, plain = problem.cost(caches.in_force), problem.cost({})
        if self._tree_decision is not None:
            outcomes.append(DecisionOutcome(self._tree_decision, batch_id, cost, n, None, None, 0))
        model = JoinModel.fitted(
            self.shape,
            self.orders,
            known.flows(),
            known.probe_factor * known.probe_cost,
            known.units,
            known.misses(caches.candidates.values(), self.orders),
        )
        check = self._joint.look(self.orders, cost, plain, model, self.settings.change_share)
        decision = tree_decision(self._look(batch_id), check, n)
        self._weighed.append(weighing.of_caches(decision, self.shape, known))
        decisions.append(decision)
        self._since_tree, self._tree_decision = _Since(), None
        if check.verdict == "switched":
            self._tree_decision = decision.seq
            outcomes += self._run_as(batch_id, check.after)

    def _run_as(self, batch_id: int, orders: Orders) -> list[DecisionOutcome]:
        """Other orders of all pipelines."""
        changed = [i for i, order in enumerate(orders) if order != self.pipelines[i].operators]
        for i in changed:
            self.pipelines[i] = PipelineOrder(self.shape, i, orders[i], literally=True)
            self.deciders[i].forget()
        return self._reordered(batch_id, changed)

    # ------------------------------------------------------------------ caches

    def _follow(
        self, batch_id: int, n_elements: int, profile: JoinProfile
    ) -> list[DecisionOutcome]:
        """What the caches in force cost, with the operations they did."""
        follow = self._cache_follow_up
        if not follow.is_on or not n_elements:
            return []
        problem = self.caches.problem(self.known)
        bare = n_elements * problem.cost({})
        saved = self.known.measured_saving(profile, self.caches.used(), self.caches.in_force)
        follow.follow(n_elements, bare - saved, _Caches(problem, n_elements))
        return follow.end(batch_id) if follow.n_tuples >= self.settings.interval_tuples else []

    # ------------------------------------------------------------------ going on

    def state(self) -> dict[str, Any]:
        """What a run that goes on needs beside ``totals``, as JSON-typed data."""
        return {
            "filters": [list(pipeline.filters) for pipeline in self.pipelines],
            "literal": [pipeline.is_literal for pipeline in self.pipelines],
            "caches": self.caches.state(),
            "known": self.known.state(),
            "decisions": self._evaluations.seq,
        }

    def restore(self, state: Mapping[str, Any], totals: CachingTotals) -> None:
        """Go on where ``state`` was taken, as far as the join is the same. totals: as they were
        published last."""
        filters, literal = state["filters"], state["literal"]
        is_same = [sorted(order) for order in filters] == [
            sorted(p.filters) for p in self.pipelines
        ]
        if is_same:
            self.pipelines = [
                PipelineOrder(self.shape, i, order, is_literal)
                for i, (order, is_literal) in enumerate(zip(filters, literal, strict=True))
            ]
        self.caches.restore(state["caches"], self.orders)
        if not (is_same and self.known.restore(state.get("known", {}))):
            self.caches.weigh_anew()
        self._regret = CachingRegret(totals)
        self._evaluations.seq = max(self._evaluations.seq, int(state["decisions"]))
        self.tuning = self._tuning()


def _kept_differently(now: JoinSettings, before: JoinSettings) -> bool:
    """Whether statistics are kept in another way."""
    names = ("join_costs", "window_observations", "block_probes", "w", "cache_ways", "n_shards")
    return any(getattr(now, name) != getattr(before, name) for name in names)


def _price_caches(choice: Choice, sample: _Caches) -> NDArray[np.float64]:
    """float64[n]: the join's cost of each element."""
    return np.full(sample.n, sample.problem.cost(choice))
