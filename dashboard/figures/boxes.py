"""Times on the axis, boxes around the loops the thrash detector finds, gaps without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dashboard.figures.theme import BODY_PX, FINE_PX, Palette
from dashboard.views.gaps import Gap
from dashboard.views.thrash import FlipLoop

#: Lines that begin at the left edge of a gap.
_N_HATCHES: Final = 30


def stamps(times: Sequence[float]) -> list[str]:
    """Unix seconds as ISO 8601, UTC, in milliseconds: what modules/charts.js appends."""
    return [stamp(time) for time in times]


def around(times: Sequence[float]) -> dict[str, Any]:
    """What an axis of a single instant needs for ticks that differ: a minute around it."""
    if not times or times[0] != times[-1]:
        return {}
    return {"autorangeoptions": {"include": stamps([times[0] - 30, times[0] + 30])}}


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
            "font": {"size": BODY_PX, "color": colours.orange},
        }
        for number, loop in enumerate(loops, start=1)
        if loop.since is not None
    ]


def gap_boxes(gaps: Sequence[Gap], colours: Palette) -> list[dict[str, Any]]:
    """A hatched box over all panels for each gap: its area, then slanted lines across it."""
    boxes: list[dict[str, Any]] = []
    for gap in gaps:
        since, until = stamp(gap.since), stamp(gap.until)
        box = {"x0": since, "x1": until, "y0": 0, "y1": 1, "fillcolor": colours.band}
        common = {"name": "gap", "yref": "paper", "layer": "below"}
        line = {"color": colours.muted, "width": 0.6}
        boxes.append({"type": "rect", **box, "line": {**line, "dash": "dot"}, **common})
        boxes.append({"type": "path", "path": _hatching(gap), "line": line, **common})
    return boxes


def _hatching(gap: Gap) -> str:
    """Lines from edge to edge, each rising by as much as lies between six of them."""
    rise, lines = 6 / _N_HATCHES, []
    for n in range(-5, _N_HATCHES):
        low = n / _N_HATCHES
        bottom, top = max(0.0, low), min(1.0, low + rise)
        ends = (f"{_at(gap, (y - low) / rise)},{y:.4f}" for y in (bottom, top))
        lines.append("M {} L {}".format(*ends))
    return " ".join(lines)


def _at(gap: Gap, share: float) -> str:
    """A time in the gap; in a path plotly wants an underscore between date and time."""
    time = stamp(gap.since + share * (gap.until - gap.since))
    return time.replace("T", "_").removesuffix("Z")


def end_lines(times: Sequence[float], colours: Palette) -> list[dict[str, Any]]:
    """A line over all panels and lanes where an engine ended unasked."""
    line = {"color": colours.red, "width": 2}
    ends = {"type": "line", "name": "end", "y0": 0, "y1": 1, "yref": "paper", "line": line}
    return [{**ends, "x0": stamp(time), "x1": stamp(time), "layer": "below"} for time in times]


def gap_words(gaps: Sequence[Gap], y: float, colours: Palette) -> list[dict[str, Any]]:
    """How long each gap is, in its middle at the top of the lanes; y: share of the plot area."""
    return [
        {
            "text": gap.words,
            "hovertext": f"{gap.words}; {gap.title}",
            "x": stamp((gap.since + gap.until) / 2),
            "xanchor": "center",
            "y": y,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": FINE_PX, "color": colours.text},
            "bgcolor": colours.card,
        }
        for gap in gaps
    ]


def lane_name(text: str, high: float, colours: Palette) -> dict[str, Any]:
    """The annotation that names a lane. high: its upper end, a share of the figure's height."""
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": high,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": BODY_PX, "color": colours.text},
    }
