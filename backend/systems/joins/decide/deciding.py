"""Who decides on the order of a pipeline: thresholds or the autopilot; and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from backend.adaptive.core import Evaluations, FollowUp
from backend.adaptive.planlog.logged import Weighed
from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.systems.joins.decide import weighing
from backend.systems.joins.decide.costs import PipelineFlow
from backend.systems.joins.decide.estimates import JoinStatistics
from backend.systems.joins.decide.ordering import FilterSample, PipelineOrder
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.steering import JoinPilot
from backend.systems.joins.decide.telling import JoinLook, order_decision
from storage.vocabulary.looks import LookFacts
from storage.vocabulary.records import Decision, DecisionOutcome


class PipelineBatch(NamedTuple):
    """A batch as one pipeline sees it. has_moved: something has changed; is_joint: all orders are
    looked at together; lost: what caches save that an order of a pipeline would end, until they
    are there anew."""

    batch_id: int
    pipeline: PipelineOrder
    counts: PipelineProfile
    known: JoinStatistics
    settings: JoinSettings
    has_moved: bool
    is_joint: bool
    lost: Callable[[int, Sequence[int]], float]

    @property
    def flow(self) -> PipelineFlow:
        """Of the pipeline."""
        return self.known.flows()[self.pipeline.input]

    @property
    def spent(self) -> float:
        """By its profiled elements."""
        own = self.known.pipelines[self.pipeline.input]
        return float(self.known.probe_factor * own.spent(self.counts).sum())

    def costs(self, flow: PipelineFlow) -> list[float]:
        """By input: what joining a tuple with it costs in this pipeline; of one that no tuple came
        to, a probe."""
        known, costs = self.known, [0.0] * self.pipeline.shape.n
        for step, input in enumerate(self.pipeline.operators):
            costs[input] = flow.step_costs[step] or known.probe_factor * known.probe_cost
        return costs


class OrderNews(NamedTuple):
    """What a batch led to. is_new: the pipeline is another."""

    decisions: tuple[Decision, ...] = ()
    outcomes: tuple[DecisionOutcome, ...] = ()
    weighed: tuple[Weighed, ...] = ()
    is_new: bool = False


_NOTHING: Final = OrderNews()


class OrderDecider:
    """Looks at the order of one pipeline. called: the join, in front of the pilot's subject."""

    def __init__(
        self, pipeline: PipelineOrder, settings: JoinSettings, evaluations: Evaluations, called: str
    ) -> None:
        self._evaluations = evaluations
        self._follow_up = FollowUp[tuple[int, ...], FilterSample]()
        self.pilot = JoinPilot(pipeline, settings, evaluations.begins, called)

    def forget(self) -> None:
        """Nothing is followed any more."""
        self._follow_up = FollowUp()

    def observe(self, batch: PipelineBatch) -> OrderNews:
        """The join has run a batch."""
        pipeline, settings = batch.pipeline, batch.settings
        pipeline.take(batch.counts, settings)
        if not pipeline.has_choice:
            return _NOTHING
        is_piloted = settings.is_piloted and not (batch.is_joint or pipeline.is_for_caches)
        if is_piloted:
            self.pilot.taken(batch.counts, batch.spent, settings, batch.has_moved)
        else:
            self.pilot.passed(batch.counts.n_plus + batch.counts.n_minus)
        checks = pipeline.is_due(settings, batch.has_moved) and not batch.is_joint
        looks = is_piloted and self.pilot.n_sampled >= self.pilot.least(settings)
        if not (checks or looks or self._follow_up.is_on):
            return _NOTHING
        flow = batch.flow
        costs = batch.costs(flow)
        outcomes = self._followed(batch, costs)
        news = _NOTHING
        enough = self.pilot.least(settings) if is_piloted else settings.order_samples
        if flow.n >= min(enough, settings.keep_elements):
            news = self._check(batch, costs, flow, is_piloted) if checks else _NOTHING
            if looks and not news.decisions:
                news = self._look(batch, costs)
        return news._replace(outcomes=(*outcomes, *news.outcomes))

    def _followed(self, batch: PipelineBatch, costs: Sequence[float]) -> list[DecisionOutcome]:
        """What the new order costs the elements that were profiled."""
        follow, n = self._follow_up, len(batch.counts.dropped_by)
        if not (follow.is_on and n):
            return []
        follow.follow(n, batch.spent, batch.pipeline.sample(batch.counts, costs))
        is_over = follow.n_tuples >= batch.settings.order_samples
        return follow.end(batch.batch_id) if is_over else []

    def _check(
        self, batch: PipelineBatch, costs: Sequence[float], flow: PipelineFlow, is_piloted: bool
    ) -> OrderNews:
        """By thresholds; of the autopilot's pipelines only whether rarer inputs may go first."""
        check = batch.pipeline.check(costs, batch.settings, batch.known.shares)
        if check is None or (is_piloted and not check.for_caches):
            return _NOTHING
        cost = flow.segment_cost(0, len(flow.step_costs) - 1) / flow.share if flow.share else None
        decision = order_decision(self._look_of(batch), check, cost)
        weighed = (weighing.of_order(decision, check, batch.pipeline.shape),)
        if check.verdict != "switched":
            return OrderNews((decision,), (), weighed)
        news = self._switched(batch, decision, check.filters, check.for_caches)
        return news._replace(weighed=weighed)

    def _look_of(self, batch: PipelineBatch) -> JoinLook:
        n = sum(pipeline.n for pipeline in batch.known.pipelines)
        seq = self._evaluations.count()
        return JoinLook(seq, batch.batch_id, n, batch.pipeline.shape, batch.settings)

    def _look(self, batch: PipelineBatch, costs: Sequence[float]) -> OrderNews:
        """By the autopilot, when a look is due."""
        pipeline, settings = batch.pipeline, batch.settings
        lost = partial(batch.lost, pipeline.input)
        look = self.pilot.look_at(pipeline, costs, settings, lost)
        if look is None:
            return _NOTHING
        seq, number = self._evaluations.count(), settings.version
        facts = LookFacts(settings.order_algorithm, seq, batch.batch_id, 0, number)
        decision = look.decision(facts)
        if not look.verdict.is_switch:
            return OrderNews((decision,))
        return self._switched(batch, decision, self.pilot.filters(look.plan, pipeline))

    def _switched(
        self,
        batch: PipelineBatch,
        decision: Decision,
        after: tuple[int, ...],
        for_caches: bool = False,
    ) -> OrderNews:
        """Another order from now on."""
        pipeline = batch.pipeline
        outcomes = self._follow_up.end(batch.batch_id)
        self._follow_up.begin(decision.seq, pipeline.filters, after, pipeline.price)
        is_new = pipeline.adopt(after, for_caches)
        return OrderNews((decision,), tuple(outcomes), (), is_new)
