"""A unit of pipelined filters as introspection records: plan graph, entities, samples, race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backend.model.conditions import ContinuousQuery, reads
from backend.model.filters import AdoptFilters, FilterPlan
from backend.model.ids import entity_id, output_queue, profile_id
from backend.operators.contract import UnitResult
from backend.operators.filters.counts import FilterCounts
from backend.systems.agreedy.monitor import PipelineMonitor
from backend.systems.agreedy.race import Standing
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.systems.publishing import (
    operator_entities,
    pipeline,
    query_entity,
    samples_of,
    unit_entities,
    unit_samples,
)
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Entity, Json, Matrix, PlanVersion, Sample


def plan_graph(plan: FilterPlan, unit_id: str, input: str) -> PlanGraph:
    """The filters in their order, those that are comparisons marked; nothing while there is no
    query."""
    if not plan.order:
        return PlanGraph()
    facts = {name: {"kind": "native"} if name in plan.native else {} for name in plan.order}
    return pipeline(unit_id, input, "filter", facts)


def plan_version(adopted: AdoptFilters, unit_id: str, input: str, algorithm: str) -> PlanVersion:
    """The record of a plan."""
    graph = plan_graph(adopted.plan, unit_id, input)
    return PlanVersion(
        version=adopted.plan.version,
        batch=adopted.batch_id,
        kind="early drop",
        order=graph.order,
        graph=graph.to_json(),
        hash=graph.digest,
        reason=adopted.reason,
        decision=adopted.decision,
        evidence={"predicted_us_per_tuple": adopted.predicted, "algorithm": algorithm},
    )


def entities_of(
    core: FiltersReOptimizer, unit_id: str, paused: Mapping[str, ContinuousQuery]
) -> list[Entity]:
    """The unit, its profile window, filters, queues, racers and queries."""
    query = core.query
    name = query.name if query else next(iter(paused), "")
    entities = unit_entities(unit_id, f"Filters of {name}")
    for f in core.filters:
        facts = {"text": f.text, "kind": f.kind, "attributes": list(reads(f.condition))}
        entities += operator_entities(unit_id, "filter", f.name, facts, name)
    for standing in core.standings:
        id = entity_id(unit_id, "race", standing.algorithm)
        racing = {"in_force": standing.algorithm == core.algorithm}
        entities.append(
            Entity(id, "monitor", standing.algorithm, racing, unit_id=unit_id, role="race")
        )
    if query is not None:
        read = dict.fromkeys(a for f in core.filters for a in reads(f.condition))
        named = [f.name for f in core.filters]
        facts = {"attributes": list(read), "filters": named}
        entities.append(query_entity(unit_id, query, "active", **facts))
    nothing: dict[str, Json] = {"attributes": [], "filters": []}
    return [*entities, *(query_entity(unit_id, q, "paused", **nothing) for q in paused.values())]


def filter_samples(
    unit_id: str,
    result: UnitResult,
    plan: FilterPlan,
    monitor: PipelineMonitor,
    raised_total: Mapping[str, int],
) -> list[Sample]:
    """Per filter of the plan that ran: tuples asked about, shares, cost, rank; queues."""
    counts: FilterCounts = result.report
    samples: list[Sample] = []
    alive = counts.n_evaluated
    for name in plan.order:
        reached, dropped = counts.evaluated.get(name, 0), counts.dropped.get(name, 0)
        share = dropped / reached if reached else None
        cost = monitor.cost_us.get(name)
        queue = entity_id(unit_id, "queue", name)
        samples.append(Sample(queue, "flow_tuples", alive, "tuples"))
        alive -= dropped
        values: dict[str, tuple[float | None, str]] = {
            "reached_tuples": (reached, "tuples"),
            "drop_prob": (share, "prob"),
            "survival_prob": (alive / counts.n_evaluated if counts.n_evaluated else None, "prob"),
            "cost_us": (cost, "us/tuple"),
            "call_us": (monitor.call_us.get(name), "us"),
            "rank": (share / cost if share is not None and cost else None, "1/us"),
            "window_drop_prob": (monitor.drop_prob.get(name), "prob"),
            "raised_total": (raised_total.get(name, 0), "tuples"),
        }
        samples += samples_of(entity_id(unit_id, "filter", name), values)
    samples.append(Sample(output_queue(unit_id), "flow_tuples", result.n_matched, "tuples"))
    return samples


def monitor_samples(
    unit_id: str, result: UnitResult, monitor: PipelineMonitor, profile_prob: float
) -> list[Sample]:
    """What concerns all of the unit, and its profile window with what it cost and says."""
    counts: FilterCounts = result.report
    visits, n_profiled = sum(counts.evaluated.values()), len(counts.outcomes) + counts.n_passed
    profile: dict[str, tuple[float | None, str]] = {
        "n_sampled": (n_profiled, "tuples"),
        "window_tuples": (monitor.window_tuples, "tuples"),
        "window_passed_tuples": (monitor.n_passed, "tuples"),
        "sample_us_per_tuple": (counts.profile_us / n_profiled if n_profiled else None, "us/tuple"),
        "profile_prob_used": (profile_prob, "prob"),
        "break_even_prob": (monitor.break_even_prob, "prob"),
        "expected_cost_us": (monitor.expected_us, "us/tuple"),
        "first_cost_us": (monitor.first_us, "us/tuple"),
        "order_gap": (monitor.order_gap, ""),
    }
    if monitor.overhead is not None:
        for part in ("tuples", "profile", "window", "view", "violations"):
            profile[f"share_{part}"] = (getattr(monitor.overhead, part), "prob")
    samples = unit_samples(unit_id, result, visits, n_profiled, {})
    return samples + samples_of(profile_id(unit_id), profile)


def race_samples(unit_id: str, standings: Sequence[Standing], race_us: float) -> list[Sample]:
    """Per algorithm that races: order changes, and the costs when they were read at this batch;
    and what the race took."""
    if not standings:
        return []
    samples = [Sample(profile_id(unit_id), "race_us", race_us, "us")]
    for standing in standings:
        values: dict[str, tuple[float | None, str]] = {"race_changes": (standing.changes, "orders")}
        if standing.cost_us is not None:
            values["race_cost_us"] = (standing.cost_us, "us")
            values["race_sampled_tuples"] = (standing.n_sampled, "tuples")
        samples += samples_of(entity_id(unit_id, "race", standing.algorithm), values)
    return samples


def race_matrices(standings: Sequence[Standing]) -> tuple[Matrix, ...]:
    """The position (from 1) of each filter in the order of each algorithm that races."""
    if not standings:
        return ()
    names = tuple(sorted(standings[0].order))
    places = [[standing.order.index(name) + 1 for name in names] for standing in standings]
    rows = tuple(standing.algorithm for standing in standings)
    return (Matrix(name="race", kind="race", rows=rows, columns=names, values=places),)
