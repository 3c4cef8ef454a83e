"""Panels: a titled card, optionally with the table twin of the figure inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs

_TABLE_KINDS: Final = ("CSV", "Parquet")


def panel(
    title: str,
    children: Any,
    actions: Any = None,
    note: Any = None,
    className: str = "",
    **attributes: Any,
) -> Component:
    """A section with a heading. actions: at the right of the heading; note: muted, beside it."""
    head: list[Any] = [html.H2(title, className="pw-panel-title")]
    if note is not None:
        head.append(html.Div(note, className="pw-panel-note"))
    if actions is not None:
        head.append(html.Div(_folded(title, actions), className="pw-panel-actions"))
    body = html.Div(children, className="pw-panel-body")
    parts = [html.Header(head, className="pw-panel-head"), body]
    return html.Section(parts, className=f"pw-panel {className}".strip(), **attributes)


def _folded(title: str, actions: Any) -> list[Component]:
    """Actions with those that take something away in one menu, where there are several."""
    every = actions if isinstance(actions, list) else [actions]
    taking = [action for action in every if _takes(action)]
    if len(taking) < 2:
        return every
    name = f"Save {title}, or see its records"
    more = html.Summary("⋯", className="pw-button", title=name, **attrs(aria_label=name))
    menu = html.Details([more, html.Div(taking, className="pw-more-list")], className="pw-more")
    return [*(action for action in every if not _takes(action)), menu]


def _takes(action: Component) -> bool:
    return not {"pw-save", "pw-sql-link"}.isdisjoint(getattr(action, "className", "").split())


def twinned(
    title: str,
    figure: Any,
    table: Any,
    note: Any = None,
    more: Sequence[Component] = (),
    **attributes: Any,
) -> Component:
    """A panel with a figure and its table twin; its button, or the key t, shows one or the other.

    Both are in the page; modules/twins.js toggles ``data-twin`` on the section. ``table`` may be
    a container that a callback fills. more: further buttons.
    """
    switch = html.Button(
        "Table", className="pw-button pw-twin-switch", type="button", **attrs(aria_pressed=False)
    )
    saves = [_saver(words, words.lower(), f"Save {title} as {words}") for words in _TABLE_KINDS]
    body = [
        html.Div(figure, className="pw-twin-figure"),
        html.Div(table, className="pw-twin-table"),
    ]
    attributes = {"data-twin": "figure", **attributes}
    return panel(title, body, actions=[*more, *saves, switch], note=note, **attributes)


def drawing_savers(title: str) -> list[Component]:
    """The buttons that save what a panel draws. title: the panel's."""
    return [
        _saver(kind.upper(), kind, f"Save {title} as {kind.upper()}") for kind in ("svg", "png")
    ]


def zoom_reset() -> Component:
    """The button that shows all of a panel's charts again; in sight while they are zoomed, see
    modules/zoom.js."""
    title = "Show all of it again; a double click on the chart does, too"
    return html.Button("Reset zoom", className="pw-button pw-unzoom", type="button", title=title)


def _saver(words: str, kind: str, title: str) -> Component:
    data = attrs(data_pw_save=kind, aria_label=title)
    return html.Button(
        f"Save as {words}", className="pw-button pw-save", type="button", title=title, **data
    )
