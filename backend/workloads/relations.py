"""Sliding windows of another stream, looked into by arrival number.

Streams that name no timestamp have their arrival numbers for time: with tuple a of one stream,
tuples 0 .. a of the other have arrived. ``[Rows N]`` then holds the other's tuples a - N + 1 .. a,
exactly, for each tuple by itself, whatever batches are made of the stream.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.sending import SentOnce


class Sliceable(Protocol):
    """What a replayed stream offers: see backend.workloads.sources.ReplaySource."""

    @property
    def n_tuples(self) -> int | None: ...

    def slice(self, start: int, count: int) -> pa.Table: ...


class SlidingRelation(SentOnce):
    """The last ``rows`` values of one column of a replayed stream.

    A stream that has ended keeps its last tuples in the window.
    """

    def __init__(self, source: Sliceable, column: str, rows: int) -> None:
        self._source, self._column, self.rows = source, column, rows

    def over(self, first: int, last: int) -> WindowIndex:
        """An index that answers for tuples that arrived as numbers ``first`` .. ``last``."""
        start = max(0, self._clipped(first) - self.rows + 1)
        count = max(0, self._clipped(last) - start + 1)
        column = self._source.slice(start, count).column(self._column)
        return WindowIndex(column.to_pylist(), start, self.rows, self._source.n_tuples)

    def _clipped(self, arrival: int) -> int:
        n = self._source.n_tuples
        return arrival if n is None else min(arrival, n - 1)


class WindowIndex:
    """Values with the positions they arrived at, for look-ups by value and arrival number."""

    def __init__(
        self, values: list[Any], start: int, rows: int, n_tuples: int | None = None
    ) -> None:
        self.rows, self._n_tuples = rows, n_tuples
        positions: dict[Any, list[int]] = {}
        for place, value in enumerate(values, start):
            if value is not None:
                positions.setdefault(value, []).append(place)
        self._positions = {value: np.array(places) for value, places in positions.items()}

    def contains(self, value: Any, arrival: int) -> bool:
        """Whether the window as of tuple ``arrival`` holds the value."""
        positions = self._positions.get(value)
        if positions is None:
            return False
        last = arrival if self._n_tuples is None else min(arrival, self._n_tuples - 1)
        place = int(np.searchsorted(positions, last, side="right")) - 1
        return place >= 0 and int(positions[place]) > last - self.rows

    def contains_all(self, values: list[Any], arrivals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The same for many tuples."""
        pairs = zip(values, arrivals.tolist(), strict=True)
        return np.array([self.contains(value, arrival) for value, arrival in pairs], dtype=np.bool_)
