"""Where batches take their time, batch by batch: plan, run, publish, decide, record."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import faces
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.figures.phases import HEIGHT, draw_phases
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import SYSTEM, Book
from dashboard.views.phases import WORDS, PhasesView, build_phases
from storage.reader import Reader

#: Bars.
N_BATCHES: Final = 120
#: Operators named.
_MOST_OPERATORS: Final = 3


def build(reader: Reader, context: Context, scope: PanelScope) -> PhasesView | None:
    """The last batches up to the moment."""
    run, at = context.run_id, context.batch
    batches = reader.batches(run, until=at, limit=N_BATCHES)
    numbers = [one.id for one in batches if one.id is not None]
    if not numbers:
        return None
    first, last = numbers[0], numbers[-1]
    keys = [(SYSTEM, "commit_ms")]
    commits = reader.many_series(run, keys, since_batch=first, until_batch=last + 1)
    return build_phases(batches, commits.get(keys[0]), _operators(reader, run, last))


def _operators(reader: Reader, run: str, batch: int) -> list[tuple[str, float]]:
    """Those that took most of the work of a batch, where that was measured."""
    values, book = reader.values(run, batch), Book(reader.entities(run, batch))
    works = [face.work for face in faces() if face.work]
    shares = [(book.name(id), own.get(work)) for id, own in values.items() for work in works]
    known = [(name, share) for name, share in shares if share]
    return sorted(known, key=lambda pair: -pair[1])[:_MOST_OPERATORS]


def draw(view: PhasesView, sheet: Sheet) -> Drawing:
    """The bars; the table: the slowest batches."""
    last, slow = view.batches[-1], view.slowest[0]
    words = [last.words]
    if view.operators:
        named = (f"{name} {show(share, 'pct')}" for name, share in view.operators)
        words.append(f"of its work {', '.join(named)}")
    if slow.batch != last.batch:
        words.append(f"the slowest of the last {len(view.batches)}: {slow.words}")
    figure = draw_phases(view, sheet.theme)
    table = _table(view, sheet.context)
    return Drawing(figure=figure, height=HEIGHT, table=table, note=" · ".join(words))


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
                "text": show(one.batch, "int"),
                "sort": one.batch,
                "jump": jump_to(context, "/monitor", at=one.batch),
            },
            one.total,
            *one.ms,
            one.tuples,
        ]
        for one in view.slowest
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
