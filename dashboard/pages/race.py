"""The race on the Matrix page: lines of cost, the standings, and the knob that starts it."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.charts import chart
from dashboard.components.panels import twinned
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.figures.race import HEIGHT, draw_race
from dashboard.pages.knob_cards import draw_cards, is_locked
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable
from dashboard.services import Services
from dashboard.views.race import MATRIX, PROPERTIES, RaceView, build_race, racers

GRAPH: Final = "pw-race-graph"
BOX: Final = "pw-race-box"
NOTE: Final = "pw-race-note"
TABLE: Final = "pw-race-table"
STANDINGS: Final = "pw-race-standings"
KNOBS: Final = ("race", "filter_algorithm")
MAX_POINTS: Final = 1000
LABEL: Final = "Cost of 2 000 tuples in the order of each algorithm, against tuples of the stream"


def build(context: Context, services: Services) -> RaceView:
    """The race as of the moment."""
    reader, run, at = services.reader, context.run_id, context.batch
    entities = reader.entities(run, at)
    found = racers(entities)
    if not found:
        return RaceView([])
    keys = [(entity.id, name) for entity in found for name in PROPERTIES]
    keys.append(("system", "tuples_total"))
    series = reader.many_series(run, keys, until_batch=at, max_points=MAX_POINTS)
    matrix = reader.matrix(run, MATRIX, at)
    totals = series.get(("system", "tuples_total"))
    return build_race(entities, series, totals, matrix.matrix if matrix else None)


def layout(context: Context, services: Services) -> Component:
    """The panel; without a race it has the knob and says what turning it does."""
    view = build(context, services)
    reader, locked = services.reader, is_locked(services, context)
    knobs = [k for k in reader.knobs(context.run_id, context.batch) if k.name in KNOBS]
    cards = draw_cards(reader, context, knobs, locked, "race", compact=True)
    figure = html.Div(
        [
            html.Div(chart(GRAPH, LABEL, height=HEIGHT), id=BOX, hidden=not view.lanes),
            part(STANDINGS, _standings(view)),
            html.H3("Turn the algorithms"),
            html.Div(cards, className="pw-race-knobs"),
        ]
    )
    return twinned("Race", figure, part(TABLE, _table(view)), note=part(NOTE, _note(view)))


def register(app: Dash, services: Services, key: str) -> None:
    """Follow the store ``key`` of the page."""

    @app.callback(
        Output(BOX, "hidden"),
        Output(GRAPH, "figure"),
        part_output(NOTE),
        part_output(STANDINGS),
        part_output(TABLE),
        Input(key, "data"),
        Input(ids.THEME, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(news: Any, theme: str | None, moment: dict[str, Any] | None) -> tuple[Any, ...]:
        context = contexts.of(services.reader, moment)
        if context.run is None:
            raise PreventUpdate
        view = build(context, services)
        return (
            not view.lanes,
            draw_race(view, theme),
            part_tree(NOTE, _note(view)),
            part_tree(STANDINGS, _standings(view)),
            part_tree(TABLE, _table(view)),
        )


def _note(view: RaceView) -> str:
    if not view.lanes:
        return "off: turn the knob to compare algorithms on the same profile tuples"
    return "estimated on the profile tuples every algorithm is given; signs mark new orders"


def _standings(view: RaceView) -> Component:
    """Each algorithm with its mean and what it would run now."""
    if not view.lanes:
        words = (
            "Other algorithms can run in the shadow: each keeps an order of its own on the profile "
            "tuples of this stream, and nothing it decides is run. Profile tuples are then shown "
            "to every filter."
        )
        return html.P(words, className="pw-dim")
    columns = (
        Column("Algorithm"),
        Column("mean cost", "int", "µs for 2 000 tuples", "over the readings of this race"),
        Column("new orders", "int"),
        Column("its order now"),
    )
    rows: list[list[CellData]] = []
    for lane in view.lanes:
        marks = [["in force", "info"]] if lane.in_force else []
        marks += [["cheapest", "ok"]] if lane.algorithm in view.cheapest else []
        name: CellData = {"text": lane.algorithm, "badges": marks}
        rows.append([name, lane.mean, lane.changes, " → ".join(lane.order)])
    return RowTable("Standings", columns, rows, keys=[lane.algorithm for lane in view.lanes])


def _table(view: RaceView) -> Component:
    batches = sorted({r.batch for lane in view.lanes for r in lane.readings}, reverse=True)[:200]
    columns = (
        Column("Batch", "int"),
        *(Column(lane.algorithm, "int", "µs") for lane in view.lanes),
    )
    by_lane = [{r.batch: r for r in lane.readings} for lane in view.lanes]
    rows: list[list[CellData]] = []
    for batch in batches:
        cells: list[CellData] = []
        for readings in by_lane:
            reading = readings.get(batch)
            marks = [["new order", "switch"]] if reading and reading.changed else []
            cost = None if reading is None else reading.cost
            cells.append({"text": cost, "sort": cost, "badges": marks} if marks else cost)
        rows.append([batch, *cells])
    return RowTable("Cost of 2 000 tuples, newest first", columns, rows)
