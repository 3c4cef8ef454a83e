"""What the Plan page shows: the plan in force at a moment, its numbers, and their table twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.base.face import Card, NodeKind, Skip, prices, told
from dashboard.components.kinds import LADDER, node_kind
from dashboard.views.book import SYSTEM
from dashboard.views.numbers import rounded
from dashboard.views.plan_parts import cells_of, sent_edge
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Entity, PlanVersion

Values: TypeAlias = Mapping[str, Mapping[str, float | None]]
SPARK_POINTS: Final = 24
#: Before the role of a step that compares attributes with constants, and calls no function.
NATIVE: Final = "native "
#: Entities of these kinds have one number, or the few of :data:`SHAPES`; see :func:`sizes_of`.
SIZED: Final = ("queue", "synopsis", "store", "cache")
#: What is told of queues, stores and synopses that have more than a size, told apart by how many
#: there are ('': nothing); assets/modules/points.js has the same names.
SHAPES: Final = (
    ("flow_tuples", "queue_peak_tuples", "size_tuples"),
    ("size_tuples", "state_bytes", "saved_bytes", ""),
    ("size_tuples", "state_bytes"),
)
#: Properties of source and output where a run has one of each: they are those of the system.
_WHOLE: Final[Mapping[Card, str]] = {"source": "tuples_per_s", "output": "n_matched"}
_SPARKS: Final[Mapping[Card, str]] = {
    "step": "drop_prob",
    "synopsis": "size_tuples",
    "store": "size_tuples",
}


class PlanStep(NamedTuple):
    """One row of the table twin: a construct or filter (``word``) in the order of the plan.

    reached: tuples of the batch. survival, drop: as published. dropped: share of the batch's
    tuples dropped here. visits: share of all visits; for filters of the cost. queue: handed to it.
    cost: of a filter, us per tuple, by the property ``priced``, '' = visits; native: it compares.
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
    priced: str = ""


class Node(NamedTuple):
    """A node of the plan as the graph draws it.

    shared: names of the outputs that have it in common. marks, cells: of ``plan_parts``.
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
    shared: tuple[str, ...] | None = None
    marks: tuple[tuple[str, ...], ...] | None = None
    cells: tuple[tuple[str, int], ...] | None = None


def graph_plan(
    run_id: str,
    plan: PlanVersion | None,
    nodes: Sequence[Node],
    version: int | None = None,
    shared: Mapping[str, Sequence[str]] | None = None,
    skips: Sequence[Skip] = (),
    limits: Mapping[str, float] | None = None,
    part: str = "",
    marks: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
) -> dict[str, Any]:
    """The plan as the graph draws it: any graph without a circle, nodes in an order of its flow.

    nodes: its ``plan_nodes``. version: of the plan of the whole run, when this is a part of it.
    shared: node -> the outputs that have it in common. skips: ways past others; limits: queue ->
    elements it may hold; marks: node -> those on its card; part: what of the run is shown. band:
    its steps all look at every tuple. priced: properties of operators: µs a tuple. Kinds of
    filters that compare begin with NATIVE, the others call functions or look into windows.
    """
    if plan is None:
        empty: dict[str, Any] = {"nodes": [], "edges": [], "signs": [], "kinds": {}, "skips": []}
        return {"run": run_id, "version": 0, "hash": "", "kind": "", "band": False, **empty}
    drawn = [
        node._replace(
            shared=tuple((shared or {}).get(node.id, ())) or None,
            marks=tuple((marks or {}).get(node.id, ())) or None,
        )
        for node in nodes
    ]
    kinds = _kinds(drawn)
    return {
        "run": run_id,
        "part": part,
        "version": plan.version if version is None else version,
        "hash": plan.hash,
        "kind": plan.kind,
        "band": plan.kind == "no early drop",
        "priced": prices(),
        "kinds": kinds,
        "nodes": [_sent(node, kinds[node.kind]) for node in drawn],
        "edges": [
            sent_edge(edge, limits or {}, marks or {}) for edge in plan.graph.get("edges", [])
        ],
        "skips": [skip._asdict() for skip in skips],
        "signs": _signs(drawn),
    }


def limits_of(entities: Mapping[str, Entity]) -> dict[str, float]:
    """Queue -> elements it may hold, of those with a limit."""
    limits = {entity.id: entity.properties.get("capacity_tuples") for entity in entities.values()}
    return {id: float(limit) for id, limit in limits.items() if limit}


def whole(plans: Sequence[tuple[str, PlanVersion]]) -> PlanVersion | None:
    """The plans of all units as one, for the graph of the run; of one unit its own.

    plans: (title of the unit, its plan). Nodes that several units share belong to none.
    """
    if len(plans) < 2:
        return plans[0][1] if plans else None
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[tuple[str, str, Any], Any] = {}
    for title, plan in plans:
        places = {entity: place for place, entity in enumerate(plan.order, 1)}
        for node in plan.graph.get("nodes", []):
            facts = {**node.get("properties", {}), "unit": title, "place": places.get(node["id"])}
            shared = node["id"] in nodes
            nodes[node["id"]] = node if shared else {**node, "properties": facts}
        for edge in plan.graph.get("edges", []):
            edges[edge["source"], edge["target"], edge.get("port")] = edge
    versions = [plan for _, plan in plans]
    newest = max(versions, key=lambda plan: plan.batch)
    return replace(
        newest,
        version=sum(plan.version for plan in versions),
        kind=newest.kind if len({plan.kind for plan in versions}) == 1 else "mixed",
        order=tuple(entity for plan in versions for entity in plan.order),
        graph={"nodes": list(nodes.values()), "edges": list(edges.values())},
        hash="-".join(plan.hash for plan in versions),
    )


def plan_nodes(plan: PlanVersion) -> list[Node]:
    """The nodes of a plan in an order of its flow; where that is open, in the plan's order."""
    records = {str(record["id"]): record for record in plan.graph.get("nodes", [])}
    places = {entity: place for place, entity in enumerate(plan.order, 1)}
    roles = [node_kind(str(record["role"])).card for record in records.values()]
    single = {role for role in _WHOLE if roles.count(role) == 1}
    edges = [(edge["source"], edge["target"]) for edge in plan.graph.get("edges", [])]
    first = sorted(records, key=lambda node: places.get(node, 0))
    return [_node(records[node], places.get(node), single) for node in flow_order(first, edges)]


def flow_order(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    """The nodes with every edge from an earlier to a later one; ties as given.

    Nodes on a circle, which no plan has, come last.
    """
    names = list(dict.fromkeys(nodes))
    places = {node: place for place, node in enumerate(names)}
    after: dict[str, list[str]] = {node: [] for node in names}
    n_before = dict.fromkeys(names, 0)
    for source, target in edges:
        if source in places and target in places:
            after[source].append(target)
            n_before[target] += 1
    free = [place for place, node in enumerate(names) if not n_before[node]]
    ordered, rest = dict[str, None](), iter(names)
    while len(ordered) < len(names):
        node = names[heappop(free)] if free else next(name for name in rest if name not in ordered)
        ordered[node] = None
        for target in after[node]:
            n_before[target] -= 1
            if not n_before[target] and target not in ordered:
                heappush(free, places[target])
    return list(ordered)


def _node(record: Mapping[str, Any], position: int | None, single: set[Card]) -> Node:
    facts = record.get("properties") or {}
    compares = facts.get("kind") == "native" or facts.get("runs_in") == "expression"
    kind = f"{NATIVE if compares else ''}{record['role']}"
    known_as = node_kind(kind)
    role, name = known_as.card, str(record.get("name") or record["id"])
    cells = cells_of(facts, known_as)
    return Node(
        id=str(record["id"]),
        role=role,
        kind=kind,
        sign=known_as.sign,
        name=name,
        word=known_as.word,
        title=f"{known_as.sign} {name}" if role not in ("source", "output") else name,
        entity=SYSTEM if role in single else str(record["id"]),
        spark=_WHOLE[role] if role in single else _SPARKS.get(role, "reached_tuples"),
        position=facts.get("place", position),
        unit=facts.get("unit"),
        lanes=facts.get("lanes"),
        note=", ".join(f"{word} {n}" for word, n in cells or ()) or facts.get("note"),
        cells=cells,
    )


def _kinds(nodes: Sequence[Node]) -> dict[str, dict[str, Any]]:
    """Kind -> what its nodes have in common."""
    return {
        node.kind: {
            "role": node.role,
            "sign": node.sign,
            "word": node.word,
            "spark": node.spark,
            **({"icon": icon} if (icon := node_kind(node.kind).icon) else {}),
            **({"parts": parts} if (parts := node_kind(node.kind).parts) else {}),
            **({"whole": whole} if (whole := node_kind(node.kind).whole) else {}),
        }
        for node in reversed(nodes)
    }


def _sent(node: Node, common: Mapping[str, Any]) -> dict[str, Any]:
    """The node without what it does not have, and what follows from its kind or its id."""
    usual = {**common, "title": node.title, "entity": node.id}
    own = node._asdict().items()
    return {name: value for name, value in own if value is not None and usual.get(name) != value}


def _signs(nodes: Sequence[Node]) -> list[list[str]]:
    """[sign, what it stands for, icon, a sentence] of the signs that need a word."""
    if any(node_kind(node.kind).cost for node in nodes):
        return [["σ", "comparison", "", ""], ["ƒ", "function", "", ""]]
    others = dict.fromkeys(n.kind for n in nodes if n.role not in ("source", "step", "output"))
    kinds = [node_kind(kind) for kind in others]
    signs = [[kind.sign, kind.word, kind.icon, kind.about] for kind in kinds]
    queue = ["", "queue", LADDER, "hands tuples on, and holds those that wait"]
    return [*signs, queue] if signs else []


def size_of(own: Mapping[str, float | None]) -> float | None:
    """What a queue handed over in the batch; of what only holds tuples, how many it holds."""
    return own.get("flow_tuples", own.get("size_tuples"))


def sizes_of(
    own: Mapping[str, float | None],
) -> float | list[float | None] | dict[str, float | None] | None:
    """What it handed on, by name what it only holds, or all that :data:`SHAPES` tells of it,
    rounded. Of what is in parts each of them by name, beside the size of those in memory."""
    kind = _divided(own)
    if kind is not None:
        inside = sum(own[part.name] or 0.0 for part in kind.parts if part.tone != "aside")
        names = ("state_bytes", kind.whole, *(part.name for part in kind.parts))
        numbers = {name: rounded(own[name]) for name in names if name in own}
        return {"size_tuples": rounded(inside), **numbers}
    for shape in SHAPES:
        if all(name in own for name in shape if name):
            return [rounded(own.get(name)) for name in shape]
    if "size_tuples" in own and "flow_tuples" not in own:
        return {"size_tuples": rounded(own["size_tuples"])}
    return rounded(size_of(own))


def _divided(own: Mapping[str, float | None]) -> NodeKind | None:
    """The kind whose parts a synopsis tells of; None where it is one whole."""
    kinds = (kind for kind in told("nodes").values() if kind.parts)
    return next((kind for kind in kinds if all(part.name in own for part in kind.parts)), None)


def graph_values(values: Values, entities: Mapping[str, Entity]) -> dict[str, Any]:
    """Values of a batch shaped as the live delta: sizes are bare numbers, lists or parts."""
    shaped: dict[str, Any] = {}
    for entity, properties in values.items():
        kind = entities[entity].kind if entity in entities else ""
        if kind in SIZED:
            shaped[entity] = sizes_of(properties)
        elif kind in ("system", "operator"):
            shaped[entity] = {name: rounded(value) for name, value in properties.items()}
        elif entity in entities and (mark := told("marks").get(entities[entity].role)):
            shaped[entity] = {mark.property: rounded(properties.get(mark.property))}
    return shaped


def spark(series: SeriesData | None) -> list[float]:
    """The last 24 known values, rounded."""
    values = [] if series is None else [rounded(float(value)) for value in series.value]
    return [value for value in values if value is not None][-SPARK_POINTS:]


def points(series: SeriesData | None) -> list[tuple[int, float | None]]:
    """(batch, rounded value) of a series; None where unknown."""
    if series is None:
        return []
    pairs = zip(series.batch.tolist(), series.value.tolist(), strict=True)
    return [(int(batch), rounded(value)) for batch, value in pairs]


def steps(
    plan: PlanVersion,
    nodes: Sequence[Node],
    values: Values,
    entities: Mapping[str, Entity],
) -> list[PlanStep]:
    """The steps of a plan in order, with their numbers at the batch of ``values``. nodes: its
    ``plan_nodes``."""
    placed = sorted((n for n in nodes if n.position), key=lambda node: node.position or 0)
    prices = [node_kind(node.kind).cost for node in placed]
    paid = [_paid(values.get(n.id, {}), price) for n, price in zip(placed, prices, strict=True)]
    total = sum(number for number in paid if number is not None)
    queues = {edge["target"]: edge.get("queue") for edge in plan.graph.get("edges", [])}
    rows: list[PlanStep] = []
    alive: float | None = 1.0
    for node, visits, priced in zip(placed, paid, prices, strict=True):
        own = values.get(node.id, {})
        after = own.get("survival_prob")
        facts = entities[node.id].properties if node.id in entities else {}
        rows.append(
            PlanStep(
                position=node.position or 0,
                entity=node.id,
                attribute=node.name,
                word=node.word,
                reached=own.get("reached_tuples"),
                drop=own.get("drop_prob"),
                dropped=None if alive is None or after is None else max(0.0, alive - after),
                survival=after,
                visits=None if visits is None or not total else visits / total,
                queue=size_of(values.get(queues.get(node.id) or "", {})),
                n_regions=facts.get("n_regions"),
                n_queries=facts.get("n_queries"),
                cost=own.get(priced),
                native=node.kind.startswith(NATIVE),
                priced=priced,
            )
        )
        alive = after if after is not None else alive
    return rows


def other_parts(
    plan: PlanVersion, nodes: Sequence[Node]
) -> list[tuple[Node, list[str], list[str]]]:
    """What is no step, with the names of what it reads and of what reads it; [] for a chain of
    steps between one source and one output. nodes: its ``plan_nodes``."""
    others = [node for node in nodes if node.role != "step"]
    if {node.role for node in others} <= set(_WHOLE) and len(others) <= len(_WHOLE):
        return []
    names = {node.id: node.name for node in nodes}
    before: dict[str, list[str]] = {node.id: [] for node in nodes}
    after: dict[str, list[str]] = {node.id: [] for node in nodes}
    for edge in plan.graph.get("edges", []):
        if edge["source"] in names and edge["target"] in names:
            before[edge["target"]].append(names[edge["source"]])
            after[edge["source"]].append(names[edge["target"]])
    return [(node, before[node.id], after[node.id]) for node in others]


def _paid(own: Mapping[str, float | None], priced: str) -> float | None:
    """Visits of a step in a batch, weighed with its cost where it has one."""
    reached, cost = own.get("reached_tuples"), own.get(priced)
    return None if reached is None else reached * (1.0 if cost is None else cost)


def headline(plan: PlanVersion | None) -> str:
    """One line above the graph: which plan, since when; the reason follows it."""
    if plan is None:
        return "No plan yet: it is chosen with the first batch."
    since = "from the start" if plan.batch <= 0 else f"since batch {plan.batch}"
    kind = "" if plan.kind == "early drop" else f", {plan.kind}"
    return f"Plan {plan.version}{kind}, {since}"
