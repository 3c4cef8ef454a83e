"""States of caches as swim lanes over the time axis of the Timeline."""

from __future__ import annotations

from typing import Any, Final

from dashboard.components.plain import Figure, Trace, bar, figure
from dashboard.figures.boxes import stamp
from dashboard.figures.theme import FINE_PX, Palette, palette, template
from dashboard.systems.joins.lanes_view import CacheLane

LANE_PX: Final = 26
#: State -> colour of the palette, pattern of its bar: never colour alone.
LOOKS: Final = {
    "used": ("violet", ""),
    "profiled": ("orange", "/"),
    "unused": ("absent", ""),
}


def lanes_height(lanes: list[CacheLane]) -> int:
    """Pixels for all lanes, axis and legend included."""
    return 74 + LANE_PX * len(lanes)


def draw_lanes(lanes: list[CacheLane], theme: str | None = None) -> Figure:
    """A horizontal bar for each stretch; the lane of the cache longest in use on top."""
    colours = palette(theme)
    names = [lane.name for lane in lanes]
    traces = [_bars(state, lanes, colours) for state in LOOKS]
    return figure(
        traces,
        template=template(theme),
        height=lanes_height(lanes),
        barmode="overlay",
        bargap=0.35,
        margin={"l": _room(names), "r": 16, "t": 30, "b": 28},
        xaxis={"type": "date", "showgrid": True},
        yaxis={
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "tickfont": {"color": colours.text, "size": FINE_PX},
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="cache-lanes",
        meta={"batch": 0},
    )


def _room(names: list[str]) -> int:
    """Pixels for the longest of the names, and a third of a page at most."""
    return min(360, max(170, 16 + 6 * max(map(len, names), default=0)))


def _bars(state: str, lanes: list[CacheLane], colours: Palette) -> Trace:
    ink, shape = LOOKS[state]
    drawn = [
        (lane, stretch) for lane in lanes for stretch in lane.stretches if stretch.state == state
    ]
    custom: list[Any] = [[stretch.first, stretch.last, lane.join] for lane, stretch in drawn]
    return bar(
        name=state,
        orientation="h",
        base=[stamp(stretch.since) for _, stretch in drawn],
        x=[max(1.0, 1000 * (stretch.until - stretch.since)) for _, stretch in drawn],
        y=[lane.name for lane, _ in drawn],
        customdata=custom,
        marker={
            "color": getattr(colours, ink),
            "line": {"width": 0},
            "pattern": {"shape": shape, "fillmode": "overlay", "fgcolor": colours.card, "size": 5},
        },
        hovertemplate=f"%{{y}}: {state}, batches %{{customdata[0]}} to %{{customdata[1]}}"
        "<extra>%{customdata[2]}</extra>",
    )
