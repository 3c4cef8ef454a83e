"""A pipeline of filters as introspection records: entities, plan graph, samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from backend.engine.control import Registry
from backend.engine.deciding import StreamJob
from backend.engine.describe import PROFILE, chain_graph, frame_entities, queue_id
from backend.engine.execution import FilterBatchResult
from backend.model.conditions import reads
from backend.model.filters import AdoptFilters, FilterPlan
from backend.systems.agreedy.race import Standing
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer, Monitor
from storage.vocabulary.graph import PlanNode
from storage.vocabulary.records import Entity, Json, Matrix, PlanVersion, Sample


def filter_id(name: str) -> str:
    return f"filter:{name}"


def race_id(algorithm: str) -> str:
    return f"race:{algorithm}"


def pipeline_entities(core: FiltersReOptimizer, job: StreamJob, registry: Registry) -> list[Entity]:
    """Source, filters, output, the queues between them, monitor, system, and the queries."""
    found = frame_entities(job.stream, job.source, job.sink)
    for f in core.filters:
        properties: dict[str, Json] = {
            "text": f.text,
            "kind": f.kind,
            "runs_in": "expression" if f.kind == "native" else "Arrow operator",
            "attributes": list(reads(f.condition)),
        }
        query = core.query.name if core.query else ""
        operator = Entity(filter_id(f.name), "operator", f.name, properties, query, role="filter")
        queue = Entity(queue_id(f.name), "queue", f"Handed to {f.name}", role="queue")
        found += [operator, queue]
    for standing in core.standings:
        facts: dict[str, Json] = {"in_force": standing.algorithm == core.algorithm}
        name = standing.algorithm
        found.append(Entity(race_id(name), "monitor", name, facts, role="race"))
    return found + [_query_entity(core, registry, name) for name in registry.queries]


def _query_entity(core: FiltersReOptimizer, registry: Registry, name: str) -> Entity:
    query = registry.queries[name]
    live = core.query is not None and core.query.name == name
    used = dict.fromkeys(a for f in core.filters for a in reads(f.condition)) if live else {}
    properties: dict[str, Json] = {
        "text": query.text,
        "stream": query.stream,
        "state": "paused" if name in registry.paused else "active",
        "slot": None,
        "duplicate_of": None,
        "attributes": list(used),
        "filters": [f.name for f in core.filters] if live else [],
    }
    return Entity(f"query:{name}", "query", name, properties, query=name, role="query")


def pipeline_plan(adopted: AdoptFilters, stream: str, algorithm: str) -> PlanVersion:
    plan = adopted.plan
    return PlanVersion(
        version=plan.version,
        batch=adopted.batch_id,
        kind="early drop",
        order=tuple(filter_id(name) for name in plan.order),
        graph=pipeline_graph(plan, stream),
        hash=pipeline_hash(plan),
        reason=adopted.reason,
        decision=adopted.decision,
        evidence={
            "predicted_us_per_tuple": adopted.predicted,
            "algorithm": algorithm,
            "native": list(plan.native),
            "arrow": list(plan.arrow),
        },
    )


def pipeline_graph(plan: FilterPlan, stream: str) -> Json:
    """The graph of a filter plan: the filters in their order, and what each runs in."""
    native = [PlanNode(filter_id(n), "filter", n, {"runs_in": "expression"}) for n in plan.native]
    arrow = [PlanNode(filter_id(n), "filter", n, {"runs_in": "Arrow operator"}) for n in plan.arrow]
    return chain_graph(stream, plan.order, [*native, *arrow])


def pipeline_hash(plan: FilterPlan) -> str:
    """12 hex digits that change exactly when the filters, their order or the split change."""
    text = json.dumps([list(plan.order), plan.n_native])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def filter_samples(
    result: FilterBatchResult,
    plan: FilterPlan,
    monitor: Monitor,
    raised_total: Mapping[str, int],
) -> list[Sample]:
    """Per filter of the plan that ran: tuples asked about, shares, cost, rank; queue sizes."""
    found: list[Sample] = []
    alive = result.n_evaluated
    for name in plan.order:
        entity, reached = filter_id(name), result.reached.get(name, 0)
        dropped = result.dropped.get(name, 0)
        share = dropped / reached if reached else None
        cost = monitor.cost_us.get(name)
        rank = share / cost if share is not None and cost else None
        found.append(Sample(queue_id(name), "flow_tuples", alive, "tuples"))
        alive -= dropped
        survive = alive / result.n_evaluated if result.n_evaluated else None
        found += [
            Sample(entity, "reached_tuples", reached, "tuples"),
            Sample(entity, "drop_prob", share, "prob"),
            Sample(entity, "survival_prob", survive, "prob"),
            Sample(entity, "cost_us", cost, "us/tuple"),
            Sample(entity, "rank", rank, "1/us"),
            Sample(entity, "window_drop_prob", monitor.drop_prob.get(name), "prob"),
            Sample(entity, "raised_total", raised_total.get(name, 0), "tuples"),
        ]
    found.append(Sample("queue:output", "flow_tuples", result.n_matched, "tuples"))
    return found


def monitor_samples(
    result: FilterBatchResult, monitor: Monitor, profile_prob: float
) -> list[Sample]:
    """The profile window, what it cost, and what it says of the order."""
    n = result.n_profiled
    values: dict[str, tuple[float | None, str]] = {
        "n_sampled": (n, "tuples"),
        "window_tuples": (monitor.window_tuples, "tuples"),
        "window_passed_tuples": (monitor.n_passed, "tuples"),
        "sample_us_per_tuple": (result.profile_us / n if n else None, "us/tuple"),
        "profile_prob_used": (profile_prob, "prob"),
        "break_even_prob": (monitor.break_even_prob, "prob"),
        "expected_cost_us": (monitor.expected_us, "us/tuple"),
        "first_cost_us": (monitor.first_us, "us/tuple"),
        "order_gap": (monitor.order_gap, ""),
    }
    if monitor.overhead is not None:
        parts = ("tuples", "profile", "window", "view", "violations")
        for part in parts:
            values[f"share_{part}"] = (getattr(monitor.overhead, part), "prob")
    return [Sample(PROFILE, name, value, unit) for name, (value, unit) in values.items()]


def race_samples(standings: Sequence[Standing]) -> list[Sample]:
    """Per algorithm that races: order changes, and the costs when they were read at this batch."""
    found: list[Sample] = []
    for one in standings:
        entity = race_id(one.algorithm)
        found.append(Sample(entity, "race_changes", one.changes, "orders"))
        if one.cost_us is not None:
            found.append(Sample(entity, "race_cost_us", one.cost_us, "us"))
            found.append(Sample(entity, "race_sampled_tuples", one.n_sampled, "tuples"))
    return found


def race_matrix(standings: Sequence[Standing]) -> Matrix:
    """The position (from 1) of each filter in the order of each algorithm that races."""
    names = tuple(sorted(standings[0].order)) if standings else ()
    return Matrix(
        name="race",
        kind="race",
        rows=tuple(one.algorithm for one in standings),
        columns=names,
        values=[[one.order.index(name) + 1 for name in names] for one in standings],
    )
