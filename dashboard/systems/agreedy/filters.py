"""The matrix view V of pipelined filters, with the order above it."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import Input, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import Segments
from dashboard.components.formats import Format, show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.serving.services import Services
from dashboard.systems.agreedy.drawn import Scrubber, ViewMatrix
from dashboard.systems.agreedy.filters_view import (
    SHOWN,
    VIEW,
    Cells,
    FiltersView,
    build_view,
    cells,
    component_data,
    plan_batches,
    shown_of,
    view_name,
    window_batches,
)
from dashboard.views.book import Book
from storage.reader import Reader

SWITCH: Final = "pw-view-shown"
#: Batches that are looked back over for where the window's tuples are from.
LOOK_BACK: Final = 600
#: Up to so many filters the table twin has a column for each.
WIDE_TABLE: Final = 30


class MatrixShown(NamedTuple):
    """The matrix view as of a moment, None = nothing recorded yet; what its cells show; the batches
    the scrubber goes over: at, now, and the first ones of the plans."""

    view: FiltersView | None
    cells: Cells
    at: int | None
    now: int | None
    plans: list[int]


def build(reader: Reader, context: Context, scope: PanelScope) -> MatrixShown:
    """The matrix view as of the moment, and the check of its batch."""
    run, at = context.run_id, context.batch
    shown = shown_of(scope.values[0] if scope.values else None)
    plans = plan_batches(reader.plans(run, unit=scope.only))
    book = Book(reader.entities(run, at), scope.unit)
    query = next((entity.query for entity in book.of("filter")), "")
    views = [key.name for key in reader.matrix_keys(run, scope.only) if key.kind == VIEW]
    name = view_name(views, query)
    stored = reader.matrix(run, name, at, scope.only) if name else None
    if stored is None:
        return MatrixShown(None, shown, at, context.now, plans)
    decisions = reader.decisions(run, until=stored.batch, limit=1, unit=scope.only)
    decision = (
        decisions[0].decision if decisions and decisions[0].decision.batch == stored.batch else None
    )
    sampled = reader.series(
        run,
        book.first("profile"),
        "n_sampled",
        since_batch=max(0, stored.batch - LOOK_BACK),
        until_batch=max(0, stored.batch),
    )
    batches = window_batches(sampled, stored.matrix.n)
    view = build_view(stored.matrix, stored.batch, book, decision, batches, query)
    return MatrixShown(view, shown, at, context.now, plans)


def draw(shown: MatrixShown, sheet: Sheet) -> Drawing:
    """V with the order above it, and the scrubber below."""
    view = shown.view
    data = None if view is None else component_data(view, shown.cells)
    legend = html.Div(_legend(view), className="pw-v-legend")
    scrub = Scrubber("pw-view-scrub", shown.at, shown.now, shown.plans)
    body = [ViewMatrix("pw-view-matrix", data), legend, scrub]
    return Drawing(body, table=_table(view, shown.cells), note=_note(view, shown.cells))


def _controls(context: Context, services: Services) -> list[Component]:
    return [_switch()]


def _switch() -> Component:
    control = Segments(SWITCH, "What the cells show", "drop", SHOWN.items())
    return html.Div(control, className="pw-v-switch")


def _legend(view: FiltersView | None) -> list[Component]:
    keys = [
        ("shade", "less … more"),
        ("diagonal", "the filter at this position"),
        ("violated", "▲ violated; the arrow is the move it implies"),
        ("off", "not kept by the algorithm"),
    ]
    if view is not None and view.is_split:
        keys.append(("split", "left of it comparisons, right of it functions"))
    return [
        html.Span([html.I(className=f"pw-v-key pw-v-key-{name}"), words]) for name, words in keys
    ]


_MEANING: Final = {
    "counts": "V[i, j]: profile tuples that pass the filters before row i and column j drops",
    "drop": "P(column drops | passed the filters before the row)",
    "rank": "that probability per microsecond of the column's filter; shades compare within a row",
}


def _note(view: FiltersView | None, shown: Cells) -> str:
    if view is None:
        return "not recorded yet: it comes with the first check"
    window = f"n = {show(view.n, 'int')} profile tuples, as of batch {view.batch}"
    if not view.n:
        return f"the window is empty: nothing was profiled since it was flushed · {window}"
    return f"{_MEANING[shown]} · {window}"


def _table(view: FiltersView | None, shown: Cells) -> Component:
    if view is None:
        return html.P("Nothing is recorded yet.")
    if len(view.cards) > WIDE_TABLE:
        return _long_table(view)
    form: Format = "int" if shown == "counts" else "f3"
    columns = (
        TableColumn("Row"),
        TableColumn(
            "reached", "int", "tuples", "profile tuples that pass the filters before the row"
        ),
        *(TableColumn(f"{place}. {name}", form) for place, name in enumerate(view.order, start=1)),
    )
    marked = {(row, column) for row, _, column in view.violated}
    rows: list[list[CellData]] = []
    for place, row in enumerate(cells(view, shown)):
        own: list[CellData] = [None] * place
        own += [_marked(cell, (place, place + k) in marked) for k, cell in enumerate(row)]
        rows.append([f"{place + 1}. {view.order[place]}", view.reached[place], *own])
    words = f"{SHOWN[shown]} in the order that ran; ▲ violated; — below the diagonal or not kept"
    return RowTable(words, columns, rows, className="pw-narrow")


def _marked(cell: float | None, violated: bool) -> CellData:
    return {"text": cell, "sort": cell, "badges": [["▲", "error"]]} if violated else cell


def _long_table(view: FiltersView) -> Component:
    """One row a filter, for orders that are too long for a column each."""
    columns = (
        TableColumn("Filter"),
        TableColumn("reached", "int", "tuples"),
        TableColumn("drop probability", "f3"),
        TableColumn("cost", "f3", "us"),
        TableColumn("drops per us", "f3"),
        TableColumn("violated pairs", "int"),
    )
    counts = [
        sum(position == place for _, position, _ in view.violated)
        for place in range(len(view.cards))
    ]
    rows: list[list[CellData]] = [
        [f"{place + 1}. {card.name}", view.reached[place], card.drop, card.cost, card.rank, n]
        for (place, card), n in zip(enumerate(view.cards), counts, strict=True)
    ]
    return RowTable("Filters in the order that ran", columns, rows)


PANEL: Final = Panel(
    name="view",
    page="/matrix",
    title="Matrix view",
    sql=records.matrices(VIEW),
    build=build,
    draw=draw,
    applies=has_matrix(VIEW),
    news=("run", "plans", "queries", "matrices", "decisions"),
    beats=True,
    unit=True,
    draws=True,
    controls=_controls,
    inputs=(Input(SWITCH, "value"),),
)
