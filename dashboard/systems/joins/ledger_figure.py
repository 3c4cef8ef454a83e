"""What caching saved and lost since the run began: two lines for each join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import stamps
from dashboard.figures.theme import palette, template
from dashboard.systems.joins.ledger_view import CachingView

HEIGHT: Final = 240
#: Line -> colours of the palette by join, in turn; dash.
_LINES: Final = {
    "saved": (("teal", "blue", "cyan"), "solid"),
    "regret": (("orange", "violet", "muted"), "dash"),
}


def draw_caching(joins: Sequence[CachingView], theme: str | None = None) -> Figure:
    """Solid: saved against no caches; dashed: lost against the best caches in hindsight."""
    traces = [
        _line(join, place, name, theme) for place, join in enumerate(joins) for name in _LINES
    ]
    unit = joins[0].cost if joins else ""
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 70, "r": 18, "t": 30, "b": 40},
        xaxis={"type": "date", "title": {"text": "time (UTC)", "standoff": 4}},
        yaxis={"nticks": 5, "fixedrange": True, "tickformat": "~s", "title": {"text": unit}},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 11}},
        showlegend=True,
        hovermode="x unified",
        uirevision="caching",
    )


def _line(join: CachingView, place: int, name: str, theme: str | None) -> Trace:
    colours, dash = _LINES[name]
    ink = getattr(palette(theme), colours[place % len(colours)])
    return scatter(
        x=stamps([row.time for row in join.rows]),
        y=[getattr(row, name) for row in join.rows],
        mode="lines" if len(join.rows) > 2 else "lines+markers",
        line={"color": ink, "dash": dash, "width": 2},
        name=f"{name} · {join.name}",
        hovertemplate=f"%{{y:.3~s}} {join.cost}",
        meta={"caching": name, "pool": join.pool},
    )
