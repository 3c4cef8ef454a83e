"""The race as a figure: cost of 2 000 tuples against tuples, a line for each algorithm."""

from __future__ import annotations

from typing import Any, Final

from dashboard.components.formats import show
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.theme import BODY_PX, Palette, palette, template
from dashboard.systems.agreedy.race_view import RaceLane, RaceView

HEIGHT: Final = 300
#: algorithm -> colour of the palette, dash, sign of a change
STYLES: Final = {
    "a-greedy": ("blue", "solid", "triangle-up"),
    "sweep": ("teal", "dash", "square"),
    "independent": ("violet", "dot", "diamond"),
    "local swaps": ("orange", "dashdot", "circle"),
    "optimal": ("cyan", "longdash", "star"),
    "static": ("muted", "solid", "x"),
}


def draw_race(view: RaceView, theme: str | None = None) -> Figure:
    """Lines named at their right ends; a sign where the algorithm went over to another order."""
    colours = palette(theme)
    traces: list[Trace] = []
    for lane in view.lanes:
        traces += _traces(lane, colours)
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 64, "r": 16, "t": 34, "b": 40},
        xaxis={"title": {"text": "tuples of the stream", "standoff": 4}, **_ticks(view)},
        yaxis={
            "title": {"text": "µs for 2 000 tuples", "standoff": 6},
            "tickformat": "~s",
        },
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": BODY_PX},
        },
        hovermode="x unified",
        uirevision="race",
    )


def _ticks(view: RaceView) -> dict[str, Any]:
    """Ticks of the axis of tuples; of a single reading its own, as plotly's would be too fine."""
    at = {reading.tuples for lane in view.lanes for reading in lane.readings}
    if len(at) > 1:
        return {"tickformat": "~s"}
    return {"tickvals": sorted(at), "ticktext": [show(tuples, "int") for tuples in at]}


def _traces(lane: RaceLane, colours: Palette) -> list[Trace]:
    colour, dash, symbol = STYLES.get(lane.algorithm, ("muted", "solid", "circle"))
    ink = getattr(colours, colour)
    name = f"{lane.algorithm} (in force)" if lane.in_force else lane.algorithm
    line = {"color": ink, "dash": dash, "width": 3 if lane.in_force else 1.7}
    changed = [reading for reading in lane.readings if reading.changed]
    common: dict[str, Any] = {"legendgroup": lane.algorithm, "meta": {"race": lane.algorithm}}
    return [
        scatter(
            x=[reading.tuples for reading in lane.readings],
            y=[reading.cost for reading in lane.readings],
            customdata=[[reading.n, reading.batch] for reading in lane.readings],
            mode="lines" if len(lane.readings) > 1 else "lines+markers",
            line=line,
            name=name,
            hovertemplate="%{y:.4~s} µs, n = %{customdata[0]}",
            **common,
        ),
        scatter(
            x=[reading.tuples for reading in changed],
            y=[reading.cost for reading in changed],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": ink},
            name=f"{lane.algorithm}: new order",
            hovertemplate="new order",
            showlegend=False,
            **common,
        ),
    ]
