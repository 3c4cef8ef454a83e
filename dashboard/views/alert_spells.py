"""When a number was beyond a threshold: the spells of a series, and how long the last one lasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Final, NamedTuple

from storage.tables.rows import SeriesData

RELATIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}


class Spell(NamedTuple):
    """A stretch in which all values were beyond. since, until: times of its first and last point
    (Unix s); batch: of the first; worst: the value farthest beyond; lasts: it is the newest."""

    since: float
    until: float
    batch: int
    worst: float
    lasts: bool


def spells(series: SeriesData, relation: str, threshold: float) -> list[Spell]:
    """Those of a series, oldest first. Of a point that is many batches the extreme nearest to the
    threshold counts; an unknown value ends a spell."""
    is_beyond, rises = RELATIONS[relation], relation[0] == ">"
    nearest, farthest = (series.low, series.high) if rises else (series.high, series.low)
    when: list[Spell] = []
    is_open = False
    points = zip(series.batch, series.time, nearest, farthest, strict=True)
    for batch, time, near, far in points:
        is_in = not math.isnan(near) and is_beyond(float(near), threshold)
        if is_in and is_open:
            last = when[-1]
            worst = (max if rises else min)(last.worst, float(far))
            when[-1] = last._replace(until=float(time), worst=worst)
        elif is_in:
            when.append(Spell(float(time), float(time), int(batch), float(far), False))
        is_open = is_in
    return [*when[:-1], when[-1]._replace(lasts=is_open)] if when else []


def forecast_s(series: SeriesData, limit: float, over_s: float) -> float | None:
    """Seconds until a number that grows as over the last ``over_s`` seconds comes to a limit: least
    squares. None where it does not grow, or too little is known."""
    known = ~(series.value != series.value)
    time, value = series.time[known], series.value[known]
    if len(time) < 3:
        return None
    recent = time >= time[-1] - over_s
    time, value = time[recent], value[recent]
    if len(time) < 3:
        return None
    t, v = time - time.mean(), value - value.mean()
    spread = float((t * t).sum())
    slope = float((t * v).sum()) / spread if spread > 0 else 0.0
    left = limit - float(value[-1])
    if left <= 0:
        return 0.0
    return left / slope if slope > 0 else None
