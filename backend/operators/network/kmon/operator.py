"""The join of k-Mon at work: many-one equijoins that keep what future results need ([B05] ch. 6).

The inputs are merged by τ; kernels take arrival by arrival. Their results, and when these end, are
columns again: a result ends with the first of its tuples that leaves its window (erratum D4).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.addressing import addressed
from backend.operators.network.core.blocks import FOREVER, Block, Ints, concat, empty
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.merging import Came, merged_inputs
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrivals import ArrivingSlots
from backend.operators.network.kmon.changes import in_turn, net_changes
from backend.operators.network.kmon.holding import TuplePlaces
from backend.operators.network.kmon.payloads import (
    Payloads,
    changed,
    misplaced,
    relocate,
    unmark_moved,
)
from backend.operators.network.kmon.playing import leave, let_go_all, play
from backend.operators.network.kmon.results import Results
from backend.operators.network.kmon.shape import KMonShape
from backend.operators.network.kmon.state import JoinState
from backend.operators.network.kmon.telling import BatchTelling
from backend.operators.network.kmon.tuning import KMonProfile, KMonTuning
from backend.operators.network.kmon.words import Memory

#: Arrivals that are taken at once; slots of those among them that are let go are free again after.
_CHUNK: Final = 8192


class KMonJoin(OperatorFrame):
    """A tree of many-one joins under k-constraints. Raises ValueError: the operator is none."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._work = planned.doing(KMonOp)
        self._tuning = surroundings.tuning(planned, KMonTuning) or KMonTuning()
        self._shape = KMonShape(self._work)
        n = len(self._work.inputs)
        fields = [self.input_fields(port) for port in range(n)]
        self._state = JoinState(self._regions, self._shape, self._tuning, _CHUNK)
        self._arrivals = ArrivingSlots(self._shape, fields, self._tuning, surroundings)
        self._places = TuplePlaces(self._regions)
        self._payloads = Payloads(
            self._regions, [dtypes_of(input_fields) for input_fields in fields]
        )
        self._results = Results(self._regions, self._work, dtypes_of(self.fields))
        self._told = BatchTelling(self._regions, self._work, self._shape)
        self._memory = self._state.memory(self._places)
        self._removed = [np.zeros((0, 3), np.int64)]
        self._waiting: Sequence[Block] = [empty(input_fields) for input_fields in fields]
        self._over = np.array([self._is_over(port) for port in range(n)], np.int64)
        self._residual = None
        if self._work.residual is not None:
            self._residual = compile_expression(
                self._work.residual, self.fields, surroundings.strings, surroundings.functions
            )

    def _is_over(self, port: int) -> int:
        """Whether an input has no more arrivals, as in ``Memory``: a stored relation once it has
        come."""
        work = self._surroundings.plan.operator(self._planned.inputs[port]).work
        if work.is_stored:
            return w.FOR_EVER if self._memory.inputs[port, w.COUNT] else 0
        return w.FOR_NOW if work.reads in self._surroundings.clock.over else 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        """The results that the arrivals make and end. heartbeat: the first tick that is to come.
        Inputs give elements with sign + alone, but for relations that change."""
        begun = time.thread_time_ns()
        inputs, came = self._in_order(inputs, heartbeat)
        self._end(self._over, inputs)
        made = [
            self._take(inputs, _piece(came, slice(first, first + _CHUNK)))
            for first in range(0, len(came.tau), _CHUNK)
        ]
        before = self._ended(came, heartbeat)
        facts = self._memory.facts
        now = max(heartbeat - 1, int(facts[w.NOW]))
        leave(addressed(self._memory), now)
        facts[w.NOW] = now if heartbeat < FOREVER else facts[w.NOW]
        self._tidy(np.zeros(0, np.int64), inputs)
        self._told.processor_ns += time.thread_time_ns() - begun
        return _in_time([*made, before], self.fields)

    def _end(self, over: Ints, inputs: Sequence[Block]) -> None:
        """Some inputs have no more arrivals: who waits for one of them is let go."""
        if self._state.end(over):
            let_go_all(addressed(self._memory))
            self._tidy(np.zeros(0, np.int64), inputs)

    def _in_order(self, inputs: Sequence[Block], heartbeat: int) -> tuple[Sequence[Block], Came]:
        """What came by τ; where relations change what ticks that are over came to: the rest waits
        for the next call."""
        if self._shape.changes:
            blocks = [concat(pair) for pair in zip(self._waiting, inputs, strict=True)]
            ends = [int(np.searchsorted(block.tau, heartbeat)) for block in blocks]
            inputs = [block.take(slice(end)) for block, end in zip(blocks, ends, strict=True)]
            self._waiting = [
                block.take(slice(end, None)) for block, end in zip(blocks, ends, strict=True)
            ]
            kinds = [input.window for input in self._work.inputs]
            inputs = [
                net_changes(block) if kind == "changing" else block
                for kind, block in zip(kinds, inputs, strict=True)
            ]
        came = merged_inputs(inputs, [np.arange(len(block)) for block in inputs])
        if self._shape.changes:
            came = in_turn(came, self._shape.depths)
        return inputs, came

    def _take(self, inputs: Sequence[Block], came: Came) -> Block:
        """Some arrivals; the results they make."""
        slots, inside = (
            places.take(len(came.tau)) for places in (self._places.slots, self._places.inside)
        )
        self._memory = m = self._state.memory(self._places)
        self._told.counts(self._arrivals.enter(m, slots, inside, inputs, came), came, m)
        order, at, made = slots.astype(np.int32), 0, list[Block]()
        while True:
            at = play(addressed(m), order, at, len(order))
            made.append(self._made(m, inputs))
            if at == len(order):
                break
        self._tidy(slots, inputs)
        return concat([block for block in made if len(block)] or made[:1])

    def _made(self, m: Memory, inputs: Sequence[Block]) -> Block:
        """The results in the buffer, which is empty then."""
        n = int(m.facts[w.N_OUT])
        slots, taus = m.out[:, :n].astype(np.int64), m.taus[:n].copy()
        m.facts[w.N_OUT] = 0
        if not n:
            return empty(self.fields)
        by_input = [
            self._payloads.columns(m, slots[port], port, block) for port, block in enumerate(inputs)
        ]
        columns = tuple(by_input[port][place] for port, place in self._work.outputs)
        block = Block(taus, np.ones(n, np.int8), columns)
        if self._residual is not None:
            verdict = self._residual(block)
            rows = np.flatnonzero((verdict.values != 0) & verdict.is_valid)
            block, slots = block.take(rows), slots[:, rows]
        self._told.n_results += len(block)
        self._results.keep(m, slots, block)
        return block

    def _tidy(self, arrived: Ints, inputs: Sequence[Block]) -> None:
        """After a call: tuples lie where they belong, slots of those let go are free."""
        m = self._memory
        self._told.take(m)
        self._removed.append(m.removed[1 : 1 + m.removed[0, 0]].copy())
        m.removed[0, 0] = 0
        slots, freed = changed(m, arrived), m.freed[: m.facts[w.N_FREED]].astype(np.int64)
        unmark_moved(m)
        m.facts[[w.N_FREED, w.N_THINNED, w.N_MOVED]] = 0
        leaving, coming = misplaced(m, slots)
        aside = self._places.aside.take(len(leaving))
        inside = self._places.inside.take(len(coming))
        if len(leaving) or len(coming):
            self._memory = m = self._state.memory(self._places)
        self._payloads.settle(m, slots, inputs, leaving, aside)
        moved, places = np.append(leaving, coming), np.append(aside + w.ASIDE, inside)
        self._places.give(relocate(m, moved, places))
        self._places.give(m.entry(freed, w.PLACE).astype(np.int64))
        self._places.slots.give(freed)

    def _ended(self, came: Came, heartbeat: int) -> Block:
        """The results that end until the heartbeat, with sign -."""
        taus = [came.tau[came.ports == port] for port in range(len(self._work.inputs))]
        counts, removed = self._memory.inputs[:, w.COUNT], np.concatenate(self._removed)
        columns, when = self._results.ended(taus, counts, removed, heartbeat)
        self._removed = [removed[:0]]
        return Block(when, np.full(len(when), -1, np.int8), columns)

    @property
    def n_tuples(self) -> int:
        """Tuples in Yes, No and Unknown."""
        states = self._memory.inputs[:, w.N_STATES :]
        return int(states[:, [w.YES, w.UNKNOWN, w.NO]].sum())

    @property
    def n_bytes(self) -> int:
        return sum(
            component.n_bytes for component in self._told.components(self._memory, self._payloads)
        )

    def counters(self) -> Mapping[str, float]:
        return {"matches": float(self._told.n_results)}

    def profile(self) -> KMonProfile | None:
        """What it saw since it was made."""
        return self._told.profile(self._memory, self._payloads)


def _piece(came: Came, part: slice) -> Came:
    return Came(came.ports[part], came.seqs[part], came.signs[part], came.tau[part])


def _in_time(blocks: Sequence[Block], fields: Sequence[object]) -> Block:
    """All elements by τ; of one τ in the order they are given."""
    filled = [block for block in blocks if len(block)]
    if not filled:
        return blocks[0]
    whole = concat(filled)
    order = np.argsort(whole.tau, kind="stable")
    return whole.take(order)
