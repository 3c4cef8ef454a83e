"""A form that registers a query and does something with its answers (modules/page_results.js)."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.static import StaticTree


def asking(
    id: str,
    words: tuple[str, str, str],
    example: tuple[str, str],
    line_attrs: dict[str, Any] | None = None,
    locked: str = "",
    choice: tuple[str, str] | None = None,
) -> Component:
    """The form, folded. words: its summary, what it is about, its button. example: name and text.
    line_attrs: of the line that says what became of it. locked: why nothing can be asked. choice:
    name and words of a box to check."""
    summary, about, button = words
    send = html.Button(
        button,
        type="submit",
        className="pw-button pw-primary",
        disabled=bool(locked),
        title=locked or None,
    )
    line = html.Span("", className="pw-dim", role="status", **(line_attrs or {}))
    row = html.Div([send, line], className="pw-query-send")
    box = [] if choice is None else [_box(*choice, locked)]
    form = html.Form(
        [*_fields(id, example, bool(locked)), *box, row], id=id, className="pw-query-form"
    )
    paragraph = html.P(about, className="pw-dim")
    return html.Details([html.Summary(summary), paragraph, form], className="pw-graph-asking")


def _box(name: str, words: str, locked: str) -> Component:
    box = ["input", {"type": "checkbox", "name": name, "disabled": bool(locked)}]
    return StaticTree(["label", {"className": "pw-check"}, box, words])


def _fields(id: str, example: tuple[str, str], locked: bool) -> list[Component]:
    name = dcc.Input(
        id=f"{id}-name",
        name="name",
        className="pw-input",
        placeholder=example[0],
        autoComplete="off",
        disabled=locked,
    )
    text = html.Textarea(
        id=f"{id}-text",
        name="text",
        className="pw-input pw-cql-box",
        placeholder=example[1],
        spellCheck="false",
        rows=2,
        disabled=locked,
    )
    labels = [
        html.Label(words, htmlFor=f"{id}-{field}")
        for words, field in (("Name", "name"), ("CQL over SysStream", "text"))
    ]
    return [labels[0], name, labels[1], text]
