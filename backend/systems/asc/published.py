"""A selection unit as introspection records: plan graph, entities, samples of a batch."""

from __future__ import annotations

import hashlib
import json
from itertools import groupby
from typing import cast

from backend.model.conditions import ContinuousQuery
from backend.model.events import AdoptPlan, MicroArrow, PlanKind, SelectionPlan
from backend.model.ids import entity_id, output_queue, profile_id
from backend.operators.contract import UnitResult
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.watch import SelectionMonitor
from backend.systems.publishing import (
    operator_entities,
    order_of,
    pipeline,
    query_entity,
    samples_of,
    unit_samples,
)
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.records import Entity, Json, PlanVersion, Sample


def plan_graph(plan: SelectionPlan, unit_id: str, input: str) -> PlanGraph:
    """The constructs in their order. Properties: the kind of plan, and of each construct with
    micro-arrows their number and a digest of where they lead."""
    arrows = {a: list(own) for a, own in groupby(plan.arrows, lambda arrow: arrow.attribute)}
    facts = {a: {"kind": plan.kind, **_arrow_facts(arrows.get(a, []))} for a in plan.order}
    return pipeline(unit_id, input, "selection", facts)


def _arrow_facts(arrows: list[MicroArrow]) -> dict[str, Json]:
    if not arrows:
        return {}
    text = json.dumps([[a.region, a.target] for a in arrows])
    return {"n_arrows": len(arrows), "arrows": hashlib.sha256(text.encode()).hexdigest()[:8]}


def plan_version(adopted: AdoptPlan, unit_id: str, input: str) -> PlanVersion:
    """The record of a plan. evidence: predicted_visits_per_tuple; of a hybrid plan its arrows,
    [attribute, region, target, support, gain] each."""
    plan = adopted.plan
    graph = plan_graph(plan, unit_id, input)
    evidence: dict[str, Json] = {"predicted_visits_per_tuple": adopted.predicted}
    if plan.arrows:
        evidence["arrows"] = [
            [a.attribute, a.region, a.target, a.support, a.gain] for a in plan.arrows
        ]
    return PlanVersion(
        version=plan.version,
        batch=adopted.batch_id,
        kind=plan.kind,
        order=graph.order,
        graph=graph.to_json(),
        hash=graph.digest,
        reason=adopted.reason,
        decision=adopted.decision,
        evidence=evidence,
    )


def shape_of(plan: PlanVersion) -> PlanShape:
    """The plan of a record again."""
    arrows = tuple(MicroArrow(*arrow) for arrow in plan.evidence.get("arrows", ()))
    return PlanShape(cast("PlanKind", plan.kind), order_of(plan), arrows)


def query_in(
    unit_id: str, query: ContinuousQuery, constructs: ConstructSet, paused: bool
) -> Entity:
    """A registered query; a paused one has no slot."""
    name = query.name
    live = not paused and name in constructs.names_slots
    contradictory = live and constructs.is_contradictory(name)
    return query_entity(
        unit_id,
        query,
        "paused" if paused else "contradictory" if contradictory else "active",
        slot=constructs.slot_of(name) if live else None,
        duplicate_of=constructs.duplicate_of(name) if live else None,
        attributes=list(constructs.uses(name)) if live else [],
    )


def construct_entities(constructs: ConstructSet, unit_id: str) -> list[Entity]:
    """The constructs and their queues; the order does not matter."""
    entities: list[Entity] = []
    for name, construct in constructs.constructs.items():
        facts: dict[str, Json] = {
            "attribute": name,
            "type": construct.type,
            "n_constants": len(construct.constants),
            "n_regions": construct.n_regions,
            "n_queries": constructs.n_users[name],
            "bitmap_bytes": construct.bitmap_bytes,
        }
        entities += operator_entities(unit_id, "selection", name, facts)
    return entities


def construct_samples(unit_id: str, result: UnitResult, plan: SelectionPlan) -> list[Sample]:
    """Per construct: tuples handed to it and that visited it, share dropped of them, share alive
    after it."""
    counts, samples = result.report, []
    alive = result.n_tuples
    for attribute in plan.order:
        id, reached = entity_id(unit_id, "selection", attribute), counts.reached.get(attribute, 0)
        samples.append(Sample(id, "reached_tuples", reached, "tuples"))
        queue = entity_id(unit_id, "queue", attribute)
        samples.append(Sample(queue, "flow_tuples", alive, "tuples"))
        if counts.dropped:
            dropped = counts.dropped[attribute]
            alive -= dropped
            share = dropped / reached if reached else None
            samples.append(Sample(id, "drop_prob", share, "prob"))
            if result.n_tuples:
                samples.append(Sample(id, "survival_prob", alive / result.n_tuples, "prob"))
    if not counts.dropped:
        alive = result.n_matched
    samples.append(Sample(output_queue(unit_id), "flow_tuples", alive, "tuples"))
    return samples


def monitor_samples(
    unit_id: str, result: UnitResult, monitor: SelectionMonitor, core_us: float
) -> list[Sample]:
    """What concerns all of the unit, and its profile window."""
    counts = result.report
    visits, n_sampled = sum(counts.reached.values()), len(next(iter(counts.sample.values()), ()))
    watched = {
        "d_window": (monitor.d_window, "prob"),
        "visits_window": (monitor.visits_window, "visits/tuple"),
        "d_init": (monitor.d_init, "prob"),
        "visits_init": (monitor.visits_init, "visits/tuple"),
        **monitor.regret.samples(),
    }
    profile: dict[str, tuple[float | None, str]] = {
        "n_sampled": (n_sampled, "tuples"),
        "window_tuples": (monitor.window_tuples, "tuples"),
    }
    if n_sampled:
        profile["sample_us_per_tuple"] = (core_us / n_sampled, "us/tuple")
    samples = unit_samples(unit_id, result, visits, n_sampled, watched)
    return samples + samples_of(profile_id(unit_id), profile)
