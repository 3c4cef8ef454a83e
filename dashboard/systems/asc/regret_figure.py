"""The regret ledger's figure: costs of four orders, and below what was saved, with its band."""

from __future__ import annotations

from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, stamps
from dashboard.figures.theme import BODY_PX, Palette, palette, template
from dashboard.systems.asc.regret_view import LINES, RegretView

HEIGHT: Final = 330
_SPLIT: Final = 0.44
_GAP: Final = 0.12
#: property -> colour of the palette, dash, width
_STYLES: Final = {
    "regret_running": ("orange", "solid", 2.4),
    "regret_previous": ("violet", "dot", 1.6),
    "regret_best": ("teal", "solid", 1.6),
    "regret_first": ("muted", "dash", 1.6),
}


def draw_regret(view: RegretView, theme: str | None = None) -> Figure:
    """Both panels over one time axis; steps, as an entry stands until the next one."""
    colours = palette(theme)
    x = stamps([row.time for row in view.rows])
    traces = [_line(view, name, x, colours) for name in LINES]
    traces += _saved(view, x, colours)
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 104, "r": 18, "t": 22, "b": 44},
        xaxis={
            "type": "date",
            "anchor": "y2",
            "title": {"text": "time (UTC)", "standoff": 4},
            **around([row.time for row in view.rows]),
        },
        yaxis={"domain": [_SPLIT + _GAP, 1], "nticks": 5, "fixedrange": True},
        yaxis2={"domain": [0, _SPLIT], "nticks": 4, "fixedrange": True, "tickformat": "~s"},
        shapes=[_zero(colours)],
        annotations=[_title(1.0, _legend(colours), colours), _title(_SPLIT, _below(), colours)],
        hovermode="x unified",
        hoversubplots="axis",
        uirevision="regret",
    )


def _line(view: RegretView, name: str, x: list[str], colours: Palette) -> Trace:
    colour, dash, width = _STYLES[name]
    line = {"color": getattr(colours, colour), "dash": dash, "width": width, "shape": "hv"}
    return scatter(
        x=x,
        y=[row.costs[name] for row in view.rows],
        mode="lines" if len(x) > 2 else "lines+markers",
        line=line,
        name=LINES[name],
        hovertemplate="%{y:.3f} visits/tuple",
        meta={"regret": name},
    )


def _saved(view: RegretView, x: list[str], colours: Palette) -> list[Trace]:
    common: dict[str, Any] = {"x": x, "yaxis": "y2", "mode": "lines"}
    edge = {**common, "line": {"width": 0, "shape": "hv"}, "hoverinfo": "skip"}
    return [
        scatter(y=[row.low for row in view.rows], **edge),
        scatter(y=[row.high for row in view.rows], fill="tonexty", fillcolor=colours.band, **edge),
        scatter(
            y=[row.saved for row in view.rows],
            line={"color": colours.blue, "width": 2.2, "shape": "hv"},
            name="saved",
            customdata=[[row.low, row.high] for row in view.rows],
            hovertemplate="%{y:.3~s} visits (%{customdata[0]:.3~s} … %{customdata[1]:.3~s})",
            meta={"regret": "saved"},
            **common,
        ),
    ]


def _zero(colours: Palette) -> dict[str, Any]:
    line = {"color": colours.muted, "width": 1, "dash": "dot"}
    edges = {"x0": 0, "x1": 1, "xref": "paper", "y0": 0, "y1": 0, "yref": "y2"}
    return {"type": "line", **edges, "line": line, "layer": "below"}


def _legend(colours: Palette) -> str:
    signs = {"solid": "━", "dot": "┈", "dash": "╌"}
    words = ["<b>Visits per tuple</b> (estimated)"]
    for name, (colour, dash, _) in _STYLES.items():
        ink = getattr(colours, colour)
        words.append(f"<span style='color:{ink}'>{signs[dash]}</span> {LINES[name]}")
    return "   ".join(words)


def _below() -> str:
    return "<b>Visits saved since the run began</b> against the first order   ▒ 95 % band"


def _title(y: float, text: str, colours: Palette) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": y}
    anchor = {"xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {"text": text, **place, **anchor, "font": {"size": BODY_PX, "color": colours.text}}
