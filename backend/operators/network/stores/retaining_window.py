"""seq-window of some key groups: tuples of others are not taken in, or go when their group does.

A group that is dropped takes its tuples with it at the first tick of the batch. As tuples leave a
window in the order they came, all go then and those that stay come again, behind each other, at
the same tick: what is read at its end is without the dropped ones. A group that is kept again
counts from the tuples on that come later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.operators.network.core.blocks import Block, concat
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.key_groups import N_GROUPS, KeyGroups
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.retention import RetainedOp
from backend.operators.network.stores import store_kernels as kernels
from backend.operators.network.stores.retaining import Retained, RetainProfile, RetainTuning
from backend.operators.network.stores.synopses import Synopsis
from backend.operators.network.stores.windows import SeqWindow


class RetainingWindow(SeqWindow):
    """A window, range or rows of a stream, that keeps tuples by key groups."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(RetainedOp)
        self._place = work.place
        self._tuning = surroundings.tuning(planned, RetainTuning) or RetainTuning(work.place)
        is_text = planned.fields[work.place].type == "string"
        self._groups = KeyGroups(surroundings.strings if is_text else None, self._tuning.as_float)
        self._retained = Retained.of(surroundings, planned.id)
        self._n_arrived = self._n_refused = self._n_taken = 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        (block,) = inputs
        synopsis = self._synopsis
        assert synopsis is not None
        synopsis.store.take_up()
        thinned = self._turned(synopsis, len(block) > 0 or heartbeat > self._clock.begin)
        kept = self._kept(block)
        moved = self._run_fifo(synopsis, self._enter(synopsis, kept), heartbeat)
        self._retained.settle(synopsis.stub.lo)
        return moved if thinned is None else concat([thinned, moved])

    def _kept(self, block: Block) -> Block:
        """Its tuples of groups that are kept."""
        n_dropped = self._retained.now
        self._n_arrived += len(block)
        if not n_dropped or not len(block):
            return block
        kept = block.take(np.flatnonzero(self._groups.of(block.columns[self._place]) >= n_dropped))
        self._n_refused += len(block) - len(kept)
        return kept

    def _turned(self, synopsis: Synopsis, goes_on: bool) -> Block | None:
        """Drop as many groups as the tuning says. goes_on: the first tick of the batch is one that
        may be told of. What leaves the window by that, and what comes again."""
        n_dropped, now = self._tuning.n_dropped, self._retained.now
        if n_dropped == now or (n_dropped > now and not goes_on):
            return None
        thinned = self._thinned(synopsis, n_dropped) if n_dropped > now else None
        self._retained.drop(n_dropped, synopsis.stub.hi)
        return thinned

    def _thinned(self, synopsis: Synopsis, n_dropped: int) -> Block | None:
        store, stub = synopsis.store, synopsis.stub
        seqs, n_shown = np.arange(stub.lo, stub.hi), stub.shown - stub.lo
        columns = store.columns(seqs, range(len(store.format.types)))
        stays = self._groups.of(columns[synopsis.columns[self._place]]) >= n_dropped
        if stays.all():
            return None
        own = [store.format.own + kernels.TAU, store.format.own + kernels.NUMBER]
        words, left = store.words(seqs[stays], own), [column.take(stays) for column in columns]
        shown, n_stay = np.flatnonzero(stays[:n_shown]), int(stays.sum())
        first = store.hi = stub.shown  # what is not shown yet was seen by nobody else
        store.append(left, n_stay, list(words))
        synopsis.stub.move(first, first + len(shown), first + n_stay)
        self._n_taken += len(seqs) - n_stay
        gone = Block(
            np.full(n_shown, self._clock.begin, np.int64),
            np.full(n_shown, -1, np.int8),
            tuple(columns[place].take(slice(0, n_shown)) for place in synopsis.columns),
        )
        again = gone.take(shown)
        return concat([gone, Block(again.tau, -again.sign, again.columns)])

    def profile(self) -> RetainProfile:
        """Of the batch."""
        sizes = np.zeros(0, np.int64)
        synopsis = self._synopsis
        if self._tuning.tells_sizes and synopsis is not None:
            synopsis.store.take_up()
            seqs = np.arange(synopsis.stub.lo, synopsis.stub.hi)
            (keys,) = synopsis.store.columns(seqs, [synopsis.columns[self._place]])
            sizes = np.bincount(self._groups.of(keys), minlength=N_GROUPS)
        return RetainProfile(
            self._n_arrived, self._n_refused, self._n_taken, self._retained.most, sizes
        )
