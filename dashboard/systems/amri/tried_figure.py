"""Work of a request over time: as spent, and with the index that is tried."""

from __future__ import annotations

from typing import Final

from dashboard.components.formats import show
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, stamps
from dashboard.figures.theme import FINE_PX, palette, template
from dashboard.systems.amri.tried_view import TriedIndex, TriedWindow

HEIGHT_PX: Final = 190


def draw_windows(tried: TriedIndex, theme: str | None = None) -> Figure:
    """Two lines of steps, each window as long as its batches."""
    colours = palette(theme)
    lines = (("spent", colours.blue, "solid"), ("tried", colours.orange, "dash"))
    times = [window.time for window in tried.windows]
    return figure(
        [_line(tried, name, colour, dash) for name, colour, dash in lines],
        template=template(theme),
        height=HEIGHT_PX,
        margin={"l": 56, "r": 16, "t": 26, "b": 28},
        xaxis={"type": "date", "showgrid": True, **around(times)},
        yaxis={"rangemode": "tozero", "title": {"text": "work a request"}, "nticks": 5},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="index-whatif",
        meta={"batch": 0},
    )


def _line(tried: TriedIndex, name: str, colour: str, dash: str) -> Trace:
    """A window is drawn up to its last batch, whose record tells it."""
    words = {"spent": "spent", "tried": "this index"}[name]
    each: list[float] = [getattr(row, name) / row.requests for row in tried.windows]
    return scatter(
        name=words,
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": dash, "shape": "vh"},
        marker={"color": colour, "size": 4},
        x=stamps([row.time for row in tried.windows]),
        y=each,
        customdata=[_said(row, words, cost) for row, cost in zip(tried.windows, each, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
        meta={"index": name},
    )


def _said(row: TriedWindow, words: str, cost: float) -> str:
    batches = f"batches {row.first} to {row.last}"
    return f"{batches}: {words} {show(cost, 'f2')} a request, {show(row.requests, 'si')} of them"
