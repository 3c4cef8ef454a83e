"""The region bitmaps of each construct, and what each construct does to each query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.asc.matrix_figure import (
    draw_regions,
    draw_selectivity,
    regions_height,
    selectivity_height,
)
from dashboard.systems.asc.matrix_view import (
    REGIONS,
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
    refuted,
    regions_name,
)
from dashboard.views.book import Book
from dashboard.views.numbers import rounded
from dashboard.views.plan import plan_nodes
from storage.reader import Reader
from storage.vocabulary.records import PlanVersion


class Selectivities(NamedTuple):
    """The selectivities as of a batch. chosen: the construct whose regions are shown."""

    matrix: SelectivityView | None
    batch: int | None
    chosen: str | None


class RegionsShown(NamedTuple):
    """The constructs one can pick, and the regions of the chosen one as of a batch."""

    choices: list[ConstructChoice]
    chosen: str | None
    matrix: RegionsView | None
    batch: int | None


def _choose(
    reader: Reader, context: Context, scope: PanelScope
) -> tuple[Book, list[ConstructChoice], str | None]:
    """The construct to show is the pinned one, else the plan's first."""
    book = Book(reader.entities(context.run_id, context.batch), scope.unit)
    plan = reader.plan_at(context.run_id, context.batch, scope.only)
    choices = build_choices(book, plan.order if plan else ())
    return book, choices, pick(choices, context.moment.node)


def build_selectivities(reader: Reader, context: Context, scope: PanelScope) -> Selectivities:
    """The selectivities as of the moment."""
    book, _, chosen = _choose(reader, context, scope)
    stored = reader.matrix(context.run_id, SELECTIVITY, context.batch, scope.only)
    if stored is None:
        return Selectivities(None, None, chosen)
    view = build_selectivity(stored.matrix, query_columns(book.values()))
    return Selectivities(view, stored.batch, chosen)


def build_chosen_regions(reader: Reader, context: Context, scope: PanelScope) -> RegionsShown:
    """The regions as of the moment."""
    book, choices, chosen = _choose(reader, context, scope)
    name = regions_name(chosen) if chosen else None
    run, at = context.run_id, context.batch
    stored = reader.matrix(run, name, at, scope.only) if name else None
    if stored is None:
        return RegionsShown(choices, chosen, None, None)
    view = build_regions(stored.matrix, chosen or "", query_columns(book.values()))
    return RegionsShown(choices, chosen, view, stored.batch)


def draw_selectivities(shown: Selectivities, sheet: Sheet) -> Drawing:
    """The selectivities as a heat map."""
    view = shown.matrix
    if view is None:
        return Drawing(note="not recorded yet: it comes with the first profile window")
    note = (
        "P(not refuted here | not refuted before), constructs in plan order; grey = not used"
        f" · n = {show(view.n, 'int')} sampled tuples, as of batch {shown.batch}"
    )
    figure = draw_selectivity(view, sheet.theme, shown.chosen)
    table = _selectivity_table(view)
    return Drawing(figure=figure, height=selectivity_height(view), table=table, note=note)


def draw_chosen_regions(shown: RegionsShown, sheet: Sheet) -> Drawing:
    """The bitmap of the chosen construct under the constructs to pick from."""
    links = [
        _chip(choice, sheet.context, choice.attribute == shown.chosen) for choice in shown.choices
    ]
    label = attrs(aria_label="Constructs in plan order")
    picker = html.Nav(links, className="pw-chips", **label)
    view = shown.matrix
    if view is None:
        return Drawing(picker, note="no bitmap of this construct is recorded at this moment")
    whole = next((c for c in shown.choices if c.attribute == view.attribute), None)
    regions = part_of(len(view.regions), whole.n_regions if whole else None, "regions")
    queries = part_of(len(view.queries), whole.n_queries if whole else None, "queries")
    note = (
        f"of {view.attribute}: filled = the query stays possible · {regions}"
        f" × {queries} · n = {show(view.n, 'int')} sampled tuples,"
        f" as of batch {shown.batch}"
    )
    figure, table = draw_regions(view, sheet.theme), _regions_table(view)
    return Drawing(picker, figure, regions_height(view), table=table, note=note)


def _chip(choice: ConstructChoice, context: Context, here: bool) -> Component:
    place = f"{choice.place}. " if choice.place is not None else ""
    return jump(
        context,
        [place + choice.attribute, html.Span(choice.size, className="pw-chip-size")],
        node=choice.entity,
        className="pw-chip-link",
        title=f"{choice.size} (regions × queries)" if choice.size else None,
        **attrs(aria_current="true" if here else None),
    )


def _regions_table(view: RegionsView) -> Component:
    columns = (
        TableColumn("Region"),
        TableColumn("Hit share", "pct"),
        TableColumn("Possible", "int", "queries", "queries a value of this region does not refute"),
        *(TableColumn(query.name, "int", "", query.text) for query in view.queries),
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
        TableColumn("Query"),
        *(
            TableColumn(f"{place}. {name}", "f3")
            for place, name in enumerate(view.attributes, start=1)
        ),
        TableColumn("CQL"),
    )
    rows: list[list[CellData]] = [
        [query.name, *(row[place] for row in view.values), query.text]
        for place, query in enumerate(view.queries)
    ]
    words = f"Conditional selectivity, n = {show(view.n, 'int')} sampled tuples; — = not used"
    return RowTable(words, columns, rows, className="pw-narrow")


_NEWS: Final = ("run", "plans", "queries", "matrices")
SELECTIVITY_PANEL: Final = Panel(
    name="selectivity",
    page="/matrix",
    title="Conditional selectivity",
    sql=records.matrices(SELECTIVITY),
    build=build_selectivities,
    draw=draw_selectivities,
    applies=has_matrix(SELECTIVITY),
    news=_NEWS,
    beats=True,
    unit=True,
    chart="Conditional selectivity of every construct for every query, in plan order",
)
REGIONS_PANEL: Final = Panel(
    name="regions",
    page="/matrix",
    title="Regions",
    sql=records.matrices(REGIONS),
    build=build_chosen_regions,
    draw=draw_chosen_regions,
    applies=has_matrix(REGIONS),
    news=_NEWS,
    beats=True,
    unit=True,
    chart="Regions of the chosen construct and the queries they leave",
)


def refuted_in(reader: Reader, run: str, at: int, plan: PlanVersion) -> Mapping[str, float | None]:
    """By construct of a plan, of the queries still open there, where the newest sample until the
    batch is told in its order."""
    steps = {node.name: node.id for node in plan_nodes(plan) if node.position}
    stored = reader.matrix(run, SELECTIVITY, at, plan.unit_id)
    if stored is None or list(stored.matrix.rows) != list(steps):
        return {}
    return dict(zip(steps.values(), map(rounded, refuted(stored.matrix)), strict=True))
