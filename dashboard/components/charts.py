"""Plotly figures inside the live path.

A trace with ``meta = {"live": "system|visits_per_tuple"}`` is extended by modules/live.js at every
delta while LIVE: x = the batch number, or the time when ``meta["x"] == "time"``. ``limit`` points
are kept. Figures have transparent backgrounds; colours come from the callback's ids.THEME input.
"""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.plain import Figure


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


#: Scale in the address -> its words and what it does; modules/figure_range.js sets it.
_SCALES: Final = (
    ("", "robust", "a few batches of another size, as the first ones, do not flatten the rest"),
    ("full", "full", "from the lowest to the highest value"),
    ("log", "log", "logarithmic"),
)


def scale_choice() -> Component:
    """The scale of the value axes that figures of the page name (layout.meta.values)."""
    buttons = [
        html.Button(
            words,
            type="button",
            className="pw-segment",
            title=hint,
            **attrs(data_pw_scale=name, aria_pressed="false" if name else "true"),
        )
        for name, words, hint in _SCALES
    ]
    group = html.Span(buttons, className="pw-segments", role="group", **attrs(aria_label="Scale"))
    note = html.Span(id="pw-scale-note", className="pw-dim")
    return html.Div([html.Span("Scale"), group, note], className="pw-scale-choice")
