"""Callbacks that run in the browser, and the keys by which it tells what is to be drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc
from dash.development.base_component import Component

from dashboard.base import ids

_KEY, _WATCH = "pw-key", "pw-watch"


def clientside(app: Dash, function: str, *parts: Output | Input | State, **options: bool) -> None:
    """A callback that runs in the browser: ``planwatch.<function>`` of assets/."""
    app.clientside_callback(  # type: ignore[no-untyped-call]  # dash leaves it untyped
        ClientsideFunction("planwatch", function), *parts, **options
    )


def watching(section: str, watch: Mapping[str, Any]) -> list[Component]:
    """The stores of what is drawn again with what ``watch`` names; see modules/page_keys.js.

    section: the part of the page; tables: ids of the sections that it draws as tables when they are
    looked at so, none given = its own."""
    data = {"section": section, "tables": [section], **watch}
    return [dcc.Store(id=_named(_WATCH, section), data=data), dcc.Store(id=_named(_KEY, section))]


def key_input(section: str) -> Input:
    """Changes whenever the section is to be drawn again."""
    return Input(_named(_KEY, section), "data")


def register(app: Dash) -> None:
    """Keep all keys on the page at what the browser makes of the moment and of what is watched:
    one callback, as each costs the browser by itself."""
    watches, keys = State(_named(_WATCH, ALL), "data"), State(_named(_KEY, ALL), "data")
    moment = Input(ids.MOMENT, "data")
    clientside(app, "panelKeys", Output(_named(_KEY, ALL), "data"), moment, watches, keys)


def _named(kind: str, section: Any) -> dict[str, Any]:
    return {"type": kind, "section": section}
