"""Tuples that were shed, each with its receipt, on the Shedding page."""

from __future__ import annotations

from typing import Final

from dash import Input, dcc, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.drawn import Segments
from dashboard.components.formats import UNKNOWN, show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.serving.services import Services
from dashboard.systems.cals.history import PAGE, RECEIPTS, matrices_of
from dashboard.systems.cals.receipts_view import (
    ReceiptLine,
    ReceiptsView,
    build_receipts,
    receipts_of,
)
from dashboard.systems.cals.shed_view import REASONS
from dashboard.systems.cals.times import length_text, span_text
from dashboard.views.book import Book
from storage.reader import Reader

FILTER: Final = "pw-shed-filter"
REASON: Final = "pw-shed-reason"
_REASONS: Final = {"": "All", "limit": "Limit", "turned": "Limit lowered"}


def lines_of(reader: Reader, context: Context, scope: PanelScope) -> list[ReceiptLine]:
    """The newest receipts of each window up to the moment."""
    book = Book(reader.entities(context.run_id, context.batch), scope.unit)
    return receipts_of(book, matrices_of(reader, context, scope, book, RECEIPTS))


def build(reader: Reader, context: Context, scope: PanelScope) -> ReceiptsView | None:
    """None before anything was shed."""
    lines = lines_of(reader, context, scope)
    if not lines:
        return None
    text, reason = scope.values or ("", "")
    batches = {line.window: line.batch for line in lines}
    shed = reader.many_series(
        context.run_id,
        [(window, "shed_tuples") for window in batches],
        since_batch=min(batches.values()),
        until_batch=max(batches.values()),
    )
    n_shed = sum(
        value
        for (window, _), data in shed.items()
        for batch, value in zip(data.batch.tolist(), data.value.tolist(), strict=True)
        if batch == batches[window]
    )
    return build_receipts(lines, n_shed, text or "", reason or "", context.moment.show or "")


def draw(view: ReceiptsView, sheet: Sheet) -> Drawing:
    """A table that is scrolled; a click on a tuple shows its run."""
    rows = [_row(line, sheet.context) for line in view.lines]
    marked = [
        attrs(data_chosen="true" if line.address == view.chosen else None) for line in view.lines
    ]
    table = RowTable(_caption(view, sheet.context), _COLUMNS, rows, attributes=marked)
    label = "Receipts of shed tuples"
    box = html.Div(
        table, className="pw-shed-receipts", tabIndex=0, role="region", **attrs(aria_label=label)
    )
    return Drawing(static(box), note="a tuple's number shows what became of its run, below")


def _caption(view: ReceiptsView, context: Context) -> str:
    batches = {line.batch for line in view.lines} - {context.batch}
    older = f", as of batch {', '.join(map(str, sorted(batches)))}" if batches else ""
    n = "1 receipt" if view.n == 1 else f"{show(view.n, 'int')} receipts"
    of = f" of {show(view.n_shed, 'int')} tuples shed" if view.n_shed > view.n else ""
    passing = (
        f"; {show(len(view.lines), 'int')} pass the filter" if len(view.lines) < view.n else ""
    )
    return f"{n}{of}{older}, those that cost most first{passing}"


_COLUMNS: Final = (
    TableColumn("Tuple", "int", "", "number of its arrival"),
    TableColumn("Value", None, "", "what it was coalesced on"),
    TableColumn("Query"),
    TableColumn("Valid"),
    TableColumn("Its run before"),
    TableColumn("Left of it"),
    TableColumn("δ⁺", "int", "", "pieces that its loss makes beyond one"),
    TableColumn("ρ⁻", "f3", "", "share of the run's length that its loss takes"),
    TableColumn("Predicted loss", "f3", "", "of accuracy"),
    TableColumn("Why"),
)


def _row(line: ReceiptLine, context: Context) -> list[CellData]:
    chosen = jump_to(context, at=line.batch, show=line.address)
    before = span_text(line.run_start, line.run_end, line.unit)
    left: CellData = length_text(line.left, line.unit)
    if line.pieces == 0:
        left = {"text": "nothing", "sort": 0}
    elif (line.pieces or 0) > 1:
        left = {"text": f"{left} in {show(line.pieces, 'int')} pieces", "sort": line.left}
    else:
        left = {"text": left, "sort": line.left}
    return [
        {"text": int(line.number), "sort": int(line.number), "jump": chosen},
        line.value,
        line.title,
        {"text": span_text(line.start, line.end, line.unit), "sort": line.start},
        {"text": before, "sort": line.run_start},
        left,
        line.delta,
        line.rho,
        {"text": loss_text(line.loss), "sort": line.loss},
        {"text": _REASONS.get(line.reason, line.reason), "title": REASONS.get(line.reason, "")},
    ]


def loss_text(loss: float | None) -> str:
    """A small loss of accuracy."""
    return UNKNOWN if loss is None else f"{loss:.4f}"


def _controls(context: Context, services: Services) -> list[Component]:
    box = dcc.Input(
        id=FILTER,
        className="pw-input",
        type="search",
        placeholder="of a value or a query",
        autoComplete="off",
        debounce=0.3,
    )
    label = html.Label("Find receipts", htmlFor=FILTER)
    reasons = Segments(REASON, "Why tuples were shed", "", _REASONS.items())
    return [html.Div([label, box, reasons], className="pw-shed-filter")]


PANEL: Final = Panel(
    name="shed-receipts",
    page=PAGE,
    title="Shed tuples",
    twin=False,
    sql=records.matrices(RECEIPTS),
    build=build,
    draw=draw,
    applies=has_matrix(RECEIPTS),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
    show=True,
    controls=_controls,
    inputs=(Input(FILTER, "value"), Input(REASON, "value")),
)
