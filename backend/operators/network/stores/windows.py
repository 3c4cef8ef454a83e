"""seq-window: the relation of a stream's newest tuples, as elements (thesis, 2.1.1; cards A2, A5).

A tuple stamped t leaves a range window of size ω at t + ω + 1, the interval being closed; it leaves
a window of n rows with the arrival that pushes it out. Elements with sign - carry that time, also
when nothing arrives then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.layouts import OWN_INDEX
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.stores import store_kernels as kernels
from backend.operators.network.stores.synopses import Synopsis, synopses


class SeqWindow:
    """A window of any kind. Raises ValueError: the operator is none, or its size is wrong."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        self._planned, self._work = planned, planned.doing(WindowOp)
        self._check()
        self._clock = surroundings.clock
        self._stream = surroundings.plan.stream_of(planned.inputs[0])
        self._synopsis: Synopsis | None = None
        if self._work.kind != "unbounded":
            (self._synopsis,) = synopses(surroundings, planned.id)

    @property
    def planned(self) -> PlannedOperator:
        return self._planned

    @property
    def n_tuples(self) -> int:
        """Tuples in the window, and those that a sliding one does not show yet."""
        return 0 if self._synopsis is None else self._synopsis.n_tuples

    @property
    def n_bytes(self) -> int:
        return 0 if self._synopsis is None else self._synopsis.n_bytes

    def counters(self) -> Mapping[str, float]:
        return {}

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """Elements that come and go, until before ``heartbeat`` and with those taken."""
        (block,) = inputs
        if self._synopsis is None:
            return Block(block.tau, block.sign, block.columns)
        self._synopsis.store.take_up()
        if self._work.kind == "partition":
            return self._run_partition(self._synopsis, block)
        return self._run_fifo(self._synopsis, self._enter(self._synopsis, block), heartbeat)

    def _check(self) -> None:
        work, least = self._work, 0 if self._work.kind in ("range", "unbounded") else 1
        if work.size < least or work.slide < 1 or (work.slide > 1 and work.kind != "range"):
            raise ValueError(
                f"{self._planned.id}: a {work.kind} window of size {work.size} that slides by "
                f"{work.slide}; its size is at least {least}, and only range windows slide by more "
                "than 1"
            )

    # ------------------------------------------------------------------ range, rows

    def _enter(self, synopsis: Synopsis, block: Block) -> Block:
        """Have the block's tuples in the store; returns those that the window will show."""
        size, slide = self._work.size, self._work.slide
        if self._work.kind == "range" and size < slide - 1:
            shown = -(-block.tau // slide) * slide
            block = block.take(((block.tau + size) // slide + 1) * slide > shown)
        stub = synopsis.stub
        synopsis.enter(block.columns, len(block), [block.tau, self._numbers(block, stub.hi)])
        stub = synopsis.stub
        stub.move(stub.lo, stub.shown, stub.hi + len(block))
        return block

    def _numbers(self, block: Block, hi: int) -> Ints:
        """By which a window of rows counts tuples. hi: the number of the next one of the store."""
        if self._stream and block.seq is not None:
            return block.seq
        return hi + np.arange(len(block))

    def _run_fifo(self, synopsis: Synopsis, block: Block, heartbeat: int) -> Block:
        store, stub, by_rows = synopsis.store, synopsis.stub, self._work.kind == "rows"
        format, size = store.format, self._work.size - by_rows
        word = format.own + (kernels.NUMBER if by_rows else kernels.TAU)
        limit = self._last_row(block, stub.hi, heartbeat) if by_rows else heartbeat - 1
        if not by_rows and len(block):
            limit = max(limit, int(block.tau[-1]))
        ring = store.rows, format.width, word, store.mask
        come, go = np.array([stub.shown, stub.hi]), np.array([stub.lo, stub.hi])
        n_come = kernels.count_due(*ring, come, -1, self._work.slide, limit)
        n_go = kernels.count_due(*ring, go, size, self._work.slide, limit)
        n = n_come + n_go
        if not n:
            return empty(self._planned.fields)
        seqs, times, signs = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int8)
        span = np.array([stub.lo, stub.shown, stub.shown + n_come])
        kernels.move_window(*ring, span, size, self._work.slide, by_rows, seqs, times, signs)
        tau = self._arrivals(synopsis, times) if by_rows else times
        columns = store.columns(seqs, synopsis.columns)
        stub.move(stub.lo + n_go, stub.shown + n_come, stub.hi)
        return Block(tau, signs, columns)

    def _last_row(self, block: Block, hi: int, heartbeat: int) -> int:
        """The number of the last tuple that counts: up to the block's end, or before
        ``heartbeat``, in all shards."""
        if not self._stream:
            return hi - 1
        last = -1 if block.seq is None or not len(block) else int(block.seq[-1])
        if self._stream in self._clock.arrived:
            first, taus = self._clock.arrived[self._stream]
            last = max(last, first + int(np.searchsorted(taus, heartbeat)) - 1)
        return last

    def _arrivals(self, synopsis: Synopsis, numbers: Ints) -> Ints:
        """When the tuples with these numbers arrived."""
        arrivals: Ints
        if not self._stream:
            word = synopsis.store.format.own + kernels.TAU
            arrivals = synopsis.store.words(numbers, [word])[0]
        else:
            first, taus = self._clock.arrived[self._stream]
            arrivals = taus[numbers - first]
        return arrivals

    # ------------------------------------------------------------------ partition

    def _run_partition(self, synopsis: Synopsis, block: Block) -> Block:
        store, n = synopsis.store, len(block)
        self._compact(synopsis)
        first = synopsis.stub.hi
        store.append(block.columns, n)
        format, stub, index = store.format, synopsis.stub, store.index(OWN_INDEX)
        ring = store.rows, format.width, format.nulls, format.own, store.mask
        chains = index.head, index.next, np.array(self._work.by, np.int64)
        old = np.array([max(int(index.linked[0]), stub.lo), first])
        kernels.link_groups(*ring, *chains, old)
        seqs, signs = np.empty(2 * n, np.int64), np.empty(2 * n, np.int8)
        span = np.array([stub.lo, first, first + n])
        n_out = kernels.partition(*ring, *chains, span, self._work.size, seqs, signs)
        index.linked[0] = first + n
        n_gone = n_out - n
        stub.move(stub.lo, first + n, first + n, stub.n_gone + n_gone)
        seqs, signs = seqs[:n_out], signs[:n_out]
        pushed = np.cumsum(signs > 0) - 1
        return Block(block.tau[pushed], signs, store.columns(seqs, synopsis.columns))

    def _compact(self, synopsis: Synopsis) -> None:
        store, stub = synopsis.store, synopsis.stub
        moved = store.compact(stub)
        if len(moved):
            span = store.rows, store.format.width, store.format.own, store.mask, stub.lo, stub.hi
            kernels.renumber(*span, moved)
