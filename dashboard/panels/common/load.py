"""Skew: how even the work of a batch was spread over tasks and shards."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.views.load import LoadView, build_load, words_of
from storage.reader import Reader
from storage.vocabulary.load import LOAD


class LoadShown(NamedTuple):
    """Of units and of the batch: (title, parts). alone: titles of what one part did in the batch
    shown."""

    loads: list[tuple[str, LoadView]]
    alone: list[str]


def build(reader: Reader, context: Context, scope: PanelScope) -> LoadShown | None:
    """Of the batch shown; a batch that one part did has no matrix."""
    titles = {unit.id: unit.title for unit in scope.units}
    views, alone = [], []
    shown = reader.batch(context.run_id, context.batch) if context.batch is not None else None
    took = shown.duration_ms if shown is not None else 0.0
    for key in reader.matrix_keys(context.run_id):
        wanted = context.moment.unit in ("", key.unit_id) or not key.unit_id
        if key.kind != LOAD or not wanted:
            continue
        stored = reader.matrix(context.run_id, key.name, context.batch, key.unit_id)
        if stored is not None:
            title = f"Shards of {titles.get(key.unit_id, key.unit_id)}" if key.unit_id else _TASKS
            if stored.batch == context.batch:
                views.append((title, build_load(stored, key.unit_id, took)))
            else:
                alone.append(title)
    return LoadShown(views, alone) if views or alone else None


_TASKS: Final = "Tasks of the batch"


def draw(shown: LoadShown, sheet: Sheet) -> Drawing:
    """A bar for each part, against the largest; the mean is marked."""
    parts = [part for title, view in shown.loads for part in _bars(title, view)]
    for title in shown.alone:
        head: list[str | Component] = [title, html.Span("one did all of it", className="pw-dim")]
        parts.append(html.H3(head, className="pw-load-head"))
    note = "the line is the mean" if shown.loads else ""
    return Drawing(static(html.Div(parts)), table=_table(shown), note=note)


def _bars(title: str, view: LoadView) -> list[Component]:
    most = max(part.share for part in view.parts) or 1.0
    mean = {"left": f"{100 / len(view.parts) / most:.1f}%"}
    rows: list[Component] = []
    for part in view.parts:
        fill = html.I(style={"width": f"{100 * part.share / most:.1f}%"})
        bar = html.Div([fill, html.B(style=mean)], className="pw-takes-bar pw-load-bar")
        busy = "" if part.busy is None else f", busy {show(part.busy, 'pct')} of the batch"
        rows += [
            html.Dt(f"{view.what} {part.number}"),
            html.Dd(bar, **attrs(aria_hidden=True)),
            html.Dd(f"{show(part.share, 'pct')} of the {view.by}{busy}"),
        ]
    label = attrs(aria_label=title)
    head: list[str | Component] = [title, html.Span(words_of(view), className="pw-dim")]
    return [html.H3(head, className="pw-load-head"), html.Dl(rows, className="pw-takes", **label)]


_COLUMNS: Final = {
    "tuples": TableColumn("Tuples", "int"),
    "busy_us": TableColumn("Processing time", "int", "µs"),
    "state_bytes": TableColumn("State", "int", "bytes"),
}


_BUSY: Final = TableColumn("Busy", "pct", "", "of the time of the batch; the rest it was idle")


def _table(shown: LoadShown) -> Component:
    rows: list[list[CellData]] = [
        [title, part.number, part.share, part.busy, *(part.values.get(name) for name in _COLUMNS)]
        for title, view in shown.loads
        for part in view.parts
    ]
    first = (TableColumn("Of"), TableColumn("Part", "int"), TableColumn("Share", "pct"), _BUSY)
    return RowTable("How the work was spread", (*first, *_COLUMNS.values()), rows)


PANEL: Final = Panel(
    name="load",
    page="/plan",
    title="Load balance",
    sql=records.matrices(LOAD),
    build=build,
    draw=draw,
    applies=has_matrix(LOAD),
    news=("run", "plans", "matrices"),
    beats=True,
)
