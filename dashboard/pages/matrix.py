"""Matrix: the region bitmaps of each construct, and what each construct does to each query."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.charts import chart
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.panels import twinned
from dashboard.components.states import empty
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.figures.matrix import (
    draw_regions,
    draw_selectivity,
    regions_height,
    selectivity_height,
)
from dashboard.pages import filters_matrix, hybrid
from dashboard.pages.contract import Page
from dashboard.pages.keys import follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable
from dashboard.services import Services
from dashboard.views.matrix import (
    REGIONS_PREFIX,
    SELECTIVITY,
    ConstructChoice,
    RegionsView,
    SelectivityView,
    build_choices,
    build_regions,
    build_selectivity,
    part_of,
    pick,
    query_columns,
)

PICKER: Final = "pw-matrix-picker"
NEWS: Final = "pw-matrix-news"
KEY: Final = "pw-matrix-key"
REGIONS: Final = "pw-matrix-regions"
SELECTIVITIES: Final = "pw-matrix-selectivity"
_SMALL: Final = {"height": "40px"}


class MatrixPage(NamedTuple):
    """Everything the page shows at a moment. *_batch: the batch a matrix is as of."""

    choices: list[ConstructChoice]
    chosen: str | None
    regions: RegionsView | None
    regions_batch: int | None
    selectivity: SelectivityView | None
    selectivity_batch: int | None


def build(context: Context, services: Services) -> MatrixPage:
    """The matrices as of the moment; the construct is the pinned one, else the plan's first."""
    reader, run = services.reader, context.run_id
    entities = reader.entities(run, context.batch)
    plan = reader.plan_at(run, context.batch)
    choices = build_choices(entities, plan.order if plan else ())
    chosen = pick(choices, (context.moment.node or "").removeprefix("asc:"))
    queries = query_columns(entities)
    regions = reader.matrix(run, REGIONS_PREFIX + chosen, context.batch) if chosen else None
    selectivity = reader.matrix(run, SELECTIVITY, context.batch)
    return MatrixPage(
        choices=choices,
        chosen=chosen,
        regions=build_regions(regions.matrix, queries) if regions else None,
        regions_batch=regions.batch if regions else None,
        selectivity=build_selectivity(selectivity.matrix, queries) if selectivity else None,
        selectivity_batch=selectivity.batch if selectivity else None,
    )


def has_records(context: Context, services: Services) -> bool:
    """Hidden in the navigation for runs that record no matrices."""
    return context.run is None or bool(services.reader.matrices(context.run_id))


def layout(context: Context, services: Services) -> Component:
    """The frame of the page; the callbacks fill it, as they know the theme."""
    if context.run is None:
        return empty("No run yet", "Start one with python3 run.py; its matrices appear here.")
    if filters_matrix.is_meant(context, services):
        return filters_matrix.layout(context, services)
    page = build(context, services)
    return html.Div(
        [
            dcc.Store(id=NEWS),
            dcc.Store(id=KEY),
            hybrid.layout(),
            _panel(
                "Conditional selectivity",
                SELECTIVITIES,
                "Conditional selectivity of every construct for every query, in plan order",
            ),
            part(PICKER, _picker(page, context)),
            _panel(
                "Regions", REGIONS, "Regions of the chosen construct and the queries they leave"
            ),
        ],
        className="pw-page",
    )


def register(app: Dash, services: Services) -> None:
    """Redraw a matrix when it changed, not at every batch."""
    filters_matrix.register(app, services)
    follow(app, "matrixKey", NEWS)
    hybrid.register(app, services, NEWS)

    @app.callback(
        part_output(PICKER),
        Output(KEY, "data"),
        Input(NEWS, "data"),
        State(KEY, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(news: Any, last: Any, moment: dict[str, Any] | None) -> tuple[Any, Any]:
        found = contexts.of(services.reader, moment)
        page = build(found, services)
        key = _key(page, found)
        return part_tree(PICKER, _picker(page, found)), no_update if key == last else key

    @app.callback(
        *(Output(name, prop) for name in (SELECTIVITIES, REGIONS) for prop in ("figure", "style")),
        *(part_output(name + side) for name in (SELECTIVITIES, REGIONS) for side in _SIDES),
        Input(KEY, "data"),
        Input(ids.THEME, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _draw(key: Any, theme: str | None, moment: dict[str, Any] | None) -> tuple[Any, ...]:
        found = contexts.of(services.reader, moment)
        page = build(found, services)
        upper, lower = _selectivity(page, theme), _regions(page, theme)
        return (*upper[:2], *lower[:2], *_sides(SELECTIVITIES, upper), *_sides(REGIONS, lower))


PAGE: Final = Page(
    path="/matrix",
    title="Matrix",
    label="Matrix",
    icon="M4 4h16v16H4zM4 10h16M4 15h16M10 4v16M15 4v16",
    key="m",
    layout=layout,
    register=register,
    has_records=has_records,
)

_SIDES: Final = ("-note", "-table")


def _panel(title: str, name: str, label: str) -> Component:
    note, numbers = part(name + "-note", ""), part(name + "-table", "")
    return twinned(title, chart(name, label, height=180), numbers, note=note)


def _sides(name: str, drawn: tuple[Any, Any, Any, Any]) -> list[Any]:
    """The note and the table of a drawn matrix, as trees."""
    return [part_tree(name + side, drawn[2 + i]) for i, side in enumerate(_SIDES)]


def _key(page: MatrixPage, context: Context) -> list[Any]:
    """What the figures depend on beside the theme."""
    return [
        context.run_id,
        page.chosen,
        page.regions_batch,
        page.selectivity_batch,
        [query.name for query in page.selectivity.queries] if page.selectivity else [],
    ]


def _picker(page: MatrixPage, context: Context) -> Component:
    links = [_chip(choice, context, choice.attribute == page.chosen) for choice in page.choices]
    return html.Nav(links, className="pw-chips", **attrs(aria_label="Constructs in plan order"))


def _chip(choice: ConstructChoice, context: Context, here: bool) -> Component:
    place = f"{choice.place}. " if choice.place is not None else ""
    return jump(
        context,
        [place + choice.attribute, html.Span(choice.size, className="pw-chip-size")],
        node=f"asc:{choice.attribute}",
        className="pw-chip-link",
        title=f"{choice.size} (regions × queries)" if choice.size else None,
        **attrs(aria_current="true" if here else None),
    )


def _selectivity(page: MatrixPage, theme: str | None) -> tuple[Any, Any, Any, Any]:
    view = page.selectivity
    if view is None:
        note = "not recorded yet: it comes with the first profile window"
        return _nothing(), _SMALL, note, ""
    note = (
        "P(not refuted here | not refuted before), constructs in plan order; grey = not used"
        f" · n = {show(view.n, 'int')} sampled tuples, as of batch {page.selectivity_batch}"
    )
    style = {"height": f"{selectivity_height(view)}px"}
    return draw_selectivity(view, theme, page.chosen), style, note, _selectivity_table(view)


def _regions(page: MatrixPage, theme: str | None) -> tuple[Any, Any, Any, Any]:
    view = page.regions
    if view is None:
        return _nothing(), _SMALL, "no bitmap of this construct is recorded at this moment", ""
    whole = next((c for c in page.choices if c.attribute == view.attribute), None)
    regions = part_of(len(view.regions), whole.n_regions if whole else None, "regions")
    queries = part_of(len(view.queries), whole.n_queries if whole else None, "queries")
    note = (
        f"of {view.attribute}: filled = the query stays possible · {regions}"
        f" × {queries} · n = {show(view.n, 'int')} sampled tuples,"
        f" as of batch {page.regions_batch}"
    )
    style = {"height": f"{regions_height(view)}px"}
    return draw_regions(view, theme), style, note, _regions_table(view)


def _nothing() -> dict[str, Any]:
    hidden = {"visible": False}
    clear = {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    return {"data": [], "layout": {**clear, "xaxis": hidden, "yaxis": hidden}}


def _regions_table(view: RegionsView) -> Component:
    columns = (
        Column("Region"),
        Column("Hit share", "pct"),
        Column("Possible", "int", "queries", "queries a value of this region does not refute"),
        *(Column(query.name, "int", "", query.text) for query in view.queries),
    )
    rows: list[list[CellData]] = [
        [
            {"text": region, "sort": place},
            view.hit_prob[place],
            sum(bit or 0 for bit in view.bits[place]),
            *view.bits[place],
        ]
        for place, region in enumerate(view.regions)
    ]
    words = f"{view.attribute}: 1 = the region leaves the query possible, 0 = it refutes it"
    return RowTable(words, columns, rows, className="pw-narrow")


def _selectivity_table(view: SelectivityView) -> Component:
    columns = (
        Column("Query"),
        *(Column(f"{place}. {name}", "f3") for place, name in enumerate(view.attributes, start=1)),
        Column("CQL"),
    )
    rows: list[list[CellData]] = [
        [query.name, *(row[place] for row in view.values), query.text]
        for place, query in enumerate(view.queries)
    ]
    words = f"Conditional selectivity, n = {show(view.n, 'int')} sampled tuples; — = not used"
    return RowTable(words, columns, rows, className="pw-narrow")
