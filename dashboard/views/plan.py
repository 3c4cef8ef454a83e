"""What the Plan page shows: the plan in force at a moment, its numbers, and their table twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.components.kinds import NATIVE, CardRole, node_kind
from dashboard.views.numbers import known
from storage.rows import SeriesData
from storage.vocabulary.graph import PlanGraph, PlanNode, merged
from storage.vocabulary.records import Entity, PlanVersion

Values: TypeAlias = Mapping[str, Mapping[str, float | None]]
SPARK_POINTS: Final = 24
SYSTEM: Final = "system"
#: Entities of these kinds have one number.
SIZED: Final = ("queue", "synopsis", "store", "cache")
#: Properties of source and output where a run has one of each: they are those of the system.
_WHOLE: Final[Mapping[CardRole, str]] = {"source": "tuples_per_s", "output": "n_matched"}
_SPARKS: Final[Mapping[CardRole, str]] = {
    "step": "drop_prob",
    "synopsis": "size_tuples",
    "store": "size_tuples",
}


class Step(NamedTuple):
    """One row of the table twin: a construct or filter (``word``) in the order of the plan.

    reached: tuples of the batch. survival, drop: as published. dropped: share of the batch's
    tuples dropped here. visits: share of all visits; for filters of the cost. queue: tuples handed
    to it. cost: of a filter, us per tuple; native: it is part of a Spark expression.
    """

    position: int
    entity: str
    attribute: str
    word: str
    reached: float | None
    drop: float | None
    dropped: float | None
    survival: float | None
    visits: float | None
    queue: float | None
    n_regions: int | None
    n_queries: int | None
    cost: float | None = None
    native: bool = False


class Node(NamedTuple):
    """A node of the plan as the graph draws it.

    role: what its card shows. name: without the sign; word: what it is. title: its label in full.
    entity: whose values it shows. spark: property of ``entity`` that its sparkline follows.
    position: place in the order of the plan, for steps. unit, lanes, note: as recorded, or None.
    """

    id: str
    role: str
    kind: str
    sign: str
    name: str
    word: str
    title: str
    entity: str
    spark: str
    position: int | None = None
    unit: str | None = None
    lanes: int | None = None
    note: str | None = None


def graph_plan(run_id: str, plans: Sequence[PlanVersion]) -> dict[str, Any]:
    """The plans of a run's units as one graph, as it is drawn: nodes in an order of its flow.

    version: how many plans the units have adopted together. band: the steps all look at every
    tuple.
    """
    nodes, graph = plan_nodes(plans), whole(plans)
    kinds = {plan.kind for plan in plans}
    return {
        "run": run_id,
        "version": sum(plan.version for plan in plans),
        "hash": "-".join(plan.hash for plan in plans),
        "kind": ", ".join(sorted(kinds)),
        "band": kinds == {"no early drop"},
        "nodes": [_sent(node) for node in nodes],
        "edges": [
            {"source": edge.source, "target": edge.target, "queue": edge.queue}
            for edge in graph.edges
        ],
        "signs": _signs(nodes),
    }


def whole(plans: Sequence[PlanVersion]) -> PlanGraph:
    """The graphs of the plans as one; what they share stands once."""
    return merged(PlanGraph.from_json(plan.graph) for plan in plans)


def plan_nodes(plans: Sequence[PlanVersion]) -> list[Node]:
    """The nodes of the plans in an order of their flow; where that is open, in the plans' order."""
    graph = whole(plans)
    places = {id: place for plan in plans for place, id in enumerate(plan.order, 1)}
    single = {role for role in _WHOLE if [n.role for n in graph.nodes].count(role) == 1}
    by_id = {node.id: node for node in graph.nodes}
    return [_node(by_id[id], places.get(id), single) for id in graph.topological()]


def _node(node: PlanNode, position: int | None, single: set[CardRole]) -> Node:
    facts = node.properties
    is_native = node.role == "filter" and facts.get("kind") == "native"
    kind = NATIVE if is_native else node.role
    known_as = node_kind(kind)
    role = known_as.role
    return Node(
        id=node.id,
        role=role,
        kind=kind,
        sign=known_as.sign,
        name=node.name,
        word=known_as.word,
        title=f"{known_as.sign} {node.name}",
        entity=SYSTEM if role in single else node.id,
        spark=_WHOLE[role] if role in single else _SPARKS.get(role, "reached_tuples"),
        position=position if role == "step" else None,
        unit=facts.get("unit"),
        lanes=facts.get("lanes"),
        note=facts.get("note"),
    )


def _sent(node: Node) -> dict[str, Any]:
    """The node without what it does not have."""
    return {name: value for name, value in node._asdict().items() if value is not None}


def _signs(nodes: Sequence[Node]) -> list[list[str]]:
    """[sign, what it stands for] of the signs that need a word."""
    if any(node.kind == NATIVE or node.kind == "filter" for node in nodes):
        return [["σ", "comparison"], ["ƒ", "function"]]
    others = {
        node.sign: node.word for node in nodes if node.role not in ("source", "step", "output")
    }
    return [[sign, word] for sign, word in others.items()]


def graph_values(values: Values, entities: Mapping[str, Entity]) -> dict[str, Any]:
    """Values of a batch shaped as the live delta: what has a size only is a bare number."""
    shaped: dict[str, Any] = {}
    for entity, properties in values.items():
        kind = entities[entity].kind if entity in entities else ""
        if kind in SIZED:
            shaped[entity] = queue_tuples(properties)
        elif kind in ("system", "operator"):
            shaped[entity] = dict(properties)
    return shaped


def queue_tuples(own: Mapping[str, float | None]) -> float | None:
    """What a queue handed over in the batch; of what only waits or remembers, its size."""
    return own.get("flow_tuples", own.get("size_tuples"))


def spark(series: SeriesData | None) -> list[float]:
    """The last 24 known values."""
    if series is None:
        return []
    return [float(value) for value in series.value if known(float(value))][-SPARK_POINTS:]


def points(series: SeriesData | None) -> list[tuple[int, float | None]]:
    """(batch, value) of a series; None where unknown."""
    if series is None:
        return []
    return [
        (int(batch), float(value) if known(float(value)) else None)
        for batch, value in zip(series.batch, series.value, strict=True)
    ]


def steps(
    plans: Sequence[PlanVersion], values: Values, entities: Mapping[str, Entity]
) -> list[Step]:
    """The steps of the plans in order, with their numbers at the batch of ``values``."""
    return [row for plan in plans for row in _steps(plan, values, entities)]


def _steps(plan: PlanVersion, values: Values, entities: Mapping[str, Entity]) -> list[Step]:
    nodes = sorted(
        (node for node in plan_nodes([plan]) if node.position), key=lambda node: node.position or 0
    )
    paid = [_paid(values.get(node.id, {})) for node in nodes]
    total = sum(number for number in paid if number is not None)
    queues = {edge.target: edge.queue for edge in whole([plan]).edges}
    rows: list[Step] = []
    alive: float | None = 1.0
    for node, visits in zip(nodes, paid, strict=True):
        own = values.get(node.id, {})
        after = own.get("survival_prob")
        facts = entities[node.id].properties if node.id in entities else {}
        rows.append(
            Step(
                position=node.position or 0,
                entity=node.id,
                attribute=node.name,
                word=node.word,
                reached=own.get("reached_tuples"),
                drop=own.get("drop_prob"),
                dropped=None if alive is None or after is None else max(0.0, alive - after),
                survival=after,
                visits=None if visits is None or not total else visits / total,
                queue=queue_tuples(values.get(queues.get(node.id, ""), {})),
                n_regions=facts.get("n_regions"),
                n_queries=facts.get("n_queries"),
                cost=own.get("cost_us"),
                native=node.kind == NATIVE,
            )
        )
        alive = after if after is not None else alive
    return rows


def other_parts(plans: Sequence[PlanVersion]) -> list[tuple[Node, list[str], list[str]]]:
    """What is no step, with the names of what it reads and of what reads it; [] for a chain of
    steps between one source and one output."""
    nodes = plan_nodes(plans)
    others = [node for node in nodes if node.role != "step"]
    if {node.role for node in others} <= set(_WHOLE) and len(others) <= len(_WHOLE):
        return []
    names = {node.id: node.name for node in nodes}
    edges = [(edge.source, edge.target) for edge in whole(plans).edges]
    return [
        (
            node,
            [names[source] for source, target in edges if target == node.id],
            [names[target] for source, target in edges if source == node.id],
        )
        for node in others
    ]


def _paid(own: Mapping[str, float | None]) -> float | None:
    """Visits of a step in a batch, weighed with the cost of a filter."""
    reached, cost = own.get("reached_tuples"), own.get("cost_us")
    return None if reached is None else reached * (1.0 if cost is None else cost)


def headline(plans: Sequence[PlanVersion]) -> str:
    """One line above the graph: which plan, since when; the reason of the last one follows it."""
    if not plans:
        return "No plan yet: it is chosen with the first batch."
    last = newest(plans)
    since = "from the start" if last.batch <= 0 else f"since batch {last.batch}"
    kind = "" if last.kind == "early drop" else f", {last.kind}"
    units = f", {len(plans)} units" if len(plans) > 1 else ""
    return f"Plan {sum(plan.version for plan in plans)}{units}{kind}, {since}"


def newest(plans: Sequence[PlanVersion]) -> PlanVersion:
    """The plan that was adopted last."""
    return max(plans, key=lambda plan: (plan.batch, plan.version))
