"""What all parts of a run take of memory, against their limits."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import Book
from dashboard.views.takes import LIMITS, TakenLine, TakesView, bar_shares, build_takes
from storage.reader import Reader

NOTE: Final = "bars show use of the limit; pale bars have no limit and compare with the largest"


def build(reader: Reader, context: Context, scope: PanelScope) -> TakesView:
    """Of all units, as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at))
    titles = {unit.id: unit.title for unit in scope.units}
    return build_takes(book, reader.values(run, at), reader.knobs(run, at), titles)


def draw(view: TakesView, sheet: Sheet) -> Drawing:
    """Bars against limits; without a limit against the largest of their unit, if any other is."""
    if not view.kinds:
        return Drawing(empty("Nothing that is measured takes memory yet", _LATER), note=NOTE)
    body: list[Component] = [_bars(view.kinds, "By kind", sheet.context)]
    if view.holders:
        body += [html.H3("Largest by themselves"), _bars(view.holders, "Largest", sheet.context)]
    return Drawing(static(html.Div(body)), table=_table(view, sheet.context), note=NOTE)


_LATER: Final = "Numbers come with the first batch."


def _bars(rows: tuple[TakenLine, ...], label: str, context: Context) -> Component:
    parts: list[Component] = []
    for row, share in zip(rows, bar_shares(rows), strict=True):
        name = jump(context, row.name, "/plan", node=row.entity) if row.entity else row.name
        parts += [
            html.Dt([name, html.Span(f" {_about(row)}", className="pw-dim")]),
            html.Dd(_bar(row, share), **attrs(aria_hidden=True)),
            html.Dd(_size(row)),
        ]
    return html.Dl(parts, className="pw-takes", **attrs(aria_label=label))


def _bar(line: TakenLine, share: float | None) -> Component | None:
    if share is None:
        return None
    filled = " pw-takes-full" if line.full else "" if line.limit else " pw-takes-free"
    return html.Div(
        html.I(style={"width": f"{100 * share:.1f}%"}), className=f"pw-takes-bar{filled}"
    )


def _about(line: TakenLine) -> str:
    """Its note, and what happens at its limit."""
    where = "▲ it is at its limit" if line.full else "at its limit"
    return "; ".join(filter(None, (line.note, line.at_limit and f"{where}: {line.at_limit}")))


def _size(line: TakenLine) -> str:
    taken = quantity(line.value, line.unit)
    if line.limit is None:
        return f"{taken}, no limit" if line.knob else taken
    share = f" ({show(line.value / line.limit, 'pct')})" if line.limit else ""
    if line.unit == "bytes":
        return f"{taken} of {quantity(line.limit, line.unit)}{share}"
    return f"{show(line.value, 'int')} of {quantity(line.limit, line.unit)}{share}"


def quantity(value: float, unit: str) -> str:
    """Bytes as they are written everywhere; others with their unit."""
    return show(value, "bytes") if unit == "bytes" else f"{show(value, 'int')} {unit}"


_COLUMNS: Final = (
    TableColumn("Part"),
    TableColumn("What"),
    TableColumn("Takes", "int"),
    TableColumn("Limit", "int"),
    TableColumn("Unit"),
    TableColumn("Knob"),
    TableColumn("At its limit"),
)


def _table(view: TakesView, context: Context) -> Component:
    rows: list[list[CellData]] = []
    for part in (*view.kinds, *view.holders):
        jump_there = jump_to(context, "/plan", node=part.entity) if part.entity else None
        name: CellData = {"text": part.name, "jump": jump_there} if jump_there else part.name
        rows.append([name, part.note, part.value, part.limit, part.unit, part.knob, part.at_limit])
    return RowTable("Memory by part", _COLUMNS, rows)


PANEL: Final = Panel(
    name="takes",
    page="/memory",
    title="Memory use",
    sql=records.samples(),
    build=build,
    draw=draw,
    values=True,
    news=("run", "plans", "knobs"),
    beats=True,
    knobs=LIMITS,
    knobs_title="Limits",
)
