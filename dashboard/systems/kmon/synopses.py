"""Synopses of joins under k-constraints on the Plan page: bars that fill and drain, beside k."""

from __future__ import annotations

import math
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.kmon.history import COMPONENTS, CONSTRAINT
from dashboard.systems.kmon.ledger import PAGE
from dashboard.systems.kmon.synopses_view import (
    InputHeld,
    JoinSynopses,
    Waiting,
    build_synopses,
)
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "in the dashed frames: what is held of what a join without constraints would hold"
#: Part of a synopsis -> its word; also in the names of their classes.
PARTS: Final = {"yes": "Yes", "unknown": "Unknown", "no": "No", "spilled": "spilled"}
#: Per cent of the width of a bracket at the largest k; the rest is for ∞.
_WIDEST: Final = 84


def build(reader: Reader, context: Context, scope: PanelScope) -> list[JoinSynopses] | None:
    """The synopses as of the moment; of one unit where the page shows one."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), context.moment.unit)
    return build_synopses(book, reader.values(run, at)) or None


def draw(joins: list[JoinSynopses], sheet: Sheet) -> Drawing:
    """All joins; the table twin: one row for an input."""
    body = html.Div([*[_join(join, sheet.context) for join in joins], _legend()], className="pw-ks")
    return Drawing(static(body), table=_table(joins), note=NOTE)


def _join(join: JoinSynopses, context: Context) -> Component:
    widest = max((held.kept for held in join.inputs), default=0.0)
    longest = max((waiting.k or 0.0 for waiting in join.waits), default=0.0)
    inputs = html.Ul(
        [_input(held, widest) for held in join.inputs],
        className="pw-ks-inputs",
        **attrs(aria_label=f"What inputs of {join.name} hold"),
    )
    used = [waiting for waiting in join.waits if waiting.k is not None]
    endless = [waiting for waiting in join.waits if waiting.k is None]
    waits = html.Ul(
        [
            *(_waiting(waiting, longest, context) for waiting in used),
            *([_endless(endless, context)] if endless else []),
        ],
        className="pw-ks-waits",
        **attrs(aria_label=f"k of the constraints on {join.name}"),
    )
    return html.Section([html.H3(join.name), html.Div([inputs, waits], className="pw-ks-join")])


def _input(held: InputHeld, widest: float) -> Component:
    def part(value: float) -> str:
        return f"{100 * value / widest if widest else 0:.2f}%"

    parts = [
        html.I(className=f"pw-ks-part pw-ks-{name}", style={"width": part(getattr(held, name))})
        for name in PARTS
        if getattr(held, name)
    ]
    bar = html.Div(
        parts,
        className="pw-ks-bar",
        role="img",
        **attrs(aria_label=f"{held.name}: {_words(held)}"),
    )
    name = html.Span(held.name, className="pw-ks-name")
    words = html.Span(_words(held), className="pw-ks-words")
    return html.Li([name, bar, *_of_plain(held), words], **attrs(data_synopsis=held.id))


def _of_plain(held: InputHeld) -> list[Component]:
    """A frame as long as what a join without constraints would hold, filled with what is held."""
    if held.share is None:
        return []
    style = {"width": f"{100 * min(1.0, held.share):.2f}%"}
    return [html.Div(html.I(style=style), className="pw-ks-plain", **attrs(aria_hidden=True))]


def _words(input: InputHeld) -> str:
    held = [f"{word} {show(getattr(input, name), 'int')}" for name, word in PARTS.items()]
    if input.share is None:
        return " · ".join(held)
    plain = f"{show(input.share, 'pct')} of {show(input.plain, 'int')} without constraints"
    return f"{' · '.join(held)}: {plain}"


def _waiting(waiting: Waiting, longest: float, context: Context) -> Component:
    """A bracket as wide as k, on a logarithmic scale."""
    k = waiting.k or 0.0
    width = f"{_WIDEST * math.log1p(k) / math.log1p(longest or 1.0):.2f}%"
    words: list[Component | str] = [
        html.B(f"k = {show(k, 'int')}"),
        " ",
        waiting.state or "unknown",
    ]
    return _bracketed(_link(waiting, context), "", width, words, show(k, "int"))


def _endless(waits: list[Waiting], context: Context) -> Component:
    """An open bracket for all by which nothing is let go."""
    words: list[Component | str] = [html.B("k = ∞"), " lets nothing go: "]
    for place, waiting in enumerate(waits):
        words += [", "] if place else []
        words += [_link(waiting, context), f" {waiting.state or 'unknown'}"]
    others = "1 other" if len(waits) == 1 else f"{len(waits)} others"
    return _bracketed(others, "pw-ks-open", "100%", words, "∞")


def _link(waiting: Waiting, context: Context) -> Component:
    return jump(context, waiting.short, path=PAGE, show=waiting.name, className="pw-link")


def _bracketed(
    name: Component | str, shape: str, width: str, words: list[Component | str], k: str
) -> Component:
    bracket = html.Span(
        html.I(className=f"pw-ks-bracket {shape}".strip(), style={"width": width}),
        className="pw-ks-axis",
        **attrs(aria_hidden=True),
    )
    text = html.Span(words, className="pw-ks-words")
    return html.Li([html.Span(name, className="pw-ks-name"), bracket, text], **attrs(data_k=k))


def _legend() -> Component:
    items = [
        html.Li([html.I(className=f"pw-ks-part pw-ks-{name}"), word])
        for name, word in (
            ("yes", "Yes: each join has its partner"),
            ("unknown", "Unknown: a partner may come"),
            ("no", "No: in no result"),
            ("spilled", "spilled: on disk, key in memory"),
        )
    ]
    return html.Ul(items, className="pw-ks-legend")


_COLUMNS: Final = (
    TableColumn("Input"),
    TableColumn("Join"),
    *(TableColumn(word.capitalize(), "int", "tuples") for word in PARTS.values()),
    TableColumn("Without constraints", "int", "tuples"),
    TableColumn("k"),
)


def _table(joins: list[JoinSynopses]) -> Component:
    rows: list[list[CellData]] = []
    for join in joins:
        ks = "; ".join(
            f"{waiting.name}: {'∞' if waiting.k is None else show(waiting.k, 'int')}"
            for waiting in join.waits
        )
        for held in join.inputs:
            parts: list[CellData] = [getattr(held, name) for name in PARTS]
            rows.append([held.name, join.name, *parts, held.plain, ks])
    return RowTable("What each input holds", _COLUMNS, rows)


PANEL: Final = Panel(
    name="k-synopses",
    page="/plan",
    title="What joins hold",
    sql=records.samples(COMPONENTS, CONSTRAINT),
    build=build,
    draw=draw,
    applies=has_role(COMPONENTS),
    values=True,
    news=("run", "plans", "decisions"),
    beats=True,
)
