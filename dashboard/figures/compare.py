"""Two stretches over each other, and below how much the second differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

from dashboard.figures.theme import BODY_PX, Palette, palette, template
from dashboard.views.compare import BY_TIME, ComparedLine

ROW: Final = 124
_FOOT: Final = 46


def draw_compared(lines: Sequence[ComparedLine], align: str, theme: str | None = None) -> go.Figure:
    """A row a property: A and B as lines, the difference as an area between them."""
    colours = palette(theme)
    figure = go.Figure()
    height = ROW * len(lines) + _FOOT
    layout: dict[str, Any] = {}
    for place, line in enumerate(lines):
        axis = "" if place == 0 else str(place + 1)
        figure.add_traces(_row(line, f"y{axis}", colours))
        top = 1 - place / len(lines)
        domain = [max(0.0, top - (1 - 34 / ROW) / len(lines)), top - 24 / ROW / len(lines)]
        layout[f"yaxis{axis}"] = {"domain": domain, "nticks": 4, "fixedrange": True}
    words = "time of the stream" if align == BY_TIME else "batches since the begin of the stretch"
    figure.update_layout(
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
        **layout,
    )
    return figure


def _row(line: ComparedLine, axis: str, colours: Palette) -> list[go.Scatter]:
    common: dict[str, Any] = {"x": line.x, "yaxis": axis, "mode": "lines", "connectgaps": True}
    form = "%{y:.4~g} " + line.unit
    return [
        go.Scatter(
            y=line.a,
            name="A",
            line={"color": colours.blue, "width": 1.8},
            hovertemplate=form,
            meta={"side": "A", "property": line.property},
            **common,
        ),
        go.Scatter(
            y=line.b,
            name="B",
            fill="tonexty",
            fillcolor=colours.band,
            line={"color": colours.orange, "width": 1.8, "dash": "dash"},
            hovertemplate=form,
            meta={"side": "B", "property": line.property},
            **common,
        ),
    ]


def _title(line: ComparedLine, y: float, colours: Palette) -> dict[str, Any]:
    a = f"<span style='color:{colours.blue}'>━ A</span>"
    b = f"<span style='color:{colours.orange}'>╌ B</span>"
    return {
        "text": f"<b>{line.words}</b> ({line.unit})   {a}   {b}",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": BODY_PX, "color": colours.text},
    }
