"""The regret ledger: what adapting saved or lost."""

from __future__ import annotations

from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import VerdictSource
from dashboard.components.badges import badge
from dashboard.components.formats import show
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.asc.regret_figure import HEIGHT, draw_regret
from dashboard.systems.asc.regret_view import LINES, PROPERTIES, RegretView, build_regret
from dashboard.views.book import Book, by_property
from dashboard.views.saved import NOISE
from storage.reader import Reader

MAX_POINTS: Final = 1000
MAX_ROWS: Final = 200


def build(reader: Reader, context: Context, scope: PanelScope) -> RegretView | None:
    """The ledger; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    keys = Book(reader.entities(run, until), scope.unit).owners(PROPERTIES)
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS)
    view = build_regret(by_property(series))
    return view if view.rows else None


def draw(view: RegretView, sheet: Sheet) -> Drawing:
    """Lines of the four orders, and what was saved."""
    figure, table = draw_regret(view, sheet.theme), _table(view, sheet.context)
    return Drawing(figure=figure, height=HEIGHT, table=table, note=_note(view))


def _note(view: RegretView) -> list[Any]:
    words: list[Any] = [badge(view.verdict, view.tone)]
    if view.gap is not None:
        words.append(f" running order {_apart(view.gap)} the best fixed order in hindsight")
    return [*words, " · estimated on the sampled tuples"]


def _apart(gap: float) -> str:
    """'2.0 % above': what never changes may well be dearer than what does."""
    if abs(gap) < NOISE:
        return "as dear as"
    return f"{show(abs(gap), 'pct')} {'above' if gap > 0 else 'below'}"


def _table(view: RegretView, context: Context) -> Component:
    columns = (
        *WHEN,
        *(TableColumn(words.capitalize(), "f3", "visits/tuple") for words in LINES.values()),
        TableColumn("Saved", "si", "visits", "against the first order, since the run began"),
        TableColumn("95 % from", "si", "visits"),
        TableColumn("95 % to", "si", "visits"),
    )
    entries = view.entries
    rows: list[list[CellData]] = [
        [
            *when(context, row.batch, row.time),
            *(row.costs[name] for name in LINES),
            row.saved,
            row.low,
            row.high,
        ]
        for row in reversed(entries[-MAX_ROWS:])
    ]
    words = "Entries of the ledger, newest first; costs are estimates on the sampled tuples"
    return RowTable(words, columns, rows, total=len(entries))


PANEL: Final = Panel(
    name="ledger",
    page="/timeline",
    title="Regret ledger",
    sql=records.samples(like="regret%"),
    build=build,
    draw=draw,
    applies=has_role("selection"),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="Visits per tuple of four orders over time, and the visits saved since the run began",
)
#: In the headline of a post-mortem.
VERDICT: Final = VerdictSource(PROPERTIES, lambda series: build_regret(series).verdict)
