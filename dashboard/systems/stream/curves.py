"""The queues of a batch: what waited at each instant, stacked by queue."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.formats import instant, show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.states import empty
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.stream.curves_figure import HEIGHT, draw_curves
from dashboard.systems.stream.curves_view import MATRIX, CurvesView, build_curves
from dashboard.views.book import Book
from dashboard.views.ticks import tick_length_us
from storage.reader import Reader


def build(reader: Reader, context: Context, scope: PanelScope) -> CurvesView | None:
    """The curves of the newest batch up to the moment."""
    stored = reader.matrix(context.run_id, MATRIX, context.batch, scope.only)
    if stored is None:
        return None
    book = Book(reader.entities(context.run_id, context.batch), scope.unit)
    inputs = [stored_input.input for stored_input in reader.inputs(context.run_id)]
    return build_curves(stored.matrix, book, stored.batch, tick_length_us(book, scope.unit, inputs))


def draw(view: CurvesView, sheet: Sheet) -> Drawing:
    """The stack and its table."""
    if not any(view.totals) and not any(lane.peak for lane in view.queues):
        words = "Each element was worked off as it came."
        return Drawing(empty(f"Nothing waited in batch {view.batch}", words))
    table = _table(view, sheet.context)
    if not any(view.totals):
        return Drawing(table, table=table, note=f"batch {view.batch} {_BETWEEN}")
    if len(view.times) < 2:
        return Drawing(table, table=table, note=f"batch {view.batch} {_AT_ONCE}")
    totals = view.totals
    most = max(totals)
    note = (
        f"batch {view.batch} · at most {show(most, 'int')} elements at once, at "
        f"{instant(view.times[totals.index(most)], view.tick_us)} · "
        f"mean {show(sum(totals) / len(totals), 'f2')}"
    )
    figure = draw_curves(view, sheet.theme)
    return Drawing(figure=figure, height=HEIGHT, table=table, note=note)


_AT_ONCE: Final = "was worked off at one instant: only the peaks are shown"
_BETWEEN: Final = "had tuples wait only between the recorded instants: only the peaks are shown"
_COLUMNS: Final = (
    TableColumn("Queue"),
    TableColumn("at most", "int", "tuples", "most that waited in it at once"),
    TableColumn("at instant", "text", "", "first instant with the most that was seen"),
    TableColumn("on average", "f2", "tuples", "over the instants of the batch"),
    TableColumn("at the end", "int", "tuples"),
)


def _table(view: CurvesView, context: Context) -> Component:
    rows: list[list[CellData]] = [
        [
            {"text": lane.name, "jump": jump_to(context, "/plan", node=lane.entity)},
            lane.peak,
            _sorted_instant(view.times[lane.held.index(max(lane.held))], view.tick_us),
            sum(lane.held) / len(lane.held),
            lane.held[-1],
        ]
        for lane in view.queues
    ]
    return RowTable(f"Queues in batch {view.batch}, the fullest first", _COLUMNS, rows)


def _sorted_instant(tick: int, tick_us: float | None) -> CellData:
    return {"text": instant(tick, tick_us), "sort": tick}


PANEL: Final = Panel(
    name="queue-curves",
    page="/matrix",
    title="Queues within the batch",
    sql=records.matrices(MATRIX),
    build=build,
    draw=draw,
    applies=has_matrix(MATRIX),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
    chart="Elements in the queues at the instants of the batch, stacked by queue",
)
