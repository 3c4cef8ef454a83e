"""The table twin of the plan graph: its steps, its other parts, and the queues between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.rows import CellData, RowTable, TableColumn, live
from dashboard.pages.plan_facts import Facts
from dashboard.views import plan as views
from dashboard.views.plan import PlanStep

_STEP_COLUMNS: Final = (
    TableColumn("#", "int", hint="place in the order of the plan"),
    TableColumn("drop probability", "pct", hint="P(dropped | reached)"),
    TableColumn("reached", "int", "tuples", "tuples of the batch that visited it"),
    TableColumn("dropped here", "pct", hint="share of the batch's tuples dropped here"),
    TableColumn("alive after", "pct", hint="share of the batch's tuples alive after it"),
)
_QUEUE: Final = TableColumn("queue", "int", "tuples")
_CONSTRUCT_COLUMNS: Final = (
    TableColumn("Construct"),
    *_STEP_COLUMNS,
    TableColumn("visits", "pct", hint="share of all visits"),
    TableColumn("refuted", "pct", hint="share of the queries still open that it refutes, sampled"),
    _QUEUE,
    TableColumn("regions", "int"),
    TableColumn("queries", "int"),
)
_FILTER_COLUMNS: Final = (
    TableColumn("Filter"),
    *_STEP_COLUMNS,
    TableColumn("share of cost", "pct", hint="share of all time spent on filters"),
    _QUEUE,
    TableColumn("cost", "f3", "us", "of one tuple"),
    TableColumn("kind"),
)


def draw_tables(facts: Facts) -> list[Component]:
    return [*_steps_tables(facts), *_parts_table(facts), *_queues_table(facts)]


def _steps_tables(facts: Facts) -> list[Component]:
    """A table for each unit, named after it where there are several."""
    several, steps_tables = len(facts.units) > 1, list[Component]()
    for title, plan in facts.units:
        nodes = views.plan_nodes(plan)
        if any(node.role == "step" for node in nodes):
            rows = views.steps(plan, nodes, facts.values, facts.entities)
            steps_tables.append(_steps_table(rows, facts.refuted, title if several else ""))
    return steps_tables


def _steps_table(rows: list[PlanStep], refuted: Mapping[str, float | None], unit: str) -> Component:
    filters = bool(rows) and rows[0].priced != ""
    cells = [
        [*_step_cells(row), row.queue, *_filter_cells(row)]
        if filters
        else [*_step_cells(row), refuted.get(row.entity), row.queue, row.n_regions, row.n_queries]
        for row in rows
    ]
    marks = [attrs(data_pw_node=row.entity) for row in rows]
    what = f"{rows[0].word.capitalize()}s" if rows else "Steps"
    columns = _FILTER_COLUMNS if filters else _CONSTRUCT_COLUMNS
    words = f"{what} of the plan, in its order"
    return RowTable(f"{unit}: {words}" if unit else words, columns, cells, attributes=marks)


_PART_COLUMNS: Final = (
    TableColumn("Part"),
    TableColumn("kind"),
    TableColumn("what"),
    TableColumn("reached", "int", "tuples", "tuples of the batch that visited it"),
    TableColumn("reads"),
    TableColumn("read by"),
    TableColumn("shared by"),
)


def _parts_table(facts: Facts) -> list[Component]:
    """The second table of a plan that is more than a chain."""
    parts = [] if facts.plan is None else views.other_parts(facts.plan, facts.nodes)
    if not parts:
        return []
    rows: list[list[CellData]] = [
        [
            node.name,
            node.word,
            node.note or "",
            live(
                node.id,
                "reached_tuples",
                facts.values.get(node.id, {}).get("reached_tuples"),
                "int",
            ),
            ", ".join(before),
            ", ".join(after),
            ", ".join(facts.shared.get(node.id, ())),
        ]
        for node, before, after in parts
    ]
    marks = [attrs(data_pw_node=node.id) for node, _, _ in parts]
    return [RowTable("Other parts of the plan", _PART_COLUMNS, rows, attributes=marks)]


_QUEUE_COLUMNS: Final = (
    TableColumn("Queue"),
    TableColumn("flow", "int", "tuples", "elements that went through it in the batch"),
    TableColumn("at most", "int", "tuples", "most that waited in it at once in the batch"),
    TableColumn("on average", "f2", "tuples", "that waited in it, over the batch's instants"),
    TableColumn("waiting", "int", "tuples", "that wait in it at the end of the batch"),
    TableColumn("memory", "si", "bytes", "of the most that waited in it"),
)
_QUEUE_VALUES: Final = (
    "flow_tuples",
    "queue_peak_tuples",
    "queue_mean_tuples",
    "size_tuples",
    "queue_bytes",
)


def _queues_table(facts: Facts) -> list[Component]:
    """The queues whose occupancy is known."""
    edges = [] if facts.plan is None else facts.plan.graph.get("edges", [])
    queues = [edge["queue"] for edge in edges if edge.get("queue")]
    known = [id for id in queues if "queue_peak_tuples" in facts.values.get(id, {})]
    if not known:
        return []
    rows: list[list[CellData]] = []
    for id in known:
        own = facts.values[id]
        name = facts.entities[id].name if id in facts.entities else id
        rows.append([name, *(own.get(value) for value in _QUEUE_VALUES)])
    marks = [attrs(data_pw_node=id) for id in known]
    return [RowTable("Queues", _QUEUE_COLUMNS, rows, attributes=marks)]


def _step_cells(row: PlanStep) -> list[CellData]:
    return [
        row.attribute,
        row.position,
        live(row.entity, "drop_prob", row.drop, "pct"),
        live(row.entity, "reached_tuples", row.reached, "int"),
        row.dropped,
        live(row.entity, "survival_prob", row.survival, "pct"),
        row.visits,
    ]


def _filter_cells(row: PlanStep) -> list[CellData]:
    where = "comparison" if row.native else "function"
    return [live(row.entity, row.priced, row.cost, "f3"), where]
