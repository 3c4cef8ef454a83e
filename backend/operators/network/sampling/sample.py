"""sample: a window of which a probability sample is kept, each tuple with its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from backend.model.draws import seeds_of
from backend.operators.network.core.blocks import Block, Column64, Ints, Values
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, dtypes_of
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.sampling import SampleOp
from backend.operators.network.relational.packing import n_words, pack, unpack
from backend.operators.network.sampling.accuracy import sample_accuracy
from backend.operators.network.sampling.kernel import play, prob_of
from backend.operators.network.sampling.words import (
    DROPPED,
    HAS_DROPPED,
    HI,
    IS_FULL,
    IS_OVER,
    LEVEL,
    LO,
    N_BELOW,
    N_DONE,
    N_FACTS,
    N_SHED,
    N_TOLD,
    NUMBERED,
    REACHED,
    TOLD_PROB,
    TOLD_SIGN,
    TOLD_TAU,
    TOLD_TUPLE,
    TUPLE,
    KeptSample,
    SampleArrivals,
    SampleRules,
)
from backend.operators.network.temporal.arrival_count import ArrivalCount
from backend.operators.network.temporal.shed_state import window_extent
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning

_FIRST: Final = 64
_WORD: Final = 8
#: Changes that there is room to tell of at least.
_ROOM: Final = 256


class SampleOperator(OperatorFrame):
    """Tells kept tuples that come and go; one whose probability falls goes and comes.

    Without a limit that is the window, each tuple with probability 1. What is kept depends on the
    numbers of tuples, their ticks and those at which options were turned alone.
    """

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        work = planned.doing(SampleOp)
        tuning = surroundings.tuning(planned, ShedTuning) or ShedTuning()
        tuning.options.check()
        self._extent = window_extent(work.window)
        self._options, self._begin = tuning.options, surroundings.clock.begin
        self._count = ArrivalCount(work.window, work.counted, surroundings.clock)
        self._dtypes = dtypes_of(self.fields[:-1])
        self._width = TUPLE + n_words(len(self._dtypes))
        self._facts: Ints = self._regions.array("facts", "int64", N_FACTS)
        self._weight: Values = self._regions.array("weight", "float64", 1)
        self._rows: Ints = self._regions.array("rows", "int64", _FIRST * self._width)
        self._n_arrived = self._n_shed = 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        arrivals = self._arrivals(inputs[0])
        self._n_arrived += len(arrivals.taus)
        rows = self._played(arrivals, heartbeat)
        probs = Column64(np.ascontiguousarray(rows[:, TOLD_PROB]).view(np.float64))
        columns = (*unpack(rows[:, TOLD_TUPLE:], self._dtypes), probs)
        tau = np.ascontiguousarray(rows[:, TOLD_TAU])
        return Block(tau, rows[:, TOLD_SIGN].astype(np.int8), columns)

    def _arrivals(self, block: Block) -> SampleArrivals:
        numbers = self._count.numbered(block, self._facts[NUMBERED : NUMBERED + 1]).seq
        assert numbers is not None
        hashed = numbers - 1 if block.seq is None else block.seq
        ranks = (seeds_of(self._options.seed, hashed) >> np.uint64(11)) * 2.0**-53
        tau, tuples = np.ascontiguousarray(block.tau), pack(block.columns, len(block))
        return SampleArrivals(tau, numbers, ranks, tuples, *self._count.ticks)

    def _played(self, arrivals: SampleArrivals, heartbeat: int) -> Ints:
        """int64[n, TOLD_TUPLE + words]: changes until before the heartbeat."""
        parts, done = [], np.zeros(N_DONE, np.int64)
        while not done[IS_OVER]:
            done[N_TOLD] = done[IS_FULL] = 0
            room = max(_ROOM, 2 * (self.n_tuples + len(arrivals.taus) + 1))
            out = np.empty((room, self._width - TUPLE + TOLD_TUPLE), np.int64)
            play(arrivals, heartbeat, self._begin, self._rules, self._sample, out, done)
            parts.append(out[: done[N_TOLD]])
            if done[IS_FULL]:
                self._rows = self._regions.resized("rows", 2 * len(self._rows))
        self._n_shed += int(done[N_SHED])
        return np.concatenate(parts)

    @property
    def _sample(self) -> KeptSample:
        return KeptSample(self._rows.reshape(-1, self._width), self._facts, self._weight)

    @property
    def _rules(self) -> SampleRules:
        extent, options = self._extent, self._options
        return SampleRules(
            extent.kind == "rows",
            extent.size,
            extent.slide,
            options.sample_prob or 1.0,
            options.memory_tuples,
            options.target_tuples,
        )

    # ------------------------------------------------------------------ what it says of itself

    @property
    def n_tuples(self) -> int:
        """Tuples in memory."""
        return int(self._facts[HI] - self._facts[LO])

    @property
    def n_bytes(self) -> int:
        return self.n_tuples * self._width * _WORD

    @property
    def _is_whole(self) -> bool:
        """Whether all tuples of the window are there, each for sure."""
        facts, first = self._facts, self._extent.first(int(self._facts[REACHED]))
        return not facts[N_BELOW] and not (facts[HAS_DROPPED] and facts[DROPPED] >= first)

    def profile(self) -> ShedProfile:
        """Of the batch."""
        n_window = round(float(self._weight[0]))
        return ShedProfile(
            n_arrived=self._n_arrived,
            n_dropped=self._n_shed,
            n_resident=self.n_tuples,
            n_window=n_window,
            tuple_bytes=self.n_bytes,
            expected=sample_accuracy(self.n_tuples, n_window),
            n_expected=n_window,
            is_whole=self._is_whole,
            inclusion=prob_of(int(self._facts[LEVEL]), self._rules),
        )
