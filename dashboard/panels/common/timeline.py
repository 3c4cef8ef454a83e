"""Timeline: cost, dropping, throughput and batch time over one axis, with what happened when."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import watching
from dashboard.components.charts import scale_choice
from dashboard.components.formats import clock, show
from dashboard.components.kinds import event_kind
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, jump_to, when
from dashboard.figures.timeline import draw_timeline, timeline_height
from dashboard.panels import records
from dashboard.panels.common import loops
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet
from dashboard.panels.facts import knobs_of
from dashboard.serving.services import Services
from dashboard.views.book import Book, by_property
from dashboard.views.ends import with_ends
from dashboard.views.events import of_unit, titled
from dashboard.views.gaps import Gap
from dashboard.views.thrash import FlipLoop
from dashboard.views.timeline import (
    Marker,
    TimelineView,
    build_numbers,
    build_timeline,
    mu_in_force,
    properties,
)
from storage.reader import Reader
from storage.tables.rows import StoredEvent
from storage.vocabulary.planlog import AUTOPILOT, POLICY

MAX_POINTS: Final = 1000
MAX_EVENTS: Final = 1000
HINT: Final = "drag to zoom, double-click to reset; click an event to go there"


class WholeRun(NamedTuple):
    """The timeline and the loops among its plans."""

    view: TimelineView
    loops: list[FlipLoop]


def build(reader: Reader, context: Context, scope: PanelScope) -> WholeRun:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    keys = Book(reader.entities(run, until), scope.unit).owners(properties())
    series = reader.many_series(run, keys, until_batch=until, max_points=MAX_POINTS)
    knobs = {name: knob.value for name, knob in knobs_of(reader, run, until, scope).items()}
    watch = watching()
    turns = reader.knob_history(run, watch.threshold, scope.only) if watch.threshold else ()
    deciding = reader.knob_history(run, POLICY, scope.only)
    shown = reader.batch(run, context.batch) if context.batch is not None else None
    window = knobs.get(watch.period)
    view = build_timeline(
        by_property(series),
        mu_in_force(turns, deciding),
        None if knobs.get(POLICY) == AUTOPILOT else knobs.get(watch.decides),
        int(window) if isinstance(window, int | float) else None,
        _events_of(reader, context, until, scope),
        shown.time if shown is not None and context.moment.at is not None else None,
    )
    return WholeRun(view, loops.build(reader, context, scope) or [])


def _events_of(
    reader: Reader, context: Context, until: int | None, scope: PanelScope
) -> list[StoredEvent]:
    """Events of all units; those of another unit than the one shown are named after it."""
    run = context.run_id
    events = titled(reader.events(run, until=until, limit=MAX_EVENTS), reader.plans(run, until))
    if context.run is not None:
        events = with_ends(context.run, events, context.now)
    return [
        stored
        if stored.event.unit_id in (scope.unit, "")
        else of_unit(stored, scope.title(stored.event.unit_id))
        for stored in events
    ]


def draw(shown: WholeRun, sheet: Sheet) -> Drawing:
    """Series over one axis and the event lanes; the table twin: events, then one row a batch."""
    view = shown.view
    words = "No batch has been recorded yet; lines appear with the first one."
    numbers = [_events(view, sheet.context), _numbers(view, sheet.context)]
    return Drawing(
        body="" if view.panels else html.P(words),
        figure=draw_timeline(view, sheet.theme, shown.loops),
        height=timeline_height(view),
        table=html.Div(numbers, className="pw-twin-tables"),
        note=HINT,
    )


def _events(view: TimelineView, context: Context) -> Component:
    columns = (
        *WHEN,
        TableColumn("Kind"),
        TableColumn("What happened"),
        TableColumn("Detail"),
        TableColumn("More"),
    )
    timed = [(marker.time, _event(marker, context)) for marker in view.markers]
    timed += [(gap.until, _gap(gap, context)) for gap in view.gaps]
    rows = [row for _, row in sorted(timed, key=lambda pair: -pair[0])]
    return RowTable("Events, newest first", columns, rows, className="pw-timeline-events")


def _event(marker: Marker, context: Context) -> list[CellData]:
    more: CellData = ""
    if marker.link:
        node = str(marker.decision) if marker.decision is not None else None
        unit = marker.unit or None
        target = jump_to(context, marker.link, at=marker.batch, node=node, unit=unit)
        more = {"text": marker.link.strip("/"), "jump": target}
    return [
        *_when(marker.batch, marker.time, marker.kind, context),
        marker.title,
        marker.detail,
        more,
    ]


def _gap(gap: Gap, context: Context) -> list[CellData]:
    words = f"{gap.words}, from {clock(gap.since)} on; {gap.title}"
    return [*_when(gap.batch, gap.until, "run", context), words, gap.detail, ""]


def _when(batch: int, time: float, kind: str, context: Context) -> list[CellData]:
    """The first cells of an event: batch, time, kind."""
    sign, word, tone, _ = event_kind(kind)
    return [
        *when(context, batch, time),
        {"parts": [[sign, f"pw-glyph pw-ink-{tone}"], [word, ""]], "sort": kind},
    ]


def _numbers(view: TimelineView, context: Context) -> Component:
    numbers = build_numbers(view)
    columns = [
        *WHEN,
        *(TableColumn(words, form, unit) for _, words, unit, form in numbers.columns),
    ]
    rows: list[list[CellData]] = [
        [
            *when(context, batch, time),
            *values,
        ]
        for batch, time, values in zip(numbers.batches, numbers.times, numbers.rows, strict=True)
    ]
    words = f"Batches, newest first; {show(numbers.total, 'int')} points are drawn"
    return RowTable(words, columns, rows, total=numbers.total)


def _controls(context: Context, services: Services) -> list[Component]:
    return [scale_choice()]


PANEL: Final = Panel(
    name="timeline",
    page="/timeline",
    title="Timeline",
    sql=records.samples(),
    build=build,
    draw=draw,
    news=HISTORY,
    whole=True,
    unit=True,
    chart="Tuple dropping ratio, visits per tuple, throughput and batch time, with events",
    controls=_controls,
)
