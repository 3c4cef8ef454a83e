"""How far streams are behind the farthest of them, as lines over batches."""

from __future__ import annotations

from typing import Final

from dashboard.components.plain import Figure, figure, scatter
from dashboard.figures.theme import FINE_PX, ink, palette, safe, template
from dashboard.views.event_time import EventTimeView

HEIGHT: Final = 200
#: Dashes tell apart what colours do not.
_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")


def draw_event_time(view: EventTimeView, theme: str | None = None) -> Figure:
    """A line a stream; the farthest one lies at zero."""
    colours = palette(theme)
    unit = "s behind" if view.is_clock else "behind"
    traces = [
        scatter(
            x=lag.batches,
            y=lag.lags,
            name=safe(lag.name),
            mode="lines",
            line={
                "color": ink(colours, place % 5),
                "width": 1.6,
                "dash": _DASHES[place % len(_DASHES)],
                "shape": "hv",
            },
            hovertemplate=f"%{{y:,.1f}} {unit}",
        )
        for place, lag in enumerate(view.lags)
    ]
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 64, "r": 16, "t": 8, "b": 40},
        xaxis={"title": {"text": "batch", "standoff": 4}, "tickformat": "d"},
        yaxis={"title": {"text": unit, "standoff": 6}, "rangemode": "tozero"},
        showlegend=True,
        legend={"orientation": "v", "x": 1.01, "y": 1, "font": {"size": FINE_PX}},
        hovermode="x unified",
        uirevision="event-time",
    )
