"""The matrix view of each pipeline of a join: who drops what, in the order that runs."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.joins.matrices_view import VIEW, JoinView, build_join_view
from storage.reader import Reader

NOTE: Final = (
    "V[i, j]: profiled elements with partners in the inputs before row i and none in column j"
)


def build(reader: Reader, context: Context, scope: PanelScope) -> list[JoinView] | None:
    """The newest of each pipeline up to the moment."""
    run, at = context.run_id, context.batch
    names = [key.name for key in reader.matrix_keys(run, scope.only) if key.kind == VIEW]
    found = [reader.matrix(run, name, at, scope.only) for name in names]
    return [build_join_view(one) for one in found if one is not None] or None


def draw(views: list[JoinView], sheet: Sheet) -> Drawing:
    """A small table for each pipeline."""
    return Drawing(html.Div([_table(one) for one in views], className="pw-join-views"), note=NOTE)


def _table(view: JoinView) -> Component:
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


PANEL: Final = Panel(
    name="join-views",
    page="/matrix",
    title="Pipelines: who has no partner",
    sql=records.matrices(VIEW),
    build=build,
    draw=draw,
    applies=has_matrix(VIEW),
    news=("run", "plans", "matrices", "decisions"),
    unit=True,
    twin=False,
)
