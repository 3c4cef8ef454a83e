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
    each input with a window of rows."""

    def __init__(self, regions: Regions, work: KMonOp, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._dtypes = dtypes
        kinds = [(port, input.window, input.size) for port, input in enumerate(work.inputs)]
        self._ranges = [(port, size) for port, kind, size in kinds if kind == "range"]
        self._rows = [(port, size) for port, kind, size in kinds if kind == "rows"]
        scope = regions.scope("results")
        #: Beside the columns of a result: whether it has ended, and how many ends are to come.
        self._store = RowStore(scope, [*dtypes, np.dtype(np.int64), np.dtype(np.int64)])
        self._in_time = Ends(scope.scope("in time"))
        self._by_input = {port: Ends(scope.scope(f"by {port}")) for port, _ in self._rows}

    def keep(self, m: Memory, slots: Ints, block: Block) -> None:
        """Remember results. slots: int64[inputs, n], their tuples."""
        n_ends = len(self._rows) + bool(self._ranges)
        if not n_ends or not len(block):
            return
        ends = Column64(np.full(len(block), n_ends))
        ended = Column64(np.zeros(len(block), np.int64))
        places = self._store.put(pack([*block.columns, ended, ends], len(block)))
        if self._ranges:
            taus = [m.word(slots[port], w.TAU) + size for port, size in self._ranges]
            self._in_time.add(np.min(taus, axis=0) + 1, places)
        for port, size in self._rows:
            self._by_input[port].add(m.word(slots[port], w.NUMBER) + size, places)

    def ended(
        self, taus: Sequence[Ints], counts: Ints, heartbeat: int
    ) -> tuple[tuple[Column64, ...], Ints]:
        """The results that have ended, and when. taus: of the arrivals of each input since the last
        call; counts: of all its arrivals; time goes up to, not including, the heartbeat."""
        when, places = self._in_time.until(heartbeat - 1)
        parts, at = [when], [places]
        for port, ends in self._by_input.items():
            numbers, own = ends.until(int(counts[port]))
            first = int(counts[port]) - len(taus[port]) + 1
            parts.append(taus[port][numbers - first])
            at.append(own)
        when, places = np.concatenate(parts), np.concatenate(at)
        first_end = self._first_ends(when, places)
        rows = self._store.rows(places[first_end])
        columns = unpack(rows, [*self._dtypes, np.dtype(np.int64), np.dtype(np.int64)])
        self._forget(places)
        order = np.argsort(when[first_end], kind="stable")
        results = tuple(column.take(order) for column in columns[: len(self._dtypes)])
        return results, when[first_end][order]

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

    def _forget(self, places: Ints) -> None:
        """Results have one end less to come; those with none are no more."""
        own, n = np.unique(places, return_counts=True)
        rows, k = self._store.rows(own), len(self._dtypes)
        rows[:, k] = _ENDED
        rows[:, k + 1] -= n
        self._store.write(own, rows)
        self._store.places.give(own[rows[:, k + 1] == 0])
