"""The states of caches on the Timeline: a swim lane for each."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.joins.lanes_figure import draw_lanes, lanes_height
from dashboard.systems.joins.lanes_view import STATE, CacheLane, build_lanes, caches_of
from dashboard.views.book import Book
from storage.reader import Reader

MAX_POINTS: Final = 2000


def build(reader: Reader, context: Context, scope: PanelScope) -> list[CacheLane] | None:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    book = Book(reader.entities(run, until), scope.unit)
    keys = [(cache, STATE) for cache in caches_of(book)]
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS)
    return build_lanes(book, list(series.values())) or None


def draw(lanes: list[CacheLane], sheet: Sheet) -> Drawing:
    """The lanes; the table twin: one row a stretch, newest first."""
    figure, height = draw_lanes(lanes, sheet.theme), lanes_height(lanes)
    return Drawing(figure=figure, height=height, table=_table(lanes, sheet.context), note=_NOTE)


_NOTE: Final = "caches longest in use on top; hatched: being profiled"
_COLUMNS: Final = (
    *WHEN,
    TableColumn("Cache"),
    TableColumn("Join"),
    TableColumn("State"),
    TableColumn("Until batch", "int"),
)


def _table(lanes: list[CacheLane], context: Context) -> Component:
    stretches = [(stretch, lane) for lane in lanes for stretch in lane.stretches]
    rows: list[list[CellData]] = [
        [
            *when(context, stretch.first, stretch.since),
            lane.name,
            lane.join,
            stretch.state,
            stretch.last,
        ]
        for stretch, lane in sorted(stretches, key=lambda pair: -pair[0].first)
    ]
    return RowTable("States of caches, newest first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="cache-lanes",
    page="/timeline",
    title="Caches",
    sql=records.samples("cache"),
    build=build,
    draw=draw,
    applies=has_role("cache"),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="States of caches over time",
)
