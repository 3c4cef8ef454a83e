"""Tuples of a stream as they arrive and in order of time, and where a stream is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from backend.operators.network.core.blocks import NEVER, Ints


@dataclass(frozen=True, slots=True)
class Arrived:
    """Tuples of a stream in order of arrival. tuples: its attributes; timestamps are not NULL.
    arrivals: int64[n], their numbers in the input; None where it does not number them."""

    tuples: pa.Table
    arrivals: Ints | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """Tuples in order of (τ, arrival). tau, arrivals: int64[n]."""

    tuples: pa.Table
    tau: Ints
    arrivals: Ints

    def __len__(self) -> int:
        return len(self.tau)

    def take(self, rows: Any) -> Timed:
        """Some of them: an index array or a slice."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            tuples = self.tuples.slice(start, max(0, stop - start))
        else:
            tuples = self.tuples.take(pa.array(rows))
        return Timed(tuples, self.tau[rows], self.arrivals[rows])

    def places(self, begin: int, end: int) -> slice:
        """Where those of the ticks begin .. end - 1 are."""
        start, stop = np.searchsorted(self.tau, [begin, end]).tolist()
        return slice(start, max(start, stop))


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a stream is. n_arrived: the number of its next tuple; high: largest τ; turn: how often
    the stream began anew, NEVER before its first tuple; offset: what its timestamps have grown by
    since."""

    n_arrived: int = 0
    high: int = NEVER
    turn: int = NEVER
    offset: int = 0


def in_a_row(parts: Sequence[Timed]) -> Timed:
    """Parts one behind the other; at least one."""
    if len(parts) == 1:
        return parts[0]
    return Timed(
        pa.concat_tables([part.tuples for part in parts]),
        np.concatenate([part.tau for part in parts]),
        np.concatenate([part.arrivals for part in parts]),
    )


def merged(pending: Timed | None, timed: Timed) -> Timed:
    """Both, in order of (τ, arrival)."""
    if pending is None or not len(pending):
        return timed
    if not len(timed):
        return pending
    together = in_a_row([pending, timed])
    if pending.tau[-1] <= timed.tau[0]:
        return together
    return together.take(np.lexsort((together.arrivals, together.tau)))
