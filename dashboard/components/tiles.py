"""Live numbers and tiles.

A ``data-live="entity|property"`` element is rewritten by modules/live.js at every delta (LIVE
only), in the form of its ``data-form``; the server renders the value at the moment.
"""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.formats import Format, show


def live_value(
    entity: str, property_name: str, value: float | None, form: Format = "f2", **attributes: Any
) -> Component:
    """A number that follows the stream while LIVE."""
    live = attrs(data_live=f"{entity}|{property_name}", data_form=form)
    return html.Span(show(value, form), **live, **attributes)


def tile(
    label: str, value: Any, unit: str = "", note: Any = None, hint: str = "", **attributes: Any
) -> Component:
    """One number with its name and unit. value: text, or a live_value. hint: tooltip text."""
    number = [html.Span(value, className="pw-tile-value")]
    if unit:
        number.append(html.Span(unit, className="pw-tile-unit"))
    body = [html.Dt(label, className="pw-tile-label"), html.Dd(number)]
    if note is not None:
        body.append(html.Dd(note, className="pw-tile-note"))
    return html.Div(body, className="pw-tile", title=hint, **attributes)


def tiles(items: list[Component]) -> Component:
    """A row of tiles (a description list, wrapping)."""
    return html.Dl(items, className="pw-tiles")
