"""Accuracy of windows that shed over time, and what they keep; records to lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.systems.cals.history import WINDOW
from dashboard.views.book import Book
from dashboard.views.numbers import points_of
from storage.tables.rows import DecisionEntry, SeriesData

EXPECTED: Final = "expected_accuracy"
MEASURED: Final = "measured_accuracy"
LOW: Final = "accuracy_low"
HIGH: Final = "accuracy_high"
RESIDENT: Final = "resident_tuples"
KEPT: Final = "memory_ratio"
SHED: Final = "shed_tuples"
NUMBERS: Final = (EXPECTED, MEASURED, LOW, HIGH, RESIDENT, KEPT, SHED)
#: Windows that are drawn: those whose accuracy was lowest.
MOST_LANES: Final = 8

Key = tuple[str, str]


class ShedPoint(NamedTuple):
    """A window at a batch; time: of its record, Unix s. lacking: tuples of the window that were
    shed, None = not known; shed: of the batch."""

    batch: int
    time: float
    expected: float | None
    measured: float | None
    low: float | None
    high: float | None
    resident: float | None
    lacking: float | None
    shed: float | None

    @property
    def accuracy(self) -> float | None:
        """Measured where it is, else expected."""
        return self.expected if self.measured is None else self.measured


class ShedTurn(NamedTuple):
    """Shedding began or ended. seq: of the decision."""

    batch: int
    time: float
    begins: bool
    words: str
    seq: int


class ShedLane(NamedTuple):
    """The course of a window, oldest first."""

    window: str
    title: str
    points: tuple[ShedPoint, ...]

    @property
    def lowest(self) -> float:
        """Its lowest accuracy."""
        values = [point.accuracy for point in self.points if point.accuracy is not None]
        return min(values, default=1.0)


class LanesView(NamedTuple):
    """lanes: of windows, by title; turns: of all of them, oldest first."""

    lanes: tuple[ShedLane, ...]
    turns: tuple[ShedTurn, ...]


def build_lanes(
    book: Book, series: Mapping[Key, SeriesData], turns: Sequence[DecisionEntry]
) -> LanesView | None:
    """A lane for each window with numbers; of more than MOST_LANES those of lowest accuracy."""
    lanes = [
        ShedLane(entity.id, book.title(entity.id), points)
        for entity in book.of(WINDOW)
        if (points := _points(series, entity.id))
    ]
    if not lanes:
        return None
    lanes.sort(key=lambda lane: (lane.lowest, lane.title))
    drawn = sorted(lanes[:MOST_LANES], key=lambda lane: lane.title)
    return LanesView(tuple(drawn), tuple(map(_turn, turns)))


def _points(series: Mapping[Key, SeriesData], window: str) -> tuple[ShedPoint, ...]:
    points = []
    for batch, time, values in points_of(series, window):
        expected, measured, low, high, resident, kept, shed = map(values.get, NUMBERS)
        lacking = resident / kept - resident if resident is not None and kept else None
        point = batch, time, expected, measured, low, high, resident, lacking, shed
        points.append(ShedPoint(*point))
    return tuple(points)


def _turn(entry: DecisionEntry) -> ShedTurn:
    decision = entry.decision
    begins = decision.relation == ">"
    return ShedTurn(decision.batch, entry.time, begins, decision.explanation, decision.seq)
