"""What a page shows when there is nothing to show: never blank, always why and what next."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component


def empty(title: str, text: Any, *actions: Component) -> Component:
    """An empty state: what is missing, why, and what would fill it."""
    body = [html.P(title, className="pw-empty-title"), html.P(text)]
    if actions:
        body.append(html.P(list(actions)))
    return html.Div(body, className="pw-empty")
