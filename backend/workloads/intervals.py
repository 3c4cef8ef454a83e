"""A seeded stream of tuples that are valid for some time, one behind the other. [AL11], card B5

Each tuple begins where the one before ends. By phase its value is that of the one before with some
probability, the coalescing probability, so that runs of equal values are shorter or longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.draws import draws, seed_of
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import parsed
from backend.workloads.keyed import START

INTERVALS_SCHEMA: Final = Schema.parse("t timestamp, value int, since timestamp, until timestamp")
#: A value lasts no longer than so many tuples.
_LONGEST: Final = 4096
_DRAWN: Final = 1 << 32
_MOST_VALUES: Final = 1 << 31


class IntervalsError(ValueError):
    """An option that cannot be; the message says what is allowed."""


class IntervalPhase(NamedTuple):
    """So many tuples. repeat_prob: that a value is that of the tuple before; n_values: different
    ones."""

    n_tuples: int
    repeat_prob: float
    n_values: int


def intervals_from_json(text: str) -> tuple[IntervalPhase, ...]:
    """The phases of an option, [[tuples, probability, values], ...]. Raises IntervalsError."""
    rows = parsed(text)
    if not isinstance(rows, list) or not rows or not all(map(_is_phase, rows)):
        raise IntervalsError(
            "phases must be a list of [tuples, coalescing probability below 1, values], "
            f"as in [[5000, 0.75, 20]], not {text}"
        )
    return tuple(IntervalPhase(n, float(prob), values) for n, prob, values in rows)


def _is_phase(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 3:
        return False
    n, prob, values = row
    are_whole = all(type(number) is int and 1 <= number < _MOST_VALUES for number in (n, values))
    return are_whole and type(prob) in (int, float) and 0 <= prob < 1


class IntervalSource:
    """The stream; the same position always gives the same tuple. seconds: a tuple is valid for, on
    average; after the last phase the first begins again."""

    schema = INTERVALS_SCHEMA

    def __init__(
        self, seed: int, phases: tuple[IntervalPhase, ...], seconds: int, n_tuples: int
    ) -> None:
        self._seed, self._phases, self._seconds = seed, phases, seconds
        self.n_tuples = n_tuples

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> IntervalSource:
        """The source of a workload's options. Raises IntervalsError."""
        phases = intervals_from_json(options.get("phases", "[[5000, 0.75, 20]]"))
        seconds, n = options.get("seconds", "60"), options.get("n_tuples", "1000000")
        return cls(seed, phases, int(seconds), int(n))

    def slice(self, start: int, count: int) -> pa.Table:
        """Tuples ``start`` .. ``start + count - 1``, fewer at the end."""
        places = np.arange(start, min(start + max(0, count), self.n_tuples))
        since, until = self._starts(places), self._starts(places + 1)
        begun, ended = (pa.array(moments, pa.timestamp("us", "UTC")) for moments in (since, until))
        values = pa.array(self._values(places).astype(np.int32))
        columns = [begun, values, begun, ended, pa.nulls(len(places), pa.string())]
        return pa.Table.from_arrays(columns, names=[*INTERVALS_SCHEMA.names, CORRUPT])

    def _starts(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: microseconds; a whole second somewhere in a slot of its own."""
        slot = self._seconds
        late = draws(seed_of(self._seed, 1), places).astype(np.int64) * slot // _DRAWN
        return np.asarray(START + (places * slot + late) * 1_000_000, np.int64)

    def _values(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: of the last tuple up to it whose value is a new one."""
        if not len(places):
            return places
        first = int(places[0]) // _LONGEST * _LONGEST
        every = np.arange(first, int(places[-1]) + 1)
        phases = self._phase(every)
        repeat = np.array([phase.repeat_prob for phase in self._phases])[phases]
        is_new = draws(seed_of(self._seed, 2), every) >= repeat * _DRAWN
        is_new |= every % _LONGEST == 0
        since = np.maximum.accumulate(np.where(is_new, every, first))
        n_values = np.array([phase.n_values for phase in self._phases])[self._phase(since)]
        drawn = draws(seed_of(self._seed, 3), since).astype(np.int64) * n_values // _DRAWN
        values: NDArray[np.int64] = drawn[places - first]
        return values

    def _phase(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        ends = np.cumsum([phase.n_tuples for phase in self._phases])
        phases: NDArray[np.int64] = np.searchsorted(ends, places % ends[-1], side="right")
        return phases
