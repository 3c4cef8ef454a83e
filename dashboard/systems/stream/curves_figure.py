"""What waited in queues as a figure: elements against the instants of a batch, stacked by queue."""

from __future__ import annotations

from typing import Final

from dashboard.components.formats import instant
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.theme import FINE_PX, ink, palette, safe, template
from dashboard.systems.stream.curves_view import CurvesView

HEIGHT: Final = 300
#: Patterns tell apart what colours do not.
_PATTERNS: Final = ("", "/", "x", ".", "\\", "-", "|", "+")


def draw_curves(view: CurvesView, theme: str | None = None) -> Figure:
    """Steps, as queues hold what they hold until somebody takes or adds; the fullest at the
    bottom."""
    colours = palette(theme)
    is_time = view.tick_us is not None
    times = [instant(tick, view.tick_us) for tick in view.times] if is_time else view.times
    axis = {} if is_time else {"tickformat": "d"}
    title = {"text": f"instant of the batch{'' if is_time else ', ticks'}", "standoff": 4}
    traces: list[Trace] = []
    for place, lane in enumerate(view.lanes):
        traces.append(
            scatter(
                x=times,
                y=lane.held,
                name=safe(lane.name),
                stackgroup="queues",
                mode="lines",
                line={"shape": "hv", "width": 1.2, "color": ink(colours, place)},
                fillpattern={"shape": _PATTERNS[place % len(_PATTERNS)], "size": 6},
                hovertemplate="%{y:,.0f}",
            )
        )
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 64, "r": 16, "t": 8, "b": 40},
        xaxis={"title": title, **axis},
        yaxis={
            "title": {"text": "elements in queues", "standoff": 6},
            "tickformat": "~s",
            "rangemode": "tozero",
        },
        showlegend=True,
        legend={"orientation": "v", "x": 1.01, "y": 1, "font": {"size": FINE_PX}},
        hovermode="x unified",
        uirevision="queue curves",
    )
