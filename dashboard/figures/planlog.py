"""The looks of a plan log on two statistics: plans as colours and signs, the run's path between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from dashboard.components.formats import clock, show, with_mu
from dashboard.components.plain import Figure, Trace, figure, heatmap, scatter
from dashboard.figures.theme import BODY_PX, FINE_PX, SIGNS, Palette, ink, palette, short, template
from dashboard.views.numbers import form_of, shown_unit
from dashboard.views.planlog_pair import PairedLogs
from dashboard.views.planlog_plans import LoggedPlan
from dashboard.views.planlog_space import SpacePoint, SpaceView

HEIGHT_PX: Final = 480
#: Plans in the legend, those that most looks chose; the table of plans has the signs of all.
MOST_NAMED: Final = 6
#: Parts of the path, each fainter than the next newer one, and the faintest.
_FADES: Final = 10
_FAINTEST: Final = 0.12
#: Looks before the range of batches that the page is of.
_BEFORE: Final = 0.2
_GROUND_OPACITY: Final = 0.14
_LONGEST_ORDER: Final = 40
_LONGEST_NAME: Final = 48


def draw_space(view: SpaceView, theme: str | None = None) -> Figure:
    """The ground in the colours of the plans, the path, the looks by plan, and the moment."""
    colours = palette(theme)
    n_looks = Counter(point.place for point in view.points)
    named = {place for place, _ in n_looks.most_common(MOST_NAMED)}
    traces = [
        _ground(view, colours),
        *_path(view.points[view.since :], colours),
        *(_looks(view, plan, colours, plan.place in named) for plan in view.plans),
        _moment(view.points[-1], colours),
    ]
    return _space(view, traces, theme, {"batch": 0})


def draw_pair(pair: PairedLogs, theme: str | None = None) -> Figure:
    """The ground in the colours of the plans, and the looks by plan, hollow those of A."""
    colours, space = palette(theme), pair.space
    n_looks = Counter(point.place for point in space.points)
    named = {place for place, _ in n_looks.most_common(MOST_NAMED)}
    sides = {"A": space.points[: pair.n_a], "B": space.points[pair.n_a :]}
    traces = [_ground(space, colours)]
    for plan in space.plans:
        own = {side: [p for p in points if p.place == plan.place] for side, points in sides.items()}
        taken = [side for side in own if own[side]]
        for side in taken:
            is_named = plan.place in named and side == taken[-1]
            traces.append(_of_side(side, own[side], plan, colours, space.cost_unit, is_named))
    return _space(space, traces, theme, {})


def _of_side(
    side: str,
    points: Sequence[SpacePoint],
    plan: LoggedPlan,
    colours: Palette,
    cost_unit: str,
    is_named: bool,
) -> Trace:
    colour, sign = ink(colours, plan.place), SIGNS[plan.place % len(SIGNS)][0]
    edge = {"color": colour, "width": 1.6} if side == "A" else {"color": colours.text, "width": 0.6}
    return scatter(
        name=short(plan.text or plan.name, _LONGEST_ORDER),
        mode="markers",
        x=[point.x for point in points],
        y=[point.y for point in points],
        marker={
            "color": colour,
            "symbol": sign if side == "B" else f"{sign}-open",
            "size": 9,
            "line": edge,
        },
        customdata=[[f"{side} · {_said(point, plan, cost_unit)}"] for point in points],
        hovertemplate="%{customdata[0]}<extra></extra>",
        legendgroup=plan.digest,
        showlegend=is_named,
        meta={"plan": plan.digest, "side": side},
    )


def _space(view: SpaceView, traces: list[Trace], theme: str | None, meta: Any) -> Figure:
    return figure(
        traces,
        template=template(theme),
        height=HEIGHT_PX,
        margin={"l": 62, "r": 16, "t": 30, "b": 46},
        xaxis=_axis(view.x, view.units[0], view.ground.xs),
        yaxis=_axis(view.y, view.units[1], view.ground.ys),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision=f"plan-log {view.x} {view.y}",
        meta=meta,
    )


def _axis(name: str, unit: str, middles: Sequence[float]) -> dict[str, Any]:
    unit_words = "" if unit in ("prob", "number") else with_mu(unit)
    words = " · ".join(filter(None, (short(name, _LONGEST_NAME), unit_words)))
    half = (middles[1] - middles[0]) / 2
    return {
        "title": {"text": f"{words} →", "font": {"size": BODY_PX}, "standoff": 10},
        "range": [middles[0] - half, middles[-1] + half],
        "tickformat": ".0%" if unit == "prob" else "",
        "nticks": 8,
    }


def _ground(view: SpaceView, colours: Palette) -> Trace:
    last = max(1, len(view.plans) - 1)
    places = {plan.place: at for at, plan in enumerate(view.plans)}
    cells = [[None if c is None else places[c] for c in row] for row in view.ground.cells]
    steps = [[at / last, ink(colours, plan.place)] for at, plan in enumerate(view.plans)]
    return heatmap(
        x=list(view.ground.xs),
        y=list(view.ground.ys),
        z=cells,
        zmin=0,
        zmax=last,
        colorscale=steps if len(steps) > 1 else [[0, steps[0][1]], [1, steps[0][1]]],
        showscale=False,
        hoverinfo="skip",
        opacity=_GROUND_OPACITY,
        name="nearest look",
    )


def _path(points: Sequence[SpacePoint], colours: Palette) -> list[Trace]:
    """From look to look; what is older is fainter."""
    steps = max(0, len(points) - 1)
    bounds = sorted({round(part * steps / _FADES) for part in range(_FADES + 1)})
    return [
        scatter(
            name="path",
            mode="lines",
            x=[point.x for point in points[start : end + 1]],
            y=[point.y for point in points[start : end + 1]],
            line={"color": colours.text, "width": 1.4},
            opacity=_FAINTEST + (1 - _FAINTEST) * (end / steps) ** 2,
            hoverinfo="skip",
            showlegend=False,
        )
        for start, end in pairwise(bounds)
    ]


def _looks(view: SpaceView, plan: LoggedPlan, colours: Palette, is_named: bool) -> Trace:
    places = [at for at, point in enumerate(view.points) if point.place == plan.place]
    own = [view.points[at] for at in places]
    edges = [2.0 if point.switched else 0.5 for point in own]
    return scatter(
        name=short(plan.label, _LONGEST_ORDER),
        mode="markers",
        x=[point.x for point in own],
        y=[point.y for point in own],
        marker={
            "color": ink(colours, plan.place),
            "symbol": SIGNS[plan.place % len(SIGNS)][0],
            "size": [11 if point.switched else 8 for point in own],
            "opacity": [1.0 if at >= view.since else _BEFORE for at in places],
            "line": {"color": colours.text, "width": edges},
        },
        customdata=[[point.batch, _said(point, plan, view.cost_unit)] for point in own],
        hovertemplate="%{customdata[1]}<br>click: go to this batch<extra></extra>",
        showlegend=is_named,
        meta={"plan": plan.digest},
    )


def _moment(point: SpacePoint, colours: Palette) -> Trace:
    """The last look up to the moment shown."""
    return scatter(
        name="this moment",
        mode="markers",
        x=[point.x],
        y=[point.y],
        marker={
            "color": colours.text,
            "symbol": "circle-open",
            "size": 22,
            "line": {"color": colours.text, "width": 3},
        },
        hoverinfo="skip",
    )


def _said(point: SpacePoint, plan: LoggedPlan, cost_unit: str) -> str:
    form, unit = form_of(cost_unit), shown_unit(cost_unit)
    verb = "switched to" if point.switched else "kept"
    ran = "" if point.measured is None else f", measured {show(point.measured, form)}"
    return (
        f"batch {point.batch} · {clock(point.time)} · look #{point.decision}<br>"
        f"{verb} {short(plan.label, _LONGEST_NAME)}<br>"
        f"predicted {show(point.predicted, form)}{ran} {unit}"
    )
