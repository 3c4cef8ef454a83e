"""Accuracy over time: a lane for each window; below it, where there is room, what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, lane_name, stamp, stamps
from dashboard.figures.theme import FINE_PX, Palette, palette, short, template
from dashboard.figures.timeline import LEFT_PX, RIGHT_PX
from dashboard.systems.cals.lanes_view import LanesView, ShedLane, ShedPoint, ShedTurn

ACCURACY_PX: Final = 110
TUPLES_PX: Final = 90
_MARGINS_PX: Final = 66
#: Pixels that are free above a lane, for its name.
_NAME_PX: Final = 24
_LONGEST_NAME: Final = 40


def lanes_height(view: LanesView, tupled: bool) -> int:
    """Pixels for all lanes, axis and legend included."""
    return _MARGINS_PX + len(view.lanes) * (ACCURACY_PX + TUPLES_PX * tupled)


def draw_lanes(view: LanesView, theme: str | None = None, tupled: bool = False) -> Figure:
    """Measured accuracy with its band, expected accuracy dotted; signs where shedding began and
    ended. tupled: with tuples in memory, and those that the window lacks on top of them."""
    colours = palette(theme)
    traces, axes, notes = list[Trace](), dict[str, Any](), list[dict[str, Any]]()
    rows = [(lane, kind) for lane in view.lanes for kind in ("accuracy", "tuples")[: 1 + tupled]]
    heights = [ACCURACY_PX if kind == "accuracy" else TUPLES_PX for _, kind in rows]
    for place, (lane, kind) in enumerate(rows):
        number = str(place + 1) if place else ""
        high = 1 - (sum(heights[:place]) + _NAME_PX) / sum(heights)
        domain = [1 - (sum(heights[: place + 1]) - 4) / sum(heights), high]
        axes[f"yaxis{number}"] = {"domain": domain, "fixedrange": True, **_AXES[kind]}
        draw = _accuracy if kind == "accuracy" else _tuples
        traces += draw(lane, f"y{number}", colours)
        if kind == "accuracy":
            traces += _turns(view.turns, f"y{number}", colours)
        name = short(lane.title, _LONGEST_NAME)
        notes.append(lane_name(f"<b>{name}</b> {kind}", high, colours))
    _name_once(traces)
    times = [point.time for lane in view.lanes for point in lane.points]
    return figure(
        traces,
        template=template(theme),
        height=lanes_height(view, tupled),
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": 30, "b": 28},
        xaxis={"type": "date", "showgrid": True, "anchor": "free", "position": 0, **around(times)},
        annotations=notes,
        shapes=_lines(view.turns, colours),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="shed-lanes",
        meta={"batch": 0},
        **axes,
    )


_AXES: Final[dict[str, dict[str, Any]]] = {
    "accuracy": {"range": [-0.05, 1.1], "tickvals": [0, 0.5, 1]},
    "tuples": {"rangemode": "tozero", "nticks": 4},
}


def _name_once(traces: Sequence[Trace]) -> None:
    """In the legend stands the first trace of each name that has points."""
    for name in dict.fromkeys(trace["name"] for trace in traces):
        shown = next((t for t in traces if t["name"] == name and t["x"]), None)
        if shown is not None and name:
            shown["showlegend"] = True


def _line(
    points: Sequence[ShedPoint], of: str, words: str, axis: str, lane: ShedLane, **style: Any
) -> Trace:
    form = ".2f" if axis and of in ("expected", "measured", "low", "high") else ",.0f"
    values = [getattr(point, of) for point in points]
    return scatter(
        name=words,
        mode="lines" if len(points) > 2 else "lines+markers",
        x=stamps([point.time for point in points]),
        y=values,
        yaxis=axis,
        showlegend=False,
        hovertemplate=f"%{{customdata}}<extra>{short(lane.title, _LONGEST_NAME)}</extra>",
        customdata=[
            f"batch {point.batch}: {words} {value:{form}}"
            for point, value in zip(points, values, strict=True)
        ],
        meta={"window": lane.window},
        **style,
    )


def _accuracy(lane: ShedLane, axis: str, colours: Palette) -> list[Trace]:
    measured = [point for point in lane.points if point.measured is not None]
    banded = [point for point in measured if point.low is not None and point.high is not None]
    expected = [point for point in lane.points if point.expected is not None]
    edge = {"line": {"width": 0}, "hoverinfo": "skip"}
    low = _line(banded, "low", "", axis, lane, **edge)
    high = _line(
        banded, "high", "95 % interval", axis, lane,
        fill="tonexty", fillcolor=colours.band, **edge,
    )  # fmt: skip
    for trace in (low, high):
        trace.pop("hovertemplate")
        trace.pop("customdata")
        trace["mode"] = "lines"
    dotted = {"color": colours.orange, "width": 1.6, "dash": "dot"}
    return [
        low,
        high,
        _line(expected, "expected", "expected", axis, lane, line=dotted),
        _line(
            measured, "measured", "measured", axis, lane,
            line={"color": colours.teal, "width": 2},
        ),
    ]  # fmt: skip


def _tuples(lane: ShedLane, axis: str, colours: Palette) -> list[Trace]:
    resident = [point for point in lane.points if point.resident is not None]
    lacking = [point for point in resident if point.lacking is not None]
    stacked = {"stackgroup": axis}
    return [
        _line(
            resident, "resident", "in memory", axis, lane,
            line={"color": colours.teal, "width": 1}, **stacked,
        ),
        _line(
            lacking, "lacking", "shed of the window", axis, lane,
            line={"color": colours.red, "width": 1},
            fillpattern={"shape": "/", "size": 6, "solidity": 0.25, "fgcolor": colours.red},
            **stacked,
        ),
    ]  # fmt: skip


def _turns(turns: Sequence[ShedTurn], axis: str, colours: Palette) -> list[Trace]:
    """Signs on top of a lane; a click goes to the batch."""
    kinds = (
        ("shedding begins", "triangle-down", colours.red, [turn for turn in turns if turn.begins]),
        ("exact again", "circle", colours.violet, [turn for turn in turns if not turn.begins]),
    )
    return [
        scatter(
            name=name,
            mode="markers",
            x=stamps([turn.time for turn in own]),
            y=[1.04] * len(own),
            yaxis=axis,
            showlegend=False,
            marker={"symbol": symbol, "size": 9, "color": colour},
            hovertemplate="%{customdata[1]}<extra></extra>",
            customdata=[[turn.batch, f"batch {turn.batch}: {turn.words}"] for turn in own],
        )
        for name, symbol, colour, own in kinds
    ]


def _lines(turns: Sequence[ShedTurn], colours: Palette) -> list[dict[str, Any]]:
    return [
        {
            "type": "line", "name": "turn", "x0": stamp(turn.time), "x1": stamp(turn.time),
            "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
            "line": {"color": colours.muted, "width": 1, "dash": "dot"},
        }
        for turn in turns
    ]  # fmt: skip
