"""Runs on the Shedding page: what the windows lack of the values that lack most."""

from __future__ import annotations

from collections import Counter
from typing import Final

from dash import Input, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.drawn import Segments
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.serving.services import Services
from dashboard.systems.cals.history import GROUPS, PAGE, RUNS, matrices_of
from dashboard.systems.cals.receipts import lines_of
from dashboard.systems.cals.receipts_view import ReceiptLine
from dashboard.systems.cals.runs_view import (
    FATES,
    CoalescedRun,
    RunLane,
    ShedRunsView,
    WindowRuns,
    build_runs,
)
from dashboard.systems.cals.shed import windows_of
from dashboard.systems.cals.shed_view import REASONS
from dashboard.systems.cals.times import length_text, span_text, time_text
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "outline: the run without a limit; filled: what is kept; hatched: what was shed"
ZOOM: Final = "pw-shed-zoom"
_ZOOMS: Final = {"1": "Whole window", "4": "A quarter", "16": "A sixteenth"}
#: Marks of the axis.
_TICKS: Final = 5


def build(reader: Reader, context: Context, scope: PanelScope) -> ShedRunsView | None:
    """Of the windows that lack tuples at the moment."""
    book = Book(reader.entities(context.run_id, context.batch), scope.unit)
    lacking = [w.id for w in windows_of(reader, context, scope) if not w.is_exact]
    groups, runs = (matrices_of(reader, context, scope, book, kind) for kind in (GROUPS, RUNS))
    shown = context.moment.show or ""
    lines = lines_of(reader, context, scope) if shown else []
    chosen = next((line for line in lines if line.address == shown), None)
    own = {id: matrix for id, matrix in runs.items() if id in lacking}
    (zoom,) = scope.values or ("1",)
    return build_runs(book, groups, own, chosen, int(zoom or 1))


def draw(view: ShedRunsView, sheet: Sheet) -> Drawing:
    """A lane for each value; the table twin: one row for a run."""
    parts = [_legend()]
    if view.chosen is not None:
        parts.append(html.P(chosen_words(view, view.chosen), className="pw-shed-chosen"))
    parts += [_window(window, sheet.context) for window in view.windows]
    body = html.Div(parts, className="pw-shed-runs")
    return Drawing(static(body), table=_table(view), note=NOTE)


def chosen_words(view: ShedRunsView, line: ReceiptLine) -> str:
    """What became of the run of the receipt that is looked at."""
    left = length_text(line.left, line.unit)
    whole = None if line.run_start is None else (line.run_end or 0) - line.run_start
    became = f"{left} of {length_text(whole, line.unit)} of its run in memory were left"
    if not line.pieces:
        became = "nothing was left of its run in memory"
    drawn = "" if view.is_drawn else " Its run is not among those on record."
    return (
        f"Tuple {show(int(line.number), 'int')}, {line.value}, valid "
        f"{span_text(line.start, line.end, line.unit)}, was shed because "
        f"{REASONS.get(line.reason, line.reason)}; {became}.{drawn}"
    )


def _legend() -> Component:
    words = {"unchanged": "unchanged", "shortened": "shortened or split", "shed": "shed"}
    keys = [html.Li([html.I(className=f"pw-shed-{name}"), text]) for name, text in words.items()]
    return html.Ul(keys, className="pw-shed-keys")


def _window(window: WindowRuns, context: Context) -> Component:
    older = "" if window.batch == context.batch else f", as of batch {window.batch}"
    span = span_text(window.start, window.end, window.unit)
    title = html.H3([window.title, html.Span(f" {span}{older}", className="pw-dim")])
    drawn = [lane for lane in window.lanes if any(_is_drawn(run, window) for run in lane.runs)]
    lanes = [_lane(lane, window) for lane in drawn]
    n = len(window.lanes) - len(drawn)
    rest = html.P(f"{n} other values have no run here." * bool(n), className="pw-dim", hidden=not n)
    ticks = [
        html.Span(time_text(window.start + (window.end - window.start) * n / _TICKS, window.unit))
        for n in range(_TICKS + 1)
    ]
    axis = html.Div(ticks, className="pw-shed-axis", **attrs(aria_hidden=True))
    return html.Section(
        [title, html.Ul(lanes), axis, rest],
        **attrs(data_window=window.window, aria_label=f"Runs of {window.title}"),
    )


def _lane(lane: RunLane, window: WindowRuns) -> Component:
    n = Counter(run.fate for run in lane.runs)
    counts = [f"{n[fate]} {fate}" for fate in FATES if n[fate]]
    words = f"{show(lane.shed, 'int')} shed"
    label = f"{lane.value}: {words}, {show(lane.loss, 'f3')} of accuracy; runs: {', '.join(counts)}"
    label += ", others are not on record" if lane.is_cut else ""
    track = html.Div(
        [part for run in lane.runs if _is_drawn(run, window) for part in _run(run, window)],
        className="pw-shed-track",
        role="img",
        **attrs(aria_label=label),
    )
    loss = html.Span(f"−{show(lane.loss, 'f3')}", title="accuracy that it is charged with")
    name = html.B(lane.value, title=lane.value)
    return html.Li([name, track, html.Span(words), loss], **attrs(data_value=lane.value))


def _run(run: CoalescedRun, window: WindowRuns) -> list[Component]:
    title = f"{span_text(run.start, run.end, window.unit)}, {run.fate}"
    if run.fate in ("shortened", "split"):
        whole = length_text(run.end - run.start, window.unit)
        title += f": {length_text(run.left, window.unit)} of {whole}"
    chosen = " pw-shed-is-chosen" if run.chosen else ""
    style = _place((run.start, run.end), window)
    outline = html.I(className=f"pw-shed-run{chosen}", style=style, title=title)
    kept = [
        html.I(className=f"pw-shed-kept pw-shed-{run.fate}", style=_place(piece, window))
        for piece in run.pieces
    ]
    return [outline, *kept]


def _is_drawn(run: CoalescedRun, window: WindowRuns) -> bool:
    return run.end >= window.start and run.start <= window.end


def _place(span: tuple[float, float], window: WindowRuns) -> dict[str, str]:
    scale = 100 / ((window.end - window.start) or 1)
    start, end = span
    return {
        "left": f"{(start - window.start) * scale:.3f}%",
        "width": f"{(end - start) * scale:.3f}%",
    }


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Value"),
    TableColumn("Run"),
    TableColumn("Length"),
    TableColumn("Kept"),
    TableColumn("Share kept", "pct"),
    TableColumn("Pieces", "int"),
    TableColumn("Fate"),
)


def _table(view: ShedRunsView) -> Component:
    rows: list[list[CellData]] = [
        [
            window.title,
            lane.value,
            {"text": span_text(run.start, run.end, window.unit), "sort": run.start},
            {
                "text": length_text(run.end - run.start, window.unit),
                "sort": run.end - run.start,
            },
            {"text": length_text(run.left, window.unit), "sort": run.left},
            run.left / (run.end - run.start),
            len(run.pieces),
            "run not known" if run.fate == "memory" else run.fate,
        ]
        for window in view.windows
        for lane in window.lanes
        for run in lane.runs
    ]
    return RowTable("Runs of the values that lack most tuples", _COLUMNS, rows)


def _controls(context: Context, services: Services) -> list[Component]:
    return [
        html.Div(
            Segments(ZOOM, "Part of the window", "1", _ZOOMS.items()), className="pw-shed-zoom"
        )
    ]


PANEL: Final = Panel(
    name="shed-runs",
    page=PAGE,
    title="Runs",
    sql=records.matrices(RUNS, GROUPS),
    build=build,
    draw=draw,
    applies=has_matrix(RUNS),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
    show=True,
    controls=_controls,
    inputs=(Input(ZOOM, "value"),),
)
