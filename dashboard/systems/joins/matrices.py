"""Two matrices of joins as tables: the bids of candidates, and who drops what in each pipeline."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import newest_matrices
from dashboard.systems.joins.matrices_view import (
    BIDS,
    VIEW,
    CandidateLine,
    CandidatesView,
    JoinView,
    build_candidates,
    build_join_view,
)
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "as estimated at that batch; a row cannot be used beside those it excludes"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[CandidatesView] | None:
    """The newest matrix of each join up to the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    matrices = newest_matrices(reader, run, BIDS, at, scope)
    return [build_candidates(matrix, book) for matrix in matrices] or None


def draw(joins: list[CandidatesView], sheet: Sheet) -> Drawing:
    """A table for each join; its numbers are its figure."""
    return Drawing(html.Div([_table(join, sheet.context) for join in joins]), note=NOTE)


_COLUMNS: Final = (
    TableColumn("#", "int"),
    TableColumn("Candidate"),
    TableColumn("Chosen"),
    TableColumn("Benefit", "f3", "a tuple", "saved for each element, look-ups paid"),
    TableColumn("Upkeep", "f3", "a tuple", "paid once for all pipelines"),
    TableColumn("Net", "f3", "a tuple"),
    TableColumn("Bid", "f3", "a tuple and KiB"),
    TableColumn("Wanted", "int", "bytes"),
    TableColumn(
        "Excludes", "text", "", "they overlap, or hide each other's upkeep, in some pipeline"
    ),
)


def _table(join: CandidatesView, context: Context) -> Component:
    most = max((abs(row.net or 0.0) for row in join.rows), default=0.0)
    rows = [_row(row, most, context) for row in join.rows]
    return RowTable(f"{join.title}, as of batch {join.batch}", _COLUMNS, rows)


def _row(line: CandidateLine, most: float, context: Context) -> list[CellData]:
    net: CellData = line.net
    if line.net is not None and most:
        net = {"text": line.net, "bar": max(0.0, line.net) / most}
    return [
        line.number,
        {"text": line.name, "jump": jump_to(context, "/plan", node=line.cache)},
        {"badges": [["chosen", "switch"]], "sort": 1} if line.chosen else "",
        line.benefit,
        line.upkeep,
        net,
        line.bid,
        line.wanted,
        ", ".join(map(str, line.conflicts)),
    ]


BIDS_PANEL: Final = Panel(
    name="cache-bids",
    page="/matrix",
    title="Benefit and cost of caches",
    sql=records.matrices(BIDS),
    build=build,
    draw=draw,
    applies=has_matrix(BIDS),
    news=("run", "plans", "matrices", "decisions"),
    unit=True,
    twin=False,
)


VIEWS_NOTE: Final = (
    "V[i, j]: sampled elements that matched the inputs above row i but nothing in column j"
)


def build_views(reader: Reader, context: Context, scope: PanelScope) -> list[JoinView] | None:
    """The newest of each pipeline up to the moment."""
    matrices = newest_matrices(reader, context.run_id, VIEW, context.batch, scope)
    return [build_join_view(matrix) for matrix in matrices] or None


def draw_views(views: list[JoinView], sheet: Sheet) -> Drawing:
    """A small table for each pipeline."""
    return Drawing(
        html.Div([_view_table(view) for view in views], className="pw-join-views"), note=VIEWS_NOTE
    )


def _view_table(view: JoinView) -> Component:
    columns = [TableColumn("Row"), *(TableColumn(f"⋈ {name}", "int") for name in view.rows)]
    rows: list[list[CellData]] = []
    for place, (name, values) in enumerate(zip(view.rows, view.values, strict=True)):
        cells: list[CellData] = []
        for column, value in enumerate(values):
            share = None if value is None or not view.n else value / view.n
            mark = "pw-join-diagonal" if column == place else ""
            cells.append("" if value is None else {"text": value, "bar": share, "mark": mark})
        rows.append([f"{place + 1}. {name}", *cells])
    words = f"{view.title} · n = {view.n}, as of batch {view.batch}"
    return RowTable(words, columns, rows)


VIEWS_PANEL: Final = Panel(
    name="join-views",
    page="/matrix",
    title="Pipelines: who has no partner",
    sql=records.matrices(VIEW),
    build=build_views,
    draw=draw_views,
    applies=has_matrix(VIEW),
    news=("run", "plans", "matrices", "decisions"),
    unit=True,
    twin=False,
)
