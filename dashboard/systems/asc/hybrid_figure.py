"""Where everything of the hybrid view is drawn: cells, micro-arrows, the way of a tuple.

Pure geometry in pixels; hybrid_graph.js draws it in the colours of the theme.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dashboard.components.formats import show
from dashboard.systems.asc.hybrid_view import Arrow, HybridColumn, HybridView, Region, Way

HEAD_PX: Final = 30
CELL_PX: Final = 19
GAP_PX: Final = 2
#: Between two columns arrows leave and arrive.
LANE_PX: Final = 34
COLUMN_PX: Final = 104
LEAST_COLUMN_PX: Final = 76
WIDTH_PX: Final = 1160
MARGIN_PX: Final = 12
#: Arrows run to their targets on tracks above the heads, one a target.
TRACK_PX: Final = 5
TURN_PX: Final = 6
#: Of the most frequented region; more would drown its label.
MOST_OPACITY: Final = 0.5
WIDEST_PX: Final = 2.8
THINNEST_PX: Final = 0.9


def lay_out(view: HybridView, way: Way | None = None) -> dict[str, Any]:
    """The drawing as plain data: width, height, heads, cells, arrows, way (points of its steps).

    Cells are bluer the more tuples visit the region; arrows wider the more they were decided on.
    An arrow leaves its region to the side of its target, climbs between the columns to the track of
    the target above the heads, and comes down on it.
    """
    column = _column_px(len(view.constructs))
    places = {construct.attribute: i for i, construct in enumerate(view.constructs)}
    lefts = [MARGIN_PX + i * (column + LANE_PX) for i in places.values()]
    most = max(
        (r.hit_prob or 0.0 for construct in view.constructs for r in construct.regions), default=0.0
    )
    top = MARGIN_PX + (len(lefts) + 1) * TRACK_PX
    heads = [
        _head(construct, lefts[i], top, column, i) for i, construct in enumerate(view.constructs)
    ]
    cells = [
        _cell(construct, region, lefts[i], _top(top, row), column, most)
        for i, construct in enumerate(view.constructs)
        for row, region in enumerate(construct.regions)
    ]
    spots = {(c["attribute"], c["row"]): c for c in cells if c["row"] is not None}
    widest = max((arrow.support for arrow in view.arrows), default=0)
    tallest = max((len(construct.regions) for construct in view.constructs), default=0)
    taken = _taken(way)
    return {
        "width": 2 * MARGIN_PX + len(lefts) * column + max(0, len(lefts) - 1) * LANE_PX,
        "height": _top(top, tallest) + MARGIN_PX,
        "heads": heads,
        "cells": cells,
        "arrows": [
            _arrow(arrow, spots, heads, places[arrow.target], widest)
            | {"taken": (arrow.source, arrow.row) in taken}
            for arrow in view.arrows
        ],
        "way": _way(way, spots) if way else None,
    }


def arrow_words(arrow: Arrow) -> str:
    """A micro-arrow in one line."""
    support, taken = show(arrow.support, "int"), show(arrow.followed_prob, "pct")
    return (
        f"{arrow.source} {arrow.region} → {arrow.target}: support {support} sampled tuples, "
        f"gain {show(arrow.gain, 'f3')}, taken by {taken}"
    )


def _column_px(n: int) -> int:
    free = WIDTH_PX - 2 * MARGIN_PX - max(0, n - 1) * LANE_PX
    return max(LEAST_COLUMN_PX, min(COLUMN_PX, free // max(1, n)))


def _top(head: int, row: int) -> int:
    """Upper edge of the cell in a row; head: of the heads."""
    return head + HEAD_PX + 6 + row * (CELL_PX + GAP_PX)


def _head(column: HybridColumn, left: int, top: int, width: int, place: int) -> dict[str, Any]:
    return {
        "x": left,
        "y": top,
        "w": width,
        "h": HEAD_PX,
        "place": place + 1,
        "attribute": column.attribute,
    }


def _cell(
    column: HybridColumn, region: Region, left: int, top: int, width: int, most: float
) -> dict[str, Any]:
    share = region.hit_prob or 0.0
    opacity = MOST_OPACITY * math.sqrt(share / most) if most else 0.0
    return {
        "x": left,
        "y": top,
        "w": width,
        "h": CELL_PX,
        "attribute": column.attribute,
        "row": region.row,
        "label": region.label,
        "share": show(region.hit_prob, "pct"),
        "opacity": round(opacity, 3),
    }


def _arrow(
    arrow: Arrow,
    spots: dict[tuple[str, int], dict[str, Any]],
    heads: list[dict[str, Any]],
    place: int,
    widest: int,
) -> dict[str, Any]:
    """place: of the target in the macro order; it has a track and a place in each lane."""
    cell, head = spots[arrow.source, arrow.row], heads[place]
    way = 1 if head["x"] > cell["x"] else -1
    begin = cell["x"] + (cell["w"] if way > 0 else 0)
    lane = begin + way * (3 + TURN_PX / 2 + (LANE_PX - 6 - TURN_PX) * (place + 0.5) / len(heads))
    y, track = cell["y"] + cell["h"] / 2, MARGIN_PX + place * TRACK_PX
    end, r = head["x"] + head["w"] / 2 - way * 5, TURN_PX
    corners = [
        f"M{begin},{y:g} H{lane - way * r / 2:g} Q{lane:g},{y:g} {lane:g},{y - r:g}",
        f"V{track + r:g} Q{lane:g},{track:g} {lane + way * r:g},{track:g}",
        f"H{end - way * r:g} Q{end:g},{track:g} {end:g},{track + r:g} V{head['y'] - 3:g}",
    ]
    size = math.log1p(arrow.support) / math.log1p(widest) if widest else 0.0
    return {
        "d": " ".join(corners),
        "width": round(THINNEST_PX + (WIDEST_PX - THINNEST_PX) * size, 2),
        "source": arrow.source,
        "row": arrow.row,
        "target": arrow.target,
        "words": arrow_words(arrow),
    }


def _taken(way: Way | None) -> set[tuple[str, int]]:
    """The regions whose micro-arrow the tuple followed."""
    if way is None:
        return set()
    pairs = zip(way.steps, way.steps[1:], strict=False)
    return {(step.attribute, step.row) for step, after in pairs if after.by == "micro"}


def _way(way: Way, spots: dict[tuple[str, int], dict[str, Any]]) -> dict[str, Any]:
    """The cells of the steps in order, with where the tuple died; steps not drawn are left out."""
    steps = [
        {
            "x": cell["x"],
            "y": cell["y"],
            "w": cell["w"],
            "h": cell["h"],
            "number": number,
            "by": step.by,
        }
        for number, step in enumerate(way.steps, start=1)
        if (cell := spots.get((step.attribute, step.row))) is not None
    ]
    return {"steps": steps, "end": way.end}
