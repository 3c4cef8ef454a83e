"""Some of the tuples that joins hold, and why each is kept; records to lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.tables.rows import StoredMatrix


class KeptLine(NamedTuple):
    """A tuple. name: input and number; state: yes, unknown, no or spilled. constraint: by which it
    will go, its id and name, '' = none is used. waited, goes_at: arrivals on the other side so far,
    and after how many it goes, None = not counted."""

    name: str
    join: str
    state: str
    constraint: str
    called: str
    since: float | None
    waited: float | None
    goes_at: float | None
    why: str

    @property
    def share(self) -> float | None:
        """Of the arrivals after which it goes."""
        if self.waited is None or not self.goes_at:
            return None
        return min(1.0, self.waited / self.goes_at)


def build_kept(book: Book, kept: Sequence[StoredMatrix]) -> list[KeptLine]:
    """Of all joins; those that wait first. What is said of several of a component is said of the
    first."""
    lines = [line for stored in kept for line in _lines(book, stored)]
    first = {
        (line.join, line.name.rpartition(" ")[0], line.state, line.why): line
        for line in lines[::-1]
    }
    return sorted(first.values(), key=lambda line: (line.join, _ORDER.index(line.state)))


def _lines(book: Book, stored: StoredMatrix) -> Iterator[KeptLine]:
    matrix = stored.matrix
    stats = (matrix.row_stats[name] for name in ("synopsis", "state", "constraint", "why"))
    for name, row, synopsis, state, constraint, why in zip(
        matrix.rows, matrix.values, *stats, strict=True
    ):
        own = dict(zip(matrix.columns, row, strict=True))
        since, waited, goes_at = (value if known(value := own.get(n)) else None for n in _NUMBERS)
        node = str(book[synopsis].properties.get("node", "")) if synopsis in book else ""
        called = book.name(constraint) if constraint else ""
        yield KeptLine(
            name, book.title(node), state, constraint, called, since, waited, goes_at, why
        )


_NUMBERS: Final = ("since_ticks", "waited", "goes_at")
_ORDER: Final = ("unknown", "yes", "no", "spilled")
