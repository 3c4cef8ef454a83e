"""Why is it still kept? Tuples that joins hold, each with what it waits for."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import newest_matrices
from dashboard.systems.kmon.history import KEPT
from dashboard.systems.kmon.kept_view import KeptLine, build_kept
from dashboard.systems.kmon.ledger import PAGE
from dashboard.systems.kmon.synopses import PARTS
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "of each input and component the oldest, the newest and one between, if they differ"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[KeptLine] | None:
    """As of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    return build_kept(book, newest_matrices(reader, run, KEPT, at, scope)) or None


def draw(lines: list[KeptLine], sheet: Sheet) -> Drawing:
    """A line for each tuple, by join; the table twin: what is known of it."""
    parts = list[Component]()
    for join, own in groupby(lines, key=lambda line: line.join):
        items = [_line(line, sheet.context) for line in own]
        parts += [html.H3(join), html.Ul(items, **attrs(aria_label=f"Tuples that {join} holds"))]
    return Drawing(
        static(html.Div(parts, className="pw-ks pw-kept")),
        table=_table(lines, sheet.context),
        note=NOTE,
    )


def _line(line: KeptLine, context: Context) -> Component:
    sign = html.I(className=f"pw-ks-part pw-ks-{line.state}")
    name = html.B([line.name, html.Span(PARTS.get(line.state, line.state), className="pw-dim")])
    words = html.Span([f"{line.why}. ", *_link(line, context)])
    return html.Li([sign, name, _passed(line), words], **attrs(data_kept=line.name))


def _link(line: KeptLine, context: Context) -> list[Component]:
    if not line.called:
        return []
    label = f"What if {line.called} had another k"
    return [
        jump(context, "What if k", path=PAGE, show=line.called, className="pw-link", title=label)
    ]


def _passed(line: KeptLine) -> Component:
    """How much of what it waits for has passed."""
    style = {"width": f"{100 * line.share:.1f}%"} if line.share is not None else {}
    fill = html.I(style=style, hidden=line.share is None)
    return html.Div(fill, className="pw-takes-bar", **attrs(aria_hidden=True))


_COLUMNS: Final = (
    TableColumn("Tuple"),
    TableColumn("Join"),
    TableColumn("Component"),
    TableColumn("Since", "int", "ticks"),
    TableColumn("Constraint"),
    TableColumn("Passed", "int", "", "arrivals on the other side since then"),
    TableColumn("Goes at", "int", "", "arrivals after which it goes"),
    TableColumn("Why"),
)


def _table(lines: list[KeptLine], context: Context) -> Component:
    rows: list[list[CellData]] = [
        [
            line.name,
            line.join,
            PARTS.get(line.state, line.state),
            line.since,
            {"text": line.called, "jump": jump_to(context, "/plan", node=line.constraint)}
            if line.called
            else "",
            line.waited,
            line.goes_at,
            line.why,
        ]
        for line in lines
    ]
    return RowTable("Some of the tuples that are held, and why", _COLUMNS, rows)


PANEL: Final = Panel(
    name="k-kept",
    page=PAGE,
    title="Why is it still kept?",
    sql=records.matrices(KEPT),
    build=build,
    draw=draw,
    applies=has_matrix(KEPT),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
)
