"""The phases of batches as stacked bars."""

from __future__ import annotations

from typing import Final

from dashboard.components.plain import Figure, bar, figure
from dashboard.figures.theme import FINE_PX, ink, palette, template
from dashboard.views.phases import WORDS, PhasesView

HEIGHT: Final = 220
#: Patterns tell apart what colours do not.
_PATTERNS: Final = ("", "/", ".", "x", "-")


def draw_phases(view: PhasesView, theme: str | None = None) -> Figure:
    """One bar a batch, in milliseconds."""
    colours = palette(theme)
    numbers = [batch.batch for batch in view.batches]
    traces = [
        bar(
            x=numbers,
            y=[batch.ms[place] for batch in view.batches],
            name=word,
            customdata=[[number] for number in numbers],
            marker={"color": ink(colours, place), "pattern": {"shape": _PATTERNS[place]}},
            hovertemplate="%{y:,.1f} ms",
        )
        for place, word in enumerate(WORDS)
    ]
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        barmode="stack",
        bargap=0.1,
        margin={"l": 64, "r": 16, "t": 8, "b": 40},
        xaxis={"title": {"text": "batch", "standoff": 4}, "tickformat": "d"},
        yaxis={"title": {"text": "ms", "standoff": 6}, "rangemode": "tozero"},
        showlegend=True,
        legend={"orientation": "v", "x": 1.01, "y": 1, "font": {"size": FINE_PX}},
        hovermode="x unified",
        uirevision="phases",
        meta={"batch": 0, "anywhere": True},
    )
