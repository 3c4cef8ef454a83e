"""Event time: how far streams are apart, and who waits for which stream."""

from __future__ import annotations

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.figures.event_time import HEIGHT, draw_event_time
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.event_time import EventTimeView, WaitingQuery, build_event_time
from storage.reader import Reader

#: Batches looked back; streams drawn.
BATCHES: Final = 240
MOST_STREAMS: Final = 12


def build(reader: Reader, context: Context, scope: PanelScope) -> EventTimeView | None:
    """The last batches up to the moment."""
    run, at = context.run_id, context.batch
    since = None if at is None else max(0, at - BATCHES)
    names = [stored.input.name for stored in reader.inputs(run)][:MOST_STREAMS]
    stored = [
        row for name in names for row in reader.input_batches(run, name, since, at, BATCHES + 1)
    ]
    stored.sort(key=lambda row: row.batch)
    return build_event_time(stored, reader.entities(run, at))


def draw(view: EventTimeView, sheet: Sheet) -> Drawing:
    """The lines, and below them who waits."""
    known = len(view.lags) > 1
    return Drawing(
        figure=draw_event_time(view, sheet.theme) if known else None,
        height=HEIGHT if known else 0,
        foot=_waiting(view.waiting, sheet.context),
        table=_table(view),
        note=view.watermark,
    )


def _waiting(waiting: list[WaitingQuery], context: Context) -> Component:
    if not waiting:
        return html.P("No query waits for a stream.", className="pw-dim")
    lines: list[Any] = []
    for query in waiting:
        since = "" if query.since is None else f" since batch {query.since}"
        link = jump(context, query.name, "/results", node=query.entity, className="pw-link")
        lines.append(html.Li([link, f" waits for {' and '.join(query.streams)}{since}"]))
    return html.Ul(lines)


def _table(view: EventTimeView) -> Component:
    unit = "s" if view.is_clock else ""
    columns = (
        TableColumn("Stream"),
        TableColumn("Event time"),
        TableColumn("Behind", "f2", unit, "the farthest stream, in the batch shown"),
        TableColumn("Most", "f2", unit, "in the batches drawn"),
    )
    rows: list[list[CellData]] = [
        [lag.name, lag.newest, lag.lags[-1], max((x for x in lag.lags if x is not None), default=0)]
        for lag in view.lags
        if lag.lags
    ]
    return RowTable("Streams by event time", columns, rows, keys=[lag.name for lag in view.lags])


PANEL: Final = Panel(
    name="event-time",
    page="/monitor",
    title="Event time",
    sql=records.INPUT_BATCHES,
    build=build,
    draw=draw,
    news=("run", "queries"),
    beats=True,
    chart="How far each stream is behind the farthest one, batch by batch",
)
