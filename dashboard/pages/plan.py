"""The Plan page: the plan in force, its constructs with their numbers, and what is behind them."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard.base import context as contexts
from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.drawn import HistoryChart, PlanDrawing
from dashboard.components.keys import key_input, watching
from dashboard.components.links import jump, sql_link
from dashboard.components.panels import drawing_savers, panel, twinned, zoom_reset
from dashboard.components.parts import as_of, part_output, part_tree
from dashboard.components.rows import RowTable, TableColumn
from dashboard.components.states import empty
from dashboard.components.static import StaticTree
from dashboard.pages.contract import Page
from dashboard.pages.headline import draw_headline, headline_key
from dashboard.pages.inspector import (
    PARTS,
    draw_inspector,
    draw_parts,
    inspector_key,
)
from dashboard.pages.plan_facts import CHARTS, Chart, Facts, read
from dashboard.pages.plan_tables import draw_tables
from dashboard.panels import frame, records
from dashboard.serving.services import Services
from dashboard.views import plan as views
from dashboard.views.book import SYSTEM
from dashboard.views.plan_parts import marks_of
from storage.reader import Reader
from storage.vocabulary.openings import about_of
from storage.vocabulary.records import Batch

GRAPH: Final = "plan-graph"
HEADLINE: Final = "plan-headline"
HEADLINE_KEY: Final = "plan-headline-key"
NOTE: Final = "plan-note"
CHOICES: Final = "plan-choices"
STEPS: Final = "plan-steps"
RECENT: Final = "plan-recent"
_TWIN: Final = "pw-plan-twin"
_RECENT_TWIN: Final = "pw-recent-twin"
_GRAPH_PROPERTIES: Final = ("plan", "values", "sparks", "spreads", "batch", "selected")
INSPECTOR: Final = "plan-inspector"
INSPECTOR_KEY: Final = "plan-inspector-key"
#: The live path brings the numbers of the graph and the charts; what draws them again at once.
_WATCH: Final = {
    "news": ("run", "plans", "queries", "knobs"),
    "beat_ms": frame.BEAT_MS,
    "show": True,
    "tables": (_TWIN, _RECENT_TWIN),
}
_SECTION: Final = "pw-plan-page"
_ICON: Final = "M3 9h5v6H3zM16 4h5v6h-5zM16 14h5v6h-5zM8 12h4M12 7v10M12 7h4M12 17h4"


def layout(context: Context, services: Services) -> Component:
    """The page; without a run it says how one begins."""
    if context.run is None:
        return empty(
            "No run yet",
            "The engine has not begun a run in this store. It appears here as soon as it does.",
        )
    facts = read(services.reader, context)
    note = html.Span(_note(context, facts), id=NOTE)
    steps = html.Div(_steps(context, facts), id=STEPS)
    graph = twinned(
        "Plan",
        _graph(context, facts),
        steps,
        note=note,
        more=[sql_link(context, records.PLANS), *drawing_savers("Plan")],
        id=_TWIN,
    )
    panels = PAGE.lay_out_panels(context, services)
    inspector = [
        _inspector(context, services),
        dcc.Store(id=INSPECTOR_KEY, data=inspector_key(services, context)),
    ]
    band, key = _headline(services.reader, context, facts)
    about = about_of(context.run)
    return html.Div(
        [
            *watching(_SECTION, _WATCH),
            html.P(about, className="pw-about", hidden=not about),
            StaticTree(band, id=HEADLINE),
            dcc.Store(id=HEADLINE_KEY, data=key),
            html.Div(
                [html.Div(_choices(context, facts), id=CHOICES), graph], className="pw-plan-graph"
            ),
            html.Div([panels, _recent(context, facts)], className="pw-plan-rest"),
            html.Aside(inspector, className="pw-plan-side", **attrs(aria_label="Inspector")),
        ],
        className="pw-plan",
    )


def _headline(reader: Reader, context: Context, facts: Facts) -> tuple[Any, str]:
    """The headline, whose digits roll as it is not mounted again, and what it depends on."""
    key = headline_key(context, facts.units, facts.values)
    band = draw_headline(reader, context, facts.units, facts.values)
    return part_tree(HEADLINE, band, "pw-headline", **as_of(context.batch)), key


def _recent(context: Context, facts: Facts) -> Component:
    charts = html.Div([_chart(chart, facts) for chart in CHARTS], className="pw-histories")
    recent = html.Div(_batches(context, facts), id=RECENT)
    more = [zoom_reset(), sql_link(context, records.BATCHES), *drawing_savers("Recent batches")]
    return twinned("Recent batches", charts, recent, more=more, id=_RECENT_TWIN)


def _inspector(context: Context, services: Services) -> Component:
    inspector = html.Div(draw_inspector(services, context), id=INSPECTOR)
    return panel("Inspector", inspector, actions=zoom_reset(), className="pw-inspector")


def register(app: Dash, services: Services) -> None:
    """All follows the moment; the graph and its charts only where more than numbers is another, and
    the inspector where it says something new."""
    PAGE.register_panels(app, services)

    @app.callback(
        *(Output(GRAPH, name) for name in _GRAPH_PROPERTIES),
        Output(CHOICES, "children"),
        *(Output(chart.id, "points") for chart in CHARTS),
        Output(GRAPH, "refuted"),
        part_output(HEADLINE),
        Output(HEADLINE_KEY, "data"),
        Output(NOTE, "children"),
        Output(STEPS, "children"),
        Output(RECENT, "children"),
        Output(INSPECTOR, "children"),
        Output(INSPECTOR_KEY, "data"),
        *(part_output(name) for name in PARTS),
        key_input(_SECTION),
        State(ids.MOMENT, "data"),
        State(HEADLINE_KEY, "data"),
        State(INSPECTOR_KEY, "data"),
        prevent_initial_call=True,
    )
    def _follow(
        key: dict[str, Any] | None,
        moment: dict[str, Any] | None,
        headline: str | None,
        inspector: str | None,
    ) -> tuple[Any, ...]:
        with services.at_once() as now:
            context = _shown(now, moment)
            numbers = bool(key and key.get("numbers"))
            facts = read(now.reader, context, numbers=numbers)
            drawing = _NO_DRAWING if numbers else _drawing(context, facts)
            return (
                *drawing,
                *_told(now, context, facts, headline),
                *_inspected(now, context, inspector, numbers=numbers),
            )


def _drawing(context: Context, facts: Facts) -> tuple[Any, ...]:
    """The graph, what to choose from and the charts."""
    charts = (_points(chart, facts) for chart in CHARTS)
    return (*_graph_properties(context, facts), _choices(context, facts), *charts)


_NO_DRAWING: Final = (no_update,) * (len(_GRAPH_PROPERTIES) + 1 + len(CHARTS))


def _told(
    services: Services, context: Context, facts: Facts, headline: str | None
) -> tuple[Any, ...]:
    """What constructs refute; the headline, where it is another; the note; the tables where they
    are looked at."""
    same = headline == headline_key(context, facts.units, facts.values)
    band = (no_update, no_update) if same else _headline(services.reader, context, facts)
    tables = _steps(context, facts), _batches(context, facts)
    return (facts.refuted, *band, _note(context, facts), *tables)


def _steps(context: Context, facts: Facts) -> list[Component]:
    """The tables of the graph, where they are looked at."""
    if _TWIN not in context.moment.tables:
        return []
    return [html.Div(draw_tables(facts), **as_of(context.batch))]


def _batches(context: Context, facts: Facts) -> list[Component]:
    """The table of the newest batches, where it is looked at."""
    if _RECENT_TWIN not in context.moment.tables:
        return []
    return [html.Div(_recent_table(facts), **as_of(context.batch))]


def _shown(services: Services, data: dict[str, Any] | None) -> Context:
    context = contexts.of(services.reader, data)
    if context.run is None:
        raise PreventUpdate
    return context


def _inspected(
    services: Services, context: Context, shown: str | None, *, numbers: bool
) -> tuple[Any, ...]:
    """The whole inspector where it is laid out anew, else its parts."""
    key = inspector_key(services, context)
    if key == shown:
        return no_update, no_update, *draw_parts(services, context, numbers=numbers)
    return draw_inspector(services, context), key, *(no_update for _ in PARTS)


def _graph_properties(context: Context, facts: Facts) -> tuple[Any, ...]:
    limits = views.limits_of(facts.entities)
    part = f"{context.moment.unit} {context.moment.show or ''}"
    marks = marks_of(facts.entities)
    shown = (facts.plan, facts.nodes, facts.version, facts.shared, facts.skips, limits, part, marks)
    graph = views.graph_plan(context.run_id, *shown)
    sparks = {
        node.id: views.spark(facts.series.get((node.entity, node.spark))) for node in facts.nodes
    }
    values = views.graph_values(facts.values, facts.entities)
    return graph, values, sparks, facts.spreads, context.batch, context.moment.node or ""


def _graph(context: Context, facts: Facts) -> Component:
    return PlanDrawing(GRAPH, facts.refuted, *_graph_properties(context, facts))


#: Outputs one can choose from at once; of more, one is chosen on the Results page.
_MOST_OUTPUTS: Final = 40


def _choices(context: Context, facts: Facts) -> list[Component]:
    """Links to the plan of one unit, and to what leads to one output of what is shown."""
    choices: list[Component] = []
    if len(facts.titles) > 1:
        here = context.moment.unit if context.moment.unit in facts.titles else ""
        units = {"": "All units", **facts.titles}
        chips = [
            _chip(context, words, unit == here, unit=unit, show="") for unit, words in units.items()
        ]
        choices.append(html.Nav(chips, className="pw-chips", **attrs(aria_label="Units")))
    if facts.outputs:
        narrowed = any(output.chosen for output in facts.outputs)
        shown = facts.outputs[:_MOST_OUTPUTS]
        shown += [output for output in facts.outputs[_MOST_OUTPUTS:] if output.chosen]
        chips = [_chip(context, "All of it", not narrowed, show="")]
        chips += [_chip(context, output.name, output.chosen, show=output.id) for output in shown]
        choices.append(html.Nav(chips, className="pw-chips", **attrs(aria_label="Outputs")))
    return choices


def _chip(context: Context, words: str, here: bool, **target: str) -> Component:
    current = attrs(aria_current="true" if here else None)
    return jump(context, words, className="pw-chip-link", **target, **current)


def _note(context: Context, facts: Facts) -> list[Any]:
    """Which plan is shown, since when, and what would change it next."""
    words: list[Any] = [_which(context, facts)]
    if facts.next:
        words.append(html.Span(f"Next: {facts.next}", className="pw-plan-next", title=facts.next))
    if facts.averaged:
        old = f"Rolled up: {facts.averaged}; plan and knobs are exact"
        words.append(html.Span(old, className="pw-plan-next", title=old))
    return [html.Span(words, **as_of(context.batch))]


def _which(context: Context, facts: Facts) -> str:
    """Without a plan why there is none."""
    plan = facts.plan
    if plan is None:
        return (context.run.note if context.run else "") or views.headline(None)
    _, latest = max(facts.units, key=lambda unit: (unit[1].batch, unit[1].version))
    if len(facts.units) < 2:
        return views.headline(latest)
    n, since = len(facts.units), max(0, latest.batch)
    return f"{plan.version} plans in {n} units, the newest since batch {since}"


def _points(chart: Chart, facts: Facts) -> list[list[Any]]:
    series = facts.series.get((SYSTEM, chart.property))
    return [list(point) for point in views.points(series)]


def _chart(chart: Chart, facts: Facts) -> Component:
    points = views.points(facts.series.get((SYSTEM, chart.property)))
    return HistoryChart(
        chart.id, chart.title, SYSTEM, chart.property, points, chart.unit, chart.form
    )


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
    icon=_ICON,
    key="p",
    missing="The engine has not begun a run in this store; python3 run.py starts one.",
    steady=True,
    own=(layout, register),
)
