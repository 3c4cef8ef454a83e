"""Progress charts: what is left of an element after how much work, and the chains over it."""

from __future__ import annotations

from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.theme import FINE_PX, ink, palette, safe, short, template
from dashboard.systems.stream.chains_view import ChainsView, PathChart

HEIGHT: Final = 300
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "x", "star")


def draw_chains(view: ChainsView, theme: str | None = None) -> Figure:
    """A line for each path; its chains straight across, dashed those now, dotted those before. A
    path with estimates that are none would stretch the axes for all others: it has no line."""
    colours = palette(theme)
    traces: list[Trace] = []
    for place, path in enumerate(path for path in view.paths if path.is_sound):
        traces += _traces(path, place, ink(colours, place))
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 64, "r": 16, "t": 8, "b": 40},
        xaxis={
            "title": {"text": "µs of work for each element that came", "standoff": 4},
            "rangemode": "tozero",
        },
        yaxis={"title": {"text": "elements left of it", "standoff": 6}, "rangemode": "tozero"},
        showlegend=True,
        legend={"orientation": "v", "x": 1.01, "y": 1, "font": {"size": FINE_PX}},
        uirevision="chains",
    )


def _traces(path: PathChart, place: int, colour: str) -> list[Trace]:
    group: dict[str, Any] = {"legendgroup": str(place)}
    traces = [
        scatter(
            x=[time for time, _ in path.points],
            y=[size for _, size in path.points],
            text=["arrives", *(f"behind {safe(name)}" for name in path.operators)],
            name=short(f"path to {path.operators[-1]}", 30),
            mode="lines+markers",
            line={"color": colour, "width": 1.6},
            marker={"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 8},
            hovertemplate="%{text}: %{y:.3~g} left after %{x:.3~g} µs<extra></extra>",
            **group,
        )
    ]
    for edges, dash, words in ((path.edges, "dash", "now"), (path.edges_before, "dot", "before")):
        if edges:
            traces.append(
                scatter(
                    x=[path.points[edge][0] for edge in edges],
                    y=[path.points[edge][1] for edge in edges],
                    name=f"its chains {words}",
                    mode="lines",
                    line={"color": colour, "dash": dash, "width": 2.4},
                    hoverinfo="skip",
                    showlegend=False,
                    **group,
                )
            )
    return traces
