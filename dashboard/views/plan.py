"""What the Plan page shows: the plan in force at a moment, its numbers, and their table twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.views.numbers import known
from storage.rows import SeriesData
from storage.vocabulary.records import Entity, PlanVersion

Values: TypeAlias = Mapping[str, Mapping[str, float | None]]
SPARK_POINTS: Final = 24
SOURCE: Final = "op:source"
OUTPUT: Final = "op:output"
SYSTEM: Final = "system"
SOURCE_QUEUE: Final = "queue:source"
#: What the entities of a plan's steps begin with -> what such a step is called.
STEPS: Final[Mapping[str, str]] = {"asc:": "construct", "filter:": "filter"}

#: Kind of the nodes of filters that are part of a Spark expression.
NATIVE: Final = "native filter"
#: Role of a node -> its kind in the drawing; others are called alike.
_KINDS: Final = {"selection": "asc"}
#: What the sparkline of a node draws: (entity, property).
SPARKS: Final = {SOURCE: (SYSTEM, "tuples_per_s"), OUTPUT: (SYSTEM, "n_matched")}


class Step(NamedTuple):
    """One row of the table twin: a construct in the order of the plan.

    reached: tuples of the batch. survival, drop: as published. dropped: share of the batch's
    tuples dropped here. visits: share of all visits; for filters of the cost. queue: tuples handed
    to it. cost: of a filter, us per tuple; native: it is part of a Spark expression.
    """

    position: int
    entity: str
    attribute: str
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


def graph_plan(run_id: str, plan: PlanVersion | None) -> dict[str, Any]:
    """The plan as the graph draws it: nodes in the order of the flow.

    Filters that run in an expression are of kind NATIVE, the others run in Python.
    """
    if plan is None:
        return {"run": run_id, "version": 0, "hash": "", "kind": "", "nodes": [], "edges": []}
    labels = {node["id"]: str(node["name"]) for node in plan.graph.get("nodes", [])}
    kinds = {node["id"]: _kind(node) for node in plan.graph.get("nodes", [])}
    flow = [SOURCE, *plan.order, OUTPUT]
    fallback = {SOURCE: "Source", OUTPUT: "Output"}
    nodes = [
        {
            "id": node,
            "kind": kinds.get(node, "asc"),
            "label": labels.get(node) or fallback.get(node) or node.partition(":")[2],
        }
        for node in flow
    ]
    return {
        "run": run_id,
        "version": plan.version,
        "hash": plan.hash,
        "kind": plan.kind,
        "nodes": nodes,
        "edges": list(plan.graph.get("edges", [])),
    }


def _kind(node: Mapping[str, Any]) -> str:
    if node.get("properties", {}).get("runs_in") == "expression":
        return NATIVE
    role = str(node["role"])
    return _KINDS.get(role, role)


def is_step(entity: str) -> bool:
    """Whether the entity is a step of a plan: a construct or a filter."""
    return entity.startswith(tuple(STEPS))


def step_word(entity: str) -> str:
    """'construct' or 'filter'."""
    return next((word for prefix, word in STEPS.items() if entity.startswith(prefix)), "construct")


def queue_tuples(own: Mapping[str, float | None]) -> float | None:
    """What a queue handed over in the batch; of one that only waits, what waits."""
    return own.get("flow_tuples", own.get("size_tuples"))


def graph_values(values: Values) -> dict[str, Any]:
    """Values of a batch shaped as the live delta: queues are bare numbers."""
    shaped: dict[str, Any] = {}
    for entity, properties in values.items():
        if entity.startswith("queue:"):
            shaped[entity] = queue_tuples(properties)
        elif entity == SYSTEM or is_step(entity):
            shaped[entity] = dict(properties)
    return shaped


def spark_source(node: str) -> tuple[str, str]:
    """(entity, property) of the sparkline of a node."""
    return SPARKS.get(node, (node, "drop_prob"))


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


def steps(plan: PlanVersion, values: Values, entities: Mapping[str, Entity]) -> list[Step]:
    """The constructs of a plan in order, with their numbers at the batch of ``values``."""
    paid = [_paid(values.get(entity, {})) for entity in plan.order]
    total = sum(number for number in paid if number is not None)
    rows: list[Step] = []
    alive: float | None = 1.0
    for place, entity in enumerate(plan.order):
        own = values.get(entity, {})
        attribute = entity.partition(":")[2]
        after = own.get("survival_prob")
        visits = paid[place]
        facts = entities[entity].properties if entity in entities else {}
        queue = SOURCE_QUEUE if place == 0 else f"queue:{attribute}"
        rows.append(
            Step(
                position=place + 1,
                entity=entity,
                attribute=attribute,
                reached=own.get("reached_tuples"),
                drop=own.get("drop_prob"),
                dropped=None if alive is None or after is None else max(0.0, alive - after),
                survival=after,
                visits=None if visits is None or not total else visits / total,
                queue=queue_tuples(values.get(queue, {})),
                n_regions=facts.get("n_regions"),
                n_queries=facts.get("n_queries"),
                cost=own.get("cost_us"),
                native=facts.get("kind") == "native",
            )
        )
        alive = after if after is not None else alive
    return rows


def _paid(own: Mapping[str, float | None]) -> float | None:
    """Visits of a step in a batch, weighed with the cost of a filter."""
    reached, cost = own.get("reached_tuples"), own.get("cost_us")
    return None if reached is None else reached * (1.0 if cost is None else cost)


def headline(plan: PlanVersion | None) -> str:
    """One line above the graph: which plan, since when; the reason follows it."""
    if plan is None:
        return "No plan yet: it is chosen with the first batch."
    since = "from the start" if plan.batch <= 0 else f"since batch {plan.batch}"
    kind = "" if plan.kind == "early drop" else f", {plan.kind}"
    return f"Plan {plan.version}{kind}, {since}"
