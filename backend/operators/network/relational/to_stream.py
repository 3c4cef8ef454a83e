"""i-stream, d-stream, r-stream: what came, went, is there at each tick (thesis, 2.1; card A2).

A tick is told when it is over, in canonical order, so that streams are a function of timestamps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.blocks import Block, Ints, Signs, empty
from backend.operators.network.core.contract import NetworkOperator, Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.relational.keys import KeyTable, SlotValues
from backend.operators.network.relational.netting import canonical_order, net, ordinals
from backend.operators.network.relational.open_tick import OpenTick
from backend.operators.selection.bits import kernel

#: Elements that r-stream tells at once; a relation told at more ticks than that is refused.
MOST_TOLD: Final = 1 << 23


def stream_operator(planned: PlannedOperator, surroundings: Surroundings) -> NetworkOperator:
    """The operator of a ``ToStreamOp``."""
    kind = RelationStream if planned.doing(ToStreamOp).word == "rstream" else ChangeStream
    return kind(planned, surroundings)


class ChangeStream(OperatorFrame):
    """i-stream and d-stream: a tuple as often as there are more, or fewer, of it than before."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._sign = 1 if planned.doing(ToStreamOp).word == "istream" else -1
        self._open = OpenTick(self._regions, self.fields)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = self._open.over(inputs[0], heartbeat)
        return _came(net(block, self.fields, self._surroundings.strings, self._sign))


class RelationStream(OperatorFrame):
    """r-stream: all of the relation at every tick, from the first one on. ``run`` raises ValueError
    where time goes on so far at once that no memory would hold what is to be told."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._open = OpenTick(self._regions.scope("open"), self.fields)
        self._table = KeyTable(self._regions.scope("tuples"), dtypes_of(self.fields))
        self._counts = SlotValues(self._regions, "counts", "int64", self._table)
        self._next = self._regions.array("next", "int64", 1, fill=-1)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = self._open.over(inputs[0], heartbeat)
        begin = int(self._next[0])
        if begin < 0:
            begin = self._surroundings.clock.begin
        if heartbeat <= begin:
            return empty(self.fields)
        self._next[0] = heartbeat
        spans = self._spans(block, begin, heartbeat)
        n_told = int(((spans.end - spans.begin) * spans.times).sum())
        if n_told > MOST_TOLD:
            raise ValueError(
                f"{self._planned.id}: Rstream sends its relation at every tick, which for ticks "
                f"{begin} to {heartbeat - 1} comes to {n_told:,} tuples; at once there may be "
                f"{MOST_TOLD:,}. Give the stream a longer tick, or a timestamp that is a time: "
                "numbers begin at tick 0"
            )
        tuples = self._told(spans)
        slots = self._table.live()
        self._table.release(slots[self._counts.array[slots] == 0])
        return tuples

    def _spans(self, block: Block, begin: int, heartbeat: int) -> _Spans:
        """From when to when a tuple was there how often."""
        slots = self._table.slots(block.columns)
        counts, live = self._counts.array, self._table.live()
        since = np.full(self._table.capacity, begin, np.int64)
        spans = _Spans(*np.empty((4, len(slots) + len(live)), np.int64))
        n = _follow(counts, slots, block.tau, block.sign, since, live, heartbeat, spans)
        return _Spans(*(part[:n] for part in spans))

    def _told(self, spans: _Spans) -> Block:
        """The tuples of each tick, in canonical order."""
        columns = self._table.columns(spans.slot)
        ranks = ordinals(columns, self.fields, self._surroundings.strings)
        order = canonical_order(np.zeros(ranks.shape[1], np.int64), ranks)
        begin, end, times = (part[order] for part in spans[1:])
        n_told = (end - begin) * times
        place = np.repeat(np.arange(len(order)), n_told)
        nth = np.arange(len(place)) - np.repeat(np.cumsum(n_told) - n_told, n_told)
        tau = begin[place] + nth // times[place]
        in_time = np.argsort(tau, kind="stable")
        rows = order[place[in_time]]
        ordered = tuple(column.take(rows) for column in columns)
        return Block(tau[in_time], np.ones(len(rows), np.int8), ordered)

    @property
    def n_tuples(self) -> int:
        return len(self._table)

    @property
    def n_bytes(self) -> int:
        return len(self._table) * (self._table.bytes_per_key + 8)


class _Spans(NamedTuple):
    """Tuple ``slot`` is there so many ``times`` (more than 0) from tick begin to tick end - 1."""

    slot: Ints
    begin: Ints
    end: Ints
    times: Ints


def _came(block: Block) -> Block:
    return Block(block.tau, np.ones(len(block), np.int8), block.columns)


@kernel
def _follow(
    counts: Ints,
    slots: Ints,
    tau: Ints,
    sign: Signs,
    since: Ints,
    live: Ints,
    heartbeat: int,
    spans: _Spans,
) -> int:
    """Write ``spans`` of all tuples up to the heartbeat; returns how many. since: by slot."""
    n_spans = 0
    for i in range(len(slots) + len(live)):
        is_change = i < len(slots)
        slot = slots[i] if is_change else live[i - len(slots)]
        now = tau[i] if is_change else heartbeat
        if counts[slot] > 0 and since[slot] < now:
            spans.slot[n_spans] = slot
            spans.begin[n_spans] = since[slot]
            spans.end[n_spans] = now
            spans.times[n_spans] = counts[slot]
            n_spans += 1
        since[slot] = now
        if is_change:
            counts[slot] += sign[i]
    return n_spans
