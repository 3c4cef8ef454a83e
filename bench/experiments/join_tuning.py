"""Experiments on joins with their controller: what it settles on, and runs it tunes all along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.operators.network.join_tuning import JoinTuning
from backend.operators.network.plan import JoinOp
from backend.systems.joins.controller import JoinController
from backend.systems.joins.settings import JoinSettings
from backend.systems.joins.shape import JoinShape
from bench.experiments.join_running import (
    Arrivals,
    BenchJoin,
    Operations,
    SignedElements,
    between,
    elements,
)


class TunedStretch(NamedTuple):
    """A stretch of a run: where it began, what was done, under what."""

    begin: int
    operations: Operations
    tuning: JoinTuning


class TunedBench:
    """A join and its controller over some arrivals."""

    def __init__(
        self, work: JoinOp, arrivals: Arrivals, settings: JoinSettings, names: Sequence[str] = ()
    ) -> None:
        self.shape = JoinShape.of(work, len(arrivals.sizes), names)
        self.controller = JoinController(self.shape, settings)
        self.join = BenchJoin(work, arrivals.widths)
        self._inputs: list[SignedElements] = elements(arrivals)
        self.n = len(arrivals.streams)

    def stretches(self, length: int, end: int | None = None) -> list[TunedStretch]:
        """Run all, or to ``end``; the controller decides after each stretch."""
        found = []
        for batch_id, begin in enumerate(range(0, self.n if end is None else end, length)):
            tuning = self.controller.tuning
            self.join.tune(tuning)
            self.join.run(between(self._inputs, begin, begin + length))
            found.append(TunedStretch(begin, self.join.operations(length), tuning))
            self.controller.observe(batch_id, length, self.join.profile())
        return found


def settled(
    work: JoinOp, arrivals: Arrivals, settings: JoinSettings, names: Sequence[str] = ()
) -> JoinTuning:
    """What the controller uses when it has seen all arrivals, without watching any more."""
    bench = TunedBench(work, arrivals, settings, names)
    bench.stretches(1000)
    tuning = bench.controller.tuning
    return JoinTuning(orders=tuning.orders, caches=tuning.caches)
