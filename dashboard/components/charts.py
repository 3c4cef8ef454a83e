"""Plotly figures inside the live path.

A trace with ``meta = {"live": "system|visits_per_tuple"}`` is extended by modules/live.js at every
delta while LIVE: x = the batch number, or the time when ``meta["x"] == "time"``. ``limit`` points
are kept. Figures have transparent backgrounds; colours come from the callback's ids.THEME input.
"""

from __future__ import annotations

from typing import Any, Final

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.figures.theme import CONFIG

_CLEAR: Final = "rgba(0,0,0,0)"
#: Nothing at all: neither plotly's axes nor its white.
NO_FIGURE: Final[dict[str, Any]] = {
    "data": [],
    "layout": {
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
    },
}


def chart(
    component_id: str, label: str, figure: Any = None, height: int = 280, limit: int = 2000
) -> Component:
    """A figure in a live container. label: what a screen reader says it is; height in pixels."""
    config: Any = CONFIG
    graph = dcc.Graph(
        id=component_id,
        figure=figure if figure is not None else NO_FIGURE,
        config=config,
        style={"height": f"{height}px"},
    )
    live = attrs(data_live_chart=limit, aria_label=label)
    return html.Div(graph, className="pw-chart", role="figure", **live)
