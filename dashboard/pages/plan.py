"""The Plan page: the plan in force, its constructs with their numbers, and what is behind them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.drawn import HistoryChart, PlanDrawing
from dashboard.components.formats import Format
from dashboard.components.links import jump
from dashboard.components.panels import panel, save_svg, twinned
from dashboard.components.rows import CellData, RowTable, TableColumn, live
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.context import Context
from dashboard.pages.contract import Page
from dashboard.pages.inspector import draw_inspector, inspector_key
from dashboard.services import Services
from dashboard.views import plan as views
from dashboard.views.book import SYSTEM
from dashboard.views.plan import PlanStep
from storage.reader import Reader
from storage.rows import SeriesData
from storage.vocabulary.records import Batch, Entity, PlanVersion

GRAPH: Final = "plan-graph"
HEADLINE: Final = "plan-headline"
STEPS: Final = "plan-steps"
RECENT: Final = "plan-recent"
INSPECTOR: Final = "plan-inspector"
INSPECTOR_KEY: Final = "plan-inspector-key"
_RECENT_BATCHES: Final = 240
_TABLE_BATCHES: Final = 40
_ICON: Final = "M3 9h5v6H3zM16 4h5v6h-5zM16 14h5v6h-5zM8 12h4M12 7v10M12 7h4M12 17h4"


class Chart(NamedTuple):
    """A chart below the graph: a property of the system."""

    id: str
    property: str
    title: str
    unit: str
    form: Format


CHARTS: Final = (
    Chart("plan-visits", "visits_per_tuple", "Visits per tuple", "", "f2"),
    Chart("plan-rate", "tuples_per_s", "Throughput", "tuples/s", "si"),
    Chart("plan-batch", "batch_ms", "Batch time", "", "ms"),
)


class Facts(NamedTuple):
    """What the page reads for one moment. plan: of all units; units: (title, plan) of each."""

    plan: PlanVersion | None
    units: list[tuple[str, PlanVersion]]
    values: dict[str, dict[str, float | None]]
    series: dict[tuple[str, str], SeriesData]
    entities: dict[str, Entity]
    batches: tuple[Batch, ...]


def read(reader: Reader, context: Context) -> Facts:
    """Everything but the inspector, as of the batch of the context."""
    run, at = context.run_id, context.batch
    titles = {unit.id: unit.title for unit in reader.units(run, at)}
    plans = reader.plans_at(run, at) or {one.unit_id: one for one in reader.plans(run)[:1]}
    units = [(titles.get(unit, ""), plan) for unit, plan in plans.items()]
    plan = views.whole(units)
    keys = [] if plan is None else [(node.entity, node.spark) for node in views.plan_nodes(plan)]
    keys += [(SYSTEM, chart.property) for chart in CHARTS]
    since = None if at is None else max(0, at - _RECENT_BATCHES + 1)
    series = reader.many_series(run, keys, since_batch=since, until_batch=at)
    entities = {entity.id: entity for entity in reader.entities(run, at)}
    batches = reader.batches(run, until=at, limit=_TABLE_BATCHES)
    return Facts(plan, units, reader.values(run, at), series, entities, batches)


def layout(context: Context, services: Services) -> Component:
    """The page; without a run it says how one begins."""
    if context.run is None:
        return empty(
            "No run yet",
            "The engine has not begun a run in this store. It appears here as soon as it does.",
        )
    facts = read(services.reader, context)
    headline = html.Span(_headline(context, facts), id=HEADLINE)
    steps = html.Div(_tables(facts), id=STEPS)
    recent = html.Div(_recent_table(facts), id=RECENT)
    charts = html.Div([_chart(chart, facts) for chart in CHARTS], className="pw-histories")
    inspector = draw_inspector(services, context)
    return html.Div(
        [
            html.Div(
                [
                    twinned(
                        "Plan",
                        _graph(context, facts),
                        steps,
                        note=headline,
                        more=(save_svg(),),
                        id="pw-plan-twin",
                    ),
                    twinned("Recent batches", charts, recent, id="pw-recent-twin"),
                ],
                className="pw-plan-left",
            ),
            html.Aside(
                [
                    panel("Inspector", html.Div(inspector, id=INSPECTOR), className="pw-inspector"),
                    dcc.Store(id=INSPECTOR_KEY, data=inspector_key(services, context)),
                ],
                **attrs(aria_label="Inspector"),
            ),
        ],
        className="pw-plan",
    )


def register(app: Dash, services: Services) -> None:
    """Graph, tables and charts follow the moment; the inspector only when it says something new."""
    moment = Input(ids.MOMENT, "data")

    @app.callback(
        *(Output(GRAPH, name) for name in ("plan", "values", "sparks", "batch", "selected")),
        Output(HEADLINE, "children"),
        Output(STEPS, "children"),
        Output(RECENT, "children"),
        *(Output(chart.id, "points") for chart in CHARTS),
        moment,
        prevent_initial_call=True,
    )
    def _follow(data: dict[str, Any] | None) -> tuple[Any, ...]:
        context = _shown(services, data)
        facts = read(services.reader, context)
        texts = (_headline(context, facts), _tables(facts), _recent_table(facts))
        charts = (_points(chart, facts) for chart in CHARTS)
        return (*_graph_properties(context, facts), *texts, *charts)

    @app.callback(
        Output(INSPECTOR, "children"),
        Output(INSPECTOR_KEY, "data"),
        moment,
        State(INSPECTOR_KEY, "data"),
        prevent_initial_call=True,
    )
    def _inspect(data: dict[str, Any] | None, shown: str | None) -> tuple[Any, str]:
        context = _shown(services, data)
        key = inspector_key(services, context)
        if key == shown:
            raise PreventUpdate
        return draw_inspector(services, context), key


def _shown(services: Services, data: dict[str, Any] | None) -> Context:
    context = contexts.of(services.reader, data)
    if context.run is None:
        raise PreventUpdate
    return context


def _graph_properties(context: Context, facts: Facts) -> tuple[Any, ...]:
    graph = views.graph_plan(context.run_id, facts.plan)
    sparks = {
        node.id: views.spark(facts.series.get((node.entity, node.spark)))
        for node in ([] if facts.plan is None else views.plan_nodes(facts.plan))
    }
    values = views.graph_values(facts.values, facts.entities)
    return graph, values, sparks, context.batch, context.moment.node or ""


def _graph(context: Context, facts: Facts) -> Component:
    return PlanDrawing(GRAPH, *_graph_properties(context, facts))


def _headline(context: Context, facts: Facts) -> Any:
    plan = facts.plan
    if plan is None:
        return (context.run.note if context.run else "") or views.headline(None)
    title, latest = max(facts.units, key=lambda one: (one[1].batch, one[1].version))
    lead = views.headline(latest)
    if len(facts.units) > 1:
        lead = f"Plan {plan.version} of {len(facts.units)} units; the latest, of {title}: {lead}"
    words = html.Span(latest.reason, className="pw-reason", title=latest.reason)
    parts: list[Any] = [lead, " · ", words]
    if latest.decision is not None:
        node, unit = str(latest.decision), latest.unit_id
        parts += [" ", jump(context, "why?", "/decisions", max(0, latest.batch), node, unit)]
    return static(html.Span(parts, className="pw-headline"))


def _points(chart: Chart, facts: Facts) -> list[list[Any]]:
    series = facts.series.get((SYSTEM, chart.property))
    return [list(point) for point in views.points(series)]


def _chart(chart: Chart, facts: Facts) -> Component:
    points = views.points(facts.series.get((SYSTEM, chart.property)))
    return HistoryChart(
        chart.id, chart.title, SYSTEM, chart.property, points, chart.unit, chart.form
    )


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


def _tables(facts: Facts) -> list[Component]:
    return [*_steps_tables(facts), *_parts_table(facts)]


def _steps_tables(facts: Facts) -> list[Component]:
    """A table for each unit, named after it where there are several."""
    several = len(facts.units) > 1
    return [_steps_table(facts, plan, title if several else "") for title, plan in facts.units]


def _steps_table(facts: Facts, plan: PlanVersion, unit: str) -> Component:
    rows = views.steps(plan, facts.values, facts.entities)
    filters = bool(rows) and rows[0].word == "filter"
    cells = [[*_step_cells(row), *(_filter_cells(row) if filters else _sizes(row))] for row in rows]
    marks = [attrs(data_pw_node=row.entity) for row in rows]
    what = "Filters" if filters else "Constructs"
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
)


def _parts_table(facts: Facts) -> list[Component]:
    """The second table of a plan that is more than a chain."""
    parts = [] if facts.plan is None else views.other_parts(facts.plan)
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
        ]
        for node, before, after in parts
    ]
    marks = [attrs(data_pw_node=node.id) for node, _, _ in parts]
    return [RowTable("Other parts of the plan", _PART_COLUMNS, rows, attributes=marks)]


def _step_cells(row: PlanStep) -> list[CellData]:
    return [
        row.attribute,
        row.position,
        live(row.entity, "drop_prob", row.drop, "pct"),
        live(row.entity, "reached_tuples", row.reached, "int"),
        row.dropped,
        live(row.entity, "survival_prob", row.survival, "pct"),
        row.visits,
        row.queue,
    ]


def _sizes(row: PlanStep) -> list[CellData]:
    return [row.n_regions, row.n_queries]


def _filter_cells(row: PlanStep) -> list[CellData]:
    where = "comparison" if row.native else "function"
    return [live(row.entity, "cost_us", row.cost, "f3"), where]


_BATCH_COLUMNS: Final = (
    TableColumn("Batch", "int"),
    TableColumn("tuples", "int"),
    TableColumn("matched", "int"),
    TableColumn("misfits", "int"),
    TableColumn("batch time", "ms"),
    TableColumn("visits per tuple", "f2"),
    TableColumn("plan", "int"),
    TableColumn("stream time"),
)


def _recent_table(facts: Facts) -> Component:
    visits = dict(views.points(facts.series.get((SYSTEM, "visits_per_tuple"))))
    rows = [
        [
            batch.id,
            batch.n_tuples,
            batch.n_matched,
            batch.n_misfits,
            batch.duration_ms,
            visits.get(batch.id or 0),
            _versions(batch),
            batch.stream_time,
        ]
        for batch in reversed(facts.batches)
    ]
    return RowTable(f"The last {len(rows)} batches, newest first", _BATCH_COLUMNS, rows)


def _versions(batch: Batch) -> int | str | None:
    """The plan the batch ran under; of several units all of them."""
    versions = list(batch.plans.values())
    return " · ".join(map(str, versions)) if len(versions) > 1 else next(iter(versions), None)


PAGE: Final = Page(
    path="/plan",
    title="Plan",
    label="Plan",
    icon=_ICON,
    key="p",
    missing="The engine has not begun a run in this store; python3 run.py starts one.",
    steady=True,
    own=(layout, register),
)
