"""Routes of eddies on the Index page: of each origin its orders, priced, and the one in force."""

from __future__ import annotations

from typing import Final

from dash import html

from dashboard.base.context import Context
from dashboard.components.rows import CellData, RowTable, TableColumn, known
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import newest_matrices
from dashboard.systems.amri.bits import PAGE
from dashboard.systems.amri.routes_view import ROUTES, RouteLine, RoutesView, build_routes
from storage.reader import Reader

NOTE: Final = "the order in which an element of an origin goes past the other states"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[RoutesView] | None:
    """The routes of the unit's eddies as of the moment."""
    matrices = newest_matrices(reader, context.run_id, ROUTES, context.batch, scope)
    return [build_routes(matrix) for matrix in matrices] or None


def draw(eddies: list[RoutesView], sheet: Sheet) -> Drawing:
    """A table for each eddy; its numbers are its figure."""
    return Drawing(html.Div([route_table(eddy) for eddy in eddies]), note=NOTE)


_COLUMNS: Final = (
    TableColumn("Origin"),
    TableColumn("Then past"),
    TableColumn("In force"),
    TableColumn("Price", "f2", "an element", "estimated from the fan-outs of every step"),
    TableColumn("Times the cheapest", "f2"),
    TableColumn("Taken by", "pct", "", "share of the origin's elements in the batch"),
    TableColumn("Compared", "f2", "an element", "tuples, measured in the batch"),
)
_UNTAKEN: Final = "no element took it in the batch"


def route_table(eddy: RoutesView) -> RowTable:
    """The orders of each origin with their prices, shares and what they compared."""
    most = {
        line.origin: max(other.price or 0.0 for other in eddy.lines if other.origin == line.origin)
        for line in eddy.lines
    }
    rows = [_row(line, most[line.origin]) for line in eddy.lines]
    attributes = [{"data-origin": line.origin} for line in eddy.lines]
    words = f"{eddy.title[0].upper()}{eddy.title[1:]}, as of batch {eddy.batch}"
    return RowTable(words, _COLUMNS, rows, attributes=attributes, total=eddy.total)


def _row(line: RouteLine, most: float) -> list[CellData]:
    price: CellData = known(line.price, "not priced by this router")
    if line.price is not None and most:
        price = {"text": line.price, "bar": line.price / most}
    return [
        line.origin,
        line.order,
        {"badges": [["in force", "ok"]], "sort": 1} if line.in_force else "",
        price,
        line.ratio,
        known(line.share, _UNTAKEN),
        known(line.compared, _UNTAKEN),
    ]


PANEL: Final = Panel(
    name="routes",
    page=PAGE,
    title="Routes",
    sql=records.matrices(ROUTES),
    build=build,
    draw=draw,
    applies=has_matrix(ROUTES),
    news=("run", "plans", "matrices", "decisions"),
    beats=True,
    unit=True,
    twin=False,
)
