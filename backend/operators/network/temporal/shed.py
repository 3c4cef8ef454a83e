"""shed: a window that is coalesced, of which only so many tuples are kept. [AL11], card B"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.blocks import FOREVER, Block, Column64, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.relational.packing import pack, unpack
from backend.operators.network.shedding.audits import measured
from backend.operators.network.shedding.curve import AccuracyCurve
from backend.operators.network.shedding.forms import FormBytes, form_bytes
from backend.operators.network.shedding.receipts import ShedReceipt
from backend.operators.network.shedding.temporal import TemporalTuple, Values
from backend.operators.network.temporal.coalesce import valid_elements
from backend.operators.network.temporal.shed_groups import ShedGroup, read_values, shed_groups
from backend.operators.network.temporal.shed_state import ShedState, spans_of
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning, sampled_receipts

_WORD: Final = 8


class _Arrival(NamedTuple):
    """at: the timestamp by which it belongs to a window of time."""

    tau: int
    tuple: TemporalTuple
    at: int | None


class _Change(NamedTuple):
    values: Values
    start: int
    end: int
    tau: int
    sign: int


class ShedOperator(OperatorFrame):
    """Tells what a window's kept tuples are coalesced to, at ticks at which it moves.

    Without a limit that is the exact answer; with one every value and instant of it is in the exact
    one. What is dropped depends on the tuples and on the ticks at which options were turned alone.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(ShedOp)
        self._closed, self._of, self._is_numbered = work.closed, work.window, bool(work.counted)
        self._tuning = surroundings.tuning(planned, ShedTuning) or ShedTuning()
        self._dtypes = dtypes_of(self.fields[:-2])
        first, taus = surroundings.clock.arrived.get(work.counted, (0, np.zeros(0, np.int64)))
        self._first_number, self._taus, self._ticks = first, taus, np.unique(taus)
        self._state = ShedState(self._regions, self._of, self._tuning)
        self._window, self._runs = self._state.objects.window, self._state.objects.runs
        self._receipts: list[ShedReceipt] = []
        self._n_arrived = 0
        self._changes: list[_Change] = []
        self._sizes: FormBytes | None = None

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        is_turned = self._turn()
        for arrival in self._arrivals(valid_elements(inputs[0], self._closed)):
            self._until(arrival.tau)
            self._receipts += self._window.arrive(arrival.tuple, at=arrival.at)
            self._state.happened(arrival.tau)
            self._n_arrived += 1
        self._until(heartbeat)
        self._state.objects.look(self._n_arrived, is_turned)
        self._state.save()
        self._sizes = None
        return self._told()

    def _turn(self) -> bool:
        """Options that were turned hold before what comes next; whether there are such."""
        if self._window.options == self._tuning.options:
            return False
        self._receipts += self._window.turn(self._tuning.options)
        self._state.happened(self._surroundings.clock.begin)
        return True

    def _arrivals(self, block: Block) -> Iterator[_Arrival]:
        if not len(block):
            return
        words = pack(block.columns[:-2], len(block)).tolist()
        starts, ends = (column.values.tolist() for column in block.columns[-2:])
        numbers = block.seq
        if not self._is_numbered or numbers is None:
            numbers = self._state.number(len(block)) + np.arange(len(block))
        by_time = self._of.kind == "range"
        rows = zip(block.tau.tolist(), numbers.tolist(), words, starts, ends, strict=True)
        for tau, number, values, start, end in rows:
            new = TemporalTuple(number + 1, tuple(values), start, end)
            yield _Arrival(tau, new, tau if by_time else None)

    # ------------------------------------------------------------------ ticks

    def _until(self, limit: int) -> None:
        """All that happens at ticks before ``limit``: tuples leave, and what changed is told."""
        while True:
            leaving, telling = self._next_leaving(), self._next_telling()
            tick = min(leaving, telling)
            if tick >= limit:
                return
            if leaving <= telling:
                self._window.advance(self._position(leaving))
                self._state.happened(leaving)
            else:
                self._tell(telling)

    def _next_leaving(self) -> int:
        """The next tick at which tuples leave, or may."""
        if self._of.kind == "rows":
            return int(self._ticks[0]) if len(self._ticks) else FOREVER
        position = self._window.next_leaving
        if position is None:
            return FOREVER
        slide = self._of.slide
        return -(-(position + self._of.size + 1) // slide) * slide

    def _position(self, tick: int) -> int:
        """Where a window is at a tick."""
        if self._of.kind == "range":
            return tick
        self._ticks = self._ticks[1:]
        return self._first_number + int(np.searchsorted(self._taus, tick, side="right"))

    def _next_telling(self) -> int:
        """The tick at which what has changed is changes: the next one at which the window moves."""
        if not self._runs.touched:
            return FOREVER
        return -(-self._state.last_event // self._of.slide) * self._of.slide

    def _tell(self, tick: int) -> None:
        shown = self._state.objects.shown
        for values in self._runs.touched:
            before = shown.pop(values, ())
            now = spans_of(self._runs.of(values))
            if now:
                shown[values] = now
            self._changes += [_Change(values, *span, tick, -1) for span in set(before) - set(now)]
            self._changes += [_Change(values, *span, tick, 1) for span in set(now) - set(before)]
        self._runs.touched.clear()
        self._state.happened(tick)

    def _told(self) -> Block:
        """The changes so far, as elements."""
        changes, self._changes = self._changes, []
        if not changes:
            return empty(self.fields)
        words = np.array([change.values for change in changes], np.int64)
        numbers = np.array([change[1:] for change in changes], np.int64)
        start, end, tau, sign = (np.ascontiguousarray(column) for column in numbers.T)
        columns = (*unpack(words, self._dtypes), Column64(start), Column64(end))
        return Block(tau, sign.astype(np.int8), columns)

    # ------------------------------------------------------------------ what it says of itself

    @property
    def n_tuples(self) -> int:
        """Tuples in memory."""
        return len(self._window.memory)

    @property
    def n_bytes(self) -> int:
        return self._bytes.runs

    @property
    def _bytes(self) -> FormBytes:
        """Looked at once after each run."""
        if self._sizes is None:
            n_values = len(self._dtypes)
            runs, by_rows = self._window.memory.runs(), self._of.kind == "rows"
            self._sizes = form_bytes(runs, _WORD * (n_values + 2), _WORD * n_values, by_rows)
        return self._sizes

    def counters(self) -> Mapping[str, float]:
        return {"runs": self._window.memory.n_runs}

    def profile(self) -> ShedProfile:
        """Of the batch."""
        window, sizes = self._window, self._bytes
        exact = window.exact
        return ShedProfile(
            self._n_arrived,
            len(self._receipts),
            self.n_tuples,
            len(exact) if exact is not None and window.is_measurable else None,
            window.memory.n_runs,
            sizes.tuples,
            sizes.runs,
            _WORD * 2 * window.n_beside,
            window.expected_accuracy,
            window.n_expected,
            measured(window),
            window.is_whole,
            *self._named(
                sampled_receipts(self._receipts), shed_groups(window), self._state.objects.curve
            ),
            self._state.objects.race,
        )

    def _named(
        self,
        receipts: Sequence[ShedReceipt],
        groups: Sequence[ShedGroup],
        curve: AccuracyCurve | None,
    ) -> tuple[tuple[ShedReceipt, ...], tuple[ShedGroup, ...], AccuracyCurve | None]:
        """With values as people read them."""
        packed = [receipt.dropped.values for receipt in receipts]
        packed += [group.values for group in groups]
        packed += () if curve is None else curve.values
        read = read_values(packed, self.fields[:-2], self._surroundings.strings)
        named = zip(receipts, read, strict=False)
        return (
            tuple(
                receipt._replace(dropped=receipt.dropped._replace(values=own))
                for receipt, own in named
            ),
            tuple(
                group._replace(values=own)
                for group, own in zip(groups, read[len(receipts) :], strict=False)
            ),
            curve and curve._replace(values=tuple(read[len(receipts) + len(groups) :])),
        )
