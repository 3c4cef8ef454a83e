"""Receipts on the Shedding page: what each window sheds, and how accurate its answers are."""

from __future__ import annotations

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.formats import UNKNOWN, instant, show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.static import static
from dashboard.components.tiles import tile, tiles
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of
from dashboard.systems.cals.history import PAGE, RECEIPTS, WINDOW, matrices_of
from dashboard.systems.cals.shed_view import (
    APART,
    FATES,
    REASONS,
    WindowShed,
    build_windows,
)
from dashboard.views.book import Book
from dashboard.views.ticks import tick_length_us
from storage.reader import Reader

NOTE: Final = "accuracy 1: the answer is what it would be with the whole window"


def windows_of(reader: Reader, context: Context, scope: PanelScope) -> list[WindowShed]:
    """The windows of the unit as of the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    receipts = matrices_of(reader, context, scope, book, RECEIPTS)
    knobs = knobs_of(reader, run, at, scope)
    inputs = [stored.input for stored in reader.inputs(run)]
    tick_us = tick_length_us(book, scope.unit, inputs)
    return build_windows(book, reader.values(run, at), receipts, knobs, tick_us)


def build(reader: Reader, context: Context, scope: PanelScope) -> list[WindowShed] | None:
    """None before a window has numbers."""
    return windows_of(reader, context, scope) or None


def draw(windows: list[WindowShed], sheet: Sheet) -> Drawing:
    """A section for each window; the table twin: all of their numbers."""
    body = html.Div([_window(window, sheet.context) for window in windows], className="pw-shed")
    return Drawing(static(body), table=_table(windows, sheet.context), note=NOTE)


def _window(window: WindowShed, context: Context) -> Component:
    name = jump(context, window.title, path="/plan", node=window.id, className="pw-link")
    state = badge("exact", "ok") if window.is_exact else badge("✂ approximate", "warning")
    title = html.H3([name, " ", state, html.Span(f" {window.name}", className="pw-dim")])
    parts = [title, html.P(shed_words(window)), tiles(_tiles(window))]
    parts += [_accuracy(window)] if window.inclusion is None else []
    parts += [_fates(window)] if window.fates else []
    return html.Section(
        parts, **attrs(data_window=window.id, aria_label=f"Receipts of {window.title}")
    )


def shed_words(window: WindowShed) -> str:
    """What goes, by which rule and why, in a sentence."""
    limit = f"It keeps at most {show(window.limit, 'int')} tuples in a shard"
    if window.as_runs:
        limit = (
            f"It keeps runs in the bytes of at most {show(window.limit, 'int')} tuples in a shard"
        )
    if not window.limit:
        limit = "It has no limit"
    if window.is_compressed:
        return f"{limit}. {_compressed(window)}"
    if not window.shed:
        return f"{limit}; nothing was shed in this batch.{_again(window)}"
    were = "was" if window.shed == 1 else "were"
    n = f"{show(window.shed, 'int')} {_tuples(window.shed)} {were}"
    why = " and ".join(REASONS.get(reason, reason) for reason in window.reasons)
    by = f"{window.algorithm}{f': {why}' * bool(why)}"
    return f"{limit}; {n} shed in this batch by {by}.{_again(window)}"


def _compressed(window: WindowShed) -> str:
    """Why a limit was not met."""
    tuples, runs = show(window.resident, "int"), show(window.runs, "int")
    return f"Nothing had to be shed: {tuples} tuples are {runs} run{'s' * (window.runs != 1)}."


def _again(window: WindowShed) -> str:
    """From when on answers are whole, if that can be told."""
    if window.whole_tick is not None:
        when = f"from {instant(window.whole_tick, window.tick_us)} on"
    elif window.whole_tuples is not None:
        when = f"once {show(window.whole_tuples, 'int')} tuples have come"
    else:
        return ""
    if_none = ", if nothing more is shed" if window.limit else ""
    return f" Answers are whole again {when}{if_none}."


def _tuples(n: float) -> str:
    return "tuple" if n == 1 else "tuples"


def _tiles(window: WindowShed) -> list[Component]:
    whole = "" if window.whole is None else f"of {show(window.whole, 'int')} "
    how_near = [
        tile("Expected accuracy", show(window.expected, "f2")),
        tile("Measured accuracy", show(window.measured, "f2"), interval_text(window)),
    ]
    if window.inclusion is not None:
        how_near = [
            tile("Probability that a tuple is kept", show(window.inclusion, "pct")),
            tile("Accuracy of its count", show(window.expected, "f2"), "1 less half its interval"),
        ]
    return [
        tile("Shed in the batch", show(window.shed, "int"), _tuples(window.shed)),
        tile("Shed so far", show(window.total, "int"), _tuples(window.total)),
        tile("Kept in memory", show(window.resident, "int"), f"{whole}tuples"),
        tile("Share of the window kept", show(window.kept, "pct")),
        *how_near,
    ]


def interval_text(window: WindowShed) -> str:
    """'0.80 to 0.88 of 34 values': the 95 % interval and what it was measured on."""
    if window.measured is None:
        return "nothing was compared"
    n = "" if window.groups is None else f"{show(window.groups, 'int')} values"
    if window.low == window.high:
        return f"of all {n}" if n else ""
    of = f"of {n}" if n else ""
    return f"{show(window.low, 'f2')} to {show(window.high, 'f2')} {of}".rstrip()


def _accuracy(window: WindowShed) -> Component:
    """Expected and measured accuracy on one scale from 0 to 1."""
    marks = list[Component]()
    if window.measured is not None:
        low, high = window.low or 0.0, 1.0 if window.high is None else window.high
        style = {"left": f"{100 * low:.2f}%", "width": f"{100 * (high - low):.2f}%"}
        marks.append(html.I(className="pw-shed-band", style=style))
        marks.append(_mark("pw-shed-measured", window.measured))
    if window.expected is not None:
        marks.append(_mark("pw-shed-expected", window.expected))
    label = (
        f"Accuracy from 0 to 1: measured {show(window.measured, 'f2')}, {interval_text(window)}; "
        f"expected {show(window.expected, 'f2')}"
    )
    scale = html.Div(marks, className="pw-shed-scale", role="img", **attrs(aria_label=label))
    ends = html.Div(
        [
            html.Span("0"),
            html.Span([html.I(className="pw-shed-measured"), "measured, with its 95 % interval"]),
            html.Span([html.I(className="pw-shed-expected"), "expected, R1"]),
            html.Span("1"),
        ],
        className="pw-shed-ends",
        **attrs(aria_hidden=True),
    )
    apart = html.P(
        f"Under R1, what drops were expected to cost and what was measured differ by "
        f"{show(window.apart, 'f2')}: rely on the measured accuracy.",
        hidden=window.apart < APART,
    )
    return html.Div([html.H4("Accuracy"), html.Div([scale, ends, apart])], className="pw-shed-row")


def _mark(name: str, value: float) -> Component:
    return html.I(className=name, style={"left": f"{100 * value:.2f}%"})


def _fates(window: WindowShed) -> Component:
    """What became of the exact coalesced tuples, as one bar."""
    n = sum(window.fates.values())
    texts = {fate: f"{fate} {show(count, 'int')}" for fate, count in window.fates.items()}
    parts = [
        html.I(className=f"pw-shed-{fate}", style={"flexGrow": count}, title=texts[fate])
        for fate, count in window.fates.items()
        if count
    ]
    keys = [html.Li([html.I(className=f"pw-shed-{fate}"), text]) for fate, text in texts.items()]
    if window.stray:
        keys.append(html.Li(f"beside them {show(window.stray, 'int')} stray pieces"))
    words = f"Of {show(n, 'int')} coalesced tuples"
    label = f"{words}: {', '.join(texts.values())}"
    bar = html.Div(parts, className="pw-shed-fates", role="img", **attrs(aria_label=label))
    body = html.Div([bar, html.Ul(keys, className="pw-shed-keys")])
    return html.Div([html.H4(words), body], className="pw-shed-row")


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Window"),
    TableColumn("Algorithm"),
    TableColumn("Limit", "int", "tuples"),
    TableColumn("Shed", "int", "tuples", "in the batch"),
    TableColumn("Shed so far", "int", "tuples"),
    TableColumn("In memory", "int", "tuples"),
    TableColumn("Kept", "pct", "", "of the window"),
    TableColumn("Expected", "f3", "", "accuracy that drops were expected to leave"),
    TableColumn("Measured", "f3", "", "accuracy of the values that are audited"),
    TableColumn("95 % from", "f3"),
    TableColumn("95 % to", "f3"),
    TableColumn("Values", "int", "", "that accuracy was measured on"),
    *(TableColumn(fate.capitalize(), "int", "", "coalesced tuples") for fate in FATES),
    TableColumn("Stray", "int", "", "pieces whose exact tuple is not in the answer"),
)


def _table(windows: list[WindowShed], context: Context) -> Component:
    rows = [_row(window, context) for window in windows]
    return RowTable("Windows that may shed", _COLUMNS, rows)


def _row(window: WindowShed, context: Context) -> list[CellData]:
    limit: CellData = window.limit if window.limit else {"text": "none", "sort": 0}
    fates: list[Any] = [window.fates.get(fate) for fate in FATES]
    return [
        {"text": window.title, "jump": jump_to(context, "/plan", node=window.id)},
        window.name,
        window.algorithm or UNKNOWN,
        limit,
        window.shed,
        window.total,
        window.resident,
        window.kept,
        window.expected,
        window.measured,
        window.low,
        window.high,
        window.groups,
        *fates,
        window.stray,
    ]


PANEL: Final = Panel(
    name="shed-windows",
    page=PAGE,
    title="Receipts",
    sql=records.samples(WINDOW),
    build=build,
    draw=draw,
    applies=has_role(WINDOW),
    values=True,
    news=("run", "plans", "matrices", "decisions", "knobs"),
    beats=True,
    unit=True,
)
