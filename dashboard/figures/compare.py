"""Two stretches over each other, and below how much the second differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.theme import BODY_PX, Palette, palette, template
from dashboard.views.compare import BY_TIME, ComparedLine

ROW: Final = 124
_FOOT: Final = 46


def draw_compared(lines: Sequence[ComparedLine], align: str, theme: str | None = None) -> Figure:
    """A row a property: A and B as lines, the difference as an area between them."""
    colours = palette(theme)
    traces: list[Trace] = []
    height = ROW * len(lines) + _FOOT
    layout: dict[str, Any] = {}
    for place, line in enumerate(lines):
        axis = "" if place == 0 else str(place + 1)
        traces += _row(line, f"y{axis}", colours)
        top = 1 - place / len(lines)
        domain = [max(0.0, top - (1 - 34 / ROW) / len(lines)), top - 24 / ROW / len(lines)]
        layout[f"yaxis{axis}"] = {"domain": domain, "nticks": 4, "fixedrange": True}
    words = "time of the stream" if align == BY_TIME else "batches since the begin of the stretch"
    return figure(
        traces,
        template=template(theme),
        height=height,
        margin={"l": 76, "r": 18, "t": 8, "b": _FOOT},
        xaxis={
            "title": {"text": words, "standoff": 4},
            "anchor": "free",
            "position": 0,
            "type": "category" if align == BY_TIME else "linear",
            "nticks": 8,
        },
        annotations=[_title(line, 1 - i / len(lines), colours) for i, line in enumerate(lines)],
        hovermode="x unified",
        uirevision="compare",
        meta={"values": list(layout)},
        **layout,
    )


def _row(line: ComparedLine, axis: str, colours: Palette) -> list[Trace]:
    common: dict[str, Any] = {"x": line.x, "yaxis": axis, "mode": "lines", "connectgaps": True}
    form = "%{y:.4~g} " + line.unit
    return [
        scatter(
            y=line.a,
            name="A",
            line={"color": colours.blue, "width": 1.8},
            hovertemplate=form,
            meta={"side": "A", "property": line.property},
            **common,
        ),
        scatter(
            y=line.b,
            name="B",
            line={"color": colours.orange, "width": 1.8, "dash": "dash"},
            hovertemplate=form,
            meta={"side": "B", "property": line.property},
            **common,
        ),
        _between(line, axis, colours),
    ]


def _between(line: ComparedLine, axis: str, colours: Palette) -> Trace:
    """The area between both lines, as far as both go."""
    known = [[i for i, value in enumerate(side) if value is not None] for side in (line.a, line.b)]
    first = max((places[0] for places in known if places), default=0)
    last = min((places[-1] for places in known if places), default=-1)
    a, b = ([i for i in places if first <= i <= last] for places in known)
    around = [(line.x[i], line.a[i]) for i in a] + [(line.x[i], line.b[i]) for i in reversed(b)]
    return scatter(
        x=[x for x, _ in around] if a and b else [],
        y=[y for _, y in around] if a and b else [],
        yaxis=axis,
        mode="none",
        fill="toself",
        fillcolor=colours.band,
        hoverinfo="skip",
        meta={"side": "between", "property": line.property},
    )


def _title(line: ComparedLine, y: float, colours: Palette) -> dict[str, Any]:
    a = f"<span style='color:{colours.blue}'>━ A</span>"
    b = f"<span style='color:{colours.orange}'>╌ B</span>"
    return {
        "text": f"<b>{line.words}</b>   {a}   {b}   {line.unit}",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": BODY_PX, "color": colours.text},
    }
