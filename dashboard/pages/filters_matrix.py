"""Matrix page of pipelined filters: V with the order above it, the last check, near violations."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.drawn import Segments
from dashboard.components.filters import Scrubber, ViewMatrix
from dashboard.components.formats import Format, show
from dashboard.components.panels import twinned
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.pages import filters_side, overhead, race
from dashboard.pages.keys import follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable
from dashboard.services import Services
from dashboard.views.filters import (
    PROFILE,
    SHOWN,
    FiltersView,
    Shown,
    build_view,
    cells,
    component_data,
    has_filters,
    plan_batches,
    shown_of,
    view_name,
    window_batches,
)

NEWS: Final = "pw-filters-news"
SWITCH: Final = "pw-filters-shown"
MATRIX: Final = "pw-filters-view"
NOTE: Final = "pw-filters-note"
TABLE: Final = "pw-filters-table"
LEGEND: Final = "pw-filters-legend"
SCRUB: Final = "pw-filters-scrub"
SIDE: Final = "pw-filters-side"
#: Batches that are looked back over for where the window's tuples are from.
LOOK_BACK: Final = 600
#: Up to so many filters the table twin has a column for each.
WIDE_TABLE: Final = 30


class FiltersPage(NamedTuple):
    """Everything of the page's own at a moment; view None = nothing recorded yet."""

    view: FiltersView | None
    plans: list[int]


def is_meant(context: Context, services: Services) -> bool:
    """Whether the run orders filters, so that this is its Matrix page."""
    if context.run is None:
        return False
    names = services.reader.matrices(context.run_id)
    if view_name(names, "") is not None:
        return True
    return has_filters(services.reader.entities(context.run_id, context.batch))


def build(context: Context, services: Services) -> FiltersPage:
    """The matrix view as of the moment, and the check of its batch."""
    reader, run, at = services.reader, context.run_id, context.batch
    plans = plan_batches(reader.plans(run))
    entities = {entity.id: entity for entity in reader.entities(run, at)}
    running = [e.query for e in entities.values() if e.id.startswith("filter:")]
    name = view_name(reader.matrices(run), running[0] if running else "")
    stored = reader.matrix(run, name, at) if name else None
    if stored is None:
        return FiltersPage(None, plans)
    found = reader.decisions(run, until=stored.batch, limit=1)
    decision = found[0].decision if found and found[0].decision.batch == stored.batch else None
    since = max(0, stored.batch - LOOK_BACK)
    sampled = reader.series(
        run, PROFILE, "n_sampled", since_batch=since, until_batch=max(0, stored.batch)
    )
    batches = window_batches(sampled, stored.matrix.n)
    return FiltersPage(build_view(stored.matrix, stored.batch, entities, decision, batches), plans)


def layout(context: Context, services: Services) -> Component:
    """The page; numbers are in it before any callback ran."""
    page = build(context, services)
    shown: Shown = "drop"
    figure = html.Div(
        [
            ViewMatrix(MATRIX, _data(page, shown)),
            part(LEGEND, _legend(page), "pw-v-legend"),
            html.Div(_scrub(page, context), id=SCRUB),
        ]
    )
    main = twinned(
        "Matrix view",
        [_switch(), figure],
        part(TABLE, _table(page, shown)),
        note=part(NOTE, _note(page, shown)),
    )
    side = html.Div(
        [
            part(SIDE, filters_side.draw(page.view, context), "pw-filters-side"),
            overhead.layout(context, services),
        ],
        className="pw-filters-side",
    )
    left = html.Div([main, race.layout(context, services)], className="pw-filters-main")
    body = html.Div([left, side], className="pw-filters")
    return html.Div([dcc.Store(id=NEWS), body], className="pw-page")


def register(app: Dash, services: Services) -> None:
    """Everything follows the moment; the switch needs no other numbers."""
    follow(app, "filtersKey", NEWS)
    overhead.register(app, services, NEWS)
    race.register(app, services, NEWS)

    @app.callback(
        Output(MATRIX, "view"),
        Output(SCRUB, "children"),
        part_output(LEGEND),
        part_output(NOTE),
        part_output(TABLE),
        part_output(SIDE),
        Input(NEWS, "data"),
        Input(SWITCH, "value"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(key: Any, value: str | None, moment: dict[str, Any] | None) -> tuple[Any, ...]:
        found = contexts.of(services.reader, moment)
        page, shown = build(found, services), shown_of(value)
        return (
            _data(page, shown),
            _scrub(page, found),
            part_tree(LEGEND, _legend(page), "pw-v-legend"),
            part_tree(NOTE, _note(page, shown)),
            part_tree(TABLE, _table(page, shown)),
            part_tree(SIDE, filters_side.draw(page.view, found), "pw-filters-side"),
        )


def _data(page: FiltersPage, shown: Shown) -> dict[str, Any] | None:
    return None if page.view is None else component_data(page.view, shown)


def _switch() -> Component:
    control = Segments(SWITCH, "What the cells show", "drop", SHOWN.items())
    return html.Div(control, className="pw-v-switch")


def _legend(page: FiltersPage) -> list[Component]:
    keys = [
        ("shade", "less … more"),
        ("diagonal", "the filter that stands there"),
        ("violated", "▲ violated; the arrow is the move it implies"),
        ("off", "not kept by the algorithm"),
    ]
    if page.view is not None and page.view.is_split:
        keys.append(("split", "left of it a Spark expression, right of it the Arrow operator"))
    return [
        html.Span([html.I(className=f"pw-v-key pw-v-key-{name}"), words]) for name, words in keys
    ]


def _scrub(page: FiltersPage, context: Context) -> Component:
    return Scrubber(f"{SCRUB}-slider", context.batch, context.now, page.plans)


_MEANING: Final = {
    "counts": "V[i, j]: profile tuples that pass the filters before row i and column j drops",
    "drop": "P(column drops | passed the filters before the row)",
    "rank": "that probability per microsecond of the column's filter; shades compare within a row",
}


def _note(page: FiltersPage, shown: Shown) -> str:
    if page.view is None:
        return "not recorded yet: it comes with the first check"
    window = f"n = {show(page.view.n, 'int')} profile tuples, as of batch {page.view.batch}"
    if not page.view.n:
        return f"the window is empty: nothing was profiled since it was flushed · {window}"
    return f"{_MEANING[shown]} · {window}"


def _table(page: FiltersPage, shown: Shown) -> Component:
    view = page.view
    if view is None:
        return html.P("Nothing is recorded yet.")
    if len(view.cards) > WIDE_TABLE:
        return _long_table(view)
    form: Format = "int" if shown == "counts" else "f3"
    columns = (
        Column("Row"),
        Column("reached", "int", "tuples", "profile tuples that pass the filters before the row"),
        *(Column(f"{place}. {name}", form) for place, name in enumerate(view.order, start=1)),
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
        Column("Filter"),
        Column("reached", "int", "tuples"),
        Column("drop probability", "f3"),
        Column("cost", "f3", "us"),
        Column("drops per us", "f3"),
        Column("violated pairs", "int"),
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
