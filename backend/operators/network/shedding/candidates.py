"""Which tuple goes next: candidates of every run on heaps, kept up while runs change. Card B3

Entries of heaps are left where they are when they no longer hold and are passed over when they come
to the top; a heap that is mostly such entries is made anew, so that space stays linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from backend.model.draws import seed_of
from backend.operators.network.shedding.losses import TupleLoss, losses_of
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.runs import RunChange, RunIndex, ShedRun
from backend.operators.network.shedding.temporal import TemporalTuple

#: Entries of a heap that may be void beside as many as there are tuples.
_SLACK: Final = 16
Heap = list[tuple[int, int]]


class Candidates(Protocol):
    """Told of every tuple that comes and goes, and which of them may be dropped."""

    def reached(self, start: int) -> None:
        """No tuple that comes from now on begins before."""

    def came(self, new: TemporalTuple) -> None:
        """It is in memory, and may not be dropped yet."""

    def freed(self, number: int) -> None:
        """It may be dropped from now on."""

    def went(self, number: int) -> None:
        """It is in memory no more."""

    def changed(self, memory: RunChange | None, exact: RunChange | None) -> None:
        """Runs in memory, or those of the whole window, changed."""

    def choose(self) -> int | None:
        """The number of the tuple to drop; None: none may be."""


class ByNumber:
    """Candidates in an order that depends on the arrival alone: the oldest first, or the highest
    hash first, so that the lowest are kept: a sample that does not depend on batches, uniform until
    tuples leave the window. Then a vacant place is the next tuple's, whatever its hash."""

    def __init__(self, options: ShedOptions) -> None:
        self._seed = options.seed if options.shed_algorithm == "rand" else None
        self._heap: Heap = []
        self._free: set[int] = set()

    def reached(self, start: int) -> None:
        """Time does not matter."""

    def came(self, new: TemporalTuple) -> None:
        """Nothing of it matters but its number."""

    def changed(self, memory: RunChange | None, exact: RunChange | None) -> None:
        """Runs do not matter."""

    def freed(self, number: int) -> None:
        self._free.add(number)
        heappush(self._heap, (drop_rank(number, self._seed), number))

    def went(self, number: int) -> None:
        self._free.discard(number)
        if len(self._heap) > 2 * len(self._free) + _SLACK:
            self._heap = [entry for entry in self._heap if entry[1] in self._free]
            heapify(self._heap)

    def choose(self) -> int | None:
        while self._heap and self._heap[0][1] not in self._free:
            heappop(self._heap)
        return self._heap[0][1] if self._heap else None


def drop_rank(number: int, seed: int | None) -> int:
    """The lowest is dropped first: the number, or the hash, the highest first."""
    return number if seed is None else -seed_of(seed, number)


class ByRun:
    """Candidates by what their loss does: the best of each run, and of those the best.

    memory: runs of the tuples that are kept; base: runs whose lengths losses are shares of, the
    same or those of the whole window. Each of these has a heap for the tuples whose loss leaves as
    many pieces. n_looked: entries put on heaps and taken from them.
    """

    def __init__(self, memory: RunIndex, base: RunIndex) -> None:
        self.memory, self.base = memory, base
        self.losses: dict[int, TupleLoss] = {}
        self.n_looked = 0
        self._free: set[int] = set()
        self._heaps: dict[ShedRun, dict[int, Heap]] = {}
        self._dirty: dict[ShedRun, None] = {}

    def reached(self, start: int) -> None:
        """Whether runs are over does not matter."""

    def came(self, new: TemporalTuple) -> None:
        """What its loss does follows from the change of its run."""

    def freed(self, number: int) -> None:
        self._free.add(number)
        self._push(number)

    def went(self, number: int) -> None:
        self._free.discard(number)
        self.losses.pop(number, None)
        run = self.base.run_of(number)
        if run is not None:
            self._dirty[run] = None

    def changed(self, memory: RunChange | None, exact: RunChange | None) -> None:
        if memory is not None:
            self._lost(losses_of(self.memory, memory.touched))
        base = memory if self.base is self.memory else exact
        if base is not None:
            for each in base.moved:
                self._push(each.number)
            self.mark(base.runs)

    def _lost(self, losses: Iterable[tuple[TemporalTuple, TupleLoss]]) -> None:
        for each, loss in losses:
            if self.losses.get(each.number) != loss:
                self.losses[each.number] = loss
                self._push(each.number)

    def key(self, loss: TupleLoss) -> int:
        """Of tuples of one run that leave as many pieces, the lowest goes first."""
        return loss.length

    def _push(self, number: int) -> None:
        if number not in self._free or number not in self.losses:
            return
        run, loss = self.base.run_of(number), self.losses[number]
        assert run is not None, "what is in memory is in the window"
        heap = self._heaps.setdefault(run, {}).setdefault(loss.pieces, [])
        heappush(heap, (self.key(loss), number))
        self.n_looked += 1
        self._dirty[run] = None
        if len(heap) > 2 * len(run.members) + _SLACK:
            heap[:] = {entry for entry in heap if self._holds(run, loss.pieces, entry)}
            heapify(heap)

    def _holds(self, run: ShedRun, pieces: int, entry: tuple[int, int]) -> bool:
        key, number = entry
        loss = self.losses.get(number)
        return (
            loss is not None
            and loss.pieces == pieces
            and self.key(loss) == key
            and self.base.run_of(number) is run
        )

    def tops(self, run: ShedRun) -> list[tuple[int, TupleLoss]]:
        """The first candidate of each number of pieces: its number and loss."""
        heaps, tops = self._heaps.get(run, {}), []
        for pieces, heap in list(heaps.items()):
            while heap and not self._holds(run, pieces, heap[0]):
                heappop(heap)
                self.n_looked += 1
            if heap:
                tops.append((heap[0][1], self.losses[heap[0][1]]))
            else:
                del heaps[pieces]
        if not heaps:
            self._heaps.pop(run, None)
        return tops

    @property
    def n_entries(self) -> int:
        """On all heaps, void ones among them."""
        return sum(len(heap) for heaps in self._heaps.values() for heap in heaps.values())

    def mark(self, runs: Iterable[ShedRun]) -> None:
        """Their best candidates may be others now."""
        self._dirty.update(dict.fromkeys(runs))

    def dirty(self) -> list[ShedRun]:
        """Runs that changed since this was asked for."""
        runs, self._dirty = list(self._dirty), {}
        return runs
