"""An operator that sheds arrival by arrival, by ``SheddingWindow``: slow twin of ``ShedOperator``.

It is made anew in each batch and goes on with what it held, as long as ``HELD`` is not cleared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backend.operators.network.core.blocks import FOREVER, Block, Column64, Ints, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.relational.packing import pack, unpack
from backend.operators.network.shedding.audits import MeasuredAccuracy, measured
from backend.operators.network.shedding.curve import RunSample
from backend.operators.network.shedding.receipts import ShedReceipt
from backend.operators.network.shedding.runs import RunChange, RunIndex
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple, Values
from backend.operators.network.temporal.coalesce import valid_elements
from backend.operators.network.temporal.shed_state import window_extent
from backend.operators.network.temporal.shed_tuning import ShedTuning
from tests.oracles.run_bytes import WindowInBytes
from tests.oracles.run_sample import sample_of


class WatchedRuns(RunIndex):
    """Runs that tell what has changed. touched: value groups that did since it was emptied."""

    def __init__(self, answer: AnswerShape) -> None:
        super().__init__(answer)
        self.touched: set[Values] = set()

    def add(self, new: TemporalTuple) -> RunChange:
        self.touched.add(new.values)
        return super().add(new)

    def remove(self, number: int) -> RunChange:
        self.touched.add(self.tuple_of(number).values)
        return super().remove(number)


@dataclass
class Held:
    """What an operator goes on with."""

    window: WindowInBytes
    runs: WatchedRuns
    shown: dict[Values, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    event: int = 0
    numbered: int = 0


@dataclass
class SlowProfile:
    """Of a batch."""

    receipts: list[ShedReceipt]
    n_tuples: int
    n_runs: int
    beside_bytes: int
    run_bytes: int
    expected: float
    n_expected: int
    is_whole: bool
    is_measurable: bool
    measured: MeasuredAccuracy | None
    shares: dict[Values, tuple[int, float]]
    pieces: dict[Values, list[tuple[Any, ...]]]
    sample: RunSample


#: By operator.
HELD: dict[str, Held] = {}
#: Of each batch of each operator, in order.
PROFILES: list[SlowProfile] = []


class SlowShedOperator(OperatorFrame):
    """See ``ShedOperator``."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(ShedOp)
        self.closed, self.of, self.is_numbered = work.closed, work.window, bool(work.counted)
        self.has_open = work.has_open
        self.tuning = surroundings.tuning(planned, ShedTuning) or ShedTuning()
        none: Ints = np.zeros(0, np.int64)
        self.first, self.taus = surroundings.clock.arrived.get(work.counted, (0, none))
        self.ticks = np.unique(self.taus)
        if planned.id not in HELD:
            answer = AnswerShape(None, self.tuning.lengths)
            runs = WatchedRuns(answer)
            window = WindowInBytes(self.tuning.options, window_extent(self.of), answer, runs)
            HELD[planned.id] = Held(window, runs)
        self.held = HELD[planned.id]
        self.window = self.held.window
        self.receipts: list[ShedReceipt] = []
        self.changes: list[tuple[Values, int, int, int, int]] = []

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        if self.window.options != self.tuning.options:
            self.receipts += self.window.turn(self.tuning.options)
            self.happened(self._surroundings.clock.begin)
        block = inputs[0] if self.has_open else valid_elements(inputs[0], self.closed)
        for (tau, new), sign in zip(self.arrivals(block), block.sign, strict=True):
            self.until(tau)
            self.receipts += self.came(tau, new, sign > 0)
            self.happened(tau)
        self.until(heartbeat)
        if self.of.kind == "range" and self.window.first is not None:
            self.window.advance(heartbeat - 1)
        PROFILES.append(self.slow_profile())
        return self.told()

    def came(self, tau: int, new: TemporalTuple, goes_on: bool) -> list[ShedReceipt]:
        """A tuple, or until when one that goes on is valid."""
        at = tau if self.of.kind == "range" else None
        if self.has_open and new.number <= self.held.numbered:
            if at is not None:
                self.window.advance(at)
            return self.window.extend(new.number, new.end, goes_on)
        if self.has_open:
            self.held.numbered = new.number
        return self.window.arrive(new, self.has_open, at)

    def happened(self, tick: int) -> None:
        self.held.event = max(self.held.event, tick)

    def arrivals(self, block: Block) -> Iterator[tuple[int, TemporalTuple]]:
        if not len(block):
            return
        words = pack(block.columns[:-2], len(block)).tolist()
        starts, ends = (column.values.tolist() for column in block.columns[-2:])
        numbers: Any = block.seq
        if not self.is_numbered or numbers is None:
            numbers = self.held.numbered + np.arange(len(block))
            self.held.numbered += len(block)
        rows = zip(block.tau.tolist(), numbers.tolist(), words, starts, ends, strict=True)
        for tau, number, values, start, end in rows:
            yield tau, TemporalTuple(number + 1, tuple(values), start, end)

    def until(self, limit: int) -> None:
        """All that happens at ticks before ``limit``: tuples leave, and what changed is told."""
        while True:
            leaving, telling = self.next_leaving(), self.next_telling()
            tick = min(leaving, telling)
            if tick >= limit:
                return
            if leaving <= telling:
                self.window.advance(self.position(leaving))
                self.happened(leaving)
            else:
                self.tell(telling)

    def next_leaving(self) -> int:
        if self.of.kind == "rows":
            return int(self.ticks[0]) if len(self.ticks) else FOREVER
        position = self.window.next_leaving
        if position is None:
            return FOREVER
        return -(-(position + self.of.size + 1) // self.of.slide) * self.of.slide

    def position(self, tick: int) -> int:
        if self.of.kind == "range":
            return tick
        self.ticks = self.ticks[1:]
        return self.first + int(np.searchsorted(self.taus, tick, side="right"))

    def next_telling(self) -> int:
        if not self.held.runs.touched:
            return FOREVER
        return -(-self.held.event // self.of.slide) * self.of.slide

    def tell(self, tick: int) -> None:
        shown = self.held.shown
        for values in self.held.runs.touched:
            before = shown.pop(values, ())
            now = tuple((run.start, run.end) for run in self.held.runs.of(values))
            if now:
                shown[values] = now
            self.changes += [(values, *span, tick, -1) for span in set(before) - set(now)]
            self.changes += [(values, *span, tick, 1) for span in set(now) - set(before)]
        self.held.runs.touched.clear()
        self.happened(tick)

    def told(self) -> Block:
        if not self.changes:
            return empty(self.fields)
        words = np.array([change[0] for change in self.changes], np.int64)
        numbers = np.array([change[1:] for change in self.changes], np.int64)
        start, end, tau, sign = (np.ascontiguousarray(column) for column in numbers.T)
        columns = (*unpack(words, dtypes_of(self.fields[:-2])), Column64(start), Column64(end))
        return Block(tau, sign.astype(np.int8), columns)

    def slow_profile(self) -> SlowProfile:
        window = self.window
        shares: dict[Values, tuple[int, float]] = {}
        for key, (charge, loss) in window.ledger.shares(window.n_exact).items():
            n, lost = shares.get(key.values, (0, 0.0))
            shares[key.values] = n + charge.n, lost + loss
        return SlowProfile(
            self.receipts,
            len(window.memory),
            window.memory.n_runs,
            window.beside_bytes,
            window.bytes_as_runs,
            window.expected_accuracy,
            window.n_expected,
            window.is_whole,
            window.is_measurable,
            measured(window),
            shares,
            {values: list(pieces_of(window, values)) for values in shares},
            sample_of(window),
        )


def pieces_of(window: WindowInBytes, values: Values) -> Iterator[tuple[Any, ...]]:
    """Both ends of a run, and of a piece that is left of it."""
    if not (window.options.needs_exact or window.is_audited(values)):
        yield from ((None, None, one.start, one.end) for one in window.memory.of(values))
        return
    for run in window.beside.of(values):
        pieces = list(window.memory.within(values, run.start, run.end))
        yield from ((run.start, run.end, piece.start, piece.end) for piece in pieces)
        if not pieces:
            yield (run.start, run.end, None, None)
