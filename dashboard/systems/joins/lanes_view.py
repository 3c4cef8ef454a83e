"""The states of caches over time: a lane for each, a piece for each stretch in one state."""

from __future__ import annotations

from typing import Final, NamedTuple

from dashboard.systems.joins.caches_view import CACHE, state_of
from dashboard.views.book import Book
from storage.tables.rows import SeriesData

STATE: Final = "cache_state"
#: Lanes that are drawn: those longest in use.
MOST_LANES: Final = 24


class Stretch(NamedTuple):
    """From one batch to the last of a stretch in one state; times of their record, Unix s."""

    state: str
    first: int
    last: int
    since: float
    until: float


class CacheLane(NamedTuple):
    """The stretches of a cache, oldest first. used_s: seconds in use."""

    cache: str
    name: str
    join: str
    stretches: tuple[Stretch, ...]

    @property
    def used_s(self) -> float:
        """Seconds in use."""
        return sum(
            stretch.until - stretch.since for stretch in self.stretches if stretch.state == "used"
        )


def build_lanes(book: Book, series: list[SeriesData]) -> list[CacheLane]:
    """A lane for each cache that has states, those longest in use first, at most MOST_LANES.

    A stretch ends where the next begins. A cache that is gone has its lane up to its last batch.
    """
    lanes = []
    for data in series:
        if not len(data.batch) or data.entity not in book:
            continue
        join = book.name(str(book[data.entity].properties["join"]))
        lanes.append(CacheLane(data.entity, book.name(data.entity), join, _stretches(data)))
    return sorted(lanes, key=lambda lane: (-lane.used_s, lane.name))[:MOST_LANES]


def _stretches(data: SeriesData) -> tuple[Stretch, ...]:
    stretches: list[Stretch] = []
    for batch, time, value in zip(
        data.batch.tolist(), data.time.tolist(), data.value.tolist(), strict=True
    ):
        state = "" if value != value else state_of(value)
        if stretches:
            stretches[-1] = stretches[-1]._replace(until=time)
        if not stretches or stretches[-1].state != state:
            stretches.append(Stretch(state, batch, batch, time, time))
        else:
            stretches[-1] = stretches[-1]._replace(last=batch)
    return tuple(stretches)


def caches_of(book: Book) -> list[str]:
    """The entities that have lanes."""
    return [entity.id for entity in book.of(CACHE)]
