"""Plotly figures inside the live path.

A trace with ``meta = {"live": "system|visits_per_tuple"}`` is extended by modules/live.js at every
delta while LIVE: x = the batch number, or the time when ``meta["x"] == "time"``. ``limit`` points
are kept. Figures have transparent backgrounds; colours come from the callback's ids.THEME input.
"""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.figures.plain import Figure


class PlotlyChart(Drawn):
    """A figure as modules/chart.js draws it; None = nothing yet. height in pixels."""

    _namespace = NAMESPACE
    _type = "Chart"
    _names = ("id", "figure", "height")

    def __init__(self, id: str, figure: Figure | None, height: int) -> None:
        super().__init__(id=id, figure=figure, height=height)


def chart(
    id: str,
    label: str,
    figure: Figure | None = None,
    height: int = 280,
    limit: int = 2000,
) -> Component:
    """A figure in a live container. label: what a screen reader says it is; height in pixels."""
    live = attrs(data_live_chart=limit, aria_label=label)
    drawn = PlotlyChart(id, figure, height)
    return html.Div(drawn, className="pw-chart", role="figure", **live)
