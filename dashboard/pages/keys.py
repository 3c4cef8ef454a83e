"""When a page renders again: a store with what it depends on, computed in the browser."""

from __future__ import annotations

from dash import ClientsideFunction, Dash, Input, Output, State

from dashboard import ids


def follow(app: Dash, function: str, store: str) -> None:
    """Keep dcc.Store ``store`` at what modules/page_keys.js ``function`` makes of the moment.

    The page's callback takes the store as its input, so that a stream of batches in which nothing
    it shows has changed costs the server nothing.
    """
    clientside(
        app,
        function,
        Output(store, "data"),
        Input(ids.MOMENT, "data"),
        State(store, "data"),
    )


def clientside(app: Dash, function: str, *parts: Output | Input | State, **options: bool) -> None:
    """A callback that runs in the browser: ``planwatch.<function>`` of assets/."""
    app.clientside_callback(  # type: ignore[no-untyped-call]  # dash leaves it untyped
        ClientsideFunction("planwatch", function), *parts, **options
    )
