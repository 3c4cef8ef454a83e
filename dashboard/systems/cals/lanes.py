"""Accuracy over time, on the Shedding page and on the Timeline."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, jump_to, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.cals.history import PAGE, WINDOW, turns_of
from dashboard.systems.cals.lanes_figure import draw_lanes, lanes_height
from dashboard.systems.cals.lanes_view import NUMBERS, LanesView, build_lanes
from dashboard.views.book import Book
from storage.reader import Reader

MAX_POINTS: Final = 1000
MAX_ROWS: Final = 400
NOTE: Final = "▾ shedding begins, ● answers are exact again"


def build(reader: Reader, context: Context, scope: PanelScope) -> LanesView | None:
    """The history until the moment."""
    return _until(reader, context, scope, context.batch)


def build_whole(reader: Reader, context: Context, scope: PanelScope) -> LanesView | None:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    return _until(reader, context, scope, context.whole_until)


def _until(
    reader: Reader, context: Context, scope: PanelScope, until: int | None
) -> LanesView | None:
    run = context.run_id
    book = Book(reader.entities(run, until), scope.unit)
    keys = book.keys_of(WINDOW, NUMBERS)
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS, sampled=True)
    return build_lanes(book, series, turns_of(reader, run, until, scope))


def draw(view: LanesView, sheet: Sheet) -> Drawing:
    """Accuracy, and what windows keep; the table twin: one row a batch, newest first."""
    return _drawn(view, sheet, tupled=True)


def draw_accuracy(view: LanesView, sheet: Sheet) -> Drawing:
    """Accuracy alone."""
    return _drawn(view, sheet, tupled=False)


def _drawn(view: LanesView, sheet: Sheet, tupled: bool) -> Drawing:
    figure, height = draw_lanes(view, sheet.theme, tupled), lanes_height(view, tupled)
    return Drawing(figure=figure, height=height, table=_table(view, sheet.context), note=NOTE)


_COLUMNS: Final = (
    *WHEN,
    TableColumn("Query"),
    TableColumn("Expected", "f3"),
    TableColumn("Measured", "f3"),
    TableColumn("95 % from", "f3"),
    TableColumn("95 % to", "f3"),
    TableColumn("In memory", "int", "tuples"),
    TableColumn("Lacking", "int", "tuples", "of the window, shed in this batch or before"),
    TableColumn("Shed", "int", "tuples", "in the batch"),
    TableColumn("Decision"),
)


def _table(view: LanesView, context: Context) -> Component:
    turns = {turn.batch: turn for turn in view.turns}
    pairs = [(lane, point) for lane in view.lanes for point in lane.points]
    pairs.sort(key=lambda pair: -pair[1].batch)
    rows: list[list[CellData]] = []
    for lane, point in pairs[:MAX_ROWS]:
        turn = turns.get(point.batch)
        decision: CellData = ""
        if turn is not None:
            node = str(turn.seq)
            decision = {"text": turn.words, "jump": jump_to(context, "/decisions", node=node)}
        rows.append(
            [
                *when(context, point.batch, point.time),
                lane.title,
                *point[2:],
                decision,
            ]
        )
    words = "Accuracy and tuples by batch, newest first"
    return RowTable(words, _COLUMNS, rows, total=len(pairs))


PANEL: Final = Panel(
    name="shed-history",
    page=PAGE,
    title="Accuracy over time",
    sql=records.samples(WINDOW),
    build=build,
    draw=draw,
    applies=has_role(WINDOW),
    news=HISTORY,
    beats=True,
    unit=True,
    chart="Accuracy of answers and tuples of the window over time",
)
LANES: Final = Panel(
    name="shed-lanes",
    page="/timeline",
    title="Accuracy of answers",
    sql=records.samples(WINDOW),
    build=build_whole,
    draw=draw_accuracy,
    applies=has_role(WINDOW),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="Accuracy of answers that are short of memory over time",
)
