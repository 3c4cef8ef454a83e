"""The lattice of access patterns on the Index page."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn, known
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import knobs_of, newest_matrices
from dashboard.systems.amri.bits import PAGE, read_states
from dashboard.systems.amri.bits_view import PATTERNS
from dashboard.systems.amri.lattice_figure import draw_lattices, lattice_height, standing_words
from dashboard.systems.amri.lattice_view import LatticeNode, LatticeView, build_lattice
from storage.reader import Reader

#: Lattices that are drawn; all are in the table.
MOST_DRAWN: Final = 6
CHART: Final = "Access patterns of each state, by how many attributes they specify; see the table"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[LatticeView] | None:
    """Of the states that were asked for anything, as of the moment."""
    run, at = context.run_id, context.batch
    theta = knobs_of(reader, run, at, scope).get("theta")
    asked = {
        str(stored.matrix.row_stats["state"][0]): stored
        for stored in newest_matrices(reader, run, PATTERNS, at, scope)
    }
    least = None if theta is None else float(theta.value)
    return [
        build_lattice(asked[state.id], state.name, state.attributes, least)
        for state in read_states(reader, context, scope)
        if state.id in asked
    ] or None


def draw(views: list[LatticeView], sheet: Sheet) -> Drawing:
    """The lattices; the table twin: a row for a pattern that was asked for."""
    shown = views[:MOST_DRAWN]
    theta = views[0].theta
    faded = "" if theta is None else f" · faded: below θ = {show(theta, 'pct')}"
    return Drawing(
        figure=draw_lattices(shown, sheet.theme),
        height=lattice_height(shown),
        table=_table(views),
        note=f"size: share of requests, pale: what may be missed · ring: reported{faded} · arrow: "
        "folded into",
    )


_COLUMNS: Final = (
    TableColumn("State"),
    TableColumn("Asked by"),
    TableColumn("Share", "pct", "", "of the requests of the last assessment"),
    TableColumn("At most", "pct", "", "with what may have been missed, δ"),
    TableColumn("N", "si"),
    TableColumn("δ", "si"),
    TableColumn("Assessment"),
    TableColumn("Expected", "pct", "", "share that the routes in force lead to"),
    TableColumn("Routes", None, "", "in force that lead there, origin first"),
)
_UNCOUNTED: Final = "not in the table of the last assessment"


def _table(views: list[LatticeView]) -> Component:
    rows = [
        _row(node, view)
        for view in views
        for node in sorted(view.nodes, key=lambda node: -node.share)
        if node.most or node.n is not None or node.folded is not None or node.expected
    ]
    return RowTable("Access patterns, those asked for most first", _COLUMNS, rows)


def _row(node: LatticeNode, view: LatticeView) -> list[CellData]:
    return [
        view.state,
        node.text,
        {"text": node.share, "bar": node.share},
        node.most,
        known(node.n, _UNCOUNTED),
        known(node.delta, _UNCOUNTED),
        standing_words(node, view),
        node.expected,
        "; ".join(node.routes) or "none in force",
    ]


PANEL: Final = Panel(
    name="pattern-lattice",
    page=PAGE,
    title="Lattice of access patterns",
    sql=records.matrices(PATTERNS),
    build=build,
    draw=draw,
    applies=has_matrix(PATTERNS),
    values=True,
    news=("run", "plans", "matrices", "decisions", "knobs"),
    beats=True,
    unit=True,
    chart=CHART,
)
