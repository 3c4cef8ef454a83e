"""What joins under k-constraints want of memory, and what their constraints bid against it."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.kmon.bids_view import ConstraintBid, JoinBids, build_bids
from dashboard.systems.kmon.history import CONSTRAINT
from dashboard.systems.kmon.ledger import PAGE
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "bars: bytes it saves beside the others; line: what its use costs, time included"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[JoinBids] | None:
    """As of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    return build_bids(book, reader.values(run, at)) or None


def draw(joins: list[JoinBids], sheet: Sheet) -> Drawing:
    """Bids against what they cost, by join; the table twin: their numbers."""
    body = html.Div([part for join in joins for part in _join(join, sheet.context)])
    return Drawing(static(body), table=_table(joins, sheet.context), note=NOTE)


def _join(join: JoinBids, context: Context) -> list[Component]:
    most = max((max(bid.worth, bid.cost) for bid in join.bids), default=0.0) or 1.0
    rows = [part for bid in join.bids for part in _bid(bid, most, context)]
    head = html.H3(
        [join.title, html.Span(_words(join), className="pw-dim")], className="pw-load-head"
    )
    nothing = html.P("No k is known yet, so no constraint bids.", className="pw-dim")
    label = attrs(aria_label=f"What constraints of {join.title} bid")
    return [head, html.Dl(rows, className="pw-takes", **label) if rows else nothing]


def _words(join: JoinBids) -> str:
    """What the join holds is needed: it is served before all bids."""
    parts = [f"holds {show(join.held, 'bytes')} of the {show(join.plain, 'bytes')} without them"]
    if join.time is not None and join.time < 1:
        parts.append(f"memory is short, so time counts {show(join.time, 'pct')}")
    return "; ".join(parts) if join.held is not None else "nothing measured yet"


def _bid(bid: ConstraintBid, most: float, context: Context) -> list[Component]:
    fill = html.I(style={"width": f"{100 * bid.worth / most:.1f}%"})
    mark = html.B(style={"left": f"{100 * bid.cost / most:.1f}%"})
    tone = "" if bid.state == "used" else " pw-takes-free"
    bar = html.Div([fill, mark], className=f"pw-takes-bar pw-load-bar{tone}")
    words = f"saves {show(bid.worth, 'bytes')}, costs {show(bid.cost, 'bytes')} · {bid.state}"
    link = jump(context, bid.short, path=PAGE, show=bid.name, className="pw-link")
    return [html.Dt(link), html.Dd(bar, **attrs(aria_hidden=True)), html.Dd(words)]


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Constraint"),
    TableColumn("State"),
    TableColumn("Saves", "bytes", "", "beside the others in use"),
    TableColumn("Costs", "bytes", "", "bytes that its use takes, and what its time is worth"),
    TableColumn("Times", "f2", "×", "what it saves, in times of what it costs"),
)


def _table(joins: list[JoinBids], context: Context) -> Component:
    rows: list[list[CellData]] = [
        [
            {"text": join.title, "jump": jump_to(context, "/plan", node=join.id)},
            bid.short,
            bid.state,
            bid.worth,
            bid.cost,
            bid.ratio,
        ]
        for join in joins
        for bid in join.bids
    ]
    return RowTable("Constraints, those that save most beyond their cost first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="k-bids",
    page="/memory",
    title="Constraints bid for memory",
    sql=records.samples(CONSTRAINT),
    build=build,
    draw=draw,
    applies=has_role(CONSTRAINT),
    values=True,
    news=("run", "plans"),
    beats=True,
    unit=True,
)
