"""The matrix view V and the correction of Greedy Invariant violations. [B05] §4.3.2

Rows and columns of V are positions of the order, from 0. Native filters stand before the others
(they run in another operator), so two filters are compared only within their segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import Counts, Pair, Picoseconds, best, violated_pairs
from backend.model.bits import popcount

#: uint64[n filters, words]: bit t of row x says that filter x drops profile tuple t.
Columns: TypeAlias = NDArray[np.uint64]
Mode: TypeAlias = Literal["swap", "shift"]
ONE: Final = Fraction(1)


class MatrixView:
    """V over a profile window for one order of the filters, kept up to date incrementally.

    order: filter indices by position. n_native: length of the first segment. counts: int64[n, n].
    """

    def __init__(self, order: Sequence[int], n_native: int = 0) -> None:
        self.order = list(order)
        self.n_native = n_native
        self.counts: Counts = np.zeros((len(order), len(order)), dtype=np.int64)

    @property
    def n(self) -> int:
        return len(self.order)

    def copy(self) -> MatrixView:
        """The same view on its own."""
        view = MatrixView(self.order, self.n_native)
        view.counts = self.counts.copy()
        return view

    def segment(self, position: int) -> range:
        """The positions a filter at ``position`` may change places with, itself included."""
        return range(self.n_native) if position < self.n_native else range(self.n_native, self.n)

    def comparable(self) -> NDArray[np.bool_]:
        """bool[n, n]: i < j in one segment."""
        upper = np.triu(np.ones((self.n, self.n), dtype=np.bool_), 1)
        upper[: self.n_native, self.n_native :] = False
        return upper

    def update(self, inserted: Columns, expired: Columns) -> None:
        """Take in one step of the window, insertions and deletions at once (Fig. 4.5)."""
        self.counts += view_of(inserted, self.order)
        self.counts -= view_of(expired, self.order)

    def rebuild(self, columns: Columns) -> None:
        """V from scratch."""
        self.counts = view_of(columns, self.order)

    def reorder(self, order: Sequence[int], columns: Columns) -> None:
        """Go over to another order."""
        self.order = list(order)
        self.rebuild(columns)

    def costs(self, by_filter: Sequence[Picoseconds]) -> NDArray[np.float64]:
        """Costs by position."""
        return np.array([by_filter[x] for x in self.order], dtype=np.float64)

    def violations(
        self, by_filter: Sequence[Picoseconds], alpha: Fraction, kept: NDArray[np.bool_]
    ) -> list[Pair]:
        """All violations (eq. 4.4) among the entries ``kept`` (bool[n, n]), row by row."""
        allowed = self.comparable() & kept
        return violated_pairs(self.counts, self.costs(by_filter), allowed, alpha)

    def correct(
        self,
        position: int,
        columns: Columns,
        by_filter: Sequence[Picoseconds],
        mode: Mode = "swap",
    ) -> None:
        """Make the invariant hold from ``position`` on, as far as the exchange reaches (Fig. 4.7).

        Rows are counted anew from the window, one scan each. The choice is strict, without α.
        mode: 'swap' exchanges the winner with the incumbent as in Fig. 4.7, 'shift' lets the
        filters between slide right (erratum 1).
        """
        last, row = position, position
        while row <= last:
            self.counts[row] = row_of(columns, self.order, row)
            places = range(row, self.segment(row).stop)
            counts = [int(self.counts[row, c]) for c in places]
            winner = row + best(counts, [by_filter[self.order[c]] for c in places])
            last = max(last, winner)
            if winner != row:
                self._bring(winner, row, mode)
            row += 1
        if mode == "shift":
            self.rebuild(columns)

    def correct_all(
        self,
        columns: Columns,
        by_filter: Sequence[Picoseconds],
        alpha: Fraction = ONE,
        mode: Mode = "swap",
    ) -> list[int]:
        """Correct at the smallest violated position until none is left; the positions corrected."""
        everything = np.ones((self.n, self.n), dtype=np.bool_)
        corrected: list[int] = []
        for _ in range(self.n):
            violations = self.violations(by_filter, alpha, everything)
            if not violations:
                break
            corrected.append(violations[0].position)
            self.correct(violations[0].position, columns, by_filter, mode)
        return corrected

    def move(self, source: int, target: int) -> None:
        """Put the filter at ``source`` before the one at ``target``, others slide right.

        V is of the old order until it is rebuilt.
        """
        self.order.insert(target, self.order.pop(source))

    def both(self, row: int, own: int, other: int, columns: Columns) -> int:
        """Tuples that reach ``row`` and are dropped by the filters ``own`` and ``other``."""
        alive = alive_after(columns, self.order[:row])
        return int(popcount(alive & columns[own] & columns[other]))

    def alive(self, n_tuples: int) -> list[int]:
        """Of n_tuples tuples, those that reach each position (length n + 1, emitted ones last)."""
        reached = [n_tuples]
        for dropped in np.diag(self.counts).tolist():
            reached.append(reached[-1] - int(dropped))
        return reached

    def _bring(self, winner: int, row: int, mode: Mode) -> None:
        if mode == "shift":
            self.move(winner, row)
            return
        order, view = self.order, self.counts
        order[row], order[winner] = order[winner], order[row]
        view[: row + 1, [row, winner]] = view[: row + 1, [winner, row]]


def view_of(columns: Columns, order: Sequence[int]) -> Counts:
    """V[i, j]: tuples passed by the first i filters of ``order`` and dropped by the j-th. §4.3.2

    Positions count from 0; returns int64[n, n], zero below the diagonal.

    Example 4.3.2 of [B05], columns F1 to F4; the order is F3, F1, F2, F4:

    >>> from backend.model.bits import pack
    >>> window = ["0010", "0111", "1000", "0010", "1101", "0111"]
    >>> drops = np.array([[bit == "1" for bit in row] for row in window])
    >>> view_of(pack(drops.T), [2, 0, 1, 3]).tolist()
    [[4, 2, 3, 3], [0, 2, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    n = len(order)
    view = np.zeros((n, n), dtype=np.int64)
    ordered = columns[list(order)] if n else columns
    alive = np.full(columns.shape[1], ~np.uint64(0), dtype=np.uint64)
    for row in range(n):
        view[row, row:] = popcount(ordered[row:] & alive)
        if not view[row].any():
            break
        alive &= ~ordered[row]
    return view


def row_of(columns: Columns, order: Sequence[int], row: int) -> Counts:
    """Row ``row`` of V, by one scan (Fig. 4.7 lines 6-13): int64[n], zero before ``row``."""
    counts = np.zeros(len(order), dtype=np.int64)
    alive = alive_after(columns, order[:row])
    counts[row:] = popcount(columns[list(order[row:])] & alive)
    return counts


def alive_after(columns: Columns, filters: Sequence[int]) -> NDArray[np.uint64]:
    """uint64[words]: the tuples none of ``filters`` drops (padding counts as tuples)."""
    dropped = np.zeros(columns.shape[1], dtype=np.uint64)
    for filter_index in filters:
        dropped |= columns[filter_index]
    return ~dropped
