"""Callbacks that run in the browser."""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output, State


def clientside(app: Dash, function: str, *parts: Output | Input | State, **options: bool) -> None:
    """A callback that runs in the browser: ``planwatch.<function>`` of assets/."""
    app.clientside_callback(  # type: ignore[no-untyped-call]  # dash leaves it untyped
        ClientsideFunction("planwatch", function), *parts, **options
    )
