"""Monitor: graphs that people add, one for each property they want to watch; in the address."""

from __future__ import annotations

from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.asking import asking
from dashboard.components.attributes import attrs
from dashboard.components.drawn import HistoryChart
from dashboard.components.links import jump, saved_link
from dashboard.components.names import words_of
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.serving.services import Services
from dashboard.views.book import Book
from dashboard.views.monitor import MonitorView, Picked, boards_of, build_monitor, picked
from storage.reader import Reader

ADD: Final = "pw-monitor-add"
CHOICES: Final = "pw-monitor-choices"
ASK: Final = "pw-monitor-query"
EXAMPLE: Final = (
    "Select max(val) From SysStream [Range 10 seconds] Where prop = 'queue_peak_tuples'"
)
#: Batches a graph shows.
BATCHES: Final = 600
MAX_POINTS: Final = 240
HEIGHT: Final = 132


def build(reader: Reader, context: Context, scope: PanelScope) -> MonitorView:
    """The graphs that the address names, up to the moment."""
    run, at, show = context.run_id, context.batch, context.moment.show
    entities = Book(reader.entities(run, at))
    asked = picked(show, entities)
    keys = [graph.key for graph in asked]
    since = None if at is None else max(0, at - BATCHES)
    series = reader.many_series(run, keys, since_batch=since, until_batch=at, max_points=MAX_POINTS)
    view = build_monitor(asked, bool(show), entities, reader.values(run, at), series)
    return view._replace(boards=boards_of(reader.noted("board")))


def draw(view: MonitorView, sheet: Sheet) -> Drawing:
    """The graphs side by side; the table twin: last, least, mean and most of each."""
    cards = [
        _card(graph, place, sheet.context, sheet.locked) for place, graph in enumerate(view.graphs)
    ]
    options = [
        html.Option(value=words, **attrs(data_show=show)) for words, show in view.choices.items()
    ]
    body = [
        html.Datalist(options, id=CHOICES, **attrs(data_base=view.address)),
        _boards(view, sheet.context, sheet.read_only),
        html.Div(cards, className="pw-graphs"),
    ]
    note = "" if view.chosen else "the engine's own numbers; add what you want to watch"
    return Drawing(body, table=_table(view), note=note)


def _boards(view: MonitorView, context: Context, locked: str) -> Component:
    """Saved sets of graphs, and a button that saves these."""
    links = [
        saved_link(
            context,
            "the board",
            board.name,
            board.show,
            None if locked else board.id,
            board.show == view.address,
        )
        for board in view.boards
    ]
    save = html.Button(
        "Save these graphs …",
        type="button",
        className="pw-button",
        disabled=bool(locked),
        title=locked or "Keep these graphs under a name, for every run of this store",
        **attrs(data_pw_board_save=view.address),
    )
    return html.Nav([*links, save], className="pw-chips pw-boards", **attrs(aria_label="Boards"))


def _renaming(graph: Picked) -> list[Component]:
    """A button that asks for another title; graphs that nobody picked have none."""
    if graph.place is None:
        return []
    label = attrs(aria_label=f"Rename the graph of {graph.title}", data_rename=graph.place)
    return [html.Button("✎", type="button", className="pw-link pw-graph-rename", **label)]


def _query(graph: Picked, locked: str) -> list[Component]:
    """The query whose answer is drawn, and how to be rid of it."""
    if not graph.query:
        return []
    button = html.Button(
        "Remove the query",
        type="button",
        className="pw-button",
        disabled=bool(locked),
        title=locked or "Removes the query; the graph stays until you remove it, too",
        **attrs(data_query_action="remove", data_query=graph.query),
    )
    text = html.Code(graph.text, title=graph.text)
    return [html.P([text, button], className="pw-graph-query")]


def _card(graph: Picked, place: int, context: Context, locked: str) -> Component:
    remove = jump(
        context,
        "×",
        show=graph.without,
        className="pw-link pw-graph-remove",
        **attrs(aria_label=f"Remove the graph of {graph.title}"),
    )
    chart = HistoryChart(
        f"pw-monitor-{place}",
        words_of(graph.name),
        graph.entity,
        graph.name,
        graph.points,
        graph.unit,
        graph.form,
        context.batch,
        HEIGHT,
    )
    title = html.H3(graph.whose, title=graph.meaning or None)
    head = html.Header([title, *_renaming(graph), remove])
    body = chart if graph.points else html.P("No value is recorded yet.", className="pw-dim")
    return html.Article(
        [head, *_query(graph, locked), body],
        className="pw-monitor-graph",
        **attrs(aria_label=graph.title),
    )


def _table(view: MonitorView) -> Component:
    columns = (
        TableColumn("Graph"),
        TableColumn("Last", "f2"),
        TableColumn("Least", "f2"),
        TableColumn("Mean", "f2"),
        TableColumn("Most", "f2"),
        TableColumn("Unit"),
        TableColumn("Points", "int"),
    )
    rows = [_row(graph) for graph in view.graphs]
    keys = [f"{graph.entity}|{graph.name}" for graph in view.graphs]
    return RowTable("Graphs", columns, rows, keys=keys)


def _row(graph: Picked) -> list[CellData]:
    numbers = graph.numbers
    if not numbers:
        return [graph.title, None, None, None, None, graph.unit, 0]
    mean = sum(numbers) / len(numbers)
    return [graph.title, numbers[-1], min(numbers), mean, max(numbers), graph.unit, len(numbers)]


def _controls(context: Context, services: Services) -> list[Component]:
    field = dcc.Input(
        id=ADD,
        type="text",
        placeholder="Add a graph: type a part's name or a property",
        className="pw-input pw-graph-add",
        list=CHOICES,
        autoComplete="off",
    )
    label = html.Label("Add a graph", htmlFor=ADD, className="pw-sr")
    return [html.Div([label, field], className="pw-graph-form"), _asking(services)]


def _asking(services: Services) -> Component:
    """The form that registers a query over SysStream and draws what it answers."""
    about = (
        "SysStream(qid, eid, etype, prop, val) has all numbers of the run; a graph draws the last "
        "column of what is new in the answer. The query runs with the run and is in its list."
    )
    words = ("Draw what a query answers", about, "Register and draw")
    locked = services.why_no_control
    return asking(ASK, words, ("longest_queue", EXAMPLE), {"id": "pw-query-said"}, locked)


PANEL: Final = Panel(
    name="monitor",
    page="/monitor",
    title="Graphs",
    sql=records.samples(),
    build=build,
    draw=draw,
    values=True,
    histories=True,
    news=("run", "plans", "queries", "commands"),
    show=True,
    beats=True,
    draws=True,
    controls=_controls,
)
