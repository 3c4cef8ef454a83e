"""k of each constraint over time."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

from dashboard.systems.kmon.history import CONSTRAINT
from dashboard.systems.kmon.ledger_view import USED
from dashboard.views.book import Book
from dashboard.views.numbers import known
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
        if (points := _points({name: series.get((entity.id, name)) for name in NUMBERS}))
    ]
    lanes.sort(key=lambda lane: (-lane.n_changes, lane.name))
    return sorted(lanes[:MOST_LANES], key=lambda lane: lane.name)


def _points(series: dict[str, SeriesData | None]) -> tuple[KPoint, ...]:
    times: dict[int, float] = {}
    columns: dict[str, dict[int, float]] = {name: {} for name in series}
    for name, data in series.items():
        if data is not None:
            times |= dict(zip(data.batch.tolist(), data.time.tolist(), strict=True))
            pairs = zip(data.batch.tolist(), data.value.tolist(), strict=True)
            columns[name] = {batch: value for batch, value in pairs if known(value)}
    return tuple(
        KPoint(
            batch,
            times[batch],
            columns[USED].get(batch),
            columns[ESTIMATE].get(batch),
            columns[VIOLATIONS].get(batch, 0.0),
            columns[LARGEST].get(batch),
        )
        for batch in sorted(times)
    )


def keys_of(book: Book) -> list[tuple[str, str]]:
    """Series that lanes are made of."""
    return [(entity.id, name) for entity in book.of(CONSTRAINT) for name in NUMBERS]
