"""shed: a window that is coalesced, of which only so many tuples are kept. [AL11], card B"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Block, Column64, Ints, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.relational.keys import KeyTable, key_columns
from backend.operators.network.shedding.forms import FormBytes, row_bytes
from backend.operators.network.shedding.words import (
    ASKS,
    CAME,
    CHOICE,
    GOES_ON,
    IS_OVER,
    N_CHANGED,
    N_MEMORY,
    N_RECEIPTS,
    N_SPANS,
    N_TOLD,
    NUMBERED,
    RUN_BYTES,
    RUNS_MEMORY,
    TAKEN,
    TICKED,
    ShedArrivals,
    ShedTold,
)
from backend.operators.network.temporal.arrival_count import ArrivalCount
from backend.operators.network.temporal.coalesce import valid_elements
from backend.operators.network.temporal.shed_kernel import play
from backend.operators.network.temporal.shed_looks import ShedLooks
from backend.operators.network.temporal.shed_profile import Drops, dropped, shed_profile
from backend.operators.network.temporal.shed_state import ShedState, told_room
from backend.operators.network.temporal.shed_steps import one_step
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning

#: Changes that there is room to tell of at once: at least so many, and so many an arrival.
_ROOM, _EACH = 256, 8
#: Bytes are counted anew once one of so many tuples has come or gone.
_COUNTED: Final = 4


class ShedOperator(OperatorFrame):
    """Tells what a window's kept tuples are coalesced to, at ticks at which it moves.

    Without a limit that is the exact answer; with one every value and instant of it is in the exact
    one. What is dropped depends on the tuples and on the ticks at which options were turned alone.
    Between the first and the last element of a tick it may tell what is not true at its end.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(ShedOp)
        self._closed, self._of, self._has_open = work.closed, work.window, work.has_open
        self._dtypes = dtypes_of(self.fields[:-2])
        self._count = ArrivalCount(work.window, work.counted, surroundings.clock)
        self._groups = KeyTable(self._regions.scope("groups"), self._dtypes)
        tuning = surroundings.tuning(planned, ShedTuning) or ShedTuning()
        begin = surroundings.clock.begin
        self._state = ShedState(
            self._regions, self._of, self._groups, len(self._dtypes), tuning, begin
        )
        self._looks = ShedLooks(self._regions.scope("looks"))
        self._drops: list[Drops] = []
        self._n_arrived = 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        own = self._state.facts[NUMBERED : NUMBERED + 1]
        block = self._count.numbered(inputs[0], own)  # those valid at no instant are counted, too
        block = block if self._has_open else valid_elements(block, self._closed)
        arrivals = self._arrivals(block)
        self._n_arrived += int((arrivals.kinds < GOES_ON).sum())
        rows = self._played(arrivals, heartbeat)
        self._state.settle()
        self._looks.look(self._state, self._groups, len(block))
        out = self._told(rows, heartbeat)
        self._state.release_groups()
        return out

    def _arrivals(self, block: Block) -> ShedArrivals:
        groups = np.zeros(0, np.int64)
        if len(block):
            groups = self._groups.slots(key_columns(block, range(len(self._dtypes))))
        self._state.audit(np.unique(groups))
        assert block.seq is not None
        numbers, kinds = block.seq, np.full(len(block), CAME)
        if self._has_open:
            kinds = self._state.kinds(numbers - 1, block.sign)
        starts, ends = (np.ascontiguousarray(column.values) for column in block.columns[-2:])
        tau = np.ascontiguousarray(block.tau)
        return ShedArrivals(tau, kinds, numbers, groups, starts, ends, *self._count.ticks)

    def _played(self, arrivals: ShedArrivals, heartbeat: int) -> Ints:
        """int64[n, TOLD_WORDS]: changes until before the heartbeat, or of ticks not over then."""
        state, n = self._state, len(arrivals.taus)
        parts, room = [state.pending.copy()], max(_ROOM, _EACH * n)
        done = told_room(0).done
        state.make_room(n)
        while not done[IS_OVER]:
            out, before = told_room(room)._replace(done=done), done[[TAKEN, TICKED]]
            play(arrivals, heartbeat, state.rules, state.shed, state.owing, out)
            n_told, n_dropped = int(done[N_TOLD]), int(done[N_RECEIPTS])
            parts.append(out.changes[:n_told])
            if n_dropped:
                self._drops.append(dropped(out))
            has_told = n_told or n_dropped or done[ASKS]
            has_moved = has_told or (before != done[[TAKEN, TICKED]]).any()
            self._go_on(out, n - int(done[TAKEN]))
            room *= 1 + (not has_moved)
        return np.concatenate(parts)

    def _go_on(self, out: ShedTold, n_left: int) -> None:
        """Have the kernel go on where it stopped."""
        if out.done[ASKS]:
            chosen = one_step(self._state)
            out.done[CHOICE] = -1 if chosen is None else 1 + chosen
        out.done[N_TOLD : N_SPANS + 1] = 0
        out.done[ASKS] = 0
        self._state.make_room(n_left)

    def _told(self, rows: Ints, heartbeat: int) -> Block:
        """Changes of ticks that are over, as elements."""
        if self._of.slide > 1 or self._has_open:
            rows = net_rows(rows)
        n_over = int(np.searchsorted(rows[:, 0], heartbeat))
        self._state.keep_pending(rows[n_over:])
        rows = rows[:n_over]
        if not len(rows):
            return empty(self.fields)
        tau, groups, start, end, sign = (np.ascontiguousarray(column) for column in rows.T)
        columns = (*self._groups.columns(groups), Column64(start), Column64(end))
        return Block(tau, sign.astype(np.int8), columns)

    # ------------------------------------------------------------------ what it says of itself

    @property
    def n_tuples(self) -> int:
        """Tuples in memory."""
        return int(self._state.facts[N_MEMORY])

    @property
    def n_bytes(self) -> int:
        sizes = self._bytes
        return sizes.runs if self._state.options.as_runs else sizes.tuples

    @property
    def _bytes(self) -> FormBytes:
        """Those as runs, where the form is the other, are of a moment at which most tuples were the
        same ones."""
        facts, state = self._state.facts, self._state
        is_other = _COUNTED * facts[N_CHANGED] > facts[N_MEMORY] or not facts[N_MEMORY]
        if is_other and not state.options.as_runs:
            facts[N_CHANGED], facts[RUN_BYTES] = 0, state.run_bytes
        return FormBytes(self.n_tuples * row_bytes(len(self._dtypes)), int(facts[RUN_BYTES]))

    def keep(self) -> None:
        self._state.keep()

    def counters(self) -> Mapping[str, float]:
        return {"runs": int(self._state.facts[RUNS_MEMORY])}

    def profile(self) -> ShedProfile:
        """Of the batch."""
        return shed_profile(
            self._state,
            self._groups,
            self._looks,
            self._drops,
            self._n_arrived,
            self._bytes,
            self.fields[:-2],
            self._surroundings.strings,
        )


def net_rows(rows: Ints) -> Ints:
    """Changes whose signs cancel within a tick are none; in order of ticks."""
    if not len(rows):
        return rows
    rows = rows[np.lexsort(rows[:, 3::-1].T)]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows[1:, :4] != rows[:-1, :4]).any(axis=1)
    sums = np.add.reduceat(rows[:, 4], np.flatnonzero(is_first))
    kept = rows[is_first]
    kept[:, 4] = sums
    netted: Ints = kept[sums != 0]
    return netted
