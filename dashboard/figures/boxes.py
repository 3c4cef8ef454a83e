"""Times on the axis, and boxes around the loops the thrash detector finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dashboard.figures.theme import Palette
from dashboard.views.thrash import FlipLoop


def stamps(times: Sequence[float]) -> list[str]:
    """Unix seconds as ISO 8601, UTC, in milliseconds: what modules/charts.js appends."""
    return [stamp(time) for time in times]


def stamp(time: float) -> str:
    """One time, as in stamps()."""
    moment = datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def loop_boxes(loops: Sequence[FlipLoop], colours: Palette) -> list[dict[str, Any]]:
    """A dashed box from the first to the last flip of each loop, over all panels."""
    line = {"color": colours.orange, "width": 1.4, "dash": "dash"}
    return [
        {
            "type": "rect",
            "name": "loop",
            "x0": stamp(loop.since),
            "x1": stamp(loop.until),
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": line,
            "fillcolor": colours.band,
            "layer": "below",
        }
        for loop in loops
        if loop.since is not None and loop.until is not None
    ]


def loop_numbers(loops: Sequence[FlipLoop], y: float, colours: Palette) -> list[dict[str, Any]]:
    """The number of each loop at the top of the lanes; y: share of the plot area."""
    return [
        {
            "text": f"<b>↻ {number}</b>",
            "hovertext": loop.route,
            "x": stamp(loop.since),
            "xanchor": "left",
            "y": y,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12, "color": colours.orange},
        }
        for number, loop in enumerate(loops, start=1)
        if loop.since is not None
    ]
