"""k of each constraint over time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from dashboard.systems.kmon.history import CONSTRAINT
from dashboard.systems.kmon.ledger_view import USED
from dashboard.views.book import Book
from dashboard.views.numbers import points_of
from storage.tables.rows import SeriesData

ESTIMATE: Final = "k_estimate_tuples"
VIOLATIONS: Final = "k_violations"
LARGEST: Final = "k_largest_tuples"
NUMBERS: Final = (USED, ESTIMATE, VIOLATIONS, LARGEST)
#: Lanes that are drawn: those whose k changed most often.
MOST_LANES: Final = 12


class KPoint(NamedTuple):
    """k at a batch; time: of its record, Unix s. used: None = ∞; estimate: None = not known.
    violations: distances above k in use; largest: of the batch."""

    batch: int
    time: float
    used: float | None
    estimate: float | None
    violations: float
    largest: float | None


class KLane(NamedTuple):
    """The course of a constraint, oldest first."""

    constraint: str
    name: str
    points: tuple[KPoint, ...]

    @property
    def n_changes(self) -> int:
        """How often k in use became another."""
        ks = [point.used for point in self.points]
        return sum(a != b for a, b in pairwise(ks))


def build_lanes(book: Book, series: dict[tuple[str, str], SeriesData]) -> list[KLane]:
    """A lane for each constraint with numbers, by name; of more than MOST_LANES those that changed
    most."""
    lanes = [
        KLane(entity.id, entity.name, points)
        for entity in book.of(CONSTRAINT)
        if (points := _points(series, entity.id))
    ]
    lanes.sort(key=lambda lane: (-lane.n_changes, lane.name))
    return sorted(lanes[:MOST_LANES], key=lambda lane: lane.name)


def _points(series: Mapping[tuple[str, str], SeriesData], constraint: str) -> tuple[KPoint, ...]:
    return tuple(
        KPoint(
            batch=batch,
            time=time,
            used=values.get(USED),
            estimate=values.get(ESTIMATE),
            violations=values.get(VIOLATIONS, 0.0),
            largest=values.get(LARGEST),
        )
        for batch, time, values in points_of(series, constraint)
    )
