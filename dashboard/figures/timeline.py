"""The Timeline figure: stacked panels over one time axis, one cursor, event lanes below.

x is UTC, as ISO 8601 text on a date axis. The live path extends traces by their ``meta``:
``{"live": "system|...", "x": "time"}``, and edges of quiet bands, ``{"band": "system|...", "edge":
-1 | 1, "mu": ...}`` (modules/charts.js).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.kinds import EVENTS, event_kind
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import (
    around,
    end_lines,
    gap_boxes,
    gap_words,
    loop_boxes,
    loop_numbers,
    stamp,
    stamps,
)
from dashboard.figures.theme import BODY_PX, FINE_PX, TITLE_PX, Palette, palette, safe, template
from dashboard.views.ends import END
from dashboard.views.gaps import Gap, parted
from dashboard.views.thrash import FlipLoop
from dashboard.views.timeline import LANES, Band, Marker, TimelinePanel, TimelineTrace, TimelineView

PANEL_PX: Final = 86
LANE_PX: Final = 22
BOTTOM_PX: Final = 44
LEFT_PX: Final = 104
RIGHT_PX: Final = 18
TOP_PX: Final = 22
GAP_PX: Final = 24
MARKER_WORDS: Final = 90
#: Between a panel's title and its legend.
_APART: Final = "   "
FEW: Final = 3  # points that are marked, as a line through them may be too short to see

#: lane that is no kind of events -> the kind whose sign it has.
_SIGN: Final = {"error": "misfit"}
#: lane -> (words on the axis, glyph or '' , plotly symbol, colour of the palette)
MARKS: Final = {
    kind: (f"{event_kind(_SIGN.get(kind, kind)).sign} {words}", glyph, symbol, colour)
    for kind, words, glyph, symbol, colour in (
        ("rearrangement", "rearranged", "", "triangle-up", "violet"),
        ("held back", "held back", "", "circle-open", "muted"),
        ("knob", "knob", "", "diamond", "orange"),
        ("query", "query, stream", EVENTS["query"].sign, "circle", "cyan"),
        ("error", "misfits, inputs", "", "x", "red"),
    )
}
_COLOURS: Final = {
    "dropping": "blue",
    "visits": "orange",
    "rate": "teal",
    "batch": "cyan",
    "backlog": "muted",
}


def draw_timeline(
    view: TimelineView, theme: str | None = None, loops: Sequence[FlipLoop] = ()
) -> Figure:
    """The whole figure, loops boxed; its height follows the number of panels."""
    colours = palette(theme)
    height = timeline_height(view)
    traces: list[Trace] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for place, panel in enumerate(view.panels):
        axis = "y" if place == 0 else f"y{place + 1}"
        domain = _domain(place, height)
        traces += _panel_traces(_parted(panel, view.gaps), axis, colours)
        axes["yaxis" + axis[1:]] = _value_axis(panel, domain)
        notes.append(_title(panel, domain, colours, place == 0))
    ends = [marker.time for marker in view.markers if marker.kind == END]
    marks = [
        *loop_numbers(loops, _lanes_top(height), colours),
        *gap_words(view.gaps, _lanes_top(height), colours),
    ]
    boxes = [*loop_boxes(loops, colours), *end_lines(ends, colours)]
    lane_axis = f"y{len(view.panels) + 1}" if view.panels else "y"
    traces += _lane_traces(view.markers, lane_axis, colours)
    axes["yaxis" + lane_axis[1:]] = _lane_axis(height, colours)
    return figure(
        traces,
        template=template(theme),
        height=height,
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": TOP_PX, "b": BOTTOM_PX},
        xaxis={**_time_axis(lane_axis, colours), **around([*_times(view), *ends[-1:]])},
        hovermode="x unified",
        hoversubplots="axis",
        annotations=[*notes, *marks],
        shapes=[*_cursor(view, colours), *gap_boxes(view.gaps, colours), *boxes],
        uirevision="timeline",
        meta=_meta(view, [*axes], [*map(_short, notes), *marks]),
        **axes,
    )


def _meta(view: TimelineView, axes: list[str], notes: list[dict[str, Any]]) -> dict[str, Any]:
    """What modules know a figure by. axes: those of the panels, then that of the lanes; notes: of a
    phone."""
    *values, lanes = axes
    return {**_clock(view), "values": values, "batch": 0, "narrow": _narrow(lanes, notes)}


def _narrow(lanes: str, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """What a phone has instead (modules/chart.js): all of it fits, lanes by their signs alone."""
    return {
        "margin": {"l": 40, "r": 10},
        lanes: {"ticktext": [MARKS[lane][0].partition(" ")[0] for lane in LANES]},
        "annotations": notes,
    }


def _short(note: dict[str, Any]) -> dict[str, Any]:
    """A panel's title without its legend: hovering names the lines."""
    return {**note, "text": note["text"].partition(_APART)[0]}


def timeline_height(view: TimelineView) -> int:
    """Pixels for all panels, the lanes and the margins."""
    panels = max(1, len(view.panels)) * (PANEL_PX + GAP_PX)
    return TOP_PX + panels + len(LANES) * LANE_PX + BOTTOM_PX


def _clock(view: TimelineView) -> dict[str, Any]:
    """When each batch was recorded, for the cursor of modules/page_timeline.js."""
    if not view.panels:
        return {"batches": [], "times": []}
    return {"batches": view.panels[0].spot.batches, "times": stamps(_times(view))}


def _times(view: TimelineView) -> Sequence[float]:
    return view.panels[0].spot.times if view.panels else ()


def _parted(panel: TimelinePanel, gaps: Sequence[Gap]) -> TimelinePanel:
    """The panel with lines that end where there was no engine."""

    def cut(trace: TimelineTrace) -> TimelineTrace:
        times, (values, low, high) = parted(gaps, trace.times, trace.values, trace.low, trace.high)
        return trace._replace(times=times, values=values, low=low, high=high)

    window = panel.window and cut(panel.window)
    return panel._replace(spot=cut(panel.spot), window=window)


def _panel_traces(panel: TimelinePanel, axis: str, colours: Palette) -> list[Trace]:
    colour = getattr(colours, _COLOURS[panel.key])
    traces: list[Trace] = []
    if panel.band is not None:
        traces += _band_traces(panel.band, panel, axis, colours)
    if panel.spot.high:
        traces += _envelope(panel.spot, axis, colour)
    quiet = panel.window is not None
    line = {"color": colour, "width": 1 if quiet else 1.6}
    traces.append(_line(panel.spot, panel, axis, line, opacity=0.55 if quiet else 1.0))
    if panel.window is not None:
        traces.append(_line(panel.window, panel, axis, {"color": colour, "width": 2.2}, 1.0))
    return traces


def _line(
    trace: TimelineTrace, panel: TimelinePanel, axis: str, line: dict[str, Any], opacity: float
) -> Trace:
    return scatter(
        x=stamps(trace.times),
        y=trace.values,
        yaxis=axis,
        mode="lines" if len(trace.times) > FEW else "lines+markers",
        line=line,
        opacity=opacity,
        connectgaps=False,
        name=f"{panel.short}, {trace.name}",
        hovertemplate=_hover(panel),
        meta=_live(trace),
    )


def _band_traces(band: Band, panel: TimelinePanel, axis: str, colours: Palette) -> list[Trace]:
    common: dict[str, Any] = {"x": stamps(band.times), "yaxis": axis, "mode": "lines"}
    edge = {**common, "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    return [
        scatter(y=band.low, meta=_edge(band, -1), **edge),
        scatter(
            y=band.high,
            fill="tonexty",
            fillcolor=colours.band,
            meta=_edge(band, 1),
            **edge,
        ),
        scatter(
            y=band.values,
            line={"color": colours.muted, "width": 1.2, "dash": "dash", "shape": "hv"},
            name=f"{panel.short}, {band.name}",
            hovertemplate=_hover(panel),
            meta=_live(band),
            **common,
        ),
    ]


def _live(of: TimelineTrace | Band) -> dict[str, Any]:
    """How the trace grows: by the batches that are told."""
    return {"live": f"{of.entity}|{of.property}", "x": "time"}


def _edge(band: Band, sign: int) -> dict[str, Any]:
    """What modules/charts.js needs to continue an edge: baseline x (1 + sign x mu)."""
    return {"band": f"{band.entity}|{band.property}", "edge": sign, "mu": band.mu}


def _envelope(trace: TimelineTrace, axis: str, colour: str) -> list[Trace]:
    edge: dict[str, Any] = {
        "x": stamps(trace.times),
        "yaxis": axis,
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    return [
        scatter(y=trace.low, **edge),
        scatter(y=trace.high, fill="tonexty", fillcolor=_faint(colour), **edge),
    ]


def _lane_traces(markers: Sequence[Marker], axis: str, colours: Palette) -> list[Trace]:
    traces = []
    for place, lane in enumerate(LANES):
        mine = [marker for marker in markers if marker.lane == lane]
        words, glyph, symbol, colour_name = MARKS[lane]
        colour = getattr(colours, colour_name)
        traces.append(
            scatter(
                x=stamps([marker.time for marker in mine]),
                y=[place] * len(mine),
                yaxis=axis,
                mode="text" if glyph else "markers",
                text=[event_kind(marker.kind).sign for marker in mine] if glyph else None,
                textfont={"size": TITLE_PX, "color": colour},
                marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 1.5}},
                customdata=[[m.batch, _marker_words(m), m.link] for m in mine],
                hovertemplate="%{customdata[1]}",
                name=words,
                cliponaxis=False,
                meta={"lane": lane},
            )
        )
    return traces


def _marker_words(marker: Marker) -> str:
    detail = f" · {safe(marker.detail)}" if marker.detail else ""
    words = f"batch {marker.batch}: {safe(marker.title)}{detail}"
    return words if len(words) <= MARKER_WORDS else words[: MARKER_WORDS - 1] + "…"


def _domain(place: int, height: int) -> tuple[float, float]:
    """The panel's share of the plot area, top one first."""
    inner = height - TOP_PX - BOTTOM_PX
    top = inner - place * (PANEL_PX + GAP_PX)
    return ((top - PANEL_PX) / inner, top / inner)


def _value_axis(panel: TimelinePanel, domain: tuple[float, float]) -> dict[str, Any]:
    return {
        "domain": list(domain),
        "anchor": "x",
        "nticks": 4,
        "ticklabelstandoff": 4,
        "rangemode": "normal" if panel.key in ("dropping", "visits") else "tozero",
        "fixedrange": True,
        "tickformat": {"f3": ".3~f", "f2": ".2~f", "si": "~s", "ms": ",~f"}.get(panel.form, ""),
    }


def _lanes_top(height: int) -> float:
    """Where the lanes end, as a share of the plot area."""
    return len(LANES) * LANE_PX / (height - TOP_PX - BOTTOM_PX)


def _lane_axis(height: int, colours: Palette) -> dict[str, Any]:
    return {
        "domain": [0, _lanes_top(height)],
        "range": [len(LANES) - 0.5, -0.5],
        "tickvals": list(range(len(LANES))),
        "ticktext": [MARKS[lane][0] for lane in LANES],
        "tickfont": {"size": FINE_PX, "color": colours.text},
        "ticklabelstandoff": 4,
        "showgrid": True,
        "fixedrange": True,
        "anchor": "x",
    }


def _time_axis(lowest: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "date",
        "anchor": lowest,
        "title": {"text": "time (UTC)", "standoff": 4},
        "showspikes": True,
        "spikemode": "across",
        "spikesnap": "cursor",
        "spikethickness": 1,
        "spikedash": "dot",
        "spikecolor": colours.muted,
        "hoverformat": "%H:%M:%S UTC",
        "tickformatstops": [
            {"dtickrange": [None, 1000], "value": "%H:%M:%S.%L"},
            {"dtickrange": [1000, 60000], "value": "%H:%M:%S"},
            {"dtickrange": [60000, None], "value": "%H:%M"},
        ],
    }


def _title(
    panel: TimelinePanel, domain: tuple[float, float], colours: Palette, first: bool
) -> dict[str, Any]:
    colour = getattr(colours, _COLOURS[panel.key])
    words = [f"<b>{panel.title}</b> ({panel.unit})"]
    if panel.window is not None:
        words.append(f"<span style='color:{colour}'>━</span> {panel.window.name}")
        words.append(f"<span style='color:{colour}'>─</span> {panel.spot.name}")
    if panel.band is not None:
        words.append(f"┄ {panel.band.name}")
        if any(value is not None for value in panel.band.low):
            words.append("▒ quiet band ±\u03bc")
    if panel.spot.high and first:
        words.append("shade: min to max of merged batches")
    if panel.note:
        words.append(f"<i>{panel.note}</i>")
    return {
        "text": _APART.join(words),
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": domain[1],
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": BODY_PX, "color": colours.text},
    }


def _cursor(view: TimelineView, colours: Palette) -> list[dict[str, Any]]:
    if view.cursor is None:
        return []
    x = stamp(view.cursor)
    line = {"color": colours.text, "width": 1.2}
    edges = {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return [{"type": "line", "name": "cursor", **edges, "line": line, "layer": "below"}]


def _hover(panel: TimelinePanel) -> str:
    """The value with its unit; shares have none."""
    number = {"f3": ".3f", "f2": ".2f", "si": ".3~s", "ms": ",.0f"}.get(panel.form, "")
    unit = "" if panel.form == "f3" else f" {panel.unit}"
    return f"%{{y:{number}}}{unit}"


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.18)"
