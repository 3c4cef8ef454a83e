"""Matrices of a join: V of each pipeline, and benefit and cost of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dashboard.views.book import Book
from storage.tables.rows import StoredMatrix

VIEW: Final = "join view"
BIDS: Final = "cache bids"


class JoinView(NamedTuple):
    """V of a pipeline. rows: inputs in its order; values[i][j]: profiled elements with partners in
    the inputs before i and none in j, None below the diagonal; n: profiled elements."""

    title: str
    rows: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    n: int
    batch: int


class CandidateLine(NamedTuple):
    """A row of the benefit/cost matrix. number: from 1; conflicts: numbers of those it cannot be
    used beside in some pipeline."""

    number: int
    cache: str
    name: str
    benefit: float | None
    upkeep: float | None
    bid: float | None
    wanted: float | None
    granted: float | None
    chosen: bool
    conflicts: tuple[int, ...]

    @property
    def net(self) -> float | None:
        """Benefit less upkeep for each element."""
        if self.benefit is None or self.upkeep is None:
            return None
        return self.benefit - self.upkeep


class CandidatesView(NamedTuple):
    """The last selection of a join."""

    title: str
    rows: tuple[CandidateLine, ...]
    batch: int


def build_join_view(stored: StoredMatrix) -> JoinView:
    """A matrix of kind VIEW."""
    matrix = stored.matrix
    values = tuple(tuple(row) for row in matrix.values)
    return JoinView(_title(matrix.name), matrix.rows, values, matrix.n, stored.batch)


def build_candidates(stored: StoredMatrix, book: Book) -> CandidatesView:
    """A matrix of kind BIDS."""
    matrix, stats = stored.matrix, stored.matrix.row_stats or {}
    names = _each(stats, "name", [book.name(row) for row in matrix.rows])
    conflicts = _each(stats, "conflicts", [()] * len(matrix.rows))
    rows = []
    for place, (cache, values) in enumerate(zip(matrix.rows, matrix.values, strict=True)):
        cells = dict(zip(matrix.columns, values, strict=True))
        rows.append(
            CandidateLine(
                place + 1,
                cache,
                str(names[place]),
                cells.get("cache_benefit"),
                cells.get("cache_upkeep"),
                cells.get("cache_bid"),
                cells.get("wanted_bytes"),
                cells.get("granted_bytes"),
                bool(cells.get("chosen")),
                tuple(int(other) + 1 for other in conflicts[place]),
            )
        )
    return CandidatesView(_title(matrix.name), tuple(rows), stored.batch)


def _each(stats: Any, name: str, default: list[Any]) -> Sequence[Any]:
    column: Sequence[Any] = stats.get(name) or default
    return column


def _title(name: str) -> str:
    """'join view of R: a = b' -> 'R: a = b'."""
    return name.partition(" of ")[2] or name
