"""What the plan log has of the looks at a join: S, and what ran since the last one. [B05] §7"""

from __future__ import annotations

from collections.abc import Iterable

from backend.adaptive.planlog.logged import Weighed, statistics, unit_of
from backend.operators.network.joins.join_tuning import JoinProfile
from backend.systems.joined import numbered
from backend.systems.joins.decide.changes import CacheChange, benefit_and_cost
from backend.systems.joins.decide.costs import bare_costs
from backend.systems.joins.decide.estimates import JoinStatistics
from backend.systems.joins.decide.ordering import OrderCheck, PipelineOrder
from backend.systems.joins.decide.shape import JoinShape
from storage.vocabulary.records import Decision

#: Subjects; that of an order ends with its pipeline.
ORDER, CACHES, TREE = "order of ", "caches", "tree"


def of_order(decision: Decision, check: OrderCheck, shape: JoinShape) -> Weighed:
    """S: of each filter its drop probability and its cost."""
    unit, now = unit_of(decision), check.filters_now
    drops, costs = [prob for prob, _ in now], [cost for _, cost in now]
    measured = statistics(check.names, drop=("prob", drops), cost=(unit, costs))
    return Weighed(decision, ORDER + shape.names[check.input], unit, measured)


def of_caches(
    decision: Decision, shape: JoinShape, known: JoinStatistics, change: CacheChange | None = None
) -> Weighed:
    """A look at the caches, or at the tree. S: what comes to the pipelines and costs them; of each
    candidate what it saves and costs."""
    unit, bare = unit_of(decision), [sum(steps) for steps in bare_costs(known.flows())]
    measured = statistics(shape.names, share=("prob", known.shares), cost=(unit, bare))
    if change is None:
        return Weighed(decision, TREE, unit, measured)
    names = numbered([cache.candidate.said(shape) for cache in change.caches])
    pairs = [benefit_and_cost(of.estimate) for of in change.caches]
    benefits, costs = [benefit for benefit, _ in pairs], [cost for _, cost in pairs]
    measured |= statistics(names, benefit=(unit, benefits), upkeep=(unit, costs))
    return Weighed(decision, CACHES, unit, measured)


def ran_in(
    profile: JoinProfile,
    known: JoinStatistics,
    pipelines: Iterable[PipelineOrder],
    shape: JoinShape,
    n_elements: int,
    saved: float,
) -> dict[str, tuple[int, float]]:
    """What a batch took. saved: by caches; of pipelines only their profiled elements are known."""
    ran: dict[str, tuple[int, float]] = {}
    for pipeline, counts in zip(pipelines, profile.pipelines, strict=True):
        n = len(counts.dropped_by)
        if pipeline.has_choice and n:
            spent = known.pipelines[pipeline.input].spent(counts).sum()
            ran[ORDER + shape.names[pipeline.input]] = n, float(known.probe_factor * spent)
    bare = sum(map(sum, bare_costs(known.flows())))
    if n_elements and bare:
        ran |= dict.fromkeys((CACHES, TREE), (n_elements, max(0.0, n_elements * bare - saved)))
    return ran
