"""Timeline: cost, dropping, throughput and batch time over one axis, with what happened when."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.charts import chart
from dashboard.components.formats import clock, show
from dashboard.components.kinds import event_kind
from dashboard.components.panels import twinned
from dashboard.components.states import empty
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.figures.timeline import draw_timeline, timeline_height
from dashboard.pages import ledger, loops, whatif
from dashboard.pages.contract import Page
from dashboard.pages.keys import clientside, follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable, jump_to
from dashboard.services import Services
from dashboard.views.events import titled
from dashboard.views.timeline import (
    SYSTEM,
    Marker,
    TimelineView,
    build_numbers,
    build_timeline,
    properties,
)

BODY: Final = "pw-timeline"
GRAPH: Final = "pw-timeline-graph"
TABLES: Final = "pw-timeline-tables"
KEY: Final = "pw-timeline-key"
CLICK: Final = "pw-timeline-click"
MAX_POINTS: Final = 1000
MAX_EVENTS: Final = 1000
LABEL: Final = (
    "Tuple dropping ratio, visits per tuple, throughput and batch time over time, with events"
)
HINT: Final = "drag to zoom, double-click to reset; click an event to go there"


def build(context: Context, services: Services) -> TimelineView:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    reader, run = services.reader, context.run_id
    until = context.batch if context.mode == "frozen" else None
    keys = [(SYSTEM, name) for name in properties()]
    found = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS)
    knobs = {knob.name: knob.value for knob in reader.knobs(run, until)}
    mu_steps = [(knob.batch, float(knob.value)) for knob in reader.knob_history(run, "mu")]
    shown = reader.batch(run, context.batch) if context.batch is not None else None
    window = knobs.get("lambda_tuples")
    return build_timeline(
        {name: series for (_, name), series in found.items()},
        mu_steps,
        knobs.get("trigger"),
        int(window) if isinstance(window, int | float) else None,
        titled(reader.events(run, until=until, limit=MAX_EVENTS), reader.plans(run, until)),
        shown.time if shown is not None and context.moment.at is not None else None,
    )


def tables(view: TimelineView, context: Context) -> Component:
    """The table twin: events, then one row a batch."""
    return html.Div([_events(view, context), _numbers(view, context)], className="pw-twin-tables")


def layout(context: Context, services: Services) -> Component:
    """The page at a context; the figure is drawn by the first callback, which knows the theme."""
    if context.run is None:
        return empty("No run yet", "Start one with python3 run.py; its timeline appears here.")
    view = build(context, services)
    graph = chart(GRAPH, LABEL, height=timeline_height(view))
    figure = html.Div([_no_batch(view), graph])
    panel = twinned("Timeline", figure, part(TABLES, ""), note=HINT, id=BODY)
    stores = [dcc.Store(id=KEY), dcc.Store(id=CLICK)]
    parts = [whatif.layout(context), ledger.layout(), loops.layout()]
    return html.Div([*stores, panel, *parts], className="pw-page")


def register(app: Dash, services: Services) -> None:
    """Redraw on structural news; plain numbers extend the traces in the browser."""
    follow(app, "timelineKey", KEY)
    clientside(app, "timelineClick", Output(CLICK, "data"), Input(GRAPH, "clickData"))
    whatif.register(app, services, KEY)
    ledger.register(app, services, KEY)
    loops.register(app, services, KEY)

    @app.callback(
        Output(GRAPH, "figure"),
        Output(GRAPH, "style"),
        part_output(TABLES),
        Input(KEY, "data"),
        Input(ids.THEME, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _draw(key: Any, theme: str | None, moment: dict[str, Any] | None) -> tuple[Any, Any, Any]:
        found = contexts.of(services.reader, moment)
        view = build(found, services)
        style = {"height": f"{timeline_height(view)}px"}
        figure = draw_timeline(view, theme, loops.build(found, services))
        return figure, style, part_tree(TABLES, tables(view, found))


PAGE: Final = Page(
    path="/timeline",
    title="Timeline",
    label="Timeline",
    icon="M3 17l5-6 4 4 5-8 4 5M3 21h18",
    key="t",
    layout=layout,
    register=register,
)


def _no_batch(view: TimelineView) -> Component:
    if view.panels:
        return html.Div(hidden=True)
    return html.P("No batch has been recorded yet; lines appear with the first one.")


def _events(view: TimelineView, context: Context) -> Component:
    columns = (
        Column("Batch", "int"),
        Column("Time", "text", "UTC"),
        Column("Kind"),
        Column("What happened"),
        Column("Detail"),
        Column("More"),
    )
    rows = [_event(marker, context) for marker in reversed(view.markers)]
    return RowTable("Events, newest first", columns, rows, className="pw-timeline-events")


def _event(marker: Marker, context: Context) -> list[CellData]:
    sign, word, tone, _ = event_kind(marker.kind)
    more: CellData = ""
    if marker.link:
        node = f"decision:{marker.decision}" if marker.decision is not None else None
        target = jump_to(context, marker.link, at=marker.batch, node=node)
        more = {"text": marker.link.strip("/"), "jump": target}
    return [
        {"text": marker.batch, "jump": jump_to(context, at=marker.batch)},
        {"text": clock(marker.time), "sort": marker.time},
        {"parts": [[sign, f"pw-glyph pw-ink-{tone}"], [word, ""]], "sort": marker.kind},
        marker.title,
        marker.detail,
        more,
    ]


def _numbers(view: TimelineView, context: Context) -> Component:
    numbers = build_numbers(view)
    columns = [
        Column("Batch", "int"),
        Column("Time", "text", "UTC"),
        *(Column(words, form, unit) for _, words, unit, form in numbers.columns),
    ]
    rows: list[list[CellData]] = [
        [
            {"text": batch, "jump": jump_to(context, at=batch)},
            {"text": clock(time), "sort": time},
            *values,
        ]
        for batch, time, values in zip(numbers.batches, numbers.times, numbers.rows, strict=True)
    ]
    words = f"Batches, newest first; {show(numbers.total, 'int')} points are drawn"
    return RowTable(words, columns, rows, total=numbers.total)
