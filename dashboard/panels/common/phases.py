"""Where batches take their time, batch by batch: plan, run, publish, decide, record."""

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
from dashboard.figures.phases import HEIGHT, draw_phases
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import SYSTEM, Book
from dashboard.views.phases import WORDS, PhasesView, build_phases, operator_work
from storage.reader import Reader

#: Bars.
N_BATCHES: Final = 120
#: Operators listed.
MOST_OPERATORS: Final = 12


def build(reader: Reader, context: Context, scope: PanelScope) -> PhasesView | None:
    """The last batches up to the moment."""
    run, at = context.run_id, context.batch
    batches = reader.batches(run, until=at, limit=N_BATCHES)
    numbers = [batch.id for batch in batches if batch.id is not None]
    if not numbers:
        return None
    first, last = numbers[0], numbers[-1]
    keys = [(SYSTEM, "commit_ms")]
    commits = reader.many_series(run, keys, since_batch=first, until_batch=last + 1)
    work = operator_work(Book(reader.entities(run, last)), reader.values(run, last))
    return build_phases(batches, commits.get(keys[0]), work)


def draw(view: PhasesView, sheet: Sheet) -> Drawing:
    """The bars, below them the operators of the last batch; the table: the slowest batches."""
    last, slow = view.batches[-1], view.slowest[0]
    words = [last.words]
    if slow.batch != last.batch:
        words.append(f"the slowest of the last {len(view.batches)}: {slow.words}")
    figure = draw_phases(view, sheet.theme)
    table = _table(view, sheet.context)
    foot = _work(view, sheet.context) if view.operators else ""
    return Drawing(figure=figure, height=HEIGHT, foot=foot, table=table, note=" · ".join(words))


def _work(view: PhasesView, context: Context) -> Component:
    """A bar an operator, the widest first, against it."""
    most = view.operators[0].ms
    rows: list[Component] = []
    for operator in view.operators[:MOST_OPERATORS]:
        fill = html.I(style={"width": f"{100 * operator.ms / most:.1f}%"})
        rows += [
            html.Dt(jump(context, operator.name, "/plan", node=operator.entity)),
            html.Dd(html.Div(fill, className="pw-takes-bar"), **attrs(aria_hidden=True)),
            html.Dd(f"{show(operator.ms, 'f2')} ms, {show(operator.share, 'pct')} of the work"),
        ]
    words = view.work_words
    left = len(view.operators) - MOST_OPERATORS
    if left > 0:
        words += f"; {show(left, 'int')} more did less"
    bars = html.Dl(rows, className="pw-takes", **attrs(aria_label="Operators by time"))
    return static(html.Div([html.H3(words), bars]))


_COLUMNS: Final = (
    TableColumn("Batch", "int"),
    TableColumn("took", "f2", "ms"),
    *(TableColumn(word, "f2", "ms") for word in WORDS),
    TableColumn("tuples", "int"),
)


def _table(view: PhasesView, context: Context) -> Component:
    rows: list[list[CellData]] = [
        [
            {
                "text": show(batch.batch, "int"),
                "sort": batch.batch,
                "jump": jump_to(context, "/monitor", at=batch.batch),
            },
            batch.total,
            *batch.ms,
            batch.tuples,
        ]
        for batch in view.slowest
    ]
    return RowTable("The slowest batches", _COLUMNS, rows)


PANEL: Final = Panel(
    name="phases",
    page="/monitor",
    title="Where batches take their time",
    sql=records.BATCHES,
    build=build,
    draw=draw,
    news=("run",),
    beats=True,
    chart="Milliseconds of the last batches, stacked by phase",
)
