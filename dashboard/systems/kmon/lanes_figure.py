"""k over time: a lane for each constraint with a logarithmic axis that ends at ∞."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, lane_name, stamps
from dashboard.figures.theme import FINE_PX, Palette, palette, short, template
from dashboard.figures.timeline import LEFT_PX, RIGHT_PX
from dashboard.systems.kmon.lanes_view import KLane, KPoint

LANE_PX: Final = 92
_MARGINS_PX: Final = 66
#: Share of a lane that is free above it, for its name.
_GAP: Final = 0.26
#: Of the height of a lane, up to the largest number; ∞ is at the top.
_FINITE: Final = 0.8
#: Of the height of a lane, from one mark of its axis to the next at least.
_APART: Final = 0.28
_LONGEST_NAME: Final = 40


def lanes_height(lanes: Sequence[KLane]) -> int:
    """Pixels for all lanes, axis and legend included."""
    return _MARGINS_PX + LANE_PX * len(lanes)


def draw_lanes(lanes: Sequence[KLane], theme: str | None = None) -> Figure:
    """A step line of k in use, dotted its estimate; crosses where distances were above k."""
    colours = palette(theme)
    traces, layout = list[Trace](), dict[str, Any]()
    notes = []
    each = 1 / max(1, len(lanes))
    for place, lane in enumerate(lanes):
        top = max([1.0, *(value for point in lane.points for value in _numbers(point))])
        axis = "y" if not place else f"y{place + 1}"
        high = 1 - place * each
        domain = [high - each * (1 - _GAP / 2), high - each * _GAP]
        layout[f"yaxis{place + 1 if place else ''}"] = _axis(top, domain)
        traces += _lane(lane, top, axis, colours)
        notes.append(lane_name(f"<b>{short(lane.name, _LONGEST_NAME)}</b>", domain[1], colours))
    for name in dict.fromkeys(
        trace["name"] for trace in traces
    ):  # one that is not empty speaks for all
        next((trace for trace in traces if trace["name"] == name and trace["x"]), {})[
            "showlegend"
        ] = True
    times = [point.time for lane in lanes for point in lane.points]
    return figure(
        traces,
        template=template(theme),
        height=lanes_height(lanes),
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": 30, "b": 28},
        xaxis={"type": "date", "showgrid": True, "anchor": "free", "position": 0, **around(times)},
        annotations=notes,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="k-lanes",
        meta={"batch": 0},
        **layout,
    )


def _numbers(point: KPoint) -> list[float]:
    marked = point.largest if point.violations else None
    return [value for value in (point.used, point.estimate, marked) if value is not None]


def _height(k: float | None, top: float) -> float:
    """Where k is in its lane, [0, 1]."""
    return 1.0 if k is None else _FINITE * math.log1p(k) / math.log1p(top)


def _axis(top: float, domain: list[float]) -> dict[str, Any]:
    ticks = list[float]()
    room = 1.0 - _APART
    for k in (*(10.0**n for n in range(9, -1, -1)), 0.0):
        if k <= top and _height(k, top) <= room:
            ticks.insert(0, k)
            room = _height(k, top) - _APART
    return {
        "domain": domain,
        "range": [-0.06, 1.12],
        "fixedrange": True,
        "tickvals": [*(_height(k, top) for k in ticks), 1.0],
        "ticktext": [*(f"{k:,.0f}".replace(",", "\u2009") for k in ticks), "∞"],
    }


def _lane(lane: KLane, top: float, axis: str, colours: Palette) -> list[Trace]:
    hover = f"%{{customdata}}<extra>{short(lane.name, _LONGEST_NAME)}</extra>"
    above = [point for point in lane.points if point.violations]
    known = [point for point in lane.points if point.estimate is not None]
    common: dict[str, Any] = {"yaxis": axis, "showlegend": False, "hovertemplate": hover}
    return [
        scatter(
            name="estimate",
            mode="lines",
            line={"color": colours.teal, "width": 1.4, "dash": "dot"},
            customdata=[_said(point, "estimate", point.estimate) for point in known],
            x=stamps([point.time for point in known]),
            y=[_height(point.estimate, top) for point in known],
            **common,
        ),
        scatter(
            name="k in use",
            mode="lines" if len(lane.points) > 2 else "lines+markers",
            line={"color": colours.violet, "width": 2, "shape": "hv"},
            customdata=[_said(point, "k in use", point.used) for point in lane.points],
            x=stamps([point.time for point in lane.points]),
            y=[_height(point.used, top) for point in lane.points],
            meta={"constraint": lane.constraint},
            **common,
        ),
        scatter(
            name="distance above k",
            mode="markers",
            marker={"color": colours.red, "symbol": "x", "size": 7},
            customdata=[
                _said(point, f"{point.violations:.0f} above k, largest", point.largest)
                for point in above
            ],
            x=stamps([point.time for point in above]),
            y=[_height(point.largest or 0.0, top) for point in above],
            **common,
        ),
    ]


def _text(k: float | None) -> str:
    return "∞" if k is None else f"{k:.0f}"


def _said(point: KPoint, words: str, k: float | None) -> str:
    return f"batch {point.batch}: {words} {_text(k)}"
