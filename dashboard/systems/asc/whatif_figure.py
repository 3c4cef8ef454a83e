"""The figure of the ghost run: cost of both runs, and which rearrangements would come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import stamps
from dashboard.figures.theme import BODY_PX, FINE_PX, Palette, palette, template
from dashboard.systems.asc.ghost_view import APPEARS, COMMON, VANISHES, effect, plan_words
from dashboard.systems.asc.whatif_view import GhostStep

HEIGHT: Final = 260
_LANES_TOP: Final = 0.36
_GAP: Final = 0.13
#: effect -> (words on the axis, plotly symbol, colour of the palette)
MARKS: Final = {
    COMMON: ("▲ in both", "triangle-up", "violet"),
    VANISHES: ("✕ would vanish", "x-thin", "orange"),
    APPEARS: ("✚ would appear", "cross", "teal"),
}


def draw_ghost(steps: Sequence[GhostStep], tried: str, theme: str | None = None) -> Figure:
    """Both lines and the three lanes; steps: one an evaluation, oldest first. tried: 'μ = 0.3'."""
    colours = palette(theme)
    x = stamps([step.trial.time for step in steps])
    traces = [_line(steps, x, False, colours), _line(steps, x, True, colours)]
    traces += [_lane(steps, name, place, colours) for place, name in enumerate(MARKS)]
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT,
        margin={"l": 124, "r": 18, "t": 22, "b": 44},
        xaxis={"type": "date", "anchor": "y2", "title": {"text": "time (UTC)", "standoff": 4}},
        yaxis={"domain": [_LANES_TOP + _GAP, 1], "nticks": 4, "fixedrange": True},
        yaxis2=_lane_axis(colours),
        annotations=[_title(tried, colours)],
        hovermode="closest",
        uirevision="whatif",
        meta={"batch": 0},
    )


def _line(steps: Sequence[GhostStep], x: list[str], ghost: bool, colours: Palette) -> Trace:
    dashed = {"color": colours.orange, "width": 2.2, "dash": "dash", "shape": "vh"}
    solid = {"color": colours.blue, "width": 2, "shape": "vh"}
    return scatter(
        x=x,
        y=[step.ghost_cost if ghost else step.real_cost for step in steps],
        mode="lines" if len(x) > 2 else "lines+markers",
        line=dashed if ghost else solid,
        name="ghost" if ghost else "recorded",
        hovertemplate="%{y:.3f} visits/tuple",
        meta={"whatif": "ghost" if ghost else "recorded"},
    )


def _lane(steps: Sequence[GhostStep], name: str, place: int, colours: Palette) -> Trace:
    words, symbol, ink = MARKS[name]
    mine = [step for step in steps if effect(step) == name]
    colour = getattr(colours, ink)
    return scatter(
        x=stamps([step.trial.time for step in mine]),
        y=[place] * len(mine),
        yaxis="y2",
        mode="markers",
        marker={"symbol": symbol, "size": 10, "color": colour, "line": _edge(symbol, colour)},
        customdata=[[step.trial.batch, _hover(step, words)] for step in mine],
        hovertemplate="%{customdata[1]}<extra></extra>",
        name=words,
        cliponaxis=False,
        meta={"whatif": name},
    )


def _edge(symbol: str, colour: str) -> dict[str, Any]:
    return {"width": 2.4 if symbol == "x-thin" else 0, "color": colour}


def _hover(step: GhostStep, words: str) -> str:
    plans = f"recorded {plan_words(step.real_plan)}<br>ghost {plan_words(step.after)}"
    return f"batch {step.trial.batch}: {words}<br>{plans}"


def _lane_axis(colours: Palette) -> dict[str, Any]:
    return {
        "domain": [0, _LANES_TOP],
        "range": [len(MARKS) - 0.5, -0.5],
        "tickvals": list(range(len(MARKS))),
        "ticktext": [words for words, *_ in MARKS.values()],
        "tickfont": {"size": FINE_PX, "color": colours.text},
        "ticklabelstandoff": 4,
        "fixedrange": True,
        "anchor": "x",
    }


def _title(tried: str, colours: Palette) -> dict[str, Any]:
    words = [
        "<b>Visits per tuple</b> (estimated)",
        f"<span style='color:{colours.blue}'>━</span> as recorded",
        f"<span style='color:{colours.orange}'>╌</span> ghost at {tried}",
    ]
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1}
    anchor = {"xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {
        "text": "   ".join(words),
        **place,
        **anchor,
        "font": {"size": BODY_PX, "color": colours.text},
    }
