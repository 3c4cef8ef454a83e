"""What caching saved against no caches, and lost against the best caches in hindsight."""

from __future__ import annotations

from typing import Any, Final

from dashboard.base.context import Context
from dashboard.components.badges import badge
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.components.states import empty
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.joins.caches_view import POOL, cost_unit
from dashboard.systems.joins.ledger_figure import HEIGHT, draw_caching
from dashboard.systems.joins.ledger_view import PROPERTIES, CachingView, build_caching
from dashboard.views.book import Book
from storage.reader import Reader

MAX_POINTS: Final = 1000
MAX_ROWS: Final = 200


def build(reader: Reader, context: Context, scope: PanelScope) -> list[CachingView] | None:
    """All joins; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    book = Book(reader.entities(run, until), scope.unit)
    pools, knobs = book.of(POOL), reader.knobs(run, until)
    keys = book.keys_of(POOL, PROPERTIES)
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS, sampled=True)
    titles = {
        pool.id: (
            book.title(str(pool.properties["join"])),
            cost_unit({knob.name: knob for knob in knobs if knob.scope == pool.unit_id}),
        )
        for pool in pools
    }
    return build_caching(book, titles, series) or None


def draw(joins: list[CachingView], sheet: Sheet) -> Drawing:
    """Two lines for each join; the table twin: one row a batch, newest first."""
    table = _table(joins, sheet.context)
    if all(join.is_blank for join in joins):
        words = "The joins cost what they would without caches."
        return Drawing(empty("Caching neither saved nor lost anything so far", words), table=table)
    figure = draw_caching(joins, sheet.theme)
    return Drawing(figure=figure, height=HEIGHT, table=table, note=_note(joins))


def _note(joins: list[CachingView]) -> list[Any]:
    words: list[Any] = []
    for join in joins:
        verdict, tone = join.verdict
        words += [badge(f"{join.name}: {verdict}" if len(joins) > 1 else verdict, tone), " "]
    return [*words, "by the estimates of each batch"]


_COLUMNS: Final = (
    *WHEN,
    TableColumn("Join"),
    TableColumn("Elements", "int", "", "of the join since the run began"),
    TableColumn("Spent", "si", "", "with the caches in force at the time"),
    TableColumn("Saved", "si", "", "against no caches"),
    TableColumn("Regret", "si", "", "against the best caches in hindsight"),
    TableColumn("Unit"),
)


def _table(joins: list[CachingView], context: Context) -> RowTable:
    pairs = [(row, join) for join in joins for row in join.rows]
    pairs.sort(key=lambda pair: -pair[0].batch)
    rows: list[list[CellData]] = [
        [
            *when(context, row.batch, row.time),
            join.name,
            row.elements,
            row.spent,
            row.saved,
            row.regret,
            join.cost,
        ]
        for row, join in pairs[:MAX_ROWS]
    ]
    return RowTable("What caching came to, newest first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="caching",
    page="/memory",
    title="What caching saved",
    sql=records.samples(like="caching%"),
    build=build,
    draw=draw,
    applies=has_role(POOL),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="What caching saved and lost since the run began",
)
