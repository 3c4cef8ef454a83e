"""Regions of the plan log over time: a lane each, in the colours of the plans chosen there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from dashboard.components.formats import clock
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.boxes import around, stamps
from dashboard.figures.theme import FINE_PX, SIGNS, Palette, ink, palette, short, template
from dashboard.figures.timeline import LEFT_PX, RIGHT_PX
from dashboard.views.planlog_regions import RegionLanes, RegionStay

_LANE_PX: Final = 20
_MARGINS_PX: Final = 78
_FEWEST: Final = 3
#: Plans in the legend, those with most stays: as many as there are names in one line.
_MOST_NAMED: Final = 12
_LONGEST_PLAN: Final = 60


def regions_height(lanes: RegionLanes) -> int:
    """Pixels for all lanes, axis and legend included."""
    return _MARGINS_PX + _LANE_PX * max(_FEWEST, len(_names(lanes)))


def _names(lanes: RegionLanes) -> list[str]:
    """What the lanes are called, that of all other regions last."""
    others = lanes.n_regions - len(lanes.regions)
    names = [f"region {region}" for region in lanes.regions]
    return [*names, f"{others} {'other' if others == 1 else 'others'}"] if others else names


def draw_regions(lanes: RegionLanes, theme: str | None = None) -> Figure:
    """A bar for each stay in a lane under one plan, with the sign of the plan where it began."""
    colours, names = palette(theme), _names(lanes)
    own_lane = {region: place for place, region in enumerate(lanes.regions)}
    rows = {s.region: own_lane.get(s.region, len(own_lane)) for s in lanes.stays}
    own: dict[str, list[list[RegionStay]]] = {}
    for (_, digest), stays in groupby(lanes.stays, lambda s: (rows[s.region], s.plan.digest)):
        own.setdefault(digest, []).append(list(stays))
    often = Counter({digest: len(bars) for digest, bars in own.items()})
    named = {digest for digest, _ in often.most_common(_MOST_NAMED)}
    traces: list[Trace] = []
    for digest, bars in own.items():
        colour = ink(colours, bars[0][0].plan.place)
        traces += [
            _bars(bars, rows, colour),
            _marks(bars, rows, colours, colour, digest in named),
        ]
    times = [time for stay in lanes.stays for time in (stay.since, stay.until)]
    return figure(
        traces,
        template=template(theme),
        height=regions_height(lanes),
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": 30, "b": 28},
        xaxis={"type": "date", "showgrid": True, **around(times)},
        yaxis={
            "range": [max(_FEWEST, len(names)) - 0.5, -0.5],
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickfont": {"size": FINE_PX, "color": colours.text},
            "ticklabelstandoff": 4,
            "fixedrange": True,
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": FINE_PX}},
        uirevision="plan-regions",
        meta={"batch": 0},
    )


def _bars(bars: Sequence[Sequence[RegionStay]], rows: dict[int, int], colour: str) -> Trace:
    x: list[str | None] = []
    y: list[int | None] = []
    for stays in bars:
        x += [*stamps([stays[0].since, stays[-1].until]), None]
        y += [rows[stays[0].region], rows[stays[0].region], None]
    line: dict[str, Any] = {"color": colour, "width": 8}
    return scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _marks(
    bars: Sequence[Sequence[RegionStay]],
    rows: dict[int, int],
    colours: Palette,
    colour: str,
    is_named: bool,
) -> Trace:
    plan = bars[0][0].plan
    edge = {"color": colours.text, "width": 0.6}
    marker = {"color": colour, "symbol": SIGNS[plan.place % len(SIGNS)][0], "size": 9, "line": edge}
    return scatter(
        name=plan.name,
        mode="markers",
        x=stamps([first.since for first, *_ in bars]),
        y=[rows[first.region] for first, *_ in bars],
        marker=marker,
        customdata=[[stays[0].batch, stay_words(stays)] for stays in bars],
        hovertemplate="%{customdata[1]}<br>click: go to this batch<extra></extra>",
        showlegend=is_named,
        cliponaxis=False,
        meta={"plan": plan.digest},
    )


def stay_words(stays: Sequence[RegionStay]) -> str:
    """'region 3 from 14:05:12 on, batches 1 to 9, 2 looks; here again, 1 time before', and the plan
    below it. stays: one behind the other, in regions without a lane of their own where several."""
    first, last, plan = stays[0], stays[-1], stays[0].plan
    n_regions, n_looks = len({stay.region for stay in stays}), sum(stay.n_looks for stay in stays)
    where = f"region {first.region}" if n_regions == 1 else f"{n_regions} regions"
    stretch = f"from {clock(first.since)} on, batches {first.batch} to {last.last}"
    looks = f"{n_looks} look{'' if n_looks == 1 else 's'}"
    back = f"; here again, {first.n_back} time{'' if first.n_back == 1 else 's'} before"
    again = back if first.n_back and n_regions == 1 else ""
    return f"{where} {stretch}, {looks}{again}<br>{short(plan.label, _LONGEST_PLAN)}"
