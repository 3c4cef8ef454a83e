"""The race: what 2 000 tuples would cost in the order of each algorithm, and when it changed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.views.numbers import known
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Entity, Matrix

MATRIX: Final = "race"
COST: Final = "race_cost_us"
SAMPLED: Final = "race_sampled_tuples"
CHANGES: Final = "race_changes"
#: Means this close (relative) are the same.
SAME: Final = 5e-4
#: Properties of each racer the page reads.
PROPERTIES: Final = (COST, SAMPLED, CHANGES)


class RaceReading(NamedTuple):
    """One reading of a racer. tuples: of the stream so far; cost: us for 2 000 tuples; n: profile
    tuples behind it; changed: the order has changed since the reading before."""

    batch: int
    tuples: float
    cost: float
    n: float | None
    changed: bool


class RaceLane(NamedTuple):
    """One algorithm. mean: of its readings since the race began; order: now, [] = not recorded."""

    algorithm: str
    in_force: bool
    readings: list[RaceReading]
    mean: float | None
    changes: int
    order: list[str]


class RaceView(NamedTuple):
    """lanes: in the engine's order. cheapest: those of the least mean, as far as there is one."""

    lanes: list[RaceLane]
    cheapest: frozenset[str] = frozenset()


def build_race(
    racers: Sequence[Entity],
    series: Mapping[tuple[str, str], SeriesData],
    totals: SeriesData | None,
    matrix: Matrix | None,
) -> RaceView:
    """racers: monitors of the algorithms that race.

    series: by (entity, property). totals: tuples_total of the system. matrix: of kind 'race'."""
    monitors = list(racers)
    if matrix is not None:
        places = {name: place for place, name in enumerate(matrix.rows)}
        monitors.sort(key=lambda entity: places.get(entity.name, len(places)))
    start = max((entity.since_batch for entity in monitors), default=0)
    tuples = _by_batch(totals)
    lanes = [_lane(entity, series, tuples, matrix, start) for entity in monitors]
    means = {lane.algorithm: lane.mean for lane in lanes if lane.mean is not None}
    least = min(means.values(), default=0.0) * (1 + SAME)
    cheapest = frozenset(name for name, mean in means.items() if mean <= least)
    return RaceView(lanes, cheapest if len(cheapest) < len(means) else frozenset())


def _lane(
    entity: Entity,
    series: Mapping[tuple[str, str], SeriesData],
    tuples: Mapping[int, float],
    matrix: Matrix | None,
    start: int,
) -> RaceLane:
    costs = _by_batch(series.get((entity.id, COST)))
    sampled = _by_batch(series.get((entity.id, SAMPLED)))
    changes = _by_batch(series.get((entity.id, CHANGES)))
    readings: list[RaceReading] = []
    before = 0.0
    for batch, cost in costs.items():
        now = changes.get(batch, before)
        at = tuples.get(batch)
        if at is not None and batch >= start:
            n = sampled.get(batch)
            readings.append(RaceReading(batch, at, cost, n, now > before))
        before = now
    values = [reading.cost for reading in readings]
    return RaceLane(
        algorithm=entity.name,
        in_force=bool(entity.properties.get("in_force")),
        readings=readings,
        mean=sum(values) / len(values) if values else None,
        changes=int(next(reversed(changes.values()), 0)),
        order=_order(matrix, entity.name),
    )


def _order(matrix: Matrix | None, algorithm: str) -> list[str]:
    if matrix is None or algorithm not in matrix.rows:
        return []
    places = matrix.values[matrix.rows.index(algorithm)]
    return [name for _, name in sorted(zip(places, matrix.columns, strict=True))]


def _by_batch(data: SeriesData | None) -> dict[int, float]:
    """Batch -> value, unknown ones left out."""
    if data is None:
        return {}
    pairs = zip(data.batch.tolist(), data.value.tolist(), strict=True)
    return {batch: value for batch, value in pairs if known(value)}
