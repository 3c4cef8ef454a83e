"""Callbacks that run in the browser, and the keys by which it tells what is to be drawn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc
from dash.development.base_component import Component

from dashboard import ids


def clientside(app: Dash, function: str, *parts: Output | Input | State, **options: bool) -> None:
    """A callback that runs in the browser: ``planwatch.<function>`` of assets/."""
    app.clientside_callback(  # type: ignore[no-untyped-call]  # dash leaves it untyped
        ClientsideFunction("planwatch", function), *parts, **options
    )


def watching(part: Callable[[str], str], watch: Mapping[str, Any]) -> list[Component]:
    """The stores of what is drawn again with what ``watch`` names; see modules/page_keys.js.

    part: names the ids."""
    data = {"section": part("section"), **watch}
    return [dcc.Store(id=part("watch"), data=data), dcc.Store(id=part("key"))]


def follow(app: Dash, part: Callable[[str], str]) -> None:
    """Keep the store ``key`` at what the browser makes of the moment and of what is watched."""
    inputs = (Input(ids.MOMENT, "data"), State(part("watch"), "data"))
    clientside(app, "panelKey", Output(part("key"), "data"), *inputs)
