"""seq-window that keeps some tuples: others are not taken in, or go before their time. Card B8

Tuples are kept by the group of their key or of their number, or if they are not older than those of
their key may be. What is dropped goes at the first tick of the batch. As tuples leave a window in
the order they came, all go then and those that stay come again, behind each other, at the same
tick: what is read at its end is without the dropped ones. Where these are the oldest, they alone
go. A group that is kept again counts from the tuples on that come later.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from backend.operators.network.core.blocks import Block, Bools, Column64, Ints, concat
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.key_groups import N_GROUPS, KeyGroups, grouped
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.retention import RetainedOp
from backend.operators.network.stores import store_kernels as kernels
from backend.operators.network.stores.key_counts import KeyCounts
from backend.operators.network.stores.retaining import Retained, RetainProfile, RetainTuning
from backend.operators.network.stores.synopses import Synopsis
from backend.operators.network.stores.windows import SeqWindow


class RetainingWindow(SeqWindow):
    """A window, range or rows of a stream, that keeps some of its tuples."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(RetainedOp)
        self._place = work.place
        tuning = surroundings.tuning(planned, RetainTuning) or RetainTuning(work.place)
        self._tuning, self._cuts = tuning, np.zeros(N_GROUPS, np.int64)
        if tuning.cuts:
            self._cuts = np.frombuffer(tuning.cuts, np.int64)
        is_text = planned.fields[work.place].type == "string"
        self._groups = KeyGroups(surroundings.strings if is_text else None, tuning.as_float)
        regions = surroundings.regions.scope(planned.id)
        self._retained = Retained(regions)
        self._seed = crc32(planned.id.encode())
        self._counts = KeyCounts(regions, work.span) if tuning.counts else None
        self._n_arrived = self._n_refused = self._n_taken = self._last = 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        (block,) = inputs
        synopsis = self._synopsis
        assert synopsis is not None
        synopsis.store.take_up()
        thinned = self._turned(synopsis, len(block) > 0 or heartbeat > self._clock.begin)
        is_rows, hi = self._work.kind == "rows", synopsis.stub.hi
        self._last = self._last_row(block, hi, heartbeat) if is_rows else heartbeat - 1
        entered = self._enter(synopsis, self._kept(block, hi))
        moved = self._run_fifo(synopsis, entered, heartbeat)
        self._retained.settle(synopsis.stub.lo, synopsis.stub.hi)
        return moved if thinned is None else concat([thinned, moved])

    def _numbers(self, block: Block, hi: int) -> Ints:
        return hi + np.arange(len(block)) if block.seq is None else block.seq

    def _kept(self, block: Block, hi: int) -> Block:
        """Its tuples that are kept."""
        self._n_arrived += len(block)
        retained, keys = self._retained, block.columns[self._place]
        is_whole = not retained.now and not retained.cuts.any()
        if not len(block) or (is_whole and self._counts is None):
            return block
        numbers = self._numbers(block, hi)
        marks = numbers if self._work.kind == "rows" else block.tau
        if self._counts is not None:
            self._counts.add(self._groups.of(keys), marks)
        stays = self._stays(keys, marks, numbers, retained.now, retained.cuts)
        kept = block.take(np.flatnonzero(stays))
        self._n_refused += len(block) - len(kept)
        return kept

    def _drawn(self, keys: Column64, numbers: Ints) -> Ints:
        """The groups of which the first are dropped."""
        return grouped(self._seed, numbers) if self._tuning.by_number else self._groups.of(keys)

    def _stays(
        self, keys: Column64, marks: Ints, numbers: Ints, n_dropped: int, cuts: Ints
    ) -> Bools:
        """bool[n]: of tuples."""
        stays: Bools = np.ones(len(marks), bool)
        if n_dropped:
            stays = self._drawn(keys, numbers) >= n_dropped
        if cuts.any():
            stays &= marks >= cuts[self._groups.of(keys)]
        return stays

    def _turned(self, synopsis: Synopsis, goes_on: bool) -> Block | None:
        """Drop as many groups as the tuning says, and what its cuts do. goes_on: the first tick of
        the batch is one that may be told of. What leaves the window by that, and what comes
        again."""
        retained, tuning = self._retained, self._tuning
        is_other = tuning.by_number != retained.by_number
        now = 0 if is_other else retained.now
        is_less = tuning.n_dropped > now or bool((self._cuts > retained.cuts).any())
        is_same = tuning.n_dropped == now and bool((self._cuts == retained.cuts).all())
        if (is_same and not is_other) or (is_less and not goes_on):
            return None
        thinned = self._thinned(synopsis) if is_less else None
        retained.turn(tuning.n_dropped, tuning.by_number, self._cuts, synopsis.stub.hi)
        return thinned

    def _thinned(self, synopsis: Synopsis) -> Block | None:
        store, stub = synopsis.store, synopsis.stub
        seqs, n_shown = np.arange(stub.lo, stub.hi), stub.shown - stub.lo
        columns = store.columns(seqs, range(len(store.format.types)))
        own = store.words(seqs, [store.format.own + w for w in (kernels.TAU, kernels.NUMBER)])
        marks = own[1] if self._work.kind == "rows" else own[0]
        keys = columns[synopsis.columns[self._place]]
        stays = self._stays(keys, marks, own[1], self._tuning.n_dropped, self._cuts)
        n_go = len(stays) - int(stays.sum())
        if not n_go:
            return None
        self._n_taken += n_go
        gone = Block(
            np.full(n_shown, self._clock.begin, np.int64),
            np.full(n_shown, -1, np.int8),
            tuple(columns[place].take(slice(0, n_shown)) for place in synopsis.columns),
        )
        if n_go <= n_shown and stays[n_go:].all():
            stub.move(stub.lo + n_go, stub.shown, stub.hi)
            return gone.take(slice(0, n_go))
        shown, n_stay = np.flatnonzero(stays[:n_shown]), len(stays) - n_go
        first = store.hi = stub.shown  # what is not shown yet was seen by nobody else
        store.append([column.take(stays) for column in columns], n_stay, list(own[:, stays]))
        synopsis.stub.move(first, first + len(shown), first + n_stay)
        again = gone.take(shown)
        return concat([gone, Block(again.tau, -again.sign, again.columns)])

    def profile(self) -> RetainProfile:
        """Of the batch."""
        sizes = whole = np.zeros(0, np.int64)
        synopsis = self._synopsis
        if self._counts is not None and synopsis is not None:
            synopsis.store.take_up()
            seqs = np.arange(synopsis.stub.lo, synopsis.stub.hi)
            (keys,) = synopsis.store.columns(seqs, [synopsis.columns[self._place]])
            (numbers,) = synopsis.store.words(seqs, [synopsis.store.format.own + kernels.NUMBER])
            sizes = np.bincount(self._drawn(keys, numbers), minlength=N_GROUPS)
            whole = self._counts.at(self._last)
        return RetainProfile(
            n_arrived=self._n_arrived,
            n_refused=self._n_refused,
            n_taken=self._n_taken,
            n_missing=self._retained.most,
            lacks=self._retained.lacks,
            last=self._last,
            sizes=sizes,
            whole=whole,
        )
