"""Bits of states over time: a lane for each, its attributes stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, lane_name, stamps
from dashboard.figures.theme import Palette, palette, short, template
from dashboard.figures.timeline import LEFT_PX, RIGHT_PX
from dashboard.systems.amri.lanes_view import BitsLane

LANE_PX: Final = 84
_MARGINS_PX: Final = 36
#: Share of a lane that is free above it, for its name.
_GAP: Final = 0.3
#: By the place of an attribute, as of the cells on the Index page.
_COLOURS: Final = ("blue", "orange", "teal", "violet", "cyan", "muted")
_LONGEST_NAME: Final = 24


def lanes_height(lanes: Sequence[BitsLane]) -> int:
    """Pixels for all lanes, the axis included."""
    return _MARGINS_PX + LANE_PX * len(lanes)


def draw_lanes(lanes: Sequence[BitsLane], theme: str | None = None) -> Figure:
    """Steps filled by attribute, the first at the bottom; names in their colours above."""
    colours = palette(theme)
    traces, notes, axes = list[Trace](), list[dict[str, Any]](), dict[str, Any]()
    each = 1 / max(1, len(lanes))
    for place, lane in enumerate(lanes):
        number = str(place + 1) if place else ""
        top = 1 - (place + _GAP) * each
        most = max(1, *(sum(point.bits) for point in lane.points))
        axes[f"yaxis{number}"] = {
            "domain": [1 - (place + 0.94) * each, top],
            "range": [0, most],
            "fixedrange": True,
            "tickvals": [0, most],
        }
        traces += _attributes(lane, f"y{number}", colours)
        notes.append(lane_name(_name(lane, colours), top, colours))
    times = [point.time for lane in lanes for point in lane.points]
    return figure(
        traces,
        template=template(theme),
        height=lanes_height(lanes),
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": 8, "b": 28},
        xaxis={"type": "date", "showgrid": True, "anchor": "free", "position": 0, **around(times)},
        annotations=notes,
        uirevision="bit-lanes",
        meta={"batch": 0},
        **axes,
    )


def _colour(place: int, colours: Palette) -> str:
    colour: str = getattr(colours, _COLOURS[place % len(_COLOURS)])
    return colour


def _attributes(lane: BitsLane, axis: str, colours: Palette) -> list[Trace]:
    return [
        scatter(
            name=name,
            mode="lines",
            stackgroup=axis,
            line={"color": _colour(place, colours), "width": 1, "shape": "hv"},
            hovertemplate=f"%{{customdata}}<extra>{short(lane.state, _LONGEST_NAME)}</extra>",
            customdata=[
                f"from batch {point.batch}: {name} {point.bits[place]}" for point in lane.points
            ],
            x=stamps([point.time for point in lane.points]),
            y=[point.bits[place] for point in lane.points],
            yaxis=axis,
            meta={"state": lane.state},
        )
        for place, name in enumerate(lane.attributes)
    ]


def _name(lane: BitsLane, colours: Palette) -> str:
    names = (
        f'<span style="color:{_colour(place, colours)}">■ {short(name, _LONGEST_NAME)}</span>'
        for place, name in enumerate(lane.attributes)
    )
    return f"<b>{short(lane.state, _LONGEST_NAME)}</b>  {'  '.join(names)}"
