"""Panels: a titled card, optionally with the table twin of the figure inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs


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
        head.append(html.Div(actions, className="pw-panel-actions"))
    body = html.Div(children, className="pw-panel-body")
    parts = [html.Header(head, className="pw-panel-head"), body]
    return html.Section(parts, className=f"pw-panel {className}".strip(), **attributes)


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
    body = [
        html.Div(figure, className="pw-twin-figure"),
        html.Div(table, className="pw-twin-table"),
    ]
    attributes = {"data-twin": "figure", **attributes}
    return panel(
        title, body, actions=[*more, _reset_zoom(), _saves(title), switch], note=note, **attributes
    )


def _saves(title: str) -> Component:
    """The menu of files a figure and its numbers are saved as."""
    kinds = (("SVG", "svg"), ("PNG", "png"), ("CSV", "csv"))
    items = [_saver(words, kind, f"Save {title} as {words}") for words, kind in kinds]
    summary = html.Summary("Save", className="pw-button pw-save", title=f"Save {title} as a file")
    return html.Details([summary, html.Div(items)], className="pw-saves")


def _reset_zoom() -> Component:
    """Shown by modules/figure_zoom.js while a figure of the panel is zoomed."""
    words = "Show the whole figure again; a double click on it does the same"
    looks, data = "pw-button pw-save", attrs(data_pw_reset=1)
    return html.Button(
        "Reset zoom", className=looks, type="button", hidden=True, title=words, **data
    )


def _saver(words: str, kind: str, title: str) -> Component:
    data = attrs(data_pw_save=kind, aria_label=title)
    return html.Button(words, className="pw-button pw-save", type="button", title=title, **data)
