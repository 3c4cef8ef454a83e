"""What waited in the queues of a network at the instants of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from storage.vocabulary.records import Matrix

MATRIX: Final = "queue curve"
#: Queues drawn one by one; the others are one.
MOST_LANES: Final = 8


class CurveLane(NamedTuple):
    """A queue, or several together. entity: '' for several; held: elements in it at each instant;
    peak: the most at once."""

    entity: str
    name: str
    held: list[float]
    peak: float


class CurvesView(NamedTuple):
    """times: the instants, in ticks. lanes: those to stack, the fullest first; queues: all of them,
    one by one; batch: that it is of. tick_us: where ticks are times."""

    times: list[int]
    lanes: list[CurveLane]
    queues: list[CurveLane]
    batch: int
    tick_us: float | None = None

    @property
    def totals(self) -> list[float]:
        """Elements in all queues at each instant."""
        return [sum(held) for held in zip(*(lane.held for lane in self.queues), strict=True)]


def build_curves(
    matrix: Matrix, book: Book, batch: int, tick_us: float | None = None
) -> CurvesView:
    """The curves of a batch. Where a queue was not looked at it holds what it did before."""
    peaks = matrix.row_stats.get("peak") or [0] * len(matrix.rows)
    queues = [
        CurveLane(entity, book.name(entity), _carried(values), float(peak))
        for entity, values, peak in zip(matrix.rows, matrix.values, peaks, strict=True)
    ]
    queues.sort(key=lambda lane: (-sum(lane.held), lane.name))
    times = [int(time) for time in matrix.columns]
    return CurvesView(times, _stacked(queues), queues, batch, tick_us)


def _stacked(queues: Sequence[CurveLane]) -> list[CurveLane]:
    if len(queues) <= MOST_LANES:
        return list(queues)
    first, rest = queues[: MOST_LANES - 1], queues[MOST_LANES - 1 :]
    held = [sum(values) for values in zip(*(lane.held for lane in rest), strict=True)]
    return [*first, CurveLane("", f"{len(rest)} others", held, max(held, default=0.0))]


def _carried(values: Sequence[float | None]) -> list[float]:
    carried: list[float] = []
    for value in values:
        carried.append(float(value) if value is not None else carried[-1] if carried else 0.0)
    return carried
