"""k of each constraint on the Timeline."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.kmon.history import CONSTRAINT
from dashboard.systems.kmon.lanes_figure import draw_lanes, lanes_height
from dashboard.systems.kmon.lanes_view import NUMBERS, KLane, build_lanes
from dashboard.systems.kmon.ledger import endless
from dashboard.views.book import Book
from storage.reader import Reader

MAX_POINTS: Final = 1000
MAX_ROWS: Final = 400
NOTE: Final = "logarithmic, ∞ on top: nothing is let go; ✖ distances above k"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[KLane] | None:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    book = Book(reader.entities(run, until), scope.unit)
    keys = book.keys_of(CONSTRAINT, NUMBERS)
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS, sampled=True)
    return build_lanes(book, series) or None


def draw(lanes: list[KLane], sheet: Sheet) -> Drawing:
    """The lanes; the table twin: one row where k became another, newest first."""
    figure, height = draw_lanes(lanes, sheet.theme), lanes_height(lanes)
    return Drawing(figure=figure, height=height, table=_table(lanes, sheet.context), note=NOTE)


_COLUMNS: Final = (
    *WHEN,
    TableColumn("Constraint"),
    TableColumn("k in use", "int", "tuples"),
    TableColumn("Estimate", "int", "tuples"),
    TableColumn("Above k", "int", "", "distances of the batch"),
    TableColumn("Largest", "int", "tuples", "distance of the batch"),
)


def _table(lanes: list[KLane], context: Context) -> Component:
    changes = []
    for lane in lanes:
        for before, point in zip([None, *lane.points], lane.points, strict=False):
            if before is None or before.used != point.used or point.violations:
                changes.append((lane, point))
    changes.sort(key=lambda pair: -pair[1].batch)
    rows: list[list[CellData]] = [
        [
            *when(context, point.batch, point.time),
            lane.name,
            endless(point.used),
            point.estimate,
            point.violations,
            point.largest,
        ]
        for lane, point in changes[:MAX_ROWS]
    ]
    words = "Where k became another or a distance was above it, newest first"
    return RowTable(words, _COLUMNS, rows, total=len(changes))


PANEL: Final = Panel(
    name="k-lanes",
    page="/timeline",
    title="k of constraints",
    sql=records.samples(CONSTRAINT),
    build=build,
    draw=draw,
    applies=has_role(CONSTRAINT),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="k of each constraint over time",
)
