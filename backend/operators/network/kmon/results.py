"""Results of k-Mon's join until they end, where some input has a window (erratum D4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Block, Column64, Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.holding import Ends, RowStore
from backend.operators.network.kmon.words import Memory
from backend.operators.network.relational.packing import pack, unpack

#: Marks the row of a result that has ended; its place is free when all its ends are past.
_ENDED: Final = 1


class Results:
    """dtypes: of the columns of a result. One list of ends for all windows of time, and one for
    each input with a window of rows. Of inputs that take tuples away themselves each result has the
    number of its tuple."""

    def __init__(self, regions: Regions, work: KMonOp, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._dtypes = dtypes
        kinds = [(port, input.window, input.size) for port, input in enumerate(work.inputs)]
        self._ranges = [(port, size) for port, kind, size in kinds if kind == "range"]
        self._rows = [(port, size) for port, kind, size in kinds if kind == "rows"]
        self._changing = [port for port, kind, _ in kinds if kind == "changing"]
        scope = regions.scope("results")
        #: Beside the columns of a result: whether it has ended, how many ends are to come, numbers.
        self._layout = [*dtypes, *[np.dtype(np.int64)] * (2 + len(self._changing))]
        self._store = RowStore(scope, self._layout)
        self._in_time = Ends(scope.scope("in time"))
        self._by_input = {port: Ends(scope.scope(f"by {port}")) for port, _ in self._rows}

    def keep(self, m: Memory, slots: Ints, block: Block) -> None:
        """Remember results. slots: int64[inputs, n], their tuples."""
        n_ends = len(self._rows) + bool(self._ranges)
        if not (n_ends or self._changing) or not len(block):
            return
        ends = Column64(np.full(len(block), n_ends))
        ended = Column64(np.zeros(len(block), np.int64))
        numbers = [Column64(m.word(slots[port], w.NUMBER)) for port in self._changing]
        rows = pack([*block.columns, ended, ends, *numbers], len(block))
        places = self._store.put(rows)
        if self._ranges:
            taus = [m.word(slots[port], w.TAU) + size for port, size in self._ranges]
            self._in_time.add(np.min(taus, axis=0) + 1, places)
        for port, size in self._rows:
            self._by_input[port].add(m.word(slots[port], w.NUMBER) + size, places)

    def ended(
        self, taus: Sequence[Ints], counts: Ints, removed: Ints, heartbeat: int
    ) -> tuple[tuple[Column64, ...], Ints]:
        """The results that have ended, and when. taus: of the arrivals of each input since the last
        call; counts: of all its arrivals; removed: int64[n, 3], tuples that were taken away since:
        input, number, τ; time goes up to, not including, the heartbeat."""
        when, places = self._in_time.until(heartbeat - 1)
        parts, at = [when], [places]
        for port, ends in self._by_input.items():
            numbers, own = ends.until(int(counts[port]))
            first = int(counts[port]) - len(taus[port]) + 1
            parts.append(taus[port][numbers - first])
            at.append(own)
        times, taken = self._taken(removed)
        whens, all_places = np.concatenate([*parts, times]), np.concatenate([*at, taken])
        first_end = self._first_ends(whens, all_places)
        when, places = whens[first_end], all_places[first_end]
        columns = unpack(self._store.rows(places), self._layout)
        self._forget(places, np.concatenate(at))
        order = np.argsort(when, kind="stable")
        results = tuple(column.take(order) for column in columns[: len(self._dtypes)])
        return results, when[order]

    def _taken(self, removed: Ints) -> tuple[Ints, Ints]:
        """When results end whose tuples were taken away, and their places: each looks at all that
        are held."""
        whens, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        rows = self._store.rows(np.arange(self._store.places.used if len(removed) else 0))
        is_open = rows[:, len(self._dtypes)] != _ENDED
        for k, port in enumerate(self._changing):
            own = removed[removed[:, 0] == port]
            own = own[np.argsort(own[:, 1])]
            numbers = rows[:, len(self._dtypes) + 2 + k]
            at = np.searchsorted(own[:, 1], numbers)
            is_taken = is_open & (at < len(own))
            is_taken[is_taken] = own[at[is_taken], 1] == numbers[is_taken]
            whens.append(own[at[is_taken], 2])
            places.append(np.flatnonzero(is_taken))
        return np.concatenate(whens), np.concatenate(places)

    def _first_ends(self, when: Ints, places: Ints) -> Ints:
        """Which of the ends are the first of their result."""
        order = np.lexsort((when, places))
        ordered = places[order]
        is_first = np.ones(len(ordered), bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        firsts = order[is_first]
        has_ended = self._store.rows(places[firsts])[:, len(self._dtypes)] == _ENDED
        chosen: Ints = firsts[~has_ended]
        return chosen

    def _forget(self, ended: Ints, past: Ints) -> None:
        """Results have ended, and ends are past, each of which is one less to come; those with none
        are no more."""
        own, at = np.unique(np.append(past, ended), return_inverse=True)
        rows, k = self._store.rows(own), len(self._dtypes)
        rows[:, k] = _ENDED
        rows[:, k + 1] -= np.bincount(at[: len(past)], minlength=len(own))
        self._store.write(own, rows)
        self._store.places.give(own[rows[:, k + 1] == 0])
