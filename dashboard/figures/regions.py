"""Regions of the plan log over time: a lane each, in the colours of the plans chosen there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.formats import clock
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, stamps
from dashboard.figures.theme import FINE_PX, SIGNS, Palette, ink, palette, short, template
from dashboard.views.planlog_plans import LoggedPlan
from dashboard.views.planlog_regions import RegionLanes, RegionStay

_LANE_PX: Final = 20
_MARGINS_PX: Final = 78
_FEWEST: Final = 3
_LONGEST_PLAN: Final = 30
#: Plans in the legend, those with most stays.
_MOST_NAMED: Final = 6


def regions_height(lanes: RegionLanes) -> int:
    """Pixels for all lanes, axis and legend included."""
    return _MARGINS_PX + _LANE_PX * max(_FEWEST, len(lanes.regions))


def draw_regions(lanes: RegionLanes, theme: str | None = None) -> Figure:
    """A bar for each stay in a region, with the sign of its plan where it began."""
    colours, n = palette(theme), len(lanes.regions)
    own: dict[str, list[RegionStay]] = {}
    for stay in lanes.stays:
        own.setdefault(stay.plan.digest, []).append(stay)
    often = Counter({digest: len(stays) for digest, stays in own.items()})
    named = {digest for digest, _ in often.most_common(_MOST_NAMED)}
    rows = {region: place for place, region in enumerate(lanes.regions)}
    traces: list[Trace] = []
    for digest, stays in own.items():
        colour = ink(colours, stays[0].plan.place)
        traces += [
            _bars(stays, rows, colour),
            _marks(stays, rows, colours, colour, digest in named),
        ]
    times = [time for stay in lanes.stays for time in (stay.since, stay.until)]
    return figure(
        traces,
        template=template(theme),
        height=regions_height(lanes),
        margin={"l": 72, "r": 16, "t": 30, "b": 28},
        xaxis={"type": "date", "showgrid": True, **around(times)},
        yaxis={
            "range": [max(_FEWEST, n) - 0.5, -0.5],
            "tickvals": list(range(n)),
            "ticktext": [f"region {region}" for region in lanes.regions],
            "tickfont": {"size": FINE_PX},
            "fixedrange": True,
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="plan-regions",
        meta={"batch": 0},
    )


def _bars(stays: Sequence[RegionStay], rows: dict[int, int], colour: str) -> Trace:
    x: list[str | None] = []
    y: list[int | None] = []
    for stay in stays:
        x += [*stamps([stay.since, stay.until]), None]
        y += [rows[stay.region], rows[stay.region], None]
    line: dict[str, Any] = {"color": colour, "width": 8}
    return scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _marks(
    stays: Sequence[RegionStay],
    rows: dict[int, int],
    colours: Palette,
    colour: str,
    is_named: bool,
) -> Trace:
    plan = stays[0].plan
    edge = {"color": colours.text, "width": 0.6}
    marker = {"color": colour, "symbol": SIGNS[plan.place % len(SIGNS)][0], "size": 9, "line": edge}
    return scatter(
        name=f"{plan.name} {short(plan.text, _LONGEST_PLAN)}",
        mode="markers",
        x=stamps([stay.since for stay in stays]),
        y=[rows[stay.region] for stay in stays],
        marker=marker,
        customdata=[[stay.batch, stay_words(stay, plan)] for stay in stays],
        hovertemplate="%{customdata[1]}<extra></extra>",
        showlegend=is_named,
        cliponaxis=False,
        meta={"plan": plan.digest},
    )


def stay_words(stay: RegionStay, plan: LoggedPlan) -> str:
    """'region 3 from 14:05:12 on, batches 1 to 9, 2 looks: plan 4; here again, 1 time before'."""
    looks = f"{stay.n_looks} look{'' if stay.n_looks == 1 else 's'}"
    again = f"; here again, {stay.n_back} time{'' if stay.n_back == 1 else 's'} before"
    stretch = f"from {clock(stay.since)} on, batches {stay.batch} to {stay.last}"
    return f"region {stay.region} {stretch}, {looks}: {plan.name}{again if stay.n_back else ''}"
