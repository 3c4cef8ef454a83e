"""A seeded expressway: cars that report where they are, jams and accidents (Linear Road, card B11).

The data of the benchmark is not available; this is a stream of its kind. A car enters a segment of
a mile, reports every 30 seconds, and leaves some segments further. In a jam cars are slow; a few
stop for some minutes wherever they are, which four equal reports in a row tell.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.text_values import ARROW_TYPES

#: t: seconds; speed: miles an hour; sid: segment; xpos: feet from the start of the expressway.
CAR_SCHEMA: Final = Schema.parse("t bigint, cid int, speed int, sid int, xpos int")
DEFAULT_TUPLES: Final = 500_000
DEFAULT_ACCIDENTS: Final = 0.005
N_SEGMENTS: Final = 100
SEGMENT_FEET: Final = 5280
REPORT_S: Final = 30
#: Cars that enter, per second.
ENTERING: Final = 2.0
#: A jam holds 20 minutes of every hour, over these segments, at this share of the speed.
JAM_S, HOUR_S, JAM_SEGMENTS, JAM_SPEED = 1200, 3600, (40, 55), 0.35
#: A car that stops does so for so many reports, least and most.
STOPPED_REPORTS: Final = (6, 20)
_FEET_S: Final = SEGMENT_FEET / 3600


class AccidentShareError(ValueError):
    """A share of cars that cannot be; the message says what is allowed."""


def accidents_from_text(text: str) -> float:
    """The ``accidents`` option: the share of cars that stop, 0..1. Raises AccidentShareError."""
    try:
        share = float(text or DEFAULT_ACCIDENTS)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise AccidentShareError(f"accidents must be a share of the cars, 0..1, not {text}")
    return share


class CarSource:
    """Reports of all cars in order of time, then of the car."""

    schema = CAR_SCHEMA

    def __init__(
        self,
        seed: int,
        n_tuples: int = DEFAULT_TUPLES,
        accidents: float = DEFAULT_ACCIDENTS,
    ) -> None:
        self.seed, self.n_tuples, self.accidents = seed, n_tuples, accidents

    def slice(self, start: int, count: int) -> pa.Table:
        """Reports ``start`` .. ``start + count - 1``, fewer at the end."""
        return self._table.slice(start, count)

    @cached_property
    def _table(self) -> pa.Table:
        columns = reports(self.seed, self.n_tuples, self.accidents)
        arrays: list[pa.Array[Any]] = [
            pa.array(columns[attribute.name], ARROW_TYPES[attribute.type])
            for attribute in CAR_SCHEMA.attributes
        ]
        none: pa.Array[Any] = pa.nulls(self.n_tuples, pa.string())
        return pa.Table.from_arrays([*arrays, none], names=[*CAR_SCHEMA.names, CORRUPT])


def reports(seed: int, n_tuples: int, accidents: float) -> dict[str, NDArray[np.int64]]:
    """The first n_tuples reports: attribute -> int64[n_tuples]."""
    n_cars = 64
    while len((columns := _drive(seed, n_cars, accidents))["t"]) < n_tuples:
        n_cars *= 2
    return {name: column[:n_tuples] for name, column in columns.items()}


def _drive(seed: int, n_cars: int, accidents: float) -> dict[str, NDArray[np.int64]]:
    """All reports up to the moment the last of n_cars enters; those of more cars begin alike."""
    rng = np.random.default_rng(seed)
    cars = rng.random((n_cars, 6))  # a row a car, whatever the number of cars
    enters = np.floor(np.cumsum(-np.log1p(-cars[:, 0]) / ENTERING)).astype(np.int64)
    first = cars[:, 1] * (N_SEGMENTS - 10)
    last = first + 2 + cars[:, 2] * (N_SEGMENTS - 2 - first)
    speed = 45 + 35 * cars[:, 3]
    stops_at = np.where(
        cars[:, 4] < accidents, 1 + np.floor(cars[:, 4] / max(accidents, 1e-9) * 8), -1
    )
    least, most = STOPPED_REPORTS
    stops_for = least + np.floor(cars[:, 5] * (most - least + 1))
    at, cid = first * SEGMENT_FEET, np.arange(n_cars)
    parts: list[NDArray[np.int64]] = []
    step = 0
    while len(cid):
        t = enters[cid] + step * REPORT_S
        now = _speed(speed[cid], at, t)
        stopped = (stops_at[cid] >= 0) & (step >= stops_at[cid])
        stopped &= step < stops_at[cid] + stops_for[cid]
        now[stopped] = 0
        miles = np.minimum(at // SEGMENT_FEET, N_SEGMENTS - 1)
        parts.append(np.stack([t, cid, now, miles, at]).astype(np.int64))
        at = at + now * _FEET_S * REPORT_S
        stays = (at < last[cid] * SEGMENT_FEET) & (t + REPORT_S <= enters[-1])
        at, cid, step = at[stays], cid[stays], step + 1
    table = np.concatenate(parts, axis=1)
    table = table[:, np.lexsort((table[1], table[0]))]
    table = table[:, table[0] < enters[-1]]
    return dict(zip(CAR_SCHEMA.names, table, strict=True))


def _speed(
    free: NDArray[np.float64], at: NDArray[np.float64], t: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Miles an hour at a place and time; whole numbers."""
    segment = at // SEGMENT_FEET
    low, high = JAM_SEGMENTS
    jammed = (segment >= low) & (segment < high) & (t % HOUR_S < JAM_S)
    return np.floor(np.where(jammed, free * JAM_SPEED, free))
