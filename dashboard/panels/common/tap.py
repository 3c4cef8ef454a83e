"""Tap: a sample of what goes through the edge that is selected, and where one tuple ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dash import Input, dcc, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn
from dashboard.panels import records
from dashboard.panels.common.answer_parts import tau_cell, tau_column
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.serving.services import Services
from dashboard.views.results import cell_text
from dashboard.views.taps import FollowedStep, TapView, build_tap
from storage.reader import Reader
from storage.vocabulary.taps import LED, TapSample

#: The browser keeps in it which row is followed: {node, batch, row}.
FOLLOWED: Final = "pw-tap-followed"
#: What is said of a step: its sign, how its class ends, and the words.
_FATES: Final = {
    "went on": ("→", "on", "went on"),
    "ended": ("✕", "ended", "ended here"),
    "held": ("◦", "held", "nothing came of it at its time; it may still be kept here"),
    "arrived": ("●", "on", "it arrived"),
    "unknown": ("?", "unknown", "cannot be told: more came out at its time than is kept"),
    "untapped": ("?", "unknown", "cannot be told: it was not tapped in this batch"),
}


def build(reader: Reader, context: Context, scope: PanelScope) -> TapView | None:
    """What went through the selected edge in the batch; None where nothing can be looked at."""
    if context.batch is None:
        return None
    node, chosen = context.moment.node, scope.values[0] if scope.values else None
    chosen = chosen if isinstance(chosen, dict) else {}
    is_here = chosen.get("node") == node and chosen.get("batch") == context.batch
    row = chosen.get("row") if is_here else None
    return build_tap(reader, context.run_id, context.batch, node, row if type(row) is int else None)


def draw(view: TapView, sheet: Sheet) -> Drawing:
    """The rows of the sample; without one, where there is one."""
    asks = not sheet.locked and sheet.context.mode == "live"
    ask = attrs(data_tap=view.node if asks else None, data_tap_none=view.sample is None)
    close = jump(sheet.context, "close", node="", title="Esc")
    if view.sample is None:
        untapped = html.Div(_untapped(view, sheet, asks), **ask)
        return Drawing(untapped, note=[view.title, " · ", close])
    sample = view.sample
    kept, whole = show(sample.n_kept, "int"), show(sample.n_passed, "int")
    size = f"{kept} of {whole}" if sample.n_passed is not None else f"{kept} of those sampled"
    note = [f"{view.title} (batch {show(view.batch, 'int')}, {size}) · ", close]
    if not sample.rows:
        none = "Nothing" if sample.n_passed is not None else "None of those sampled"
        body: list[Component] = [html.P(f"{none} went through it in this batch.")]
    else:
        way = [] if view.followed is None else [_way(view, sheet.context)]
        body = [*way, _table(view, sample)]
    return Drawing(html.Div(body, className="pw-tap", **ask), note=note)


def _untapped(view: TapView, sheet: Sheet, asks: bool) -> list[Any]:
    """Why there is nothing to see, and where there is something."""
    if asks:
        hint = html.P("Tapped from the next batch on.", className="pw-dim", role="status")
        return [hint]
    words: list[Any] = [f"Not tapped in batch {show(view.batch, 'int')}."]
    if view.nearest is not None:
        batch = f"batch {show(view.nearest, 'int')}"
        words += [" The nearest that was: ", jump(sheet.context, batch, at=view.nearest), "."]
    elif sheet.context.running and sheet.context.mode != "live":
        how = "Resume (space)" if sheet.context.mode == "frozen" else "Jump to now (.)"
        words.append(f" {how} to tap it.")
    elif sheet.context.running:
        words.append(f" {sheet.locked}")
    return [html.P(words)]


def _table(view: TapView, sample: TapSample) -> Component:
    number = TableColumn("#", "int", "", "its number among those sampled")
    stamps = [TableColumn("±"), tau_column(view.tick_us)]
    columns = stamps if view.is_timed else [number]
    columns += [
        TableColumn(name, "text" if _all_numbers(row[LED + place] for row in sample.rows) else None)
        for place, name in enumerate(sample.columns)
    ]
    often = any(row[2] > 1 for row in sample.rows)
    columns += [TableColumn("times", "int")] * often + [TableColumn("Its way")]
    rows: list[list[CellData]] = []
    places = sorted(range(len(sample.rows)), key=lambda place: sample.rows[place][0])
    for place in places:
        row = sample.rows[place]
        cells = [cell_text(value) for value in row[LED:]]
        times = [row[2]] * often
        head: list[CellData] = (
            [_sign(row[1]), tau_cell(row[0], view.tick_us)] if view.is_timed else [row[0] + 1]
        )
        rows.append([*head, *cells, *times, drawn(_follow(view, place))])
    marks = [{"className": "pw-tap-followed"} if place == view.followed else {} for place in places]
    caption = f"Some of what went through {view.title} in batch {view.batch}"
    return RowTable(caption, columns, rows, attributes=marks, className="pw-tuples pw-tap-rows")


def _all_numbers(values: Iterable[Any]) -> bool:
    return all(type(value) in (int, float) or value is None for value in values)


def _sign(sign: int) -> CellData:
    if sign > 0:
        return {"text": "+", "mark": "pw-sign-plus", "title": "came", "sort": 1}
    return {"text": "−", "mark": "pw-sign-minus", "title": "went", "sort": -1}


def _follow(view: TapView, place: int) -> Component:
    is_followed = place == view.followed
    row = attrs(data_tap_row=place, data_tap_of=view.batch, data_tap_node=view.node)
    pressed = attrs(aria_pressed="true" if is_followed else "false")
    title = "Where did it end?"
    return html.Button("follow", className="pw-button", title=title, **row, **pressed)


def _way(view: TapView, context: Context) -> Component:
    """What became of the followed row, operator by operator."""
    items = [_step(step, context) for step in view.steps]
    none = html.Li("Nothing reads this edge.")
    how = html.Small("by its timestamp and the columns they share", className="pw-dim")
    head = html.H3(["Where it went ", how] if view.is_timed else "Where it went")
    return html.Div([head, html.Ul(items or [none], className="pw-tap-way")])


def _step(step: FollowedStep, context: Context) -> Component:
    sign, mark, words = _FATES[step.fate]
    parts: list[Any] = [html.B(sign), " ", jump(context, step.name, node=step.entity), f": {words}"]
    if step.why:
        parts.append(f" ({step.why})" if step.fate == "held" else f": {step.why}")
    rows = [html.Li(_element(step.columns, row)) for row in step.rows]
    return html.Li([*parts, *([html.Ul(rows)] if rows else [])], className=f"pw-tap-{mark}")


def _element(columns: Sequence[str], row: Sequence[Any]) -> str:
    values = zip(columns, row[LED:], strict=True)
    listed = ", ".join(f"{name} {cell_text(value) or 'NULL'}" for name, value in values)
    return f"{'+' if row[1] > 0 else '−'} {listed}{f' ({row[2]} times)' if row[2] > 1 else ''}"


def _controls(context: Context, services: Services) -> list[Component]:
    return [dcc.Store(id=FOLLOWED)]


PANEL: Final = Panel(
    name="tap",
    page="/plan",
    title="Tap",
    build=build,
    draw=draw,
    news=("run", "plans"),
    beats=True,
    twin=False,
    controls=_controls,
    inputs=(Input(FOLLOWED, "data"),),
    sql=records.TAPS,
)
