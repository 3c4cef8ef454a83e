"""The race: lines of cost, the standings, and the knob that starts it."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.agreedy.race_figure import HEIGHT, draw_race
from dashboard.systems.agreedy.race_view import MATRIX, PROPERTIES, RaceView, build_race
from dashboard.views.book import SYSTEM, Book
from storage.reader import Reader

MAX_POINTS: Final = 1000


def build(reader: Reader, context: Context, scope: PanelScope) -> RaceView:
    """The race as of the moment; without one the panel says what turning the knob does."""
    run, at = context.run_id, context.batch
    racers = Book(reader.entities(run, at), scope.unit).of("race")
    if not racers:
        return RaceView([])
    keys = [(entity.id, name) for entity in racers for name in PROPERTIES]
    keys.append((SYSTEM, "tuples_total"))
    series = reader.many_series(run, keys, until_batch=at, max_points=MAX_POINTS)
    matrix = reader.matrix(run, MATRIX, at, scope.only)
    totals = series.get((SYSTEM, "tuples_total"))
    return build_race(racers, series, totals, matrix.matrix if matrix else None)


def draw(view: RaceView, sheet: Sheet) -> Drawing:
    """Lines of cost and the standings."""
    figure = draw_race(view, sheet.theme) if view.lanes else None
    return Drawing("", figure, HEIGHT, _standings(view), _table(view), _note(view))


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
        TableColumn("Algorithm"),
        TableColumn("mean cost", "int", "µs for 2 000 tuples", "over the readings of this race"),
        TableColumn("new orders", "int"),
        TableColumn("its order now"),
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
        TableColumn("Batch", "int"),
        *(TableColumn(lane.algorithm, "int", "µs") for lane in view.lanes),
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


PANEL: Final = Panel(
    name="race",
    page="/matrix",
    title="Race",
    sql=records.matrices("race"),
    build=build,
    draw=draw,
    applies=has_role("filter"),
    news=("run", "plans", "queries", "matrices", "knobs"),
    beats=True,
    unit=True,
    chart="Cost of 2 000 tuples in the order of each algorithm, against tuples of the stream",
    knobs=("race", "filter_algorithm"),
    knobs_title="Turn the algorithms",
)
