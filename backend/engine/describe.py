"""The running plan and its parts as introspection records: entities and the plan graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from backend.model.conditions import ContinuousQuery
from backend.model.events import SelectionPlan
from backend.systems.asc.constructs import ConstructSet
from storage.vocabulary.graph import PlanNode, chain
from storage.vocabulary.records import Entity, Json

SOURCE, OUTPUT, SYSTEM, PROFILE = "op:source", "op:output", "system", "monitor:profile"


def asc_id(attribute: str) -> str:
    return f"asc:{attribute}"


def queue_id(attribute: str) -> str:
    return f"queue:{attribute}"


def plan_graph(plan: SelectionPlan, stream: str) -> Json:
    """The graph of a selection plan: the ASCs in their order."""
    return chain_graph(
        stream, plan.order, [PlanNode(asc_id(a), "selection", a) for a in plan.order]
    )


def chain_graph(stream: str, order: Sequence[str], steps: Sequence[PlanNode]) -> Json:
    """Nodes and edges: source, the steps, output; every edge is a queue, named by the order."""
    nodes = [PlanNode(SOURCE, "source", stream), *steps, PlanNode(OUTPUT, "output", "Output")]
    queues = ["queue:source", *map(queue_id, order[1:]), "queue:output"]
    return chain(nodes, queues[: len(nodes) - 1]).to_json()


def plan_hash(plan: SelectionPlan) -> str:
    """12 hex digits that change exactly when kind, operators, order or micro-arrows change."""
    arrows = [[a.attribute, a.region, a.target] for a in plan.arrows]
    text = json.dumps([plan.kind, list(plan.order), *([arrows] if arrows else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def query_entity(query: ContinuousQuery, constructs: ConstructSet, paused: bool) -> Entity:
    """The entity of a registered query; a paused one has no slot."""
    name = query.name
    live = not paused and name in constructs.names_slots
    contradictory = live and constructs.is_contradictory(name)
    properties: dict[str, Json] = {
        "text": query.text,
        "stream": query.stream,
        "state": "paused" if paused else "contradictory" if contradictory else "active",
        "slot": constructs.slot_of(name) if live else None,
        "duplicate_of": constructs.duplicate_of(name) if live else None,
        "attributes": list(constructs.uses(name)) if live else [],
    }
    return Entity(f"query:{name}", "query", name, properties, query=name, role="query")


def frame_entities(
    stream: str, source: Mapping[str, Json], sink: Mapping[str, Json]
) -> list[Entity]:
    """What every plan has: system, monitor, source and output with their queues."""
    return [
        Entity(SYSTEM, "system", "Engine", role="system"),
        Entity(PROFILE, "monitor", "Profile window", role="profile"),
        Entity(SOURCE, "operator", stream, dict(source), role="source"),
        Entity(OUTPUT, "operator", "Output", dict(sink), role="output"),
        Entity("queue:source", "queue", "Waiting at the source", role="queue"),
        Entity("queue:output", "queue", "Handed to the output", role="queue"),
    ]


def plan_entities(
    constructs: ConstructSet, stream: str, source: Mapping[str, Json], sink: Mapping[str, Json]
) -> list[Entity]:
    """The operators, queues, monitor and system; the order of the plan does not matter."""
    found = frame_entities(stream, source, sink)
    for name, construct in constructs.constructs.items():
        properties: dict[str, Json] = {
            "attribute": name,
            "type": construct.type,
            "n_constants": len(construct.constants),
            "n_regions": construct.n_regions,
            "n_queries": constructs.n_users[name],
            "bitmap_bytes": construct.bitmap_bytes,
        }
        found.append(Entity(asc_id(name), "operator", name, properties, role="selection"))
        found.append(Entity(queue_id(name), "queue", f"Handed to σ {name}", role="queue"))
    return found
