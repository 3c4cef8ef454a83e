"""Lost results on the Shedding page: of each input of a join that keeps less, by its rule."""

from __future__ import annotations

from typing import Final

from dash import html

from dashboard.base.context import Context
from dashboard.components.formats import UNKNOWN, show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of
from dashboard.systems.retention.losses_view import RULES, WINDOW, InputLoss, build_losses
from dashboard.views.book import Book
from storage.reader import Reader

PAGE: Final = "/shed"
NOTE: Final = "share lost by an input: as if all others kept everything"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[InputLoss] | None:
    """None before an input has numbers."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    return build_losses(book, reader.values(run, at), knobs_of(reader, run, at, scope)) or None


def draw(losses: list[InputLoss], sheet: Sheet) -> Drawing:
    """A sentence for each join; the table: its inputs."""
    joins = dict.fromkeys((loss.title, loss.join) for loss in losses)
    parts = [html.P(join_words([own for own in losses if own[2:4] == join])) for join in joins]
    return Drawing(static(html.Div(parts)), foot=_table(losses, sheet.context), note=NOTE)


def join_words(inputs: list[InputLoss]) -> str:
    """What the answer of a join has by all inputs together, in a sentence."""
    join = inputs[0]
    there = "nobody knows how many" if join.there is None else show(join.there, "pct")
    words = f"{join.title}: {there} of the results are expected to be there."
    if join.results is None:
        return words
    interval = ""
    if join.low is not None and join.high is not None:
        interval = f" (95 % interval {show(join.low, 'int')} to {show(join.high, 'int')})"
    return f"{words} The batch lost about {show(join.results, 'int')} results{interval}."


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Join"),
    TableColumn("Input"),
    TableColumn("Reason"),
    TableColumn("Results lost", "pct", "", "expected, if this input alone kept less"),
    TableColumn("Not kept", "int", "tuples", "in the batch"),
    TableColumn("Not kept so far", "int", "tuples"),
    TableColumn("Results there", "pct", "", "expected, by all inputs"),
    TableColumn("Lost in the batch", "int", "results", "estimated, by all inputs"),
)


def _table(losses: list[InputLoss], context: Context) -> RowTable:
    return RowTable("Inputs that keep less", _COLUMNS, [_row(loss, context) for loss in losses])


def _row(loss: InputLoss, context: Context) -> list[CellData]:
    return [
        loss.title,
        loss.join,
        {"text": loss.name, "jump": jump_to(context, "/plan", node=loss.node)},
        RULES.get(loss.rule, loss.rule or UNKNOWN),
        loss.lost,
        loss.missed,
        loss.total,
        loss.there,
        loss.results,
    ]


PANEL: Final = Panel(
    name="shed-joins",
    page=PAGE,
    title="Joins that keep less",
    sql=records.samples(WINDOW),
    build=build,
    draw=draw,
    applies=has_role(WINDOW),
    values=True,
    twin=False,
    news=("run", "plans", "decisions", "knobs"),
    beats=True,
    unit=True,
)
